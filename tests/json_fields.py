"""What each field of `--json` means, for docs/reference.md; a test compares it with what commands
tell.

A path names a field: "pace.rate" stands inside "pace", "checks[].state" in each object of a list,
and "walled.*" for whatever name stands there.
"""

import re
from collections.abc import Iterator
from typing import Any

_COUNTERS = "all counters of the run by name; those of rates and gauges are in Metrics below"
_SECONDS = "how long it took"
_KEPT = "users that are kept now, of all runs"
_TOPICS = "how many topics are in each state; empty where no topic was a seed"
_DRY_RUN = "requests of the end of the run that brought next to nobody; null: there was no such end"
_SECOND_LOOKS = {
    "second_looks": "by kind of end, of all runs: how often one was asked for again",
    "second_looks.*.ends": "ends of this kind that were met",
    "second_looks.*.looks": "how many of them were looked at again",
    "second_looks.*.finds": "how many of these looks showed more",
    "second_looks.*.most": "a second look shows more at less than this share of ends, at 95 %",
    "second_looks.*.unlooked": "ends that were believed at the first look",
}
_WALLED = {
    "walled": "by edge: lists that guests are not shown",
    "walled.*.lists": "how many",
    "walled.*.since": "since when, in seconds since the epoch",
    "walled.*.alone": "how many of them while those of others are shown",
}
_FAILURE = {
    "error": "what went wrong, as on stderr",
    "exit_code": "the exit code of the process",
}
_PLAN = {
    "stage": "the stage that is planned",
    "users": "entries to walk, or users to visit",
    "requests": "requests in all; null here and below: not known yet",
    "by_kind": "requests by their kind",
    "why": "by the same kinds: what the figure rests on",
    "spread": "the share by which the sum may well be wrong",
    "hours": "at this pace, by these egresses",
    "pace.egresses": "egresses that the settings name",
    "pace.usable": "how many of them are not dead now",
    "pace.learned": "how many of those have a rate that answers taught",
    "pace.rate": "requests a second of all usable ones together; 0: no limit",
    "pace.setting": "`pace.requests_per_second`",
    "pace.asked": "requests a second that the last run of the stage sent",
    "pace.per_s": "requests a second that the plan counts with",
    "pace.limit": "what limits the crawl, in words",
    "disk[].what": "what needs room",
    "disk[].bytes": "how much",
    "disk[].why": "what the figure rests on",
    "later": "what may come after the plan, in words",
    "assumed": "what the plan takes for granted, in words",
}
_VISITS = {
    "users": "users that the run was given",
    "existing": "of them: already visited, and not due",
    "failed": "of them: failed, to be asked for again",
    "unreached": "of them: left when the run was stopped",
    "elsewhere": "of them: left to another run that was at work on them",
    "new_posts": "posts that were not held before",
    "edited_posts": "posts of which a new text came",
    "gone_posts": "posts that the site shows no longer",
    "stored_posts": "posts that are held now, of all runs",
    "share": "posts held of those announced (see `status`, completeness.share)",
    "uncounted_users": "users of whom nobody knows how many posts they have",
    "cut_texts": "long texts that are still cut",
    **_SECOND_LOOKS,
    "counters": _COUNTERS,
    "jobs": "how many map jobs ran",
    "seconds": _SECONDS,
}
_WALK = {
    "stopped": "why the walk ended",
    "kept": _KEPT,
    "new": "how many of them this run found",
    "filtered": "sightings of users with fewer fans than `harvest.min_fans`",
    "depths_exact": "false: depths are upper bounds",
    "topics": _TOPICS,
    "counters": _COUNTERS,
    "seconds": _SECONDS,
}
_COMPLETENESS = {
    "users": "users of the tables: visited and unvisited ones",
    "visited": "users who were visited: done, partial, gone, failed and empty ones",
    "done": "users whose last visit ended well",
    "limited": "of those done: some part of the timeline was never read",
    "partial": "users of whom a visit stored some, and met trouble",
    "gone": "users who are gone from the site",
    "failed": "users of whom nothing could be had, to be tried again",
    "empty": "users of whom the site shows nothing, and does not say that they are gone",
    "unvisited": "users whom no visit has reached yet",
    "announced": "posts that profiles announce, of visited users",
    "stored": "posts that are held, of visited users",
    "gone_posts": "of those held: gone from the site since",
    "share": "posts held and not gone of those announced, each user counted up to its own number; "
    "null: nothing was announced",
    "share_most": "the same where nothing is missing but what is known to be",
    "uncounted": "users of whom nobody knows how many posts they have",
    "posts_since": "posts to be expected since the visits, by each user's posting rate",
    "sure_share": "of visited users, those of whom all is surely known, or that they are gone",
    "unsure_users": "users whose end contradicts the announced number by much",
    "gaps": "parts of timelines between two visits that no visit read",
    "gap_users": "of so many users",
    "gap_days": "so many days long together",
    "longest_gap_days": "the longest",
    "gap_posts": "posts that they are likely to hold",
    "oldest_unread": "users whose oldest posts were never read",
    "half_back_days": "the timelines of half of the users were read without a gap as many days "
    "back, or more; null: as far as the site shows",
    "tenths_back_days": "the same of nine tenths",
    "cut_texts": "long texts that are still cut",
    "restricted_texts": "long texts that the site shows to others only",
    "unreadable": "posts that were shown and could not be read",
    "unreadable_users": "of so many users",
    "long_completed": "long texts that were completed",
    "refused_pages": "pages that guests were not shown",
    "stopped": "by reason: how many last visits ended for it",
    "newest_visit": "seconds since the epoch; null: there was none",
    "oldest_visit": "seconds since the epoch, of the users' last visits",
    "median_age_s": "the last complete visit of half of the users is not older",
    "tenth_oldest_age_s": "the same of nine tenths",
    "due": "users whose next visit is due",
    "due_share": "of those that have a date",
    "visits_a_day": "visits that following these users takes, by their dates",
}
_CHECKS = {
    "ok": "whether nothing is wrong",
    "checks[].state": "ok, wrong, or open: not checked",
    "checks[].name": "what was looked at",
    "checks[].text": "what was found",
    "checks[].exit_code": "the exit code that it would cause",
}
_MEDIA_LEFT_OUT = {
    "gone": "files that the site has no longer",
    "refused": "files that it refuses to guests",
    "failed": "files that failed, to be asked for again",
    "too_large": "files above `media.max_file_bytes`",
    "expired": "addresses that hold no longer; a refresh of their posts brings new ones",
    "elsewhere": "files at hosts that are not the site's",
}
_KNOWN = {"value": "the figure", "why": "what it rests on"}

