"""The cells of the comparison: a contender on a shape, at a scale and an epsilon."""

import math
import time
import zlib
from dataclasses import dataclass
from functools import partial

from benchmarks.ranges.contenders import Contender
from benchmarks.ranges.data import Shape
from benchmarks.repeating import TooSlowError
from dphist.arrays import IntArray
from dphist.lab.comparing.measuring import OutOfTimeError, within
from dphist.ranges.comparing.queries import Estimate, compute_squared_errors

FEWEST = 2  # runs in any case, unless only one is asked for


@dataclass(frozen=True, slots=True)
class Effort:
    """When to stop: after so many runs, or after so many seconds."""

    runs: int = 10
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement to make."""

    shape: Shape
    scale: str
    epsilon: str
    contender: Contender

    def seed(self, run: int) -> int:
        """Return what a run's noise follows from, another one in each cell."""
        named = f"{self.shape.name} {self.scale} {self.epsilon} {self.contender.name} {run}"
        return zlib.crc32(named.encode())


@dataclass(frozen=True, slots=True)
class Measured:
    """Errors of one workload over some runs, each a mean over queries of squared errors.

    Attributes
    ----------
    runs : int
    mse : root of the mean over runs, records a query.
    per_run : mean over runs of each run's root, records a query; never larger.
    seconds : mean time of a release.
    """

    runs: int
    mse: float
    per_run: float
    seconds: float

    @property
    def doubt(self) -> float:
        """The standard error of `per_run`, as a share of it; 0 of a single run."""
        if self.runs < 2 or self.per_run == 0:
            return 0.0
        return math.sqrt(max((self.mse / self.per_run) ** 2 - 1, 0) / (self.runs - 1))


def measure(cell: Cell, effort: Effort) -> dict[str, Measured]:
    """Run a cell; what was measured, by workload.

    Raises
    ------
    TooSlowError
        If two runs, or the one that is asked for, did not end in time.
    """
    found: list[dict[str, float]] = []
    spent = 0.0
    start = time.perf_counter()
    while len(found) < effort.runs:
        left = start + effort.seconds - time.perf_counter()
        if left <= 0:
            break
        run = len(found)
        counts = cell.shape.at(cell.scale, run)
        began = time.perf_counter()
        try:
            estimate = within(left, partial(_estimate, cell, counts, run))
        except OutOfTimeError:
            break
        spent += time.perf_counter() - began
        found.append(compute_squared_errors(counts, estimate))
    if len(found) < min(FEWEST, effort.runs):
        raise TooSlowError(f"{len(found)} of {FEWEST} runs ended in {effort.seconds:g} s")
    return {
        workload: _summary([one[workload] for one in found], spent / len(found))
        for workload in found[0]
    }


def _estimate(cell: Cell, counts: IntArray, run: int) -> Estimate:
    return cell.contender.estimate(counts, cell.epsilon, cell.seed(run))


def _summary(squares: list[float], seconds: float) -> Measured:
    runs = len(squares)
    root = math.sqrt(math.fsum(squares) / runs)
    return Measured(runs, root, math.fsum(map(math.sqrt, squares)) / runs, seconds)
