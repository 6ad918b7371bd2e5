"""Cells counted in parts and added are the cells of the table; a user is in one part alone."""

import json
import pickle
import re
import stat
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import dphist as dh
from dphist.counting.binning import keys as cells
from dphist.data.partial import Partial
from dphist.data.partial_sums import sum_cells
from dphist.errors import DataError, DphistError, LedgerError, ParameterError
from tests.support.counting.contribution_engines import ENGINES, Engine
from tests.support.data.partial import part_in_python, refusal
from tests.support.goodness import LEVEL
from tests.support.refusal import SENTINEL, refused
from tests.support.tables.parts import GIVEN, KEYS, PARTS, cut, in_folders, table, with_key

__all__ = ["with_key"]

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

LARGEST = 2**62 - 1
PLAIN = [engine for engine in ENGINES if engine.name != "spark"]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
every_plain_engine = pytest.mark.parametrize("engine", PLAIN, ids=lambda engine: engine.name)


def counted(counts: dh.KeyedCounts) -> dict[int, int]:
    return dict(zip(counts.cells.tolist(), counts.counts.tolist(), strict=True))


# --- Sums of parts are counts of the whole


@pytest.mark.long(every=2)
@pytest.mark.quick("[pandas]", "[duckdb]", "[csv]", "[polars]", "[parquet]")
@every_engine
def test_parts_add_up_to_the_table(engine: Engine, tmp_path: Path) -> None:
    frame = in_folders(engine, table(), tmp_path)
    asked: list[dict[str, Any]] = [
        {"unlisted": "drop"},
        {"other": ["place", "age"], "count": "n"},
    ]
    for more in asked:
        given = {"keys": KEYS, "user": "who", "max_rows": 1000, "unit": "one patient", **more}
        parts = [
            dh.KeyedCounts.partial(frame(part), part=part, parts=PARTS, **given)
            for part in range(PARTS)
        ]
        merged = dh.KeyedCounts.merge(parts)
        assert merged == dh.KeyedCounts.from_table(frame(PARTS), **given)
        assert merged == dh.KeyedCounts.merge(reversed(parts))
        assert all(len(each.table) for each in parts)


