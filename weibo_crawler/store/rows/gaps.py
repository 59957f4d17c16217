"""Parts of a timeline that were on no page read, and how the ledger holds them. Pure."""

from collections.abc import Sequence

import msgspec


class Gap(msgspec.Struct, frozen=True):
    """Posts with after < mid < before were on no page that was read; there may be none.

    after: None = from the beginning of the timeline. after_at, before_at: when the posts of these
    two mids were written, as in `post:created_at`; None where that is not known.
    """

    before: int
    after: int | None = None
    before_at: str | None = None
    after_at: str | None = None


class WrittenGap(msgspec.Struct, frozen=True, omit_defaults=True):
    """A gap as it stands outside: its mids are text there."""

    before: str
    after: str | None = None
    before_at: str | None = None
    after_at: str | None = None


def written(gap: Gap) -> WrittenGap:
    """Give the gap as it stands outside."""
    after = None if gap.after is None else str(gap.after)
    return WrittenGap(str(gap.before), after, gap.before_at, gap.after_at)


# raises msgspec.DecodeError, a ValueError; not strict: texts are read as numbers
unpack_gaps = msgspec.json.Decoder(tuple[Gap, ...], strict=False).decode


def pack_gaps(gaps: Sequence[Gap]) -> str:
    """The cell `crawl:gaps`: JSON, the newest gap first; "" for none."""
    newest_first = sorted(gaps, key=lambda gap: gap.before, reverse=True)
    return msgspec.json.encode([*map(written, newest_first)]).decode() if gaps else ""
