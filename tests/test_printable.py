"""What the site's words may not do to a terminal."""

import io
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.crawls import OBEYED
from weibo_crawler.printable import (
    guard_streams,
    one_line,
    printable,
    printable_json,
    printable_json_bytes,
)

_WORDS = st.text(
    st.sampled_from("a\n\r\t\x00\x1b\x07\x7f\x85\x9b\u202e\u2066\u200f\u061c\u2028…“名\ud800")
)
_TEXTS = st.one_of(st.text(), _WORDS)
_VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(), _WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(_TEXTS)
def test_printable_text_commands_no_terminal(text: str) -> None:
    """No control character but the end of a line, no mark that turns the reading order, and the
    lines stay; `one_line` ends none either. What is harmless is not touched."""
    assert not OBEYED.search(printable(text))
    assert not OBEYED.search(one_line(text))
    assert printable(text).encode().decode() == printable(text)  # nor a lone surrogate
    assert printable(text).count("\n") == text.count("\n")
    assert "\n" not in one_line(text)
    if not OBEYED.search(text) and text.isprintable():
        assert printable(text) == text


@given(_VALUES)
def test_printable_json_says_the_same(value: Any) -> None:
    """JSON keeps its value, and its text commands no terminal, as text and as bytes."""
    shown = printable_json(json.dumps(value, ensure_ascii=False))
    assert not OBEYED.search(shown)
    assert json.loads(shown) == value
    with suppress(UnicodeEncodeError):  # of a lone surrogate, which JSON in bytes cannot hold
        line = json.dumps(value, ensure_ascii=False).encode()
        assert printable_json_bytes(line).decode() == shown


_PRINTER = """
import logging, sys, time, warnings
from weibo_crawler.cli.show import Progress
from weibo_crawler.printable import guard_streams
EVIL = "a\\x1b]0;pwned\\x07b\\x9b31mc\\u202ed"
guard_streams()
with Progress(EVIL) as progress:
    progress.say(EVIL)
    time.sleep(0.2)
    print(EVIL)
    print(EVIL, file=sys.stderr)
    logging.getLogger("weibo_crawler.x").warning("%s", EVIL)
    warnings.warn(EVIL)
    sys.stderr.writelines([EVIL])
raise ValueError(EVIL)
"""


def test_whoever_prints_prints_it_printable() -> None:
    """The live line of a run, what is printed and logged beside it, warnings and a traceback: none
    brings a text's escapes to the terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _PRINTER], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):
        while part := os.read(ours, 65536):
            shown += part
    os.close(ours)
    process.wait()
    assert shown.count(b"pwned") >= 7
    for evil in (b"\x1b]0;", b"\x07", "\x9b".encode(), "\u202e".encode()):
        assert evil not in shown, evil


def test_a_stream_of_bytes_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """mrjob's inline runner puts files of bytes in the place of a mapper's streams: what goes there
    is data, byte for byte, while the text stream beside it is guarded."""
    data, text = io.BufferedWriter(raw := io.BytesIO()), io.StringIO()
    monkeypatch.setattr(sys, "stdout", data)
    monkeypatch.setattr(sys, "stderr", text)
    guard_streams()
    sys.stdout.write(b"\x1b")  # type: ignore[arg-type]
    sys.stdout.flush()
    print("\x1b", file=sys.stderr)
    assert (raw.getvalue(), text.getvalue()) == (b"\x1b", "␛\n")