FIELDS: dict[str, list[tuple[str, dict[str, str]]]] = {
    "seed": [
        (
            "",
            {
                "new": "users that were not known",
                "known": "users that were",
                "topics": "topics that were given, where there are some",
                "new_topics": "how many of them were not known",
            },
        )
    ],
    "harvest": [
        (
            "",
            {
                **_WALK,
                "seen_again": "sightings of users who were known",
                "unread": "sightings that nobody could read",
                "depth": "the largest depth of a user that is kept",
                "unsure_lists": "lists whose end contradicts what was announced",
                **_SECOND_LOOKS,
                **_WALLED,
                "yields": "by edge: what the users cost whom it found",
                "yields.*.edge": "its name",
                "yields.*.requests": "requests that were sent for it",
                "yields.*.kept": "users that it brought",
                "yields.*.each": "requests a kept user; null: it brought nobody",
                "states": "how many users are in each state",
                "processes": "how many processes walked",
                "dry": _DRY_RUN,
                "dry.requests": "how many",
                "dry.users": "new users that they brought",
                "dry.share": "of all requests of the run",
            },
        ),
        (
            "--runner",
            {
                **_WALK,
                "level": "the level that is walked, or is next",
                "levels": "how many levels this command walked",
            },
        ),
        (
            "--plan",
            {
                **_PLAN,
                "users_kept": _KEPT,
                "missing": "users that are missing to `harvest.max_users`",
                "to_max_users": "requests to these",
            },
        ),
    ],
    "import": [
        (
            "",
            {
                "new": "users that the tables did not hold",
                "changed": "users whose cells changed",
            },
        ),
        ("--paper", {"total": "users in the paper's table"}),
    ],
    "posts": [
        ("", _VISITS),
        (
            "--plan",
            {
                **_PLAN,
                "first": "users without a visit",
                "again": "users whose next visit is due",
                "requests_a_day": "requests that following the visited users takes",
            },
        ),
        ("--manifest", {"ranges": "key ranges that were written, a line each"}),
        (
            "--ids (on stderr: stdout has a line for each id)",
            {
                "ids": "ids that were given",
                "requests": "requests that were sent",
                "ok": "posts that are stored as the site shows them",
                "edited": "of which a new text came",
                "gone": "that the site shows no longer",
                "restricted": "that it shows to others only",
                "walled": "that it shows to nobody without a login",
                "unknown": "of which it said nothing that can be read",
            },
        ),
        (
            "--runner hadoop --detach",
            {"application": "the id of the job on YARN", "run_id": "the run's own id"},
        ),
    ],
    "media": [
        (
            "",
            {
                "folder": "where the files are",
                "named": "files that the chosen posts name",
                "left": "files that another run would ask for",
                "asked": "requests that were sent",
                "bytes": "of all files that came",
                "held": "files that came",
                **_MEDIA_LEFT_OUT,
                "in_folder": "files that the folder holds now",
                "seconds": _SECONDS,
            },
        ),
        (
            "--plan",
            {
                "named": "files that the chosen posts name",
                **_MEDIA_LEFT_OUT,
                "pictures": "pictures to ask for",
                "videos": "videos to ask for",
                "seconds": "that takes at least; null: nothing limits it",
                "bytes": "that they are likely to have; null: not known yet",
            },
        ),
        (
            "--check",
            {
                "folder": "where the files are",
                "files": "files that the index names",
                "wrong": "of these, those that are not as they came, each with the reason",
            },
        ),
    ],
    "plan": [
        (
            "",
            {
                "users": "as given",
                "fresh_s": "as given, in seconds",
                "per_s": "requests a second that keep all users fresh",
                "proxies": "that send so many; null here and below: no limit, or not known",
                "maps": "maps at work at the same time",
                "finding_s": "how long finding the users takes",
                "first_s": "how long the first visits take",
                "posts": "posts that the first visits bring, at most where nothing is measured",
                "posts_a_day": "new posts a day, likewise",
                "disk": "bytes after the first visits",
                "disk_a_day": "bytes more each day",
                "regions": "of HBase, after a year",
                **{
                    f"{name}.{field}": f"{said}: {meaning}"
                    for name, said in (
                        ("find", "requests for a user that is found"),
                        ("first", "requests of a first visit"),
                        ("again", "requests of a later visit"),
                        ("bytes_a_user", "bytes of a user"),
                        ("bytes_a_post", "bytes of a post"),
                        ("held", "posts of a user, where a crawl was measured"),
                        ("a_day", "new posts of a user in a day, where a crawl was measured"),
                    )
                    for field, meaning in _KNOWN.items()
                },
            },
        )
    ],
    "scan": [("(on stderr: stdout has the rows)", {"rows": "rows that were printed"})],
    "export": [
        (
            "",
            {"rows": "rows that were written", "file": "the file"},
        ),
        ("--dataset", {"rows.*": "rows of each table", "folder": "the folder"}),
        ("--runner hadoop", {"rows": "rows that were written", "folder": "the folder in HDFS"}),
    ],
    "verify": [("", {"folder": "the dataset"})],
    "report": [
        ("", {"file": "the file"}),
        ("--completeness", _COMPLETENESS),
    ],
    "status": [
        (
            "",
            {
                "at": "now, in seconds since the epoch",
                "stores": "where users and tables are",
                "states": "how many users are in each state",
                "depths": "how many users are at each depth",
                "stages[].stage": "a stage that is at work",
                "stages[].workers": "its processes",
                "stages[].running_s": "how long the first of them has run",
                "stages[].users_kept_per_s": "new users a second",
                "stages[].pages_per_s": "pages a second",
                "stages[].posts_per_s": "new posts a second",
                "stages[].finished_per_s": "users a second that are done with",
                "stages[].to_do": "users that are left; null: not known",
                "stages[].ends_in_s": "time left at this rate; null: not known",
                "last[].stage": "a stage that is not at work",
                "last[].updated_at": "when its last run was last heard of, seconds since the epoch",
                "last[].ended": "why that ended; null: without a word",
                "depths_exact": "false: depths are upper bounds",
                "depths_are_bounds": "why they are; empty where they are exact",
                "unsure_lists": "lists whose end contradicts what was announced",
                **_SECOND_LOOKS,
                **_WALLED,
                "topics": _TOPICS,
                "completeness": "what is held of what is announced; null: nothing is imported",
                **{f"completeness.{name}": said for name, said in _COMPLETENESS.items()},
                "yarn": "the job that was submitted last; empty: there was none",
                "yarn.application": "its id on YARN",
                "yarn.run_id": "the run's own id",
                "yarn.state": "its state on YARN",
                "yarn.final": "how it ended there",
                "yarn.error": "why nothing could be learned of it",
            },
        )
    ],
    "demo": [
        (
            "(behind the lines of the demo)",
            {
                "folder": "where everything is kept",
                "seed": "what `seed` tells",
                "harvest": "what `harvest` tells",
                "import": "what `import` tells",
                "posts": "what `posts` tells",
                "seconds": _SECONDS,
            },
        )
    ],
    "init": [("", {"lines": "what was made or found, as printed"})],
    "proxies check": [
        (
            "",
            {
                "good": "egresses by which the site answered",
                "egresses[].egress": "its name, without a password",
                "egresses[].state": "good, refused, bad, out (at rest or dead) or used (by a run)",
                "egresses[].verdict": "what the answer was taken for",
                "egresses[].status": "the HTTP status; null: no answer",
                "egresses[].ms": "milliseconds to the answer",
                "egresses[].detail": "what else is to be said",
            },
        )
    ],
    "doctor": [
        ("", _CHECKS),
        (
            "--site",
            {
                **_CHECKS,
                "site.uid": "the user whose pages were asked for",
                "site.requests": "requests that were sent",
                "site.session": "how a session was opened",
                "site.pages[].name": "a kind of page",
                "site.pages[].verdict": "what the answer was taken for; null: not asked for",
                "site.pages[].why": "what else is to be said",
                "site.crawl.edges": "people that each edge showed; null: nobody, or not asked for",
                "site.crawl.walk": "the same in words",
                "site.crawl.posts": "posts on page 1",
                "site.crawl.pages": "how far timelines are shown, in words",
                "site.crawl.first": "requests of a first visit of this user; null: not shown",
                "site.crawl.later": "requests of a later visit",
            },
        ),
    ],
    "simulate": [("", {})],
    "reparse": [
        (
            "",
            {
                "files": "archives that were read",
                "answers": "answers in them",
                "torn": "archives whose end is torn",
                "harvest": "how the walk ended; null: none was archived",
                "lacking": "pages that the walk wanted and the archives do not hold",
                "visits": "how many visits came to each outcome",
                "kept": _KEPT,
                "new": "how many of them were new",
                "seconds": _SECONDS,
            },
        )
    ],
    "forget": [
        (
            "",
            {
                "uids": "people that were given",
                "users": "rows of the userlist that were removed",
                "posts": "their posts",
                "reposts": "posts of others that had packed one of theirs",
                "comments": "their comments below posts of others",
                "reposts_below": "their reposts below posts of others",
                "found": "users who had been found on their lists",
                "paper": "rows of the paper's table; null: there is no such table",
                "edges": "people in rows of edges, of their lists and of lists that showed them",
                "unknown": "uids of which no row spoke",
                "busy": "stages that were at work meanwhile",
                "exports": "files written before that may still hold them",
                "archive_dropped": "answers of theirs that were dropped from archives",
                "archive_blanked": "answers in which they were blanked",
                "archive_busy": "archives that a run was writing, left as they are: exit code 5",
                "media_busy": "folders in which `media` was at work, left likewise",
                "media_files": "pictures and videos of theirs that were removed",
                "dry_run": "true: nothing was removed",
            },
        ),
        (
            "--allow",
            {"uids": "people that were given", "allowed": "of them: may be stored again"},
        ),
    ],
}

