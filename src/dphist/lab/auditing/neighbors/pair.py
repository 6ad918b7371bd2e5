"""A pair of neighbors, and pairs that the caller gives."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from dphist.errors import ParameterError


@dataclass(frozen=True)
class Pair:
    """Two data sets that differ in one protected unit, and what they are called.

    Attributes
    ----------
    name : in words.
    one, other : the data.
    raw : what the two were made from, where variants can be made of it.
    """

    name: str
    one: Any
    other: Any
    raw: Any = field(default=None, compare=False)


HUGE = "next to 2**62"
"""In the names of pairs with counts that large: some mechanisms refuse these."""

Variants = Callable[[Pair, random.Random], Iterator[Pair]]
"""Returns neighbors that are like a pair, both data sets changed alike."""


class Kind(Protocol):
    """Neighbors of one kind of data."""

    def pairs(self) -> Iterator[Pair]:
        """Return edge cases first, then random pairs."""

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Return pairs like that of this name; both are changed alike, so they stay neighbors."""


def given_pairs(neighbors: Any) -> tuple[Pair, ...]:
    """Return the caller's own pairs: `(one, other)` or `(name, one, other)` each."""
    pairs = []
    try:
        for number, each in enumerate(neighbors, 1):
            name, one, other = each if len(each) == 3 else (f"pair {number}", *each)
            pairs.append(Pair(str(name), one, other))
    except (TypeError, ValueError):
        pairs = []
    if not pairs:
        raise ParameterError(
            "neighbours",
            "must be pairs (one, other), or triples with a name first: data that differ in one "
            "protected unit",
        )
    return tuple(pairs)
