"""Rounds of runs: choose a pair and an event on some, bound its odds on others, and again."""

import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dphist.auditing.neighbors.pair import Pair, Variants
from dphist.auditing.outcome import Features, shown_by_run
from dphist.auditing.statistical.bounds import least_epsilons
from dphist.auditing.statistical.events import Event, choose
from dphist.auditing.subject import Run

_FEWEST, _MOST_AT_FIRST = 25, 200  # runs on each of two neighbors, to choose by, at first
_FIRST_SHARE = 0.1  # of the time, for the first choice
_SHARE_OF_ALL = 0.3  # if it takes more, some pairs are left out
_MOST_KEPT = 20_000  # features of older runs are dropped beyond this
_MOST_VARIANTS = 4  # of the pair that showed most, for the next round
_BOUNDING_SHARE = 2  # runs that bound, for each that chooses


@dataclass(frozen=True)
class Found:
    """What one round showed: an event, counted on runs that did not choose it.

    Attributes
    ----------
    pair : the neighbors; `swapped` if the event is likelier on the second.
    event : what was counted.
    hits, other_hits : runs in which it happened where it is likelier, and where it is not.
    runs : on each of the two.
    epsilon : what this shows at the audit's delta, at the least.
    error : probability that it is wrong.
    """

    pair: Pair
    swapped: bool
    event: Event
    hits: int
    other_hits: int
    runs: int
    epsilon: float
    error: float


@dataclass
class Progress:
    """What is known so far."""

    runs: int = 0
    rounds: int = 0
    pairs: int = 0
    found: tuple[Found, ...] = ()
    stopped: str = ""

    @property
    def best(self) -> Found | None:
        """The round that shows most: all rounds hold together."""
        return max(self.found, key=lambda each: each.epsilon, default=None)


class _TimeIsUpError(Exception):
    """The audit's seconds are over."""


def in_rounds(
    run: Run,
    pairs: tuple[Pair, ...],
    *,
    epsilon: float,
    delta: float,
    error: float,
    seconds: float,
    tell: Callable[[Progress], None],
    variants: Variants | None = None,
) -> Progress:
    """Run on neighbors until the claim is refuted or the time is up.

    Round r may be wrong with probability `error` / (r (r + 1)), so that all rounds together are
    wrong with `error` at most, however many there are and whenever one stops. In each round all
    earlier runs choose a pair, a direction and an event; fresh runs bound its probabilities.

    Parameters
    ----------
    run : what is audited.
    pairs : neighbors.
    epsilon, delta : the claim.
    error : probability with which a correct mechanism may be refuted.
    seconds : after which no further run begins.
    tell : called after each round.
    variants : makes pairs like the one that showed most; they are tried in the next round.
    """
    clock = _Clock(time.monotonic() + seconds)
    progress = Progress()
    seen: dict[int, tuple[list[Features], list[Features]]] = {
        number: ([], []) for number in range(len(pairs))
    }
    alive = list(seen)
    try:
        size, affordable = _first_size(run, pairs, clock, progress, seconds)
        if affordable < len(alive):
            alive = sorted(random.SystemRandom().sample(alive, affordable))
        progress.pairs = len(alive)
        while True:
            for number in alive:
                _more(run, pairs[number], seen[number], size, clock, progress)
            best = _best(seen, alive, delta, clock)
            progress.rounds += 1
            if best:
                number, swapped, event = best[0]
                own = error / (progress.rounds * (progress.rounds + 1))
                found = _bounded(
                    run, pairs[number], swapped, event, _BOUNDING_SHARE * size, clock, progress,
                    delta, own,
                )  # fmt: skip
                progress.found += (found,)
            tell(progress)
            if any(each.epsilon > epsilon for each in progress.found):
                progress.stopped = "refuted"
                return progress
            # Pairs without an event come last, but stay where there is room: theirs may be rare.
            ranked = dict.fromkeys([number for number, _, _ in best] + alive)
            alive = list(ranked)[: max(2, (len(alive) + 1) // 2)]
            if variants is not None and best:
                new = _new_pairs(variants, pairs[best[0][0]], pairs)
                alive += range(len(pairs), len(pairs) + len(new))
                seen |= {number: ([], []) for number in alive if number not in seen}
                pairs += new
            size *= 2
    except _TimeIsUpError:
        progress.stopped = "the time was up"
    except KeyboardInterrupt:
        progress.stopped = "interrupted"
    return progress


@dataclass(frozen=True)
class _Clock:
    end: float

    def check(self) -> None:
        if time.monotonic() >= self.end:
            raise _TimeIsUpError


def _new_pairs(variants: Variants, pair: Pair, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """Return pairs like this one that were not tried."""
    tried = {each.name for each in pairs}
    made = variants(pair, random.Random(secrets.randbits(64)))  # noqa: S311 - public data
    new = {each.name: each for each in made if each.name not in tried}
    return tuple(new.values())[:_MOST_VARIANTS]


def _first_size(
    run: Run, pairs: tuple[Pair, ...], clock: _Clock, progress: Progress, seconds: float
) -> tuple[int, int]:
    """Return how many runs the first choice gets, the slower, the fewer, and of how many pairs."""
    begun = time.monotonic()
    for pair in pairs:
        _both(run, pair, clock)
        progress.runs += 2
    each = max(time.monotonic() - begun, 1e-9)
    size = min(max(int(_FIRST_SHARE * seconds / each), _FEWEST), _MOST_AT_FIRST)
    affordable = int(_SHARE_OF_ALL * seconds / (size * each / len(pairs)))
    return size, min(max(affordable, 2), len(pairs))


def _both(run: Run, pair: Pair, clock: _Clock) -> tuple[Features, Features]:
    """Run on both neighbors, in random order: what drifts with time must not tell them apart."""
    clock.check()
    if secrets.randbits(1):
        other = shown_by_run(run, pair.other)
        return shown_by_run(run, pair.one), other
    one = shown_by_run(run, pair.one)
    return one, shown_by_run(run, pair.other)


def _more(
    run: Run,
    pair: Pair,
    seen: tuple[list[Features], list[Features]],
    size: int,
    clock: _Clock,
    progress: Progress,
) -> None:
    for _ in range(size):
        for side, features in zip(seen, _both(run, pair, clock), strict=True):
            side.append(features)
        progress.runs += 2
    for side in seen:
        del side[:-_MOST_KEPT]


def _best(
    seen: dict[int, tuple[list[Features], list[Features]]],
    alive: list[int],
    delta: float,
    clock: _Clock,
) -> list[tuple[int, bool, Event]]:
    """Return pairs with a direction and an event, those that seem to show most first."""
    choices = []
    for number in alive:
        ones, others = seen[number]
        for swapped, sides in ((False, (ones, others)), (True, (others, ones))):
            found = choose(*sides, delta, clock.check)
            if found is not None:
                choices.append((found.score, number, swapped, found.event))
    choices.sort(key=lambda each: -each[0])
    return [(number, swapped, event) for _, number, swapped, event in choices]


def _bounded(
    run: Run,
    pair: Pair,
    swapped: bool,
    event: Event,
    size: int,
    clock: _Clock,
    progress: Progress,
    delta: float,
    error: float,
) -> Found:
    hits = [0, 0]
    for _ in range(size):
        for side, features in enumerate(_both(run, pair, clock)):
            hits[side] += event.holds(features)
        progress.runs += 2
    likely, rare = (hits[1], hits[0]) if swapped else (hits[0], hits[1])
    shown = least_epsilons(np.array([likely]), np.array([rare]), size, delta, error)[0]
    return Found(pair, swapped, event, likely, rare, size, float(shown), error)
