"""Randomness by name: each thing of the world has its own dice, so that anything can be made
alone, in any order, and is the same every time."""

from enum import IntEnum
from random import Random

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class Topic(IntEnum):
    """What the dice are for; the number is part of the world, so never reuse one."""

    GRAPH = 1
    FANS = 2
    PERSON = 3
    CALENDAR = 4
    LATER = 5
    POST = 6
    COMMENTS = 7
    PAGE = 8
    FAN_SHEETS = 9
    POST_SHEETS = 10
    REPOSTS = 11
    SEARCH = 12


def dice(seed: int, topic: Topic, index: int = 0) -> Random:
    """The dice of one thing: seed >= 0, index >= 0 and below 2^96."""
    return Random((seed << 104) | (int(topic) << 96) | index)


def scatter(number: int, salt: int = 0) -> int:
    """A number as 32 well-mixed bits, without the cost of dice (Fibonacci hashing, twice)."""
    mixed = ((number ^ salt) * _GOLDEN) & _MASK
    mixed ^= mixed >> 29
    return ((mixed * _GOLDEN) & _MASK) >> 32
