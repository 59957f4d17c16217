"""The token by which a page names the next one."""

import re

_LARGEST_TOKEN = 2**64 - 1
_EXACT_FLOAT = 2**53  # a larger one may be another number
_TOKEN = re.compile(r"[A-Za-z0-9_\-+/=|.:%]{1,64}")


def read_token(value: object) -> tuple[str | None, bool]:
    """The token as text, None where there is none (absent, null, empty or 0), and whether what
    stands there is odd: neither a whole number of 64 bits nor a short word of harmless letters. A
    page with an odd token names no next page, yet it is not known to be the last one."""
    if not value:
        return None, False
    if isinstance(value, float) and value.is_integer() and value <= _EXACT_FLOAT:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None, True
    text = str(value).strip() if isinstance(value, str) else _digits(value)
    if not text.strip("0"):
        return None, False
    is_number = text.isascii() and text.isdecimal()
    is_token = int(text) <= _LARGEST_TOKEN if is_number and len(text) <= 20 else not is_number
    if not is_token or text.startswith("-") or not _TOKEN.fullmatch(text):
        return None, True
    return text, False


def comments_token(max_id: object, kind: object) -> tuple[str | None, bool]:
    """The same of comments, whose number is good with its kind alone, which both the answer names
    and the next request has to: `314`, and `1:314` of another kind than 0."""
    token, is_odd = read_token(max_id)
    number, is_odd_kind = read_token(kind)
    if token is None or number is None:
        return token, is_odd or is_odd_kind
    return (f"{number}:{token}", False) if number.isdecimal() else (token, True)


def _digits(value: int) -> str:
    """As text; of a number of thousands of digits only that it is one."""
    return str(value) if abs(value) <= _LARGEST_TOKEN else "9" * 30
