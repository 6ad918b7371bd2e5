"""Outcomes as rows of numbers, which is what the tools of others take, and drawing them in time."""

import contextlib
import io
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.auditors.task import Task
from dphist.arrays import FloatArray

MOST_COLUMNS = 64
ABSENT = np.nan
_FEWEST = 50  # runs on each of two neighbors, by which the columns are chosen


@dataclass
class Encoder:
    """Turns outcomes into rows: a column for each place or key that was seen at first.

    Text is numbered in the order in which it is seen. What is absent is NaN. An outcome that is an
    error has only NaN; warnings are not seen. Both would be seen by nobody who calls these tools as
    their authors do.
    """

    columns: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)

    def learn(self, outcomes: Sequence[Any]) -> None:
        """Choose the columns."""
        seen: dict[str, int] = {}
        for outcome in outcomes:
            for name in _flat(outcome):
                seen[name] = seen.get(name, 0) + 1
        self.columns = sorted(seen, key=lambda name: -seen[name])[:MOST_COLUMNS] or ["none"]

    def rows(self, outcomes: Sequence[Any]) -> FloatArray:
        """Return (len(outcomes), columns) numbers."""
        found = np.full((len(outcomes), len(self.columns)), ABSENT)
        places = {name: place for place, name in enumerate(self.columns)}
        for row, outcome in enumerate(outcomes):
            for name, value in _flat(outcome).items():
                if name in places:
                    found[row, places[name]] = self._number(value)
        return found

    def _number(self, value: Any) -> float:
        if isinstance(value, int | float):
            return float(value)
        return float(self.codes.setdefault(str(value), len(self.codes)))


def _flat(outcome: Any, name: str = "") -> dict[str, Any]:
    if isinstance(outcome, Exception):
        return {}
    if isinstance(outcome, int | float | str):
        return {name: outcome}
    if isinstance(outcome, Mapping):
        parts = [(str(key), each) for key, each in outcome.items()]
    elif isinstance(outcome, list | tuple):
        parts = [(str(place), each) for place, each in enumerate(outcome)]
    else:
        return {name: outcome}
    return {
        key: value for part, each in parts for key, value in _flat(each, f"{name}/{part}").items()
    }


def draw(task: Task, data: Sequence[Any], seconds: float, least: int = _FEWEST) -> list[list[Any]]:
    """Run on each data set in turn until the time is up; return as many outcomes of each."""
    found: list[list[Any]] = [[] for _ in data]
    until = time.monotonic() + seconds
    with _quiet():
        while len(found[0]) < least or time.monotonic() < until:
            for kept, each in zip(found, data, strict=True):
                kept.append(_outcome(task, each))
    return found


def _outcome(task: Task, data: Any) -> Any:
    try:
        return task.run(data)
    except Exception as error:  # whatever it is, it ended the run
        return error


@contextlib.contextmanager
def _quiet() -> Any:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
