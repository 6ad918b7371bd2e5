"""Do runs repeat each other? What draws from a cycle, or keeps a state, is judged wrongly.

All bounds of the statistical layer take runs for independent. Here one data set is run many times
in a row, and two things are looked at: whether outcomes agree more often at some distance than
they do at all others, and whether the first half of the runs looks like the second.
"""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dphist.lab.auditing.outcome import whole_of_run
from dphist.lab.auditing.subject import Run

_MOST_RUNS = 2000
_FEWEST = 60
_FAR = 7.0  # standard deviations, and a few agreements more, that no correct mechanism reaches
_MOST_PAIRS = 400_000


@dataclass(frozen=True)
class Repeated:
    """What was found: `warning` is empty where runs look independent."""

    warning: str
    runs: int
    interrupted: bool = False


def repetitions(run: Run, data: Any, seconds: float) -> Repeated:
    """Run many times on the same data, and say whether runs repeat each other."""
    end = time.monotonic() + seconds
    shown: list[int] = []
    try:
        while len(shown) < _MOST_RUNS and time.monotonic() < end:
            shown.append(hash(whole_of_run(run, data)))
    except KeyboardInterrupt:
        return Repeated("", len(shown), interrupted=True)
    return Repeated(dependence(shown), len(shown))


def dependence(shown: Sequence[Hashable]) -> str:
    """Return what makes runs on the same data look dependent, in words; nothing if they do not."""
    if len(shown) < _FEWEST:
        return ""
    if _drifts(shown):
        return (
            "Later runs on the same data differ from earlier ones: there is a state. The counts "
            "above are not to be relied on."
        )
    lag = _agreeing_lag(shown)
    if lag is not None:
        return (
            f"Runs on the same data repeat each other: outcomes agree with those {lag} runs before "
            "far more often than independent ones would. The counts above are not to be relied on."
        )
    return ""


def _agreeing_lag(shown: Sequence[Hashable]) -> int | None:
    """Return a distance at which outcomes agree too often."""
    runs = len(shown)
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, outcome in enumerate(shown):
        places[outcome].append(place)
    pairs = sum(len(each) ** 2 for each in places.values()) // 2
    agreeing = np.zeros(runs)
    if pairs <= _MOST_PAIRS:
        for each in places.values():
            where = np.array(each)
            distances = (where[None, :] - where[:, None])[np.triu_indices(len(where), 1)]
            agreeing += np.bincount(distances, minlength=runs)
    else:
        common = sorted(places.values(), key=len, reverse=True)[:50]
        for each in common:
            there = np.zeros(2 * runs)
            there[each] = 1
            power = np.abs(np.fft.rfft(there)) ** 2
            agreeing += np.round(np.fft.irfft(power)[:runs])
        pairs = sum(len(each) * (len(each) - 1) // 2 for each in common)
    chance = pairs / (runs * (runs - 1) / 2)
    lags = np.arange(1, 2 * runs // 3)
    expected = chance * (runs - lags)
    limit = expected + _FAR * np.sqrt(expected) + _FAR
    excess = agreeing[lags] - limit
    best = int(np.argmax(excess))
    return int(lags[best]) if excess[best] > 0 else None


def _drifts(shown: Sequence[Hashable]) -> bool:
    half = len(shown) // 2
    first, second = Counter(shown[:half]), Counter(shown[half : 2 * half])
    for each in {*first, *second}:
        one, other = first[each], second[each]
        if abs(one - other) > _FAR * math.sqrt(one + other) + _FAR:
            return True
    return False