@every_plain_engine
@pytest.mark.parametrize("count", [None, "n"])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.quick("True-None-pandas", "False-None-csv", "True-n-polars", "False-n-duckdb")
def test_a_part_is_what_its_users_alone_would_be(
    engine: Engine,
    count: str | None,
    dense: bool,
    tmp_path: Path,
    with_key: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under one key, users who are bounded included: the law of a table that is counted whole."""
    monkeypatch.setattr(cells, "_DENSE", 2**22 if dense else 0)
    rows, given = table(), {**GIVEN, "unlisted": "drop", "count": count}
    for part in range(PARTS):
        with_key(part)
        own = [part_in_python(who, PARTS) == part for who in rows["who"].to_pylist()]
        found = dh.KeyedCounts.partial(in_folders(engine, rows, tmp_path)(part), part=part, **given)
        of_own = in_folders(engine, rows.filter(pa.array(own)), tmp_path)(PARTS + part)
        whole = {name: value for name, value in given.items() if name != "parts"}
        alone = dh.KeyedCounts.from_table(of_own, **whole)
        assert found.table["cell"].to_pylist() == alone.cells.tolist()
        assert found.table["count"].to_pylist() == alone.counts.tolist()


@pytest.mark.parametrize("count", [None, "n"])
def test_merged_counts_have_the_law_of_a_table_that_is_counted_whole(count: str | None) -> None:
    """Each of 2,000 users has four records, two of them in the last cell, and keeps one."""
    places, users = (["a", "b", "c", "c"], 2000)
    rows = pa.table(
        {"who": [f"u{n}" for n in range(users) for _ in places], "place": places * users}
    ).append_column("n", pa.array([1] * 4 * users))
    given: dict[str, Any] = {"keys": {"place": ["a", "b", "c"]}, "user": "who", "max_rows": 1}
    parts = [
        dh.KeyedCounts.partial(rows, **given, count=count, part=part, parts=PARTS)
        for part in range(PARTS)
    ]
    for found in (
        dh.KeyedCounts.merge(parts),
        dh.KeyedCounts.from_table(rows, **given, count=count),
    ):
        exact = found.sum_over((0,))
        expected = users * np.array([0.25, 0.25, 0.5])
        assert exact.sum() == users
        assert chi2.sf(((exact - expected) ** 2 / expected).sum(), 2) > LEVEL


@pytest.mark.parametrize("count", [None, "n"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_user_changes_merged_counts_by_no_more_than_max_rows(
    max_rows: int, count: str | None, with_key: Callable[[int], None]
) -> None:
    """For fixed keys, one in each part: others keep what they kept."""
    rows = table(120, 20)

    def merged(frame: pa.Table) -> Counter[int]:
        parts = []
        for part in range(PARTS):
            with_key(part)
            parts += [
                dh.KeyedCounts.partial(
                    frame, part=part, **{**GIVEN, "max_rows": max_rows}, unlisted="drop",
                    count=count,
                )
            ]  # fmt: skip
        return Counter(counted(dh.KeyedCounts.merge(parts)))

    whole = merged(rows)
    for who in sorted(set(rows["who"].to_pylist())):
        others = merged(rows.filter(pa.array([each != who for each in rows["who"].to_pylist()])))
        assert not others - whole
        inside = [
            1 if count is None else row["n"]
            for row in rows.to_pylist()
            if row["who"] == who and row["place"] != "elsewhere" and row["age"] < 65
        ]
        assert (whole - others).total() == min(max_rows, sum(inside))


def test_every_user_is_in_exactly_one_part() -> None:
    users = [f"p{n}" for n in range(500)]
    rows = pa.table({"who": users, "name": users})
    given: dict[str, Any] = {"keys": {"name": users}, "user": "who", "max_rows": 1}
    for part in range(PARTS):
        found = dh.KeyedCounts.partial(rows, **given, part=part, parts=PARTS)
        own = [n for n, user in enumerate(users) if part_in_python(user, PARTS) == part]
        assert found.table["cell"].to_pylist() == own
        assert set(found.table["count"].to_pylist()) == {1}


@pytest.mark.parametrize("seed", range(3))
def test_sums_are_exact_or_clamped(seed: int) -> None:
    draw = np.random.default_rng(seed)
    number, tables = 2**62, []
    exact: Counter[int] = Counter()
    for _ in range(5):
        places = [n * (number // 50) for n in draw.choice(50, 30, replace=False).tolist()]
        values = draw.choice(
            [1, 2**31 - 1, 2**31, 2**32 + 5, 2**61, LARGEST - 1, LARGEST], len(places)
        ).tolist()
        tables.append(pa.table({"cell": places, "count": values}))
        exact.update(dict(zip(places, values, strict=True)))
    found = dict(zip(*(each.tolist() for each in sum_cells(tables, number)), strict=True))
    assert found == {cell: min(exact[cell], LARGEST) for cell in sorted(exact)}
    assert list(found) == sorted(exact)
    assert LARGEST in found.values()


def test_merged_sums_stop_at_the_largest_count() -> None:
    rows = pa.table({"who": [f"u{n}" for n in range(20)], "x": [1] * 20, "n": [LARGEST] * 20})
    given: dict[str, Any] = {"keys": {"x": [0, 1]}, "user": "who", "count": "n"}
    parts = [
        dh.KeyedCounts.partial(rows, **given, max_rows=LARGEST, part=part, parts=PARTS)
        for part in range(PARTS)
    ]
    assert counted(dh.KeyedCounts.merge(parts)) == {1: LARGEST}


def test_a_row_without_a_user_or_a_cell_is_refused() -> None:
    rows = pa.table({"who": ["a", None], "x": ["f", "f"]})
    given: dict[str, Any] = {"keys": {"x": ["f", "m"]}, "user": "who", "max_rows": 1, "parts": 2}
    with refused(DataError, "column 'who'"):
        dh.KeyedCounts.partial(rows, part=0, **given)
    rows = pa.table({"who": ["a", "b"], "x": ["f", SENTINEL]})
    for part in range(2):  # every part that reads the row refuses it
        with refused(DataError, "column 'x'"):
            dh.KeyedCounts.partial(rows, part=part, **given)


def test_users_of_another_part_can_be_refused() -> None:
    rows = table()
    own = [part_in_python(who, PARTS) == 1 for who in rows["who"].to_pylist()]
    given: dict[str, Any] = {**GIVEN, "unlisted": "drop", "part": 1, "others": "refuse"}
    with refused(DataError, "column 'who' has users of another part"):
        dh.KeyedCounts.partial(rows, **given)
    found = dh.KeyedCounts.partial(rows.filter(pa.array(own)), **{**given, "max_rows": 1000})
    whole = cut(lambda _: rows, max_rows=1000)[1]
    assert found.table == whole.table


# --- Between processes, and on to a release


def test_parts_travel_as_files_tables_and_pickles(tmp_path: Path) -> None:
    keys = {
        'se"x': ["f", 'm"\u2028'],
        "member": [True, False],
        "size": dh.Axis.from_edges([-np.inf, 0.1, 1e300, np.inf]),
        "moment": dh.Axis.from_edges(["2024-03-30", "2024-03-31"], tz="Europe/Zurich"),
        "number": [2**63 - 1, -(2**63)],
    }
    rows = pa.table(
        {
            "who": [1, 2, 3],
            'se"x': ["f", "f", 'm"\u2028'],
            "member": [True, False, True],
            "size": [0.1, -5, 2.0],
            "moment": pa.array([1711800000000000] * 3, pa.timestamp("us", "UTC")),
            "number": [2**63 - 1, 2**63 - 1, -(2**63)],
        }
    )
    given: dict[str, Any] = {"keys": keys, "other": ["size"], "user": "who", "max_rows": 1}
    parts = cut(lambda _: rows, **given, unlisted="error")
    parts[0].save(tmp_path / "0.parquet")
    sent = [tmp_path / "0.parquet", parts[1].to_arrow(), pickle.loads(pickle.dumps(parts[2]))]  # noqa: S301
    merged = dh.KeyedCounts.merge(sent)
    assert merged == dh.KeyedCounts.merge(parts) == dh.KeyedCounts.from_table(rows, **given)
    assert stat.S_IMODE((tmp_path / "0.parquet").stat().st_mode) == 0o600


def test_merged_counts_are_released_like_others(tmp_path: Path) -> None:
    parts = cut(lambda _: table(), unit="one patient")
    tables: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "keys": KEYS, "tables": ["place+year"]}
    merged = dh.KeyedCounts.merge(parts)
    assert (merged.max_rows, str(merged.unit)) == (2, "one patient")
    assert merged.unlisted == "drop"
    release = dh.Tables(**tables, max_rows=2).release(merged)
    assert str(release.guarantee.unit) == "one patient"
    with pytest.raises(DphistError, match="max_rows"):
        dh.Tables(**tables, max_rows=1).release(merged)
    ledger = dh.Ledger.create(tmp_path / "a.ledger", epsilon=9, delta="1e-5", unit="one patient")
    guarded = dh.KeyedCounts.merge(parts, ledger=ledger)
    with pytest.raises(LedgerError, match="guarded"):
        dh.Tables(**tables, max_rows=2).release(guarded)


def test_nothing_shows_the_counts() -> None:
    rows = pa.table({"who": [SENTINEL], "x": [1]})
    parts = cut(lambda _: rows, keys={"x": [0, 1]})
    assert [repr(each) for each in parts] == [
        f"Partial(cells, part {part} of {PARTS}; not shown)" for part in range(PARTS)
    ]
    assert SENTINEL not in "".join(repr(each.head) for each in parts)


# --- What is refused

MANY: dict[str, Any] = {"place": ["BE", "zürich", ""], "smokes": [True, False]}
WIDE = table().append_column("smokes", pa.array([1, 0] * 150))
TRUE = table().append_column("smokes", pa.array([True, False] * 150))


def keys_of(**changed: Any) -> dict[str, Any]:
    return {"keys": {**MANY, **changed}}


# What the last of three parts was counted with, where the others were with MANY.
OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "other keys": ({"keys": {"place": MANY["place"]}}, "same arguments.*keys"),
    "other values": (keys_of(place=["BE", "zürich", "GE"]), "same arguments.*keys"),
    "values in another order": (keys_of(place=["zürich", "BE", ""]), "same arguments.*keys"),
    "keys in another order": ({"keys": dict(reversed(MANY.items()))}, "same arguments.*keys"),
    "numbers for truth values": (
        {**keys_of(smokes=[1, 0]), "frame": WIDE},
        "same arguments.*keys",
    ),
    "one more value": ({"other": ["place"]}, "same arguments.*keys"),
    "another column of a key": (
        {"keys": {"place": MANY["place"], "year": [2019, 2020]}},
        "same arguments.*keys",
    ),
    "unlisted values": (
        {"unlisted": "error", "frame": TRUE.slice(0, 0)},
        "values that no key lists",
    ),
    "other bounds": ({"max_rows": 3}, "bounds"),
    "another unit": ({"unit": "one car"}, "unit"),
    "counts": ({"count": "n"}, "same columns"),
    "another column of users": ({"user": "year"}, "same columns"),
    "another number of parts": ({"parts": 4}, "number of parts"),
    "users of another type": (
        {"frame": TRUE.set_column(3, "who", pa.array(range(300)))},
        "users of one type",
    ),
    "part 1 again": ({"part": 1}, "part 1 is there more than once"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_parts_of_other_arguments_are_refused(case: str) -> None:
    changed, said = OTHERS[case]
    given: dict[str, Any] = {**GIVEN, "keys": MANY, "unlisted": "drop", "frame": TRUE}
    parts = [dh.KeyedCounts.partial(**given, part=part) for part in range(2)]
    assert dh.KeyedCounts.merge([*parts, dh.KeyedCounts.partial(**given, part=2)])
    with pytest.raises(ParameterError, match=said):
        dh.KeyedCounts.merge([*parts, dh.KeyedCounts.partial(**{**given, "part": 2, **changed})])


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ([0, 1], "part 2 is missing"),
        ([0, 1, 2, 1], "part 1 is there more than once"),
        ([0, 2, 2], "part 1 is missing"),
        ([], "at least one"),
    ],
)
def test_each_part_is_there_once(chosen: list[int], said: str) -> None:
    parts = cut(lambda _: table())
    with pytest.raises(ParameterError, match=said):
        dh.KeyedCounts.merge([parts[part] for part in chosen])


def test_parts_of_another_kind_are_refused() -> None:
    parts = cut(lambda _: table())
    with pytest.raises(ParameterError, match=r"made by BinnedCounts\.partial"):
        dh.BinnedCounts.merge(parts)
    bins = dh.BinnedCounts.partial(
        table(), column="age", edges=[0, 90], user="who", max_records=2, part=0, parts=1
    )
    with pytest.raises(ParameterError, match=r"made by KeyedCounts\.partial"):
        dh.KeyedCounts.merge([bins])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"user": None}, "user must name the column of users"),
        ({"user": ["who"]}, "user must name the column of users"),
        ({"max_rows": None}, "max_rows must"),
        ({"max_rows": 0}, "max_rows must"),
        ({"part": PARTS}, "part must"),
        ({"parts": 0}, "parts must"),
        ({"others": "keep"}, "others must"),
        ({"unlisted": "keep"}, "unlisted must"),
        ({"other": ["x"]}, "other must"),
        ({"keys": {}}, "keys must"),
        ({"keys": {f"x{i}": range(100) for i in range(10)}}, "2\\*\\*62"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_read(
    given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        dh.KeyedCounts.partial(Path("missing.parquet"), **{**GIVEN, "part": 0, **given})


def edited(change: Callable[[dict[str, Any]], dict[str, Any]], parts: list[Partial]) -> str:
    """Return what is said of parts whose heads were all changed alike; "" if they are merged."""
    tables = [Partial(change(dict(each.head)), each.table).to_arrow() for each in parts]
    said = refusal(lambda: dh.KeyedCounts.merge(tables))
    assert "secret-name" not in said
    return said


def test_heads_that_were_edited_are_refused() -> None:
    parts = cut(lambda _: table())
    values: list[Any] = [None, "secret-name", "", -1, 0.5, True, [], [1], {"a": 1}, [[1]], 2**70]

    def replaced(name: str, value: Any) -> str:
        return edited(lambda head: {**head, name: value}, parts)

    def without(name: str) -> str:
        return edited(lambda head: {k: v for k, v in head.items() if k != name}, parts)

    for name, kept in parts[0].head.items():
        assert without(name), name
        for value in values:
            if value != kept and (name, value) != ("unit", "secret-name"):
                assert replaced(name, value), (name, value)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "{",
        '{"secret-name": ["a"]}',
        '{"x": {"values": ["a", "a"], "other": false}}',
        '{"x": {"values": ["secret-name", 1], "other": false}}',
        '{"x": {"values": ["a"], "other": false}, "x": {"values": ["b"], "other": false}}',
        '{"x": {"values": ["a"],  "other": false}}',
        '{"x": {"axis": {"name": "y", "kind": "whole", "edges": [0, 1]}, "other": false}}',
        '{"x": {"axis": {"edges": "secret-name"}, "other": false}}',
        json.dumps(
            {f"x{i}": {"values": [*range(100)], "other": False} for i in range(10)},
        ),
    ],
)
def test_keys_that_were_edited_are_refused(text: str) -> None:
    assert "not made by Partial.to_arrow" in edited(
        lambda head: {**head, "keys": text}, cut(lambda _: table())
    )


COLUMNS: dict[str, tuple[list[Any], list[Any]]] = {
    "a cell beyond the last": ([18], [1]),
    "a cell below the first": ([-1], [1]),
    "a cell twice": ([3, 3], [1, 1]),
    "a count of 0": ([3], [0]),
    "a negative count": ([3], [-1]),
    "a count that is too large": ([3], [2**62]),
    "cells that are no whole numbers": ([3.0], [1]),
    "counts that are no whole numbers": ([3], [1.5]),
    "no cell": ([None, 3], [1, 1]),
    "no count": ([2, 3], [1, None]),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_counts_that_were_edited_are_refused(case: str) -> None:
    places, counts = COLUMNS[case]
    for chosen in product([True, False], repeat=PARTS):
        tables = [
            Partial(each.head, pa.table({"cell": places, "count": counts})).to_arrow()
            if changed
            else each.to_arrow()
            for each, changed in zip(cut(lambda _: table()), chosen, strict=True)
        ]
        if any(chosen):
            with pytest.raises(DataError, match=re.escape("count it again")):
                dh.KeyedCounts.merge(tables)
