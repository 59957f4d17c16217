"""What holds in our own world holds in worlds whose rules were drawn by dice.

LAWS_SEEDS: how many seeds, or which: 40-60,71; without it 20. LAWS_EPOCH: see crawl.options_of.
"""

import os
import textwrap
from dataclasses import fields
from pathlib import Path

import pytest

from tests.laws.compare import differences
from tests.laws.crawl import crawl_world, options_of
from weibo_crawler.simulator.laws import Laws

_SHOWN = 12
_FORMS_OF = {  # which say nothing where there are none
    "gone_by": "gone",
    "junk_card_forms": "junk_cards",
    "odd_post_forms": "odd_posts",
    "broken_post_forms": "broken_posts",
    "junk_people_forms": "junk_people",
    "odd_people_forms": "odd_people",
    "restrictions": "restricted",
    "limit_words": "rate_limit",
    "refusal_words": "refusals",
    "session_requests": "needs_session",
}


def _seeds() -> list[int]:
    given = os.environ.get("LAWS_SEEDS", "20")
    if given.isdecimal():
        return list(range(int(given)))
    parts = [part.partition("-") for part in given.split(",")]
    return [n for one, _, last in parts for n in range(int(one), int(last or one) + 1)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", _seeds())
def test_a_drawn_world_is_told_as_it_is(tmp_path: Path, seed: int) -> None:
    """The users kept are those that the rules show, each post shown is stored or told as missing,
    nothing false is a fact, and every run ends."""
    try:
        found = list(differences(*crawl_world(tmp_path, seed)))
    except AssertionError as error:
        found = [str(error)]
    if found:
        more = f"\n… and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        again = f"LAWS_EPOCH={options_of(seed).epoch} LAWS_SEEDS={seed}-{seed}"
        lines = "\n".join(found[:_SHOWN])
        pytest.fail(f"{again}\n{_brief(Laws.drawn(seed))}\n{lines}{more}", pytrace=False)


def _brief(laws: Laws) -> str:
    """The laws that say something, in a few lines; `simulate --laws SEED --describe` explains."""
    drawn = {law.name: getattr(laws, law.name) for law in fields(laws)}
    for forms, share in _FORMS_OF.items():
        drawn[forms] = drawn[forms] if drawn[share] else None
    words = (f"{name}={value}" for name, value in drawn.items() if value not in (0.0, None, ""))
    return textwrap.fill("; ".join(words).replace("'", ""), 160)