# what only a cluster tells, or a crawl that was measured for long
RARE = {
    "posts": {"application", "run_id"},
    "plan": {"held.value", "held.why", "a_day.value", "a_day.why"},
    "status": {f"yarn.{name}" for name in ("application", "run_id", "state", "final", "error")},
    "import": {"total"},
}


def section() -> str:
    """The section of the reference."""
    parts = [
        "\n## JSON fields\n\nWith `--json` a command closes with one line of JSON on stdout, or on "
        "stderr where stdout has rows. A command that fails tells these, and what it knows of its "
        "own fields below:\n\n",
        *_table(_FAILURE),
        "\n`a.b` is a field of the object `a`, `a[].b` a field of each object of the list `a`; `*` "
        "stands for any name.\n",
    ]
    for command, forms in FIELDS.items():
        for form, fields in forms:
            said = f"`{command}`" + (f" {_code(form)}" if form else "")
            if fields:
                parts += [f"\n### {said}\n\n", *_table(fields)]
            else:
                parts += [f"\n### {said}\n\nNo field.\n"]
    return "".join(parts)


def _code(form: str) -> str:
    options, _, said = form.partition("(")
    return " ".join(
        part for part in (f"`{options.strip()}`" if options else "", said and f"({said}") if part
    )


def _table(fields: dict[str, str]) -> Iterator[str]:
    yield "| Field | Meaning |\n|---|---|\n"
    for name, said in fields.items():
        yield f"| `{name}` | {said} |\n"


def known(command: str) -> set[str]:
    """The paths of all fields of a command."""
    return {path for _, fields in FIELDS[command] for path in fields} | set(_FAILURE)


def told(data: dict[str, Any], paths: set[str]) -> set[str]:
    """The paths among these that an object tells, and its fields that are none of them. What a
    field holds whose inner ones no path names is not looked into."""
    return set(_told(data, "", paths))


def _told(value: Any, place: str, paths: set[str]) -> Iterator[str]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _told(one, f"{place}[]", paths)
    elif isinstance(value, dict) and _has_inner(place, paths):
        for name, inner in value.items():
            path = f"{place}.{name}".lstrip(".")
            star = f"{place}.*"
            if path not in paths and (star in paths or _has_inner(star, paths)):
                path = star
            if path in paths or not _has_inner(path, paths):
                yield path
            yield from _told(inner, path, paths)


def _has_inner(place: str, paths: set[str]) -> bool:
    inside = re.compile(re.escape(place) + r"(\[\])?\." if place else "")
    return any(inside.match(path) for path in paths)
