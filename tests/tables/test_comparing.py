"""Comparing mechanisms for tables: what is compared, by which numbers, and with which noise."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.cli import main
from dphist.lab.comparing.compare import open_case
from dphist.tables.comparing import ForComparison, TablesCase
from dphist.tables.law import largest_rho

KEYS = {"a": [1, 2, 3], "alone": ["x"], "b": ["f", "m"], "c": [False, True]}
GRID = np.arange(12).reshape(3, 1, 2, 2) * 100
DELTA = "1e-6"
NAMES = [
    "Tables",
    "Tables, whole numbers",
    "separate tables",
    "sums of finest cells",
    "Privelet",
]


def case_of(grid=GRID, keys=KEYS, max_rows: int = 1) -> TablesCase:
    data = dh.KeyedCounts.from_counts(grid, keys=keys, max_rows=max_rows)
    _, case = open_case(data, DELTA)
    assert isinstance(case, TablesCase)
    return case


def make(case: TablesCase, name: str, epsilon=1):
    (contender,) = [one for one in case.list_published() if one.name == name]
    return contender.make(epsilon, case.opened)


def test_all_tables_of_one_and_two_keys_are_compared() -> None:
    tables = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]
    assert case_of().tables == tables
    assert case_of().facts["tables"] == "6"
    one = case_of(np.array([[5, 6]]), {"alone": ["x"], "b": ["f", "m"]})
    assert [measure.name for measure in one.measures] == ["error of tables by one key"]


@pytest.mark.parametrize("name", NAMES)
def test_the_error_is_that_of_the_noise(name: str) -> None:
    """With nearly no noise there is nearly no error: each table is compared with its own."""
    case = case_of()
    errors, seconds = case.run(make(case, name, 10**4))()
    assert seconds > 0
    assert all(error is not None and error < 5 for error in errors)
    assert case._errors({names: truth + 1 for names, truth in case._truth.items()}) == [
        (3 * 2 + 3 * 2 + 2 * 2) / 3,
        (3 + 2 + 2) / 3,
    ]


@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_unit_pays_the_total_for_the_noise_of_others(max_rows: int) -> None:
    """Each mechanism's noise is that of its guarantee, and all have the same budget."""
    case = case_of(max_rows=max_rows)
    rho = float(largest_rho(dh.ApproxDP(1, DELTA).epsilon, dh.ApproxDP(1, DELTA).delta))
    runs = 2000
    drawn = [make(case, "separate tables").making(case.data) for _ in range(runs)]
    off = np.array([[cells[n] - case._truth[n] for n in [("a", "b")]] for cells in drawn])
    sigma = max_rows * math.sqrt(6 / (2 * rho))
    assert off.std() == pytest.approx(sigma, rel=6 / math.sqrt(2 * off.size))
    drawn = [make(case, "sums of finest cells").making(case.data) for _ in range(runs)]
    off = np.array([cells[("a", "b")] - case._truth[("a", "b")] for cells in drawn])
    sigma = max_rows * math.sqrt(2 / (2 * rho))
    assert off.std() == pytest.approx(sigma, rel=6 / math.sqrt(2 * off.size))
    for name in NAMES:
        made = make(case, name)
        assert made.guarantee.unit.at_most == max_rows, name
        if name.startswith("Tables"):
            assert made.guarantee.rho <= rho * (1 + 1e-9), name
        else:
            assert made.guarantee.epsilon == 1, name


def test_many_cells_together_are_not_made() -> None:
    keys = {name: range(200) for name in "abc"}
    assert len(case_of().list_published()) == 5
    few = dh.sql.keyed_counts(
        {"a": [1], "b": [2], "c": [3], "count": [5]}, keys=keys
    )  # fmt: skip
    assert [one.name for one in TablesCase(few, few, DELTA).list_published()] == NAMES[:3]


def test_what_is_for_comparison_only_cannot_become_a_release() -> None:
    made = make(case_of(), "separate tables")
    assert isinstance(made, ForComparison)
    assert not hasattr(made, "release")
    assert not isinstance(made, dh.Mechanism)


def test_own_mechanisms_are_compared() -> None:
    data = dh.KeyedCounts.from_counts(GRID, keys=KEYS)
    weighted = partial(dh.Tables, weights={"a+b": 9})

    class Truth:
        def __init__(self, epsilon) -> None:
            self.guarantee = dh.PureDP(1)

        def release(self, data):
            return {names: data.sum_over(tuple(["a", "alone", "b", "c"].index(n) for n in names))
                    for names in case_of().tables}  # fmt: skip

    class Empty(Truth):
        def release(self, data):
            return {}

    found = dh.compare(
        {"weighted": weighted, "truth": Truth, "empty": Empty}, data, [1], delta=DELTA,
        seconds=5, most=2,
    )  # fmt: skip
    errors = {(row.mechanism, row.measure): row.error for row in found}
    assert errors[("truth", "error of tables by two keys")] == 0
    assert errors[("weighted", "error of tables by one key")] > 0
    assert [one.mechanism for one in found.left_out] == ["empty"]
    assert "KeyedTables" in found.left_out[0].reason


def test_bad_data_are_refused() -> None:
    data = dh.KeyedCounts.from_counts(GRID, keys=KEYS)
    with pytest.raises(dh.ParameterError, match="delta must be given"):
        dh.compare([dh.Tables], data, [1])
    pure = dh.compare([dh.Tables], data, [1], delta=0, seconds=3, most=2)
    assert not pure.left_out  # without a delta, noise is geometric
    assert {row.mechanism for row in pure} == {"Tables"}
    alone = dh.KeyedCounts.from_counts([7], keys={"alone": ["x"]})
    with pytest.raises(dh.ParameterError, match="data must have a key with at least two values"):
        dh.compare([dh.Tables], alone, [1], delta=DELTA)


def test_the_command(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["who,sex,region"] + [
        f"{i},{'fm'[i % 2]},{['BE', 'UR', 'ZH'][i % 3]}" for i in range(60)
    ]
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    asked = ["compare", "--rows", "people.csv", "--axis", "sex=f,m", "--axis", "region=BE,UR",
             "--other", "region", "--epsilon", "1", "--delta", DELTA, "--seconds", "3"]  # fmt: skip
    assert main([*asked, "--user", "who", "--max-rows", "2"]) == 0
    said = capsys.readouterr().out
    assert "Mechanisms for tables, compared" in said
    assert "region (3)" in said
    assert "separate tables" in said
    alone = [*asked[:7], *asked[9:]]
    assert main(alone) != 0
    assert "leave such rows out with --unlisted drop" in capsys.readouterr().err
    assert main([*alone, "--unlisted", "drop"]) == 0
    assert "region (2)" in capsys.readouterr().out
    assert main(asked[:3]) == 2
    assert "--rows needs --axis" in capsys.readouterr().err
    assert main([*asked[:7], "--bins", "people.csv"]) == 2


def test_a_comparison_finds_no_values() -> None:
    rows = pd.DataFrame({"drug": ["a", "b"] * 50, "sex": ["f", "m"] * 50})
    keys = {"drug": dh.DiscoverKeys(share="0.3"), "sex": ["f", "m"]}
    counts = dh.KeyedCounts.from_table(rows, keys=keys)
    with pytest.raises(dh.ParameterError, match="keys must list values of 'drug'"):
        dh.compare([dh.Tables], counts, delta="1e-6")
