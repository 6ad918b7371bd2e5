"""Repeating a random measurement until its mean is known well enough, or its time is up."""

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dphist.document.compared import Run
from dphist.errors import DphistError
from dphist.lab.comparing.time_limit import OutOfTimeError, within

FEWEST = 2  # runs without which there is no standard error


@dataclass(frozen=True, slots=True)
class Effort:
    """When it is enough.

    Attributes
    ----------
    target : standard error over mean, of the first measure.
    fewest, most : runs.
    seconds : time after which two runs are enough.
    """

    target: float = 0.05
    fewest: int = 10
    most: int = 400
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What some runs say of one measure.

    Attributes
    ----------
    runs : those in which there was something to measure.
    error : mean over the runs.
    standard_error : of the mean; infinite of a single run.
    seconds : median time of a release.
    """

    runs: int
    error: float
    standard_error: float
    seconds: float


class TooSlowError(DphistError):
    """A measurement for which too few runs ended in time."""


class Tally:
    """The runs of one cell so far.

    Parameters
    ----------
    measures : number of measures.
    kept : what was measured earlier, one for each measure, to go on from; None for nothing.
    squares : whether runs give squares, and the root of their mean is what is wanted.

    Attributes
    ----------
    runs : completed ones.
    cut : the longest time after which a run was cut, seconds; 0 if none was.
    """

    def __init__(
        self, measures: int, kept: Sequence[Measured | None] = (), *, squares: bool = False
    ) -> None:
        self.runs = 0
        # A root has half the relative error of what it is the root of.
        self._lenience = 2 if squares else 1
        self.cut = 0.0
        self._spent: list[float] = []
        self._times: list[float] = []
        # Runs, mean and squared deviations from it, by measure (Welford 1962).
        self._sums: list[tuple[int, float, float]] = [(0, 0.0, 0.0)] * measures
        for place, one in enumerate(kept):
            if one is None:
                continue
            away = one.standard_error**2 * one.runs * (one.runs - 1) if one.runs > 1 else 0.0
            self._sums[place] = one.runs, one.error, away
            if one.runs > self.runs:
                self.runs, self._times = one.runs, [one.seconds] * one.runs

    def add(self, errors: Sequence[float | None], seconds: float, spent: float) -> None:
        """Count a run: its errors, the time of the release, and the time with all around it."""
        for place, error in enumerate(errors):
            if error is None:
                continue
            runs, mean, squares = self._sums[place]
            moved = mean + (error - mean) / (runs + 1)
            self._sums[place] = runs + 1, moved, squares + (error - mean) * (error - moved)
        self.runs += 1
        self._times.append(seconds)
        self._spent.append(spent)

    @property
    def cost(self) -> float:
        """The time that a further run takes at least, in seconds; 0 where nothing is known.

        A first run also makes the mechanism, and reads what it needs: a second may be far quicker.
        """
        if len(self._spent) == 1:
            return self._spent[0] / 4
        if self._spent:
            return min(self._spent[-3:])
        return statistics.median(self._times) if self._times else self.cut

    def measured(self, place: int) -> Measured | None:
        """Return what is known of a measure; None if no run had something to measure."""
        runs, mean, error = self._known(place)
        return Measured(runs, mean, error, statistics.median(self._times)) if runs else None

    def is_enough(self, effort: Effort) -> bool:
        """Whether the first measure that there is anything of is known as well as asked for."""
        if self.runs >= effort.most:
            return True
        known = (self._known(place) for place in range(len(self._sums)))
        runs, mean, error = next((one for one in known if one[0]), (0, 0.0, math.inf))
        if runs < effort.fewest:
            return False
        # A mean of 0 says that errors are rare, not that they are known well.
        return mean > 0 and error <= self._lenience * effort.target * mean

    def _known(self, place: int) -> tuple[int, float, float]:
        """Return runs, the mean and its standard error."""
        runs, mean, squares = self._sums[place]
        return runs, mean, math.sqrt(squares / (runs - 1) / runs) if runs > 1 else math.inf


def add_runs(tally: Tally, run: Run, effort: Effort, until: float) -> None:
    """Repeat `run` until that is enough, or until a time of `time.perf_counter`.

    No run begins that certainly ends later. One that does not end in time is cut, and not
    counted. Stopping by an estimated standard error favors runs that happen to agree;
    `effort.fewest` keeps that small beside the error stated.
    """
    while not tally.is_enough(effort):
        begun = time.perf_counter()
        left = until - begun
        if left <= 0 or (tally.runs > 0 and tally.cost > left):
            return
        try:
            errors, seconds = within(left, run)
        except OutOfTimeError:
            tally.cut = max(tally.cut, time.perf_counter() - begun)
            return
        tally.add(errors, seconds, time.perf_counter() - begun)


def measure(run: Run, effort: Effort, limit: float | None = None) -> Measured:
    """Measure one cell: for `effort.seconds`, or longer until there are two runs.

    Parameters
    ----------
    limit : seconds after which even these two are given up (default: `effort.seconds`).

    Raises
    ------
    TooSlowError
        If fewer than two runs ended by then.
    """
    begun = time.perf_counter()
    last = begun + (effort.seconds if limit is None else limit)
    tally = Tally(1)
    add_runs(tally, run, Effort(fewest=FEWEST, most=FEWEST), last)
    add_runs(tally, run, effort, min(begun + effort.seconds, last))
    found = tally.measured(0)
    if found is None or found.runs < FEWEST:
        spent = time.perf_counter() - begun
        raise TooSlowError(f"{tally.runs} of {FEWEST} runs ended in {spent:.2g} s")
    return found
