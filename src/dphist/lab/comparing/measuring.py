"""Repeating a random measurement until its mean is known well enough, or its time is up."""

import contextlib
import math
import signal
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from dphist.document.compared import Case, Contender, Run
from dphist.errors import ParameterError
from dphist.privacy import Guarantee, PureDP, find_delta
from dphist.signals import stoppable

T = TypeVar("T")


class OutOfTimeError(BaseException):
    """The time of a call is up.

    Not an `Exception`: no handler in the call for errors of its own may take it.
    """


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of a call, or raise `OutOfTimeError` once the time is up.

    A timer of the system interrupts the call between two lines of Python. It needs the main thread
    and a system with such timers (not Windows); elsewhere the call always runs to its end.
    """
    timed = hasattr(signal, "setitimer") and seconds < math.inf
    if not timed or threading.current_thread() is not threading.main_thread():
        return call()
    inside = True

    def stop(_number: int, _frame: FrameType | None) -> None:
        if inside:
            raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    begun = time.perf_counter()
    others, again = 0.0, 0.0
    try:
        try:
            others, again = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            return stoppable(call)()
        finally:
            inside = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
        if others:  # a timer of the caller's goes on
            left = max(others - (time.perf_counter() - begun), 1e-6)
            signal.setitimer(signal.ITIMER_REAL, left, again)


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
        runs, mean, error = self._get_known(place)
        return Measured(runs, mean, error, statistics.median(self._times)) if runs else None

    def is_enough(self, effort: Effort) -> bool:
        """Whether the first measure that there is anything of is known as well as asked for."""
        if self.runs >= effort.most:
            return True
        known = (self._get_known(place) for place in range(len(self._sums)))
        runs, mean, error = next((one for one in known if one[0]), (0, 0.0, math.inf))
        if runs < effort.fewest:
            return False
        # A mean of 0 says that errors are rare, not that they are known well.
        return mean > 0 and error <= self._lenience * effort.target * mean

    def _get_known(self, place: int) -> tuple[int, float, float]:
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


_UNKNOWN = 0.05  # seconds of a run, for the order, where nothing tells
_PREPARING = 0.25  # of the time, at most, to make mechanisms in
_ENOUGH_MORE = 1.5  # a run that was cut gets at least so much more time, or none


@dataclass(slots=True, eq=False)
class Cell:
    """One measurement to make.

    Attributes
    ----------
    contender, epsilon : what is measured; `asked` is the epsilon as mechanisms get it.
    tally : its runs.
    guarantee : of the mechanism, in a word or two; empty until it is made.
    failure : why it cannot be measured; empty if it can.
    foreseen : time of a release at least, in seconds, as far as the mechanism tells.
    """

    contender: Contender
    epsilon: Fraction
    asked: Any
    tally: Tally
    guarantee: str = ""
    failure: str = ""
    foreseen: float | None = None
    _run: Run | None = field(default=None, repr=False)

    @property
    def expected(self) -> float:
        """Time that the next run must be given, in seconds; 0 where nothing is known."""
        if self.tally.runs:
            return self.tally.cost
        return max(self.tally.cut * _ENOUGH_MORE, self.foreseen or 0.0)

    def prepare(self, case: Case) -> Run:
        """Make the mechanism if that was not done; return what releases once."""
        if self._run is None:
            mechanism = self.contender.make(self.asked, case.opened)
            stated = getattr(mechanism, "guarantee", None)
            self.guarantee = "" if stated is None else guarantee_text(stated)
            self.foreseen = case.foresee(mechanism)
            self._run = case.run(mechanism)
        return self._run

    def run(self, case: Case) -> tuple[Sequence[float | None], float]:
        """Release once; errors that are no numbers are the mechanism's failure."""
        errors, seconds = self.prepare(case)()
        if not all(error is None or math.isfinite(error) for error in errors):
            raise ParameterError("mechanisms", "must release finite numbers")
        return errors, seconds


def measure_all(
    cells: Sequence[Cell],
    case: Case,
    effort: Effort,
    seconds: float,
    done: Callable[[Cell], None],
) -> str:
    """Measure cells until all are known well enough, or the time is up; return why it ended.

    In turns, each cell gets an equal share of the time that is left, those with the fastest runs
    first: what they leave over is for the slow ones. A run that takes longer than its share is cut;
    it is made again only with a share half as long again.

    Parameters
    ----------
    done : called with a cell when its turn is over.
    """
    until = time.perf_counter() + seconds
    try:
        _foresee(cells, case, effort, seconds)
        while True:
            left = until - time.perf_counter()
            waiting = [
                cell
                for cell in cells
                if not cell.failure and not cell.tally.is_enough(effort) and cell.expected <= left
            ]
            if not waiting or left <= 0:
                break
            if not _turn(_sort_by_cost(waiting, cells), case, effort, until, done):
                cheapest = min(waiting, key=lambda cell: cell.expected)
                once = Effort(effort.target, effort.fewest, cheapest.tally.runs + 1)
                _measure(cheapest, case, once, until)
                done(cheapest)
    except KeyboardInterrupt:
        return "interrupted"
    unfinished = (not cell.failure and not cell.tally.is_enough(effort) for cell in cells)
    return "the time was up" if any(unfinished) else "all was measured"


def _foresee(cells: Sequence[Cell], case: Case, effort: Effort, seconds: float) -> None:
    """Make the mechanisms, as far as that is quick: what they tell decides the order."""
    share = _PREPARING * seconds / max(len(cells), 1)
    for cell in cells:
        if not cell.tally.is_enough(effort):
            with contextlib.suppress(OutOfTimeError, Exception):  # said when it is run
                within(share, partial(cell.prepare, case))


def _turn(
    waiting: Sequence[Cell],
    case: Case,
    effort: Effort,
    until: float,
    done: Callable[[Cell], None],
) -> bool:
    """Give each cell its share of the time left; return whether any could use it."""
    used = False
    for place, cell in enumerate(waiting):
        now = time.perf_counter()
        share = (until - now) / (len(waiting) - place)
        if share <= 0:
            return True
        if cell.expected > share:
            continue
        _measure(cell, case, effort, now + share)
        done(cell)
        used = True
    return used


def _measure(cell: Cell, case: Case, effort: Effort, until: float) -> None:
    try:
        add_runs(cell.tally, lambda: cell.run(case), effort, until)
    except Exception as error:  # of the mechanism; the others go on
        cell.failure = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _sort_by_cost(waiting: Sequence[Cell], cells: Sequence[Cell]) -> list[Cell]:
    """Order cells by the time of a run, or of the mechanism's runs at other epsilons."""

    def cost(cell: Cell) -> float:
        if cell.expected or cell.foreseen is not None:
            return cell.expected
        others = [one.expected for one in cells if one.contender is cell.contender]
        return max(*others, _UNKNOWN)

    return sorted(waiting, key=cost)


def guarantee_text(guarantee: Guarantee) -> str:
    """Say in a word or two whether a guarantee is pure."""
    if isinstance(guarantee, PureDP):
        return "pure"
    delta = float(find_delta(guarantee))
    return f"approximate, δ = {delta:g}" if delta else "zCDP"
