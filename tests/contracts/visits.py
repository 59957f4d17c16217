"""One suite for every home of the claims of visits."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from tests.processes import CLEAN
from weibo_crawler.records import Id
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sql.visits import VisitClaims

NOW, LEASE_S = 1_700_000_000.0, 60.0
ELSEWHERE = "elsewhere_0_0/1/1/abc"  # a process of a machine that nobody can look into


class VisitContract:
    """A backend adds `open`, which opens the same database again at each call."""

    def open(self, owner: str, run_id: str) -> VisitClaims:
        raise NotImplementedError

    def claim(self, claims: VisitClaims, *uids: int, after_s: float = 0.0) -> set[Id]:
        return claims.claim(uids, now=NOW + after_s, lease_s=LEASE_S)

    def test_a_user_is_claimed_by_one_run_at_a_time(self) -> None:
        """Who is released, by name or with all, is free; claiming again changes nothing."""
        with (
            closing(self.open(new_owner(), "a")) as one,
            closing(self.open(new_owner(), "b")) as other,
        ):
            assert self.claim(one, 1, 2, 3) == {1, 2, 3}
            assert self.claim(other, 3, 4) == {4}
            assert self.claim(one, 1, 4) == {1}
            one.release([3])
            other.release([1])  # not its own
            assert self.claim(other, 1, 3) == {3}
            one.release()
            assert self.claim(other, 1, 2, 3, 4) == {1, 2, 3, 4}
            assert self.claim(other) == set()

    def test_a_claim_ends_unless_it_is_renewed(self) -> None:
        with (
            closing(self.open(ELSEWHERE, "a")) as one,
            closing(self.open(new_owner(), "b")) as other,
        ):
            self.claim(one, 1, 2)
            assert self.claim(other, 1, after_s=LEASE_S - 1) == set()
            one.renew(now=NOW + LEASE_S - 1, lease_s=LEASE_S)
            assert self.claim(other, 1, after_s=LEASE_S + 1) == set()
            assert self.claim(other, 1, after_s=2 * LEASE_S) == {1}
            assert self.claim(one, 1, 2, after_s=2 * LEASE_S) == {2}

    def test_a_claim_by_a_clock_that_was_ahead_is_free(self) -> None:
        with (
            closing(self.open(ELSEWHERE, "a")) as one,
            closing(self.open(new_owner(), "b")) as other,
        ):
            self.claim(one, 1, after_s=400 * 86_400)
            assert self.claim(other, 1) == {1}

    def test_an_attempt_takes_over_what_one_before_it_held(self) -> None:
        """Processes of one run share no user: a claim of the run was left by a dead attempt."""
        with (
            closing(self.open(ELSEWHERE, "a")) as died,
            closing(self.open(new_owner(), "a")) as again,
            closing(self.open(new_owner(), "b")) as other,
        ):
            self.claim(died, 1, 2)
            assert self.claim(again, 1) == {1}
            assert self.claim(other, 1, 2) == set()

    def test_claims_of_the_dead_are_free_at_once(self) -> None:
        """Of a process of this machine that is gone (law 8)."""
        with ThreadPoolExecutor(1) as pool, CLEAN.Pool(1) as processes:
            owner = pool.submit(processes.apply, new_owner).result()
            with (
                closing(self.open(owner, "a")) as one,
                closing(self.open(new_owner(), "b")) as other,
            ):
                self.claim(one, 1, 2)
                assert self.claim(other, 1) == set()
                processes.terminate()
                processes.join()
                assert self.claim(other, 1, 2) == {1, 2}

    def test_of_many_at_once_one_gets_each(self) -> None:
        """Nobody is claimed twice, and nobody is left out."""
        owners = [self.open(new_owner(), f"run {n}") for n in range(6)]
        with ThreadPoolExecutor(len(owners)) as pool:
            got = list(pool.map(lambda one: self.claim(one, *range(40)), owners))
        assert sorted(uid for uids in got for uid in uids) == list(range(40))
        for one in owners:
            one.close()
