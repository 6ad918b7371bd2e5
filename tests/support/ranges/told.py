"""Releases over ranges with fixed noise: each mechanism, each sort of axis, each privacy unit."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import dphist as dh
from tests.support.report.ranges_releases import AGES, ENDLESS, HOSTILE, HOURS, bell, binned
from tests.support.report.told import CLINIC, shown

VISITS = pd.DataFrame(
    {"patient": [n // 2 for n in range(200)], "age": [n * n % 71 - 2 for n in range(200)]}
)
EDGES = [0, 18, 40, 65]
DAYS = dh.Axis.regular("2024-01-01", "2024-03-01", "1d", "day")
AUTUMN = dh.Axis.regular("2024-10-21", "2024-11-04", "1d", "time", tz="Europe/Zurich")
SHARES = dh.Axis.from_edges([0, 0.25, 0.5, 0.75, 1], "share")
WORDS: dict[str, Any] = {
    "title": "Visits by age",
    "record_name": "visit",
    **CLINIC,
}


def release(mechanism: type, data: Any, seed: int = 1, **given: Any) -> dh.Release:
    """Release with fixed noise and a fixed day, as if the noise were secret."""
    words = {name: given.pop(name) for name in (*WORDS, "unit") if name in given}
    bins = data.bins if isinstance(data, dh.BinnedCounts) else np.shape(data)
    made = mechanism(bins=bins, **({"epsilon": 1} | given))
    return shown(made.release(data, random.Random(seed).randbytes), **words)


def visits(unit: str | None = None) -> dh.BinnedCounts:
    """Bound the visits of each patient to 2; no patient has more, so that nothing is random."""
    return dh.bin_counts(
        VISITS, column="age", edges=EDGES, user="patient", max_records=2, unit=unit
    )


def of_rows() -> dh.BinnedCounts:
    """Protect a row, which stands for at most 5 records."""
    rows = pd.DataFrame({"age": [5, 20, 30, 50], "visits": [3, 5, 2, 4]})
    return dh.bin_counts(rows, column="age", edges=EDGES, count="visits", max_records=5)


def four_releases() -> dh.Release:
    made = dh.calibrate(dh.LeafCounts, epsilon=2, delta=0, releases=4, bins=3)
    return shown(made.release(binned([10, 50, 8], AGES), random.Random(1).randbytes))


def by_two(mechanism: type, *axes: dh.Axis, **given: Any) -> dh.Release:
    data = binned(np.outer(bell(axes[0].bins, 3000), [1, 5, 2]), *axes, outside=(4, 0))
    return release(mechanism, data, **given)


TREE, FITTED, LEAVES = dh.AdaptiveTree, dh.HierarchicalTree, dh.LeafCounts
MADE: dict[str, Callable[[], dh.Release]] = {
    "ten bins": lambda: release(TREE, bell(10, 10_000)),
    "one bin": lambda: release(TREE, [50]),
    "hours": lambda: release(FITTED, binned(bell(1440, 10**5), HOURS)),
    "days": lambda: release(TREE, binned(bell(60, 10**4), DAYS)),
    "days of a zone": lambda: release(TREE, binned(bell(14, 10**4), AUTUMN)),
    "shares": lambda: release(TREE, binned([10, 50, 200, 3], SHARES), epsilon=None, rho="0.1"),
    "endless": lambda: release(TREE, binned([9, 90, 900, 90, 9], ENDLESS), epsilon=2),
    "a corner": lambda: release(TREE, [5000] * 20 + [0] * 4076),
    "users": lambda: release(TREE, visits(), sensitivity=2),
    "users, called people": lambda: release(TREE, visits(), sensitivity=2, unit="person/people"),
    "patients, in words": lambda: release(TREE, visits("one patient"), sensitivity=2, **WORDS),
    "rows": lambda: release(LEAVES, of_rows(), sensitivity=5),
    "visits": lambda: release(TREE, bell(10, 10_000), record_name="visit"),
    "contributions": lambda: release(LEAVES, binned([100, 500, 80], AGES), sensitivity=5),
    "gaussian": lambda: release(TREE, bell(100, 1000), epsilon=None, rho="0.01"),
    "four releases": four_releases,
    "expected total": lambda: release(TREE, bell(10, 10_000), expected_total=10_000),
    "noise": lambda: release(LEAVES, [0] * 300, epsilon="0.01"),
    "nothing": lambda: release(TREE, [0] * 9, epsilon=50),
    "fitted": lambda: release(FITTED, bell(50, 5000), nonnegative=False),
    "nodes": lambda: release(FITTED, bell(50, 5000), consistent=False),
    "for tests": lambda: replace(release(TREE, bell(10, 10_000)), for_tests=True),
    "hostile": lambda: release(TREE, binned(bell(20, 500), dh.Axis.regular(0, 20, 1, HOSTILE))),
    "map": lambda: release(TREE, np.outer(bell(100, 100), bell(60, 1000))),
    "map of hours and ages": lambda: by_two(FITTED, HOURS, AGES),
    "map in words": lambda: by_two(TREE, dh.Axis.regular(0, 24, 1, "hour"), AGES, **WORDS),
    "empty map": lambda: release(TREE, np.zeros((4, 5), np.int64), epsilon=50),
    "three axes": lambda: release(TREE, np.full((2, 3, 5), 40)),
}
"""Releases by what they show."""
