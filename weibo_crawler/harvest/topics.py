"""Topics, page by page: who wrote what a topic shows stands one step from the seeds.

Nothing is concluded of a topic that is not shown: a wall, a refusal and an emptiness leave it
unread, and the next run asks again.
"""

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from weibo_crawler.fetch import Ask
from weibo_crawler.harvest.asking import fetched_at
from weibo_crawler.harvest.sightings import Sightings, Source, illegible_on
from weibo_crawler.harvest.trouble import EntryTrouble, UnsureWall, Walled
from weibo_crawler.records import Edge, FanPage
from weibo_crawler.store import Landed, Landing, Topic, TopicPage
from weibo_crawler.walls import Walls


class TopicReader(NamedTuple):
    """What reading topics needs. commit: returns when a page is stored.

    Counters: `topics.done`, `topics.walled`, `topics.failed`, beside those of users.
    """

    source: Source
    walls: Walls
    commit: Callable[[TopicPage], Awaitable[Landed]]
    may_go_on: Callable[[], bool]

    async def read(self, topic: Topic) -> None:
        """Read a topic to its end, or to harvest.topic_pages. Errors: UsersFull."""
        while topic.state == "queued" and self.may_go_on():
            page = await self._next(topic)
            landed = await self.commit(page)
            if landed.landing is Landing.LOST:  # another process was first
                return
            self.source.note_kept(Edge.TOPIC, page.found, landed)
            topic = page.after
            if topic.state != "queued":
                self.source.asker.counters.add(f"topics.{topic.state}")

    async def _next(self, topic: Topic) -> TopicPage:
        source, nth, now = self.source, topic.pages + 1, time.time()
        topic_then = topic._replace(read_at=now)
        if not self.walls.may_ask(Edge.TOPIC, nth, now):
            return TopicPage(topic, topic_then._replace(state="walled"))
        ask = Ask(source.site.search(topic.words, topic.cursor), nth=nth)
        try:
            fetched = await source.asker.ask(ask, Edge.TOPIC)
        except (Walled, UnsureWall):  # nothing is concluded of either, so nobody need confirm it
            self.walls.met(Edge.TOPIC, nth, now)
            return TopicPage(topic, topic_then._replace(state="walled"))
        except EntryTrouble as trouble:
            return TopicPage(topic, topic_then._replace(state="failed", why=str(trouble)))
        record = fetched.reading.record
        if not isinstance(record, FanPage):
            state = "done" if topic.pages else "failed"
            why = "" if topic.pages else f"nothing is shown ({fetched.reading.verdict})"
            return TopicPage(topic, topic_then._replace(state=state, why=why))
        self.walls.passed(Edge.TOPIC, nth, now)
        found = await self._found(record)
        is_last = record.next_cursor is None or nth >= source.settings.topic_pages
        state, at = "done" if is_last else "queued", fetched_at(fetched)
        after = Topic(topic.words, record.next_cursor or topic.cursor, nth, state, "", at)
        kept = source.to_keep(found.users, found.again)
        return TopicPage(topic, after, kept, sure=found.sure and not found.illegible)

    async def _found(self, page: FanPage) -> Sightings:
        """The authors, with their fans; who cannot be looked up is missing."""
        found = Sightings(illegible_on(page))
        self.source.count_skipped(page)
        try:
            await self.source.look_up(page.users, page.uncounted, Edge.TOPIC, found)
        except (Walled, EntryTrouble):
            found.sure = False
        return found
