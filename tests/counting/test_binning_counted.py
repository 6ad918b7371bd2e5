"""Bins of rows that each are several records: bounded, the same on every engine, and silent."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import chi2

from dphist.counting.binning.slots import Grid
from dphist.counting.binning.users import bin_rows_bounded
from dphist.counting.bounding import contributions
from dphist.counting.bounding.bounds import Bounds, bound_labels
from dphist.counting.engine.rows import Rows
from dphist.data.binned_counts import bin_counts
from dphist.errors import ColumnError, DataError, ParameterError
from dphist.privacy import PrivacyUnit
from tests.support.counting.backends import written
from tests.support.counting.binned_users import EDGES, KEYS
from tests.support.counting.contribution_engines import ENGINES, Engine
from tests.support.counting.counted_bins import (
    LARGEST,
    CountedRows,
    counted_table,
    shared,
    shared_in_python,
    some_counted_rows,
)
from tests.support.goodness import LEVEL
from tests.support.refusal import NUMBER, SENTINEL, refused

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


def binned(frame: Any, **options: Any) -> Any:
    return bin_counts(frame, **{"column": "x", "edges": EDGES, "count": "n", **options})


# --- The same counts on every engine, for the same key


@pytest.mark.long(every=4)
@every_engine
@pytest.mark.parametrize("most", [1, 4, 5000])
@pytest.mark.quick("[1-pyarrow]")
def test_the_counts_are_those_of_plain_python(engine: Engine, most: int, tmp_path: Path) -> None:
    rows = some_counted_rows(most)
    frame = engine.make(counted_table(rows), tmp_path)
    for key in KEYS:
        assert shared(frame, most, key) == shared_in_python(rows, most, key, engine.name)


@every_engine
@pytest.mark.quick(every=3)
def test_without_users_rows_are_added_up_and_never_wrap(engine: Engine, tmp_path: Path) -> None:
    rows: CountedRows = [("u", 0, 3), ("u", 1, 4), ("v", 2, 0), ("v", None, 9)]
    rows += [("v", 5, LARGEST)] * 3
    frame = engine.make(counted_table(rows), tmp_path)
    assert shared(frame, None, None, user=None) == [0, 7, 0, LARGEST, 0, 9]
    assert shared(frame, 3, None, user=None) == [0, 6, 0, 9, 0, 3]


@pytest.mark.long(every=2)
@every_engine
@pytest.mark.quick(every=8)
def test_counts_that_are_no_counts_are_refused(engine: Engine, tmp_path: Path) -> None:
    for number, (count, said) in enumerate([(-NUMBER, "'n'"), (LARGEST + NUMBER, "'n'")]):
        (tmp_path / str(number)).mkdir()
        frame = engine.make(counted_table([(SENTINEL, NUMBER, count)]), tmp_path / str(number))
        for users in ({}, {"max_records": 2}, {"user": "who", "max_records": 2}):
            with refused(DataError, said):
                binned(frame, **users)


@pytest.mark.verify
@every_engine
def test_without_rows(engine: Engine, tmp_path: Path) -> None:
    found = binned(engine.make(counted_table([]), tmp_path), max_records=3)
    assert found.counts.tolist() == [0, 0, 0]
    assert (found.sensitivity, found.unit) == (3, PrivacyUnit("row"))


def test_what_is_kept_states_its_bound_and_its_unit() -> None:
    table = counted_table([("u", 1, 7), ("v", 3, 1)])
    assert (binned(table).sensitivity, binned(table).unit) == (1, None)
    of_rows = binned(table, max_records=5)
    row = PrivacyUnit("row")
    assert (of_rows.counts.tolist(), of_rows.sensitivity, of_rows.unit) == ([5, 1, 0], 5, row)
    of_users = binned(table, user="who", max_records=5, unit="one patient")
    assert (of_users.sensitivity, of_users.unit) == (5, PrivacyUnit("patient"))


def test_counts_give_what_rows_give() -> None:
    """A table that is counted already, and the same table with a row for each record."""
    values = [0, 0, 0, 2, 5, 5, None, -1]
    counted = Counter(values)
    rows = pa.table({"x": pa.array(values, pa.int64())})
    already = pa.table({"x": pa.array(list(counted), pa.int64()), "n": list(counted.values())})
    assert binned(already) == bin_counts(rows, column="x", edges=EDGES)


@pytest.mark.verify
def test_several_axes_and_text(tmp_path: Path) -> None:
    content = b"x,day,n,who\n1,2024-01-01,7,a\n3,2024-01-01,+2,a\n3,,5,b\n"
    path = written(tmp_path, "t.csv", content)
    edges = [[0, 2, 4], ["2024-01-01", "2024-01-02"]]
    found = binned(path, column=["x", "day"], edges=edges)
    assert (found.counts.tolist(), dict(found.outside)) == ([[7], [2]], {"outside": 0, "null": 5})
    whole = binned(path, column=["x", "day"], edges=edges, user="who", max_records=4)
    assert (whole.counts.sum(), whole.nulls) == (4, 4)
    for wrong in (b"1.5", b"-1", SENTINEL.encode(), b"1e3"):
        with refused(DataError, "'n'", "whole numbers"):
            binned(written(tmp_path, "w.csv", b"x,n\n1," + wrong + b"\n"))


# --- What one user, or one row, changes

VALUES = [-1, 0, 5, None]  # below, two bins, null
COUNTS = [1, 2, 5]


def pairs_of_tables() -> list[tuple[CountedRows, CountedRows]]:
    """Rows of two other users, and of the one who is there or not: all small ones of a kind."""
    others: list[CountedRows] = [
        [("v", x, n), ("w", 0, 3), ("v", None, n)] for x in VALUES for n in COUNTS
    ]
    own = [
        [("u", x, n) for x, n in rows]
        for size in (1, 2)
        for rows in itertools.combinations_with_replacement(itertools.product(VALUES, COUNTS), size)
    ]
    return list(itertools.product(others, own))


PAIRS = pairs_of_tables()


def change(without: list[int], with_user: list[int]) -> tuple[int, int]:
    """Return the records more, and the records fewer, over all slots."""
    by = [b - a for a, b in zip(without, with_user, strict=True)]
    return sum(max(n, 0) for n in by), sum(max(-n, 0) for n in by)


@pytest.mark.parametrize("most", [1, 4])
def test_a_user_adds_no_more_than_the_bound_in_plain_python(most: int) -> None:
    """All pairs, each under a key of its own; that engines do the same is tested above."""
    for number, (others, own) in enumerate(PAIRS):
        key = f"{number:032x}"
        found = [shared_in_python(rows, most, key) for rows in (others, own + others)]
        assert change(*found) == (min(sum(n for _, _, n in own), most), 0)


def changes_of_users(step: int) -> set[bool]:
    """Whether neighbors differ by just what they may, on a sample of the pairs."""
    found = set()
    for number, (others, own) in enumerate(PAIRS[::step]):
        key = f"{number:032x}"
        counts = [shared(counted_table(rows), 4, key) for rows in (others, own + others)]
        found.add(change(*counts) == (min(sum(n for _, _, n in own), 4), 0))
    return found


def test_a_user_adds_no_more_than_the_bound() -> None:
    assert changes_of_users(40) == {True}


def test_a_row_adds_no_more_than_the_bound() -> None:
    others = [("v", 0, 9), ("v", 5, 2)]
    for count, most in itertools.product([0, 1, 3, LARGEST], [1, 3, 2**62]):
        tables = [counted_table(rows) for rows in (others, [*others, ("u", 0, count)])]
        found = [shared(table, most, None, user=None) for table in tables]
        assert change(*found) == (min(count, most, LARGEST - min(9, most)), 0)


def of_each_term(rows: Rows, most: int, key: str) -> Rows:
    """Each term of a user is bounded, and not all of them together."""
    found, _ = bound_labels(rows, True, Bounds(None, most), key)
    return found.project("term", "records AS amount", "problem")


def of_each_row(rows: Rows, most: int, key: str) -> Rows:
    """Each row of a user is bounded, and not all of them together."""
    return rows.project("term", f"least(amount, {most}) AS amount", "problem")


def one_too_many(rows: Rows, most: int, key: str) -> Rows:
    return CORRECT(rows, most + 1, key)


CORRECT = contributions.share_records


@pytest.mark.parametrize("wrong", [of_each_term, of_each_row, one_too_many])
@pytest.mark.quick(every=3)
def test_a_planted_bug_is_noticed(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contributions, "share_records", wrong)
    assert False in changes_of_users(97)


# --- Records are kept evenly, and by each user apart

USERS = 3000
SIZES = (3, 1, 4)  # records of a user, in three bins of the user's own
MANY = Grid(("x",), (np.arange(USERS * len(SIZES) + 1),), (None,))


def kept_records(key: str, most: int = 3) -> np.ndarray:
    """Return how many records of each of three bins each user keeps, (USERS, 3)."""
    places = np.arange(USERS * len(SIZES))
    table = pa.table({"x": places, "who": places // len(SIZES), "n": list(SIZES) * USERS})
    slots = bin_rows_bounded(table, MANY, user="who", count="n", max_records=most, key=key)
    return slots[1:-2].reshape(USERS, len(SIZES))


def p_values(kept: np.ndarray) -> list[float]:
    """Of the number kept in each bin, by its share, and of two users that stand together."""
    share = 3 * np.array(SIZES) / sum(SIZES)
    low = np.floor(share)
    up = kept - low
    assert set(np.unique(up)) <= {0, 1}  # a share is kept, rounded up or down
    chance = share - low
    found = []
    for part, ups in zip(chance, up.T, strict=True):
        expected = np.array([1 - part, part]) * USERS
        seen = np.array([USERS - ups.sum(), ups.sum()])
        found.append(float(chi2.sf(np.sum((seen - expected) ** 2 / expected), 1)))
    first, second = up[::2, 1], up[1::2, 1]
    both = np.array([[np.sum((first == a) & (second == b)) for b in (0, 1)] for a in (0, 1)])
    parts = np.array([1 - chance[1], chance[1]])
    expected = np.outer(parts, parts) * USERS / 2
    return [*found, float(chi2.sf(np.sum((both - expected) ** 2 / expected), 3))]


def test_records_are_kept_evenly_and_independently() -> None:
    for key in KEYS:
        kept = kept_records(key)
        assert set(kept.sum(axis=1)) == {3}
        assert min(p_values(kept)) > LEVEL


def test_a_choice_that_is_not_even_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from dphist.counting.engine.rows import DuckRows

    monkeypatch.setattr(DuckRows, "spin", lambda *_: "0::HUGEINT")
    monkeypatch.setattr(DuckRows, "hash_columns", lambda *_: "term")
    assert min(p_values(kept_records(KEYS[0]))) < LEVEL


def test_each_call_draws_a_fresh_key() -> None:
    table = counted_table([(f"u{n}", x, 1) for n in range(300) for x in (0, 2, 5)])
    one, two = (shared(table, 1, None) for _ in range(2))
    if one == two:  # of probability 1/300; both again, 10 ** -5
        one, two = (shared(table, 1, None) for _ in range(2))
    assert one != two


# --- What is refused, and what is seen


@pytest.mark.parametrize(
    ("options", "kind", "named"),
    [
        ({"count": None, "max_records": 3}, ParameterError, "max_records needs user"),
        ({"user": "who"}, ParameterError, "max_records"),
        ({"max_records": 0}, ParameterError, "max_records"),
        ({"count": 3}, ParameterError, "count"),
        ({"count": "x"}, ParameterError, "different"),
        ({"count": "gone"}, ColumnError, "'gone'"),
        ({"count": "who"}, ColumnError, "'who'"),
    ],
    ids=str,
)
def test_parameters_are_checked(options: dict[str, Any], kind: Any, named: str) -> None:
    with refused(kind, named):
        binned(counted_table([(SENTINEL, NUMBER, 1)]), **options)


def test_counts_of_other_types_are_refused() -> None:
    for counts in ([1.0, 2.0], [True, False], [1, None]):
        with refused((ColumnError if counts != [1, None] else DataError), "'n'"):
            frame = pa.table({"x": [NUMBER, 1], "n": counts})
            binned(frame)
    with refused(ColumnError, "'n'", "float"):
        binned(pd.DataFrame({"x": [NUMBER, 1], "n": [1, None]}))


def test_a_relation_is_evaluated_once() -> None:
    """The user is the bin: of one evaluation, each bin keeps what its user does."""
    connection = duckdb.connect()
    rows = "SELECT x, x AS who, 5 AS n FROM (SELECT (random() * 9)::INTEGER AS x FROM range(200))"
    found = binned(
        connection.sql(rows), user="who", max_records=1, edges=None, start=0, stop=10, width=1
    )
    assert found.counts.max() == 1


@pytest.mark.verify
def test_what_people_see_does_not_depend_on_the_rows() -> None:
    """No user, one with as many records as the bound, with more, with none in a bin."""
    tables: list[CountedRows] = [
        [],
        [("u", 1, 2)],
        [("u", 1, NUMBER)],
        [("u", -NUMBER, 9), ("v", 1, 0)],
        [("u", 1, LARGEST)] * 4,
    ]
    for users in ({}, {"max_records": 2}, {"user": "who", "max_records": 2}):
        assert len({repr(binned(counted_table(rows), **users)) for rows in tables}) == 1
