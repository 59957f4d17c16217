"""JSON that the strict decoder refuses and a browser would read, or nearly so.

msgspec refuses lone surrogates, NaN, raw control characters, a byte order mark and bytes that are
no UTF-8; one emoji cut in two must not cost a page. Used only after the strict decoder failed.
"""

import json
import math
import re

_NUMBER_BEGUN = re.compile("[-.]|[eE][-+]?")
_MOST_REPLACED = 1 / 100  # of the characters of a page
_MOST_OF_WORDS = 1 / 2  # of those that are no ASCII: keys and addresses are, in any encoding
_FEW = 3  # replaced characters tell of no encoding
_LONGEST_NUMBER = 100  # digits
_NO_NUMBER = 0.5  # in the place of NaN and the like: no id, no count, no sign, and not null
_SURROGATES = re.compile("[\ud800-\udfff]")


class NotJson(Exception):
    """No JSON can be read. is_truncated: it is JSON as far as it goes, and then breaks off. why:
    what else it is, "" where nobody knows."""

    def __init__(self, *, is_truncated: bool = False, why: str = "") -> None:
        super().__init__(why)
        self.is_truncated, self.why = is_truncated, why


def repaired(body: bytes) -> bytes:
    """The same JSON, as the strict decoder takes it. Errors: NotJson, RecursionError."""
    text = decoded(body).lstrip("\ufeff \t\r\n")
    return first_value(text, 0, alone=True)


def decoded(body: bytes) -> str:
    """The body as text, with bytes that are no UTF-8 replaced.

    Errors: NotJson where these are so many that it is written in another encoding.
    """
    text = body.decode("utf-8", "replace")
    replaced = text.count("\ufffd") - body.count("\ufffd".encode())
    words = len(text) - len(text.encode("ascii", "ignore"))
    is_foreign = replaced > max(_FEW, _MOST_OF_WORDS * words)
    if text.endswith("\ufffd"):  # a page may end within a character
        replaced -= 1
    if is_foreign or replaced > _MOST_REPLACED * len(text):
        raise NotJson(why=f"another encoding: {replaced} of {len(text)} characters are no UTF-8")
    return text


def first_value(text: str, start: int, *, alone: bool = False) -> bytes:
    """The JSON value that begins at `start`. alone: nothing but blanks may follow it.

    Errors: NotJson, RecursionError.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise NotJson(is_truncated=_breaks_off(text, start, error)) from None
    if alone and text[end:].strip():
        raise NotJson
    return _SURROGATES.sub("\ufffd", json.dumps(value, ensure_ascii=False)).encode()


def _breaks_off(text: str, start: int, error: json.JSONDecodeError) -> bool:
    if text[start : start + 1] not in ("{", "["):
        return False
    rest = text[error.pos :].rstrip()
    is_word_begun = any(word.startswith(rest) for word in ("true", "false", "null"))
    is_number_begun = _NUMBER_BEGUN.fullmatch(rest) is not None
    is_escape_begun = error.msg.startswith("Invalid \\") and len(rest) < len("\\u1234")
    is_text_begun = error.msg.startswith("Unterminated string")
    return is_word_begun or is_number_begun or is_escape_begun or is_text_begun


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _NO_NUMBER


def _whole(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else _NO_NUMBER


_DECODER = json.JSONDecoder(
    parse_float=_finite, parse_int=_whole, parse_constant=lambda _: _NO_NUMBER, strict=False
)
