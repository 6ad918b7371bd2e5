"""Laws of runs: all paths of their randomness, the likeliest first, and delta between two laws."""

import contextlib
import functools
import heapq
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dphist.arrays import IntArray
from dphist.errors import DphistError
from dphist.lab.auditing.replay.transcript import DivergedError, Request
from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative, normal_two_sided_tail
from dphist.noise.finite import FiniteLaw

BITS = 160
ONE = 1 << BITS


@dataclass(frozen=True)
class Uniform:
    """A draw of 0, ..., outcomes - 1, each of which is as likely."""

    outcomes: int

    def at(self, rank: int) -> tuple[int, Enclosure]:
        """Return the value of a rank, and bounds on its probability."""
        return rank, (ONE // self.outcomes, -(-ONE // self.outcomes))


@dataclass(frozen=True)
class Noise:
    """A draw of dphist's "geometric" or "gaussian" sampler: 0, 1, -1, 2, -2, ..., without end."""

    sampler: str
    parameter: Fraction
    outcomes: ClassVar[None] = None

    def at(self, rank: int) -> tuple[int, Enclosure]:
        """Return the value of a rank, and bounds on its probability."""
        value = (rank + 1) // 2 if rank % 2 else -(rank // 2)
        law = _geometric if self.sampler == "geometric" else _gaussian
        return value, law(self.parameter, abs(value))


@dataclass(frozen=True)
class FiniteDraw:
    """A draw of noise with finitely many values, the likeliest first."""

    law: FiniteLaw

    @property
    def outcomes(self) -> int:
        """The number of values."""
        return len(self.law.weights)

    def at(self, rank: int) -> tuple[int, Enclosure]:
        """Return the value of a rank, and bounds on its probability."""
        place = _ranks(self.law)[rank]
        weight, bits = self.law.weights[place] << BITS, self.law.bits
        return self.law.first + place, (weight >> bits, ceil_shift(weight, bits))


@functools.lru_cache(4)
def _ranks(law: FiniteLaw) -> list[int]:
    return sorted(range(len(law.weights)), key=lambda place: -law.weights[place])


@functools.lru_cache(4096)
def _geometric(epsilon: Fraction, size: int) -> Enclosure:
    """Enclose (1 - a) / (1 + a) * a**size, a = exp(-epsilon)."""
    (low, high), (power_low, power_high) = (exp_negative(epsilon * k, BITS) for k in (1, size))
    first_low = ((ONE - high) << BITS) // (ONE + high)
    first_high = -(-((ONE - low) << BITS) // (ONE + low))
    return first_low * power_low >> BITS, ceil_shift(first_high * power_high, BITS)


@functools.lru_cache(4096)
def _gaussian(sigma: Fraction, size: int) -> Enclosure:
    """Enclose Pr[size - 1/2 < N <= size + 1/2], N normal."""
    outer = normal_two_sided_tail((size + Fraction(1, 2)) / sigma, BITS)
    if size == 0:
        return max(0, ONE - outer[1]), ONE - outer[0]
    inner = normal_two_sided_tail((size - Fraction(1, 2)) / sigma, BITS)
    return max(0, (inner[0] - outer[1]) // 2), -(-(inner[1] - outer[0]) // 2)


MOST_DRAWS = 1024  # of one path


class TooLongError(DphistError):
    """A path through the tree is too long for its laws to be enumerated."""


class NotEnumerableError(DphistError):
    """Randomness is asked for in a form whose law is not known, or has no end."""


class PathSource:
    """Randomness along a path: given ranks first, then the likeliest value of each draw.

    It is a source of bytes, `source(n)`, of single bits, `source.bits(n)`, and stands in for the
    samplers of dphist. What is asked for is drawn only when it is used.
    """

    def __init__(self, ranks: tuple[int, ...]) -> None:
        self.ranks = ranks
        self.draws: list[Uniform | Noise | FiniteDraw] = []
        self.chances: list[Enclosure] = [(ONE, ONE)]
        self.failed: DphistError | None = None
        self.over = False

    def __call__(self, number: int) -> bytes:
        """Return this number of random bytes."""
        return bytes(self.one(Uniform(256)) for _ in range(number))

    def bits(self, number: int) -> int:
        """Return a random whole number of this number of bits."""
        return self.one(Uniform(1 << number))

    def refuse_bytes(self, number: int) -> bytes:
        """Refuse to give bytes: a mechanism of dphist that asks for them draws real numbers."""
        del number
        raise self._note_end(NotEnumerableError("its noise is no whole number with a known law"))

    def one(self, draw: Uniform | Noise | FiniteDraw) -> int:
        """Return the next draw of the path."""
        place = len(self.draws)
        if place >= MOST_DRAWS:
            raise self._note_end(
                TooLongError("more randomness is asked for than can be enumerated")
            )
        value, (low, high) = draw.at(self.ranks[place] if place < len(self.ranks) else 0)
        before_low, before_high = self.chances[-1]
        self.draws.append(draw)
        self.chances.append((before_low * low >> BITS, ceil_shift(before_high * high, BITS)))
        return value

    def draw(self, sampler: str, parameter: Any, size: int | tuple[int, ...]) -> Any:
        """Stand in for a sampler of dphist."""
        if isinstance(parameter, FiniteLaw):
            return DrawnLater(lambda: self.one(FiniteDraw(parameter)), size)
        if not isinstance(parameter, Fraction):
            raise self._note_end(DivergedError("a parameter of noise has been through a float"))
        return DrawnLater(lambda: self.one(Noise(sampler, parameter)), size)

    def draw_with(self, request: Request, sample: Callable[[], Any]) -> Any:
        """Refuse a caller's sampler, whose law is not known."""
        del request, sample
        raise self._note_end(NotEnumerableError("the law of a wrapped sampler is not known"))

    def _note_end(self, error: DphistError) -> DphistError:
        self.failed = self.failed or error
        return error


class DrawnLater(NDArrayOperatorsMixin):
    """Draws of one request; each is drawn when it is first used, so that spare ones are not."""

    def __init__(self, one: Callable[[], int], size: int | tuple[int, ...]) -> None:
        self._one = one
        self.shape = (size,) if isinstance(size, int) else tuple(size)
        self._drawn: list[int] = []

    def _first(self, number: int) -> list[int]:
        while len(self._drawn) < number:
            self._drawn.append(self._one())
        return self._drawn[:number]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> IntArray:
        del copy
        whole = np.array(self._first(int(np.prod(self.shape))), np.int64).reshape(self.shape)
        return whole if dtype is None else whole.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, DrawnLater) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> Any:
        """Return the draws one after another, each when it is asked for."""
        if len(self.shape) > 1:
            return np.asarray(self).tolist()
        return (self._first(place + 1)[place] for place in range(self.shape[0]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]


_TOO_LONG = 16  # paths, if no other was followed
_REPEATED = 32  # of the first runs, each is made twice


class HiddenRandomnessError(DphistError):
    """A run showed something else for the same randomness."""


@dataclass
class Law:
    """What a run can show, with bounds on the probabilities.

    Attributes
    ----------
    chances : of what was shown: enclosures in units of 2**-BITS.
    runs : paths through the tree.
    """

    chances: dict[Hashable, Enclosure] = field(default_factory=dict)
    runs: int = 0

    @property
    def unreached(self) -> Fraction:
        """A bound on the probability of everything else."""
        return Fraction(max(0, ONE - sum(low for low, _ in self.chances.values())), ONE)

    def probability(self, shown: Hashable) -> tuple[Fraction, Fraction]:
        """Return bounds on the probability of paths that were reached and showed this."""
        low, high = self.chances.get(shown, (0, 0))
        return Fraction(low, ONE), Fraction(high, ONE)


def enumerate_law(
    run: Callable[[PathSource], Hashable],
    *,
    missing: Fraction = Fraction(1, 10**6),
    most_runs: int = 100_000,
    until: float | None = None,
    look: tuple[float, Fraction] | None = None,
) -> Law:
    """Return the law of what a run shows, from its likeliest paths.

    Parameters
    ----------
    run : takes all its randomness from the source, and returns what it shows.
    missing : a bound on the probability of what is not reached, at which to stop where a draw has
        infinitely many values; otherwise all paths are followed.
    most_runs, until : a number of paths, and a time of `time.monotonic`, to stop at before.
    look : a time from which on nothing is gone on with of which more than this is not reached.

    Raises
    ------
    HiddenRandomnessError
        If a run shows something else for the same randomness.
    TooLongError
        If a run asks for more randomness than can be enumerated.

    Notes
    -----
    Probabilities are enclosed in whole numbers, rounded outward. A subtree waits in a heap with its
    probability; each path is run once.
    """
    law, reached = Law(), 0
    least = ONE - missing.numerator * ONE // missing.denominator
    waiting: list[tuple[int, tuple[int, ...]]] = [(-ONE, ())]
    endless, too_long = False, 0
    while waiting and (reached < least or not endless) and law.runs < most_runs:
        now = time.monotonic()
        if until is not None and now > until:
            break
        if look is not None and now > look[0]:
            if Fraction(ONE - reached, ONE) > look[1]:
                break
            look = None
        _, ranks = heapq.heappop(waiting)
        shown, path = _follow(run, ranks)
        if path.failed is not None:  # too long: its probability stays unreached
            endless, too_long = True, too_long + 1
            if too_long >= _TOO_LONG and not law.runs:
                raise path.failed
            _wait(waiting, ranks, path)
            continue
        if law.runs < _REPEATED and _follow(run, ranks)[0] != shown:
            raise HiddenRandomnessError(
                "the same randomness shows something else: there is other randomness, or a state"
            )
        law.runs += 1
        low, high = path.chances[-1]
        held = law.chances.get(shown, (0, 0))
        law.chances[shown] = held[0] + low, held[1] + high
        reached += low
        endless = endless or any(draw.outcomes is None for draw in path.draws)
        _wait(waiting, ranks, path)
    return law


def _follow(
    run: Callable[[PathSource], Hashable], ranks: tuple[int, ...]
) -> tuple[Hashable, PathSource]:
    """Run along a path; one that is too long says so by its `failed`."""
    path = PathSource(ranks)
    shown: Hashable = None
    with contextlib.suppress(TooLongError):
        shown = run(path)
    if path.failed is not None and not isinstance(path.failed, TooLongError):
        raise path.failed  # also where the run has caught it
    if path.failed is None and len(path.draws) < len(ranks):
        raise HiddenRandomnessError("the same randomness is asked for something else")
    return shown, path


def _wait(
    waiting: list[tuple[int, tuple[int, ...]]], ranks: tuple[int, ...], path: PathSource
) -> None:
    """Put the subtrees beside a path into the heap: the next value of each draw that it chose."""
    first = max(len(ranks) - 1, 0)
    for place in range(first, len(path.draws)):
        following = (ranks[place] if place < len(ranks) else 0) + 1
        outcomes = path.draws[place].outcomes
        if outcomes is not None and following >= outcomes:
            continue
        _, (_, high) = path.draws[place].at(following)
        before = (*ranks[:place], *([0] * (place - len(ranks))), following)
        heapq.heappush(waiting, (-ceil_shift(path.chances[place][1] * high, BITS), before))


_LARGEST_EPSILON = Fraction(100)


@dataclass(frozen=True)
class DeltaBounds:
    """Delta at an epsilon, in one direction.

    Attributes
    ----------
    low, high : bounds; `high - low` is what was not reached, and rounding.
    event : what is likelier by more than exp(epsilon), with certainty.
    """

    low: Fraction
    high: Fraction
    event: frozenset[Hashable]


def delta_between(one: Law, other: Law, epsilon: Fraction) -> DeltaBounds:
    """Bound max over events E of Pr[one in E] - exp(epsilon) Pr[other in E].

    Probability that was not reached may lie anywhere: below, all that was not reached of the
    other law counts as part of the event, above, all that was not reached of the one.
    """
    low_power, high_power = exp_negative(epsilon, BITS)
    least, most = Fraction(ONE, high_power), Fraction(ONE, max(low_power, 1))
    low = high = Fraction(0)
    event = []
    for shown in one.chances:
        here, there = one.probability(shown), other.probability(shown)
        high += max(here[1] - least * there[0], Fraction(0))
        certain = here[0] - most * there[1]
        if certain > 0:
            low += certain
            event.append(shown)
    return DeltaBounds(
        max(low - most * other.unreached, Fraction(0)),
        min(high + one.unreached, Fraction(1)),
        frozenset(event),
    )


def find_epsilon(one: Law, other: Law, delta: Fraction) -> Fraction:
    """Return an epsilon that the pair exceeds at `delta`, in this direction, or 0; 100 at most.

    It is the largest one, to a millionth.
    """
    low, high = Fraction(0), Fraction(1)
    while high < _LARGEST_EPSILON and delta_between(one, other, high).low > delta:
        low, high = high, min(2 * high, _LARGEST_EPSILON)
    if high >= _LARGEST_EPSILON and delta_between(one, other, high).low > delta:
        return _LARGEST_EPSILON
    while high - low > Fraction(1, 2**20):
        middle = (low + high) / 2
        if delta_between(one, other, middle).low > delta:
            low = middle
        else:
            high = middle
    return low
