"""What a visit learns of the user beside the posts: page 1 shows it, or it is asked for.

A page of posts holds its owner with each post, with all that a profile is read for. So the profile
is asked for only where page 1 shows no post, and then says what that means, or where a part lacks.
"""

from weibo_crawler.records import PostPage, Reading, User, Verdict
from weibo_crawler.store.rows.cells import Ledger

# why a visit that was shown a profile and no post is doubted; when that stands, it is stored
NOTHING = "nothing is shown of the posts that are announced"
UNCOUNTED = "nothing is shown, and nobody says how many posts there are"


def owner_of(reading: Reading) -> User | None:
    """The owner as the posts on a page show them."""
    return reading.record.profile if isinstance(reading.record, PostPage) else None


def was_empty(old: Ledger) -> bool:
    """Whether the last visit was shown a profile and no post."""
    return not old.pages and (old.stopped == "end" or old.last_error in (NOTHING, UNCOUNTED))


def was_walled(old: Ledger) -> bool:
    """Whether the last visit found that guests are not shown the posts of this user alone."""
    return not old.pages and old.walled_at is not None


def needs_profile(reading: Reading, old: Ledger, *, is_recent: bool, is_talking: bool) -> bool:
    """Whether to ask for the profile after page 1. old: the ledger before this visit; is_recent:
    the profile was shown within posts.profile_days.

    What a post lacks is asked for once in so many days.
    """
    owner = owner_of(reading)
    if owner is None:  # that nothing is there, as at the last visit, is no news
        is_as_before = reading.verdict is Verdict.EMPTY and was_empty(old)
        return not (is_as_before and is_recent and is_talking)
    return not (is_recent or owner.is_told)


def lacks_count(reading: Reading, old: Ledger) -> bool:
    """Whether page 1 does not tell the number of posts, and the profile did. Ends are judged by it:
    a visit that comes to the end of the timeline asks for it."""
    owner = owner_of(reading)
    return owner is not None and owner.posts is None and old.announced is not None
