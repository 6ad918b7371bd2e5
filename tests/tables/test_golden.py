"""What each surface says of tables by pure epsilon, and with ranges, letter by letter."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import dphist as dh
from dphist.report import table_csv
from tests.support.golden import SURFACES, check_golden, each_of, each_surface, golden_path
from tests.support.report.told import shown

KEYS: dict[str, Any] = {"sex": ["f", "m"], "age": dh.Axis.regular(0, 90, 30)}
COUNTS = np.array([[300, 200, 100], [250, 210, 20]])


def made(**more: Any) -> dh.Release:
    """Return a release whose random bytes are always the same."""
    mechanism = dh.Tables(epsilon=1, **{"keys": KEYS, "tables": ["sex", "sex+age"], **more})
    counts = np.resize(COUNTS, mechanism.keys.shape)
    return shown(mechanism.release(counts, random.Random(1).randbytes))


def made_with_sums() -> dh.Release:
    """Return a release with sums, of which one cell is too small to have a mean."""
    columns = (("spent", dh.Clamp(0, 200, "0.01")), ("visits", dh.Clamp(1, 9, 1)))
    totals = np.array([[-9, 5, 30, 8, -20, 3], [900, 0, -200, 70, 44, -60]])
    counts = dh.KeyedCounts(
        dh.Tables(rho=1, keys=KEYS, tables=["sex"]).keys,
        np.arange(6),
        COUNTS.ravel(),
        columns=columns,
        totals=(totals[0] * 10_000, totals[1]),
    )
    given: dict[str, Any] = {"keys": KEYS, "tables": ["sex", "sex+age"], "sums": counts.sums}
    mechanism = dh.Tables(epsilon=1, delta="1e-6", **given)
    return shown(mechanism.release(counts, random.Random(1).randbytes))


MADE: dict[str, Callable[[], dh.Release]] = {
    "noise on cells": lambda: made(max_rows=2),
    "noise on contrasts": lambda: made(
        keys={"sex": ["f", "m"], "age": dh.Axis.regular(0, 100, 5)}, tables=["age", "sex"]
    ),
    "a map": lambda: made(
        keys={"place": list("ABCDEFGH"), "hour": dh.Axis.regular(0, 24, 3)}, tables=["place+hour"]
    ),
    "ranges": lambda: made(delta="1e-6", ranges=["age"]),
    "sums": made_with_sums,
    "one row per": lambda: made(delta="1e-6", max_rows=2, one_row_per="sex"),
}
QUICK = ("noise on contrasts",)


@each_surface
@each_of(MADE, QUICK)
def test_a_release(name: str, surface: str) -> None:
    release = MADE[name]()
    assert name in (
        f"noise on {release.mechanism.noise_on}",
        "a map",
        "ranges",
        "one row per",
        "sums",
    )
    check_golden(golden_path(__file__, name, surface), SURFACES[surface](release))


@each_of(MADE, QUICK)
def test_a_table(name: str) -> None:
    check_golden(golden_path(__file__, name, "table"), table_csv(MADE[name]()))
