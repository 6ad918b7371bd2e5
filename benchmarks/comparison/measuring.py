"""Repeating a random measurement until its mean is known well enough."""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.comparison.contenders import Mechanism
from dphist import Profile

FEWEST = 2  # runs without which there is no standard error


@dataclass(frozen=True, slots=True)
class Effort:
    """When to stop.

    Attributes
    ----------
    target : standard error over mean at which it is enough.
    fewest, most : runs.
    seconds : time after which it is enough in any case, once there are two runs.
    """

    target: float = 0.05
    fewest: int = 10
    most: int = 400
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class Measured:
    """Errors (cells of the diagram) of some runs, and the median time of one."""

    runs: int
    error: float
    standard_error: float
    seconds: float


def measure(run: Callable[[], tuple[int, float]], effort: Effort) -> Measured:
    """Repeat `run`, which returns an error and the seconds it took to make the release.

    Stopping by an estimated standard error favours runs that happen to agree; `fewest` keeps
    that small beside the error stated.
    """
    errors: list[int] = []
    times: list[float] = []
    start = time.perf_counter()
    while True:
        error, seconds = run()
        errors.append(error)
        times.append(seconds)
        if len(errors) < FEWEST:
            continue
        mean = statistics.fmean(errors)
        standard_error = statistics.stdev(errors) / math.sqrt(len(errors))
        # A mean of 0 says that errors are rare, not that they are known well.
        precise = mean > 0 and standard_error <= effort.target * mean
        if (
            len(errors) >= effort.most
            or time.perf_counter() - start >= effort.seconds
            or (precise and len(errors) >= effort.fewest)
        ):
            return Measured(len(errors), mean, standard_error, statistics.median(times))


def one_run(mechanism: Mechanism, profile: Profile) -> tuple[int, float]:
    """Release once: sorted L1 error, and seconds of the release alone."""
    start = time.perf_counter()
    release = mechanism.release(profile)
    seconds = time.perf_counter() - start
    return profile.distance(release.value), seconds
