"""The profile of a user, as a visit comes to know it: page 1 shows it, or it is asked for."""

from msgspec.structs import replace

from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.profile import lacks_count, needs_profile, owner_of
from weibo_crawler.posts.under_way import UnderWay, is_over, page_of, record_of
from weibo_crawler.records import EMPTY, Expect, Kind, Page, PostPage, Reading, User, Verdict
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import possible_posts, profile_cells
from weibo_crawler.store.rows.keys import user_key

NOBODY = "posts.nobody"  # the kind in `Samples` of a profile that is empty as page 1 is


class Owner:
    """The owner's profile in a visit. It is stored, and the ledger notes how many posts it
    announces."""

    def __init__(self, visit: UnderWay) -> None:
        self._visit = visit
        self._asker, self._site, self._sightings = visit.env.asker, visit.env.site, visit.sightings
        self._shown: User | None = None  # by the profile itself

    def is_told_later(self, reading: Reading) -> bool:
        """Whether a page shows nobody, and the next one, which is to be asked for, may show the
        owner. While the site is not talking the profile is the proof that it does."""
        page, most = reading.record, self._visit.env.max_pages
        if not (isinstance(page, PostPage) and page.next_cursor and self._asker.is_talking):
            return False
        return owner_of(reading) is None and (most is None or self._visit.ledger.pages + 1 < most)

    async def know(self, fetched: Fetched, *, was_likely: bool) -> None:
        """Store the profile as the first page with a post shows it, or ask for it. was_likely: the
        page was likely to show one; where it shows none the profile tells whether that is odd."""
        is_news = was_likely and not self._visit.is_kept
        owner, env, is_recent = owner_of(fetched.reading), self._visit.env, self._is_recent()
        if owner is not None:
            await self.put(owner, page_of(fetched))
        is_open = self._visit.profile is None and needs_profile(
            fetched.reading, self._visit.old, is_recent=is_recent, is_talking=env.asker.is_talking
        )
        if is_open and (owner is None or self._may_fill(owner)):
            is_bare = fetched.reading.verdict in EMPTY
            await self.ask(is_bare=is_bare, odd=fetched if is_bare and is_news else None)
            if owner is not None and self._shown is not None:
                found = set(owner.lacks) > set(self._shown.lacks)
                env.asker.looked(_lacking(owner), found=found)
        elif lacks_count(fetched.reading, self._visit.old):
            self._keep_count()

    async def know_untold(self) -> None:
        """The same where no page shows a post, and guests are shown no further ones: what the
        profile told of late is told still."""
        if self._is_recent() and self._visit.old.announced is not None:
            self._keep_count()
        else:
            await self.ask()

    def _is_recent(self) -> bool:
        """Whether the profile was shown within posts.profile_days."""
        env = self._visit.env
        return not is_over(self._visit.old.profile_at, env.profile_s, env.clock())

    def _keep_count(self) -> None:
        """Take the number of posts of an earlier visit."""
        self._visit.is_count_old = True
        self._visit.ledger = replace(self._visit.ledger, announced=self._visit.old.announced)

    def _may_fill(self, owner: User) -> bool:
        """Whether to ask for a profile that may tell what the posts do not show of their owner:
        there are sites of which none does, and who was not in the sample then is not now."""
        kind, asker = _lacking(owner), self._asker
        was_spared = not self._visit.is_first and self._visit.old.profile_at is None
        if was_spared and asker.is_futile(kind):
            return False
        return asker.wants(kind, self._site.profile(self._visit.uid))

    async def is_nobody_still(self) -> bool:
        """Whether the profile alone tells that there is nobody yet, of whom the last visit was
        shown neither profile nor post: page 1 does not tell whether there is anybody. Not where
        second looks at such profiles have shown more of late, nor where posts are held."""
        is_empty = self._visit.old.state == "empty" and not self._sightings.known
        if not (is_empty and self._asker.is_futile(NOBODY)):
            return False
        await self.ask(is_bare=True)
        return self._visit.profile in EMPTY

    async def ask(self, *, is_bare: bool = False, odd: Fetched | None = None) -> None:
        """Ask for the profile, and store what it shows. is_bare: page 1 showed nothing. Then an
        empty profile is what is expected of a user of whom an earlier visit saw neither, where
        looking again at such shows nothing of late. odd: that page, where it is odd unless the
        profile says that there are no posts."""
        self._visit.is_count_old = False
        is_known = self._visit.is_named or self._visit.old.announced is not None
        expect = Expect.CONTENT if is_known else Expect.UNKNOWN
        end = NOBODY if is_bare and not self._sightings.known else ""
        if end and self._visit.old.state == "empty" and self._asker.is_futile(end):
            expect = Expect.NOTHING
        request = self._site.profile(self._visit.uid)
        async with self._asker.in_turn():
            asked = await self._visit.fetch(
                Ask(request, expect, is_retry=self._visit.is_retry, end=end)
            )
        if odd is not None and not _says_none(asked.reading):
            self._asker.contradict(Kind.POSTS, page_of(odd))
        self._visit.check(asked.reading, walled_ok=self._visit.is_walled)
        self._visit.profile = asked.reading.verdict
        if self._visit.profile is Verdict.OK:
            at = page_of(asked).fetched_at if self._visit.is_kept else self._visit.env.clock()
            self._visit.ledger = replace(self._visit.ledger, profile_at=at)
            self._shown = record_of(asked, User)
            await self.put(self._shown, page_of(asked))

    async def put(self, user: User, page: Page) -> None:
        self._visit.ledger = replace(
            self._visit.ledger, announced=possible_posts(user.posts), empty_since=None
        )
        cells = profile_cells(user, page.fetched_at, self._visit.env.run_id)
        await self._visit.env.writer.put(
            (), [Put.at(user_key(self._visit.uid), cells, page.fetched_at)]
        )


def _says_none(reading: Reading) -> bool:
    """Whether a profile says that its user has no posts."""
    return isinstance(reading.record, User) and reading.record.posts == 0


def _lacking(owner: User) -> str:
    """The kind in `Samples` of profiles that are asked for because posts lack the same."""
    return f"profile.{'+'.join(owner.lacks)}"
