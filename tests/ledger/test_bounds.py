"""Data with larger bounds than a mechanism protects are refused before anything is charged."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh

ROWS = pd.DataFrame({"who": [1, 1, 2], "what": ["a", "b", "a"], "age": [3, 4, 5]})
OF: dict[str, Any] = {"user": "who", "unit": "one patient"}


def cases() -> dict[str, tuple[Any, Any]]:
    labels = dh.LabelCounts.from_table(ROWS, label="what", max_labels=2, **OF)
    profile = dh.Profile.from_table(ROWS, label="what", max_records=2, **OF)
    bins = dh.bin_counts(ROWS, column="age", edges=range(0, 11, 5), max_records=2, **OF)
    cells = dh.KeyedCounts.from_table(ROWS, keys={"what": ["a", "b"]}, max_rows=2, **OF)
    tables = dh.Tables(rho="0.01", keys=cells.keys, tables=["what"])
    return {
        "tables": (tables, cells),
        "labels": (dh.ThresholdHistogram(epsilon="0.1", delta="1e-8", max_labels=1), labels),
        "anonymized": (dh.AdaptiveScan(epsilon="0.1"), profile),
        "ranges": (dh.AdaptiveTree(epsilon="0.1", bins=2), bins),
    }


@pytest.mark.parametrize("name", list(cases()))
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.quick(every=6)
def test_too_large_bounds_cost_nothing(name: str, guarded: bool, tmp_path: Path) -> None:
    mechanism, data = cases()[name]
    place = tmp_path / "clinic.ledger"
    with dh.Ledger.create(place, epsilon=2, delta="1e-6", unit="one patient") as ledger:
        given = ledger.guard(data) if guarded else data
        for _ in range(2):  # the key is not used up
            with pytest.raises(dh.BoundsError):
                ledger.release(mechanism, given, by="ana", key="first")
        assert ledger.spent.rho == 0
        assert len(ledger.entries()) == 2


PLAIN = {
    "ranges": dh.AdaptiveTree(epsilon="0.1", bins=3),
    "anonymized": dh.AdaptiveScan(epsilon="0.1"),
    "regions": dh.RegionalProfiles(epsilon="0.1", regions=["a", "b"]),
    "tables": dh.Tables(epsilon="0.1", keys={"what": [1, 2, 3]}, tables=["what"]),
    "groups": dh.GroupedHistogram(epsilon="0.1", groups={"what": [1, 2, 3]}, bins=1),
}
UNFIT = {
    "floats": np.array([1.0, np.nan, 2.0]),
    "truth values": np.array([True, False, True]),
    "text": np.array(["1", "2", "3"]),
    "another shape": np.array([1, 2]),
    "a number": 3,
    "nothing": None,
    "a word": "abc",
    "a mapping": {"a": 1},
}


@pytest.mark.parametrize("unfit", UNFIT)
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.quick(every=5)
def test_data_of_a_wrong_type_cost_nothing(name: str, unfit: str, tmp_path: Path) -> None:
    with dh.Ledger.create(tmp_path / "a.ledger", epsilon=2, unit="one record") as ledger:
        for _ in range(2):
            with pytest.raises(dh.ParameterError):
                ledger.release(PLAIN[name], UNFIT[unfit], by="ana", key="first")
        assert len(ledger.entries()) == 2


@pytest.mark.parametrize("counts", [np.array([3, -1, 2]), [3, None, 2], [3, 1.5, 2]])
@pytest.mark.parametrize("name", ["ranges", "tables"])
def test_an_error_that_looks_at_numbers_is_paid_for(name, counts, tmp_path: Path) -> None:
    with dh.Ledger.create(tmp_path / "a.ledger", epsilon=2, unit="one record") as ledger:
        with pytest.raises(dh.DphistError):
            ledger.release(PLAIN[name], counts, by="ana", key="first")
        assert len(ledger.entries()) == 3
