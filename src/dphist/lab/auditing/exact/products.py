"""Releases that state independent normal draws: their laws are products, and so is delta found.

Where requests for noise depend on parameters alone, and a release states the sums of draws and
exact numbers, its law on one of two neighbors is a product of shifted laws of the draws. The log of
how much likelier a release is on the one is then a sum of independent numbers, one a draw. Their
law is held in whole numbers, once rounded such that delta is too small and once such that it is
too large: `docs/understand/proofs/audits.md`, Lemma 7.
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial

from dphist.document.audited import Pair
from dphist.lab.auditing.exact.laws import BITS, ONE, Noise
from dphist.lab.auditing.replay.layer import Laws, show_run
from dphist.lab.auditing.replay.transcript import DivergedError, Entry, Request
from dphist.lab.auditing.subject import Subject, find_statement
from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative

_SEEDS = 2  # runs in each direction, which must ask for the same noise
_STEPS = 2**14  # of all losses together, between the smallest and the largest
_REST = Fraction(1, 2**31)  # of a draw: the probability of what is farther out
_MOST_DRAWS = 8
_MOST_VALUES = 2**12  # of a draw
_LOGS = Context(prec=60)
_SLACK = Fraction(1, 10**40)  # above the error of logarithms of that many digits
_LARGEST_EPSILON = Fraction(100)

Moved = tuple[tuple[Fraction, int], ...]
"""Of each draw whose exact number differs: its standard deviation, and by how much."""


class TooLargeError(Exception):
    """There are too many losses, or the time is up."""


@dataclass(frozen=True)
class ProductLaw:
    """The loss of a pair of neighbors, the same in both directions.

    Attributes
    ----------
    step : losses are multiples of it.
    low : 2**BITS times the probability of each loss, or less; losses are rounded down.
    high : the same, or more; losses are rounded up.
    draws : how many draws differ.
    """

    step: Fraction
    low: dict[int, int]
    high: dict[int, int]
    draws: int

    @property
    def unreached(self) -> Fraction:
        """The probability of all that is not listed, at most."""
        return Fraction(ONE - sum(self.low.values()), ONE)

    def delta_at_least(self, epsilon: Fraction) -> Fraction:
        """Return a delta that the pair has at this epsilon, or less."""
        likely, unlikely = self._above(self.low, epsilon, up=True)
        power_low, _ = exp_negative(epsilon, BITS)
        return max(Fraction(likely, ONE) - Fraction(unlikely, max(power_low, 1)), Fraction(0))

    def delta_at_most(self, epsilon: Fraction) -> Fraction:
        """Return a delta that the pair has at this epsilon, or more."""
        likely, unlikely = self._above(self.high, epsilon, up=False)
        _, power_high = exp_negative(epsilon, BITS)
        found = Fraction(likely, ONE) - Fraction(unlikely, power_high) + self.unreached
        return min(found, Fraction(1))

    def epsilon_at(self, delta: Fraction) -> Fraction:
        """Return an epsilon that the pair exceeds at `delta`, or 0; to a millionth, 100 at most."""
        low, high = Fraction(0), _LARGEST_EPSILON
        while high - low > Fraction(1, 2**20):
            middle = (low + high) / 2
            if self.delta_at_least(middle) > delta:
                low = middle
            else:
                high = middle
        return low

    def chance_above(self, epsilon: Fraction) -> Fraction:
        """Return the probability of a loss above epsilon on the one, at least."""
        return Fraction(self._above(self.low, epsilon, up=True)[0], ONE)

    def _above(self, masses: dict[int, int], epsilon: Fraction, *, up: bool) -> tuple[int, int]:
        """Return the sums over losses above epsilon of their mass, and of it over exp(loss)."""
        first = epsilon // self.step + 1
        if not masses or max(masses) < first:
            return 0, 0
        each = exp_negative(self.step, BITS)[up]
        power = exp_negative(first * self.step, BITS)[up]
        likely = unlikely = 0
        for place in range(first, max(masses) + 1):
            mass = masses.get(place, 0)
            likely += mass
            unlikely += mass * power
            power = ceil_shift(power * each, BITS) if up else power * each >> BITS
        return likely, ceil_shift(unlikely, BITS) if up else unlikely >> BITS


def find_moved(subject: Subject, pair: Pair) -> Moved | None:
    """Return what differs between the draws of two neighbors; None if its law is no product.

    The mechanism is run several times in both directions: the requests, and the exact numbers that
    draws are added to, must be the same each time, and the release must state the noisy ones.
    """
    statement = find_statement(subject.mechanism)
    if statement is None or not statement.fixed:
        return None
    found: set[Moved] = set()
    asked: set[tuple[Request, ...]] = set()
    try:
        for swapped in (False, True):
            laws = Laws(partial(show_run, subject), pair, swapped, 0, {}, falling=False)
            for seed in range(_SEEDS):
                mine, its, ratio = laws.compare(seed)
                if ratio is None:
                    return None
                asked.add(tuple(mine.requests))
                found.add(_differing(zip(mine.entries, its.entries, strict=True)))
    except DivergedError:
        return None
    same = len(found) == 1 and len(asked) == 1
    normal = all(request.sampler == "gaussian" for requests in asked for request in requests)
    return found.pop() if same and normal else None


def _differing(entries: Iterable[tuple[Entry, Entry]]) -> Moved:
    """Return the draws whose exact numbers differ, those of one kind together."""
    found = []
    for mine, its in entries:
        for here, there in zip(mine.exact.tolist(), its.exact.tolist(), strict=True):
            if here != there:
                found.append((mine.request.parameter, abs(here - there)))
    return tuple(sorted(found))


def compute_law(moved: Moved, until: float) -> ProductLaw:
    """Return the law of the loss of all draws together.

    Parameters
    ----------
    until : a time of `time.monotonic`.

    Raises
    ------
    TooLargeError
        If there are too many draws, or values of one, or the time is up.
    """
    if len(moved) > _MOST_DRAWS:
        raise TooLargeError
    laws = [list_losses(sigma, moves) for sigma, moves in moved]
    reach = sum((max(abs(end) for _, ends in law for end in ends) for law in laws), Fraction(0))
    steps = max(math.floor(_STEPS / (2 * reach)), 1) if reach else 1
    step = Fraction(1, 1 << (steps.bit_length() - 1))
    low, high = {0: ONE}, {0: ONE}
    for law in laws:
        lower: dict[int, int] = {}
        upper: dict[int, int] = {}
        for chance, loss in law:
            _add(lower, loss[0] // step, chance[0])
            _add(upper, -(-loss[1] // step), chance[1])
        low = _convolve(low, lower, False, until)
        high = _convolve(high, upper, True, until)
    return ProductLaw(step, low, high, len(moved))


def list_losses(sigma: Fraction, moved: int) -> list[tuple[Enclosure, tuple[Fraction, Fraction]]]:
    """Return the values of a draw by their probability and their loss, both enclosed.

    The loss of z is the log of how much likelier z is than z + moved. Values far out are left out.
    """
    law, found, reached, rank = Noise("gaussian", sigma), [], 0, 0
    while ONE - reached > _REST * ONE:
        if rank >= _MOST_VALUES:
            raise TooLargeError
        value, here = law.at(rank)
        place = abs(value + moved)
        _, there = law.at(max(2 * place - 1, 0))
        if not there[0]:
            raise TooLargeError
        loss = _log(here[0], there[1], -_SLACK), _log(here[1], there[0], _SLACK)
        found.append((here, loss))
        reached += here[0]
        rank += 1
    return found


def _log(one: int, other: int, slack: Fraction) -> Fraction:
    """Return the log of a ratio, which is moved by more than it may be wrong by."""
    ends = (_LOGS.ln(Decimal(each)) for each in (one, other))
    mine, its = (Fraction(end) for end in ends)
    return mine - its + slack


def _add(law: dict[int, int], place: int, mass: int) -> None:
    law[place] = law.get(place, 0) + mass


def _convolve(one: dict[int, int], other: dict[int, int], up: bool, until: float) -> dict[int, int]:
    """Return the law of a sum of losses; probabilities are rounded up, or else down, once each."""
    found: dict[int, int] = {}
    for place, mass in other.items():
        if time.monotonic() > until:
            raise TooLargeError
        for before, held in one.items():
            at = before + place
            found[at] = found.get(at, 0) + mass * held
    if up:
        return {place: ceil_shift(mass, BITS) for place, mass in found.items()}
    return {place: mass >> BITS for place, mass in found.items()}
