"""What a kind declares for audits of its mechanisms: neighbors, and how these are replayed."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dphist.arrays import IntArray
from dphist.data.clamp import Clamp
from dphist.errors import ParameterError
from dphist.release.release import Release

SMALL_DELTA = "0.05"
"""Deltas of tables are far smaller, and no number of runs sees them: a fault shows at this one."""

_MOST_CELLS = 4096
_LARGEST = 2**62 - 1  # of the sum of all cells
_HUGE = "counts next to 2**62 in all"


@dataclass(frozen=True)
class Pair:
    """Two data sets that differ in one protected unit, and what they are called.

    Attributes
    ----------
    name : in words.
    one, other : the data.
    raw : what the two were made from, where variants can be made of it.
    huge : whether counts are next to 2**62, which some mechanisms refuse.
    """

    name: str
    one: Any
    other: Any
    raw: Any = field(default=None, compare=False)
    huge: bool = False


class Neighbors(Protocol):
    """Neighbors of the data that a mechanism takes, chosen where mechanisms go wrong."""

    def pairs(self) -> Iterator[Pair]:
        """Return edge cases first, then random pairs."""

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Return pairs like that of this name; both are changed alike, so they stay neighbors."""


class CellNeighbors:
    """One unit adds up to `most` records to cells of a grid, such as bins or those of keys.

    Parameters
    ----------
    shape : the number of cells along each axis.
    word : what a cell is called.
    parameter : the one that sets the shape.

    Attributes
    ----------
    has_huge : whether there are counts next to 2**62, not where each record is held.

    Raises
    ------
    ParameterError
        If there are too many cells.
    """

    has_huge = True

    def __init__(self, shape: Sequence[int], most: int, word: str, parameter: str) -> None:
        self.shape, self.size, self.most, self.word = shape, math.prod(shape), most, word
        if self.size > _MOST_CELLS:
            fault = f"must be of at most {_MOST_CELLS} {word}s in all to be audited"
            raise ParameterError(parameter, fault)

    def pairs(self) -> Iterator[Pair]:
        """Return edge cases first, then a unit in many cells, and random counts."""
        word, flat = self.word, np.zeros(self.size, np.int64)
        one = flat.copy()
        one[self.size // 3] = 10**6
        bases = {"no records": flat, f"a few in each {word}": flat + 3, f"many in one {word}": one}
        if self.has_huge:
            bases[_HUGE] = flat + (_LARGEST // self.size - self.most)
        draw = np.random.default_rng(3)
        bases["random counts"] = draw.geometric(0.1, self.size) * draw.integers(0, 2, self.size)
        places = {f"the first {word}": 0, f"the last {word}": self.size - 1}
        places[f"a {word} in the middle"] = self.size // 2
        for name, base in bases.items():
            for where, place in places.items():
                grown = base.copy()
                grown[place] += self.most
                yield self._make(name, f"one unit in {where}", base, grown)
        spread = flat.copy()
        for k in range(self.most):
            spread[k * (self.size - 1) // max(self.most - 1, 1)] += 1
        yield self._make("no records", f"one unit in many {word}s", flat, spread)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Add the same records to both, or the unit somewhere else."""
        base, one, other = raw
        if one.max(initial=0) > 2**40:
            return
        place, more = draw.randrange(self.size), np.zeros(self.size, np.int64)
        more[place] = draw.choice((1, 3, 30, 1000))
        change = f"{name}; {more[place]} more in {self.word} {place + 1}"
        yield self._pair(change, base, one + more, other + more)
        moved = one.copy()
        moved[place] += self.most
        yield self._make(base, f"one unit in {self.word} {place + 1}", one, moved)

    def _make(self, base: str, where: str, one: IntArray, other: IntArray) -> Pair:
        return self._pair(f"{base}; {where}", base, one, other)

    def _pair(self, name: str, base: str, one: IntArray, other: IntArray) -> Pair:
        """Return a pair that is made from the counts of this name."""
        data = one.reshape(self.shape), other.reshape(self.shape)
        return Pair(name, *data, (base, one, other), huge=base == _HUGE)


def go_beyond(clamp: Clamp, *, counts_users: bool) -> float:
    """Return a value beyond the bound that is farthest from the center: alone, and several times.

    It is found from the bounds: a fault of `reach`, which noise is for, is to be seen.
    """
    center = clamp.center(counts_users=counts_users)
    wide = clamp.high - clamp.low
    if clamp.most - center >= center - clamp.least:
        return float(max(clamp.high, Fraction(0)) + wide)
    return float(min(clamp.low, Fraction(0)) - wide)


def name_others(columns: Iterable[str], *roles: str) -> list[str]:
    """Return names for columns of these roles that are longer than, so none of, those given."""
    longest = max(columns, key=len, default="")
    return [f"{longest} {role}".strip() for role in roles]


@dataclass(frozen=True)
class OpenLabels:
    """Counted labels, to be looked at.

    Attributes
    ----------
    labels, counts : in the order in which a mechanism meets them.
    counts_of : returns the counts of listed labels, 0 where a label does not occur.
    users, totals : how many users have how many labels, and which totals of each column that is
        summed; empty if they were not counted.
    """

    labels: Sequence[Any]
    counts: IntArray
    counts_of: Callable[[Sequence[Any]], Sequence[int]]
    users: Sequence[int] = ()
    totals: Sequence[int] = ()


Told = Callable[[Any], IntArray]
"""Returns the exact numbers, in order, that the draws of a request are added to."""

Numbers = Iterable[int] | None


@dataclass(frozen=True)
class Setup:
    """How a mechanism is replayed.

    Its functions are given data that were opened: a profile with its counts, or `OpenLabels` for
    LabelCounts. Data of other types are given as they are.

    Attributes
    ----------
    told : exact numbers that noise is added to out of sight, by request.
    spare : draws at the end that may not be used.
    is_meant : whether a pair is for replaying: of labels that only one of two neighbors has, noisy
        counts exist on one side alone, which delta covers.
    why_not : why nothing is replayed; empty otherwise.
    """

    told: Mapping[int, Told] = field(default_factory=dict)
    spare: int = 0
    is_meant: Callable[[Any, Any], bool] = lambda _one, _other: True
    why_not: str = ""


@dataclass(frozen=True)
class Statement:
    """Where the releases of a mechanism state their noisy numbers.

    A release *states* its noisy numbers if no other noisy numbers lead to the same release.
    `docs/understand/proofs/audits.md`, Lemma 2, proves it for each mechanism that has a statement.

    Attributes
    ----------
    read : returns those of a release of opened data, in the order of drawing; None if it states
        none.
    falling : whether they are stated only where each is smaller than the one before.
    fixed : whether what is asked of the noise, and what it is added to, depend on parameters and
        data alone, so that noisy numbers are independent of each other.
    """

    read: Callable[[Any, Release, Any], Numbers]
    falling: bool = False
    fixed: bool = False


@dataclass(frozen=True, kw_only=True)
class AuditedClass:
    """How mechanisms of a class are audited.

    Attributes
    ----------
    small : parameters that are taken where none are given: small ones, so that there are many runs.
    others : more parameters that ``dphist audit --all`` tries, by what follows the class's name.
    tiny : parameters, named likewise, so small that laws can be enumerated.
    setup : returns how one is replayed, also of a subclass.
    statement : where releases state their noisy numbers, for no subclass: what that releases may be
        something else. None if nowhere.
    """

    small: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tiny: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    setup: Callable[[Any], Setup] | None = None
    statement: Statement | None = None


@dataclass(frozen=True, kw_only=True)
class Auditing:
    """How mechanisms of a kind are audited.

    Attributes
    ----------
    neighbors : returns neighbors for a mechanism.
    mechanisms : the classes that can be named.
    run : returns a callable that takes data and returns what is shown, for mechanisms that have no
        `release`; all noise is asked of the samplers of `dphist.noise`.
    setup : returns how a mechanism is replayed whose class does not say it.
    compared : returns what audits compare of a released value, as numbers, text, sequences and
        mappings; None for values that are such, or dataclasses.
    """

    neighbors: Callable[[Any], Neighbors]
    mechanisms: Mapping[type[Any], AuditedClass] = field(default_factory=dict)
    run: Callable[[Any], Callable[[Any], Any]] | None = None
    setup: Callable[[Any], Setup] = lambda _: Setup()
    compared: Callable[[Any], Any] | None = None

    def find_setup(self, mechanism: Any) -> Setup:
        """Return how a mechanism is replayed."""
        for known in type(mechanism).__mro__:
            own = self.mechanisms.get(known)
            if own is not None and own.setup is not None:
                return own.setup(mechanism)
        return self.setup(mechanism)
