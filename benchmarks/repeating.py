"""Repeating one measurement for a while, as benchmarks do."""

import time

from dphist.document.compared import Run
from dphist.errors import DphistError
from dphist.lab.comparing.measuring import Effort, Measured, Tally, add_runs

FEWEST = 2  # runs without which there is no standard error


class TooSlowError(DphistError):
    """A measurement for which too few runs ended in time."""


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
