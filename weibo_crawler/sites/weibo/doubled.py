"""Words that were encoded twice: UTF-8 which somebody took for Latin-1, and encoded again.

Each byte of a character became a letter of its own, by Latin-1 or cp1252: 中 is `ä¸­`. Such letters
make UTF-8 again where they are taken for bytes. Words of European languages hardly ever do, as a
letter would need two signs behind it. A few do (`é »`), so most words of a page must.
"""

import re

_FEW = 3  # Chinese characters, and fewer prove nothing
_MOST_OF_WORDS = 3 / 4  # of what is no ASCII; a sign that cp1252 lacks may be lost

_CP1252 = "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # its letters for bytes of 80 to 9f
_NEXT = f"[\x80-\xbf{_CP1252}\ufffd]"  # a byte within a character
_CHINESE = f"[ã-é]{_NEXT}{{2}}"  # U+3000 to U+9FFF
_CHARACTER = re.compile(f"({_CHINESE})|[Â-ß]{_NEXT}|[àêëìíîï]{_NEXT}{{2}}|[ð-ô]{_NEXT}{{3}}")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_BEGUN = re.compile(rb"\\u00[eE][3-9]")  # the first letter of such a character, in a page of ASCII


def is_doubled(body: bytes) -> bool:
    """Whether most of the words of a page were encoded twice."""
    if not (_BEGUN.search(body) if body.isascii() else b"\xc3" in body):
        return False
    text = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), body.decode("utf-8", "replace"))
    found = list(_CHARACTER.finditer(text))
    if sum(one[1] is not None for one in found) < _FEW:
        return False
    words = sum(letter > "\x7f" for letter in text)
    return sum(len(one[0]) for one in found) > _MOST_OF_WORDS * words
