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


class _Packed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A gap as it is packed: its mids are text, as everywhere outside."""

    before: str
    after: str | None = None
    before_at: str | None = None
    after_at: str | None = None


_decode = msgspec.json.Decoder(list[_Packed]).decode  # raises msgspec.DecodeError, a ValueError


def pack_gaps(gaps: Sequence[Gap]) -> str:
    """The cell `crawl:gaps`: JSON, the newest gap first; "" for none."""
    packed = [
        _Packed(
            str(gap.before),
            None if gap.after is None else str(gap.after),
            gap.before_at,
            gap.after_at,
        )
        for gap in sorted(gaps, key=lambda gap: gap.before, reverse=True)
    ]
    return msgspec.json.encode(packed).decode() if packed else ""


def unpack_gaps(text: str) -> tuple[Gap, ...]:
    """The gaps of a cell; ValueError where it holds something else."""
    return tuple(
        Gap(
            int(one.before),
            None if one.after is None else int(one.after),
            one.before_at,
            one.after_at,
        )
        for one in _decode(text)
    )
