"""Damaged pages and refusals, drawn by dice; see `mutations`, which runs by itself, too."""

import os

from tests.sites.weibo.mutations import run

HOW_MANY = int(os.environ.get("WEIBO_MUTATIONS", "3000"))


def test_damage_stays_where_it_is_and_refusals_are_no_facts() -> None:
    """The laws of `mutations`, for as many mutations as WEIBO_MUTATIONS says."""
    verdicts = run(HOW_MANY, seed=1)
    assert sum(verdicts.values()) == HOW_MANY
    assert {"page ok", "page drifted", "refusal login_wall", "refusal captcha"} <= verdicts.keys()
