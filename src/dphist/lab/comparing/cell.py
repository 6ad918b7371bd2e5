"""Cell: a contender at one epsilon, with its runs so far."""

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from dphist.document.compared import Case, Contender, Run
from dphist.errors import ParameterError
from dphist.lab.comparing.measuring import Effort, Tally, add_runs
from dphist.lab.comparing.text import guarantee_text
from dphist.lab.comparing.time_limit import OutOfTimeError, within

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
            self.foreseen = case.foreseen(mechanism)
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
            if not _turn(_by_cost(waiting, cells), case, effort, until, done):
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


def _by_cost(waiting: Sequence[Cell], cells: Sequence[Cell]) -> list[Cell]:
    """Order cells by the time of a run, or of the mechanism's runs at other epsilons."""

    def cost(cell: Cell) -> float:
        if cell.expected or cell.foreseen is not None:
            return cell.expected
        others = [one.expected for one in cells if one.contender is cell.contender]
        return max(*others, _UNKNOWN)

    return sorted(waiting, key=cost)
