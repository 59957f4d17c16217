"""Which tests run on one Python alone, that of .venv: on the others `make test-all` and CI run the
rest (`pytest --rest`).

The rule: on every Python runs what hangs on the Python, which is its syntax, its library, and the
packages that are built for it. What takes long for another reason runs once: whole crawls, of real
servers or in virtual time; MariaDB; statistics over thousands of draws; many processes at once; the
tests of the tests. Of whole crawls one stays for each room that nothing else would exercise there,
and one whose users are in MariaDB, for its driver.
"""

ONCE = (
    "tests/benchmarks",
    "tests/cli",
    "tests/mutants",
    "tests/test_forget.py",
    "tests/test_forks.py",
    "tests/test_gates.py",
    "tests/test_rest.py",
    "tests/test_samples.py",
    "tests/analysis/test_figures.py::test_every_post_is_counted_once",
    "tests/analysis/test_parallel.py::test_two_processes_write_what_one_does",
    "tests/archive/test_shelf.py::test_a_folder_of_hdfs",
    "tests/fetch/test_allowed.py",
    "tests/fetch/test_breaker.py",
    "tests/fetch/test_day.py",
    "tests/fetch/test_doubts.py",
    "tests/fetch/test_endpoints.py::test_faults_shut_nothing",
    "tests/fetch/test_leases.py::test_proxies_shared_by_processes",
    "tests/fetch/test_pool.py::test_who_never_answered_well_does_not_go_first",
    "tests/fetch/test_ring.py::test_a_choice_costs_the_same_among_thousands",
    "tests/fetch/test_ring.py::test_a_limit_is_found_where_no_pace_is_set",
    "tests/fetch/test_session.py::test_requests_that_overtake_each_other_at_the_end_of_a_session",
    "tests/fetch/test_tempo.py::test_an_egress_goes_as_fast_as_its_sessions_last",
    "tests/fetch/test_tempo.py::test_sessions_of_so_many_requests_bring_as_many",
    "tests/fetch/test_tempo.py::test_sessions_of_so_many_seconds_lose_little",
    "tests/fetch/test_visit.py::test_sessions_that_end_by_chance_are_hardly_given_up",
    "tests/harvest/test_edges.py",
    "tests/harvest/test_run.py::test_full_lists_end_without_a_request",
    "tests/harvest/test_run.py::test_lists_end_where_a_page_names_no_next_one",
    "tests/harvest/test_seen.py::test_containers_of_every_kind_are_exact",
    "tests/harvest/test_silence.py",
    "tests/harvest/test_topics.py",
    "tests/planning/test_walk.py::test_other_edges_are_planned_as_near_as_they_say",
    "tests/planning/test_worlds.py",
    "tests/posts/test_archive.py::test_another_content_is_another_name",
    "tests/posts/test_archive.py::test_each_job_starts_from_the_archive_alone",
    "tests/posts/test_archive.py::test_the_same_files_give_the_same_archives",
    "tests/posts/test_changes.py",
    "tests/posts/test_crawl.py::test_full_timelines_end_without_a_request",
    "tests/posts/test_doubt.py",
    "tests/posts/test_driver.py::test_a_job_that_our_resourcemanager_never_saw",
    "tests/posts/test_echoes.py",
    "tests/posts/test_info.py",
    "tests/posts/test_kept.py",
    "tests/posts/test_missed.py",
    "tests/posts/test_profile.py",
    "tests/posts/test_refresh.py",
    "tests/posts/test_texts.py",
    "tests/posts/test_walls.py",
    "tests/simulator/test_laws.py",
    "tests/simulator/test_pages.py",
    "tests/simulator/test_proxy_server.py",
    "tests/simulator/test_run.py",
    "tests/simulator/test_world.py",
    "tests/sites/weibo/test_mutations.py",
    "tests/sites/weibo/test_total.py::test_a_page_that_misses_a_key",
    "tests/store/test_mysql",  # and all that begin so
    "tests/store/test_sqlite_egresses.py::Testleases_at::test_thousands_of_egresses",
    "tests/survey/test_laws.py::test_what_is_said_is_the_law",
)
STAY = (
    "tests/cli/test_by_ids.py::test_the_figures_for_machines",
    "tests/cli/test_commands.py::test_forget_removes_a_person_for_good",
    "tests/cli/test_dataset.py::test_what_a_killed_export_left_is_removed_by_the_next",
    "tests/cli/test_doctor.py::test_a_home_that_is_well",
    "tests/cli/test_harvesters.py::test_several_processes_give_the_truth[2]",
    "tests/cli/test_levels.py::test_jobs_stop_by_the_rules",
    "tests/cli/test_media.py::test_pictures_and_videos_come_once",
    "tests/cli/test_proxies.py::test_a_check_keeps_the_sessions_it_opened",
    "tests/cli/test_reparse.py::test_the_posts_of_seeds_come_out_without_a_harvest",
    "tests/cli/test_whole_way.py::test_the_crawl_is_the_truth[faults]",
    "tests/posts/test_archive.py::test_each_job_starts_from_the_archive_alone[check_node.py]",
    "tests/simulator/test_proxy_server.py::test_faults_pass_through",
    "tests/simulator/test_run.py::test_stop",
    "tests/store/test_mysql_check.py",
    "tests/store/test_mysql_texts.py",
)


def is_left_out(place: str) -> bool:
    """Of a test, by its node id, or of a file, by its path."""
    return place.startswith(ONCE) and not place.startswith(STAY)


def is_read(file: str) -> bool:
    """Whether a file holds a test that is not left out; others need not be imported."""
    return not is_left_out(file) or any(one.startswith(file) for one in STAY)
