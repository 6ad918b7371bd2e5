"""Enumerating the paths of a run, the likeliest first."""

import contextlib
import heapq
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction

from dphist.errors import DphistError
from dphist.lab.auditing.exact.draws import BITS, ONE
from dphist.lab.auditing.exact.source import PathSource, TooLongError
from dphist.noise.enclosures import Enclosure, ceil_shift

_TOO_LONG = 16  # paths, if no other was followed
_REPEATED = 32  # of the first runs, each is made twice


class _CutOffError(Exception):
    """A path is too long: its probability stays unreached, and others are followed."""

    def __init__(self, path: PathSource, reason: DphistError) -> None:
        super().__init__(str(reason))
        self.path, self.reason = path, reason


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


def enumerated(
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
        try:
            shown, path = _followed(run, ranks)
        except _CutOffError as cut:
            endless, too_long = True, too_long + 1
            if too_long >= _TOO_LONG and not law.runs:
                raise cut.reason from None
            _wait(waiting, ranks, cut.path)
            continue
        if law.runs < _REPEATED and _followed(run, ranks)[0] != shown:
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


def _followed(
    run: Callable[[PathSource], Hashable], ranks: tuple[int, ...]
) -> tuple[Hashable, PathSource]:
    path = PathSource(ranks)
    shown: Hashable = None
    with contextlib.suppress(TooLongError):
        shown = run(path)
    if isinstance(path.failed, TooLongError):
        raise _CutOffError(path, path.failed)
    if path.failed is not None:  # also where the run has caught it
        raise path.failed
    if len(path.draws) < len(ranks):
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
