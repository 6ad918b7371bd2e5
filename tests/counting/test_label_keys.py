"""Counting by keys of which some have texts that nobody listed."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.binning.key_grid import KeyColumn, KeyGrid
from dphist.counting.binning.label_keys import Labeled, count_labeled
from dphist.errors import ColumnError, DataError, ParameterError
from dphist.tables import KeyedCounts
from tests.support.counting.contribution_engines import ENGINES, Engine
from tests.support.refusal import SENTINEL, refused

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
ROWS = 300
DRUGS = ["asp", "ibu", "zürich", "other", "a b", '"', "x" * 300]
GRID = KeyGrid(
    (
        KeyColumn("drug", (), other=True, labels=True),
        KeyColumn("sex", ("f", "m")),
        KeyColumn("ward", (), other=True, labels=True),
    )
)
KEYS: dict[str, Any] = {
    "drug": dh.DiscoverKeys(share="0.2"),
    "sex": ["f", "m"],
    "ward": dh.DiscoverKeys(share="0.2"),
}


def rows(seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    drugs = draw.choice(DRUGS, ROWS).tolist()
    drugs[5] = None
    return pa.table(
        {
            "drug": pa.array(drugs, pa.string()),
            "sex": draw.choice(["f", "m"], ROWS),
            "ward": draw.choice(["w1", "w2", "w10"], ROWS),
            "who": [f"p{who}" for who in draw.integers(0, 60, ROWS)],
            "n": draw.integers(0, 5, ROWS),
        }
    )


def plain(table: pa.Table, weights: str | None = None) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in table.to_pylist():
        drug = None if row["drug"] == "other" else row["drug"]
        found[row["sex"], drug, row["ward"]] += 1 if weights is None else row[weights]
    return +found


def listed(found: Labeled) -> Counter[tuple[Any, ...]]:
    shown: Counter[tuple[Any, ...]] = Counter()
    texts = [[*own, None] for own in found.labels]
    for cell, places, n in zip(found.cells, found.places, found.counts, strict=True):
        own = (known[place] for known, place in zip(texts, places, strict=True))
        shown["fm"[cell], *own] += int(n)
    assert len(shown) == len(found.cells), "each cell and texts stand there once"
    return shown


@every_engine
@pytest.mark.quick("pandas", "csv", "polars", "parquet")
def test_every_engine_counts_what_plain_python_counts(engine: Engine, tmp_path: Path) -> None:
    found = count_labeled(engine.make(rows(), tmp_path), GRID, "other")
    expected = plain(rows())
    if engine.name in ("csv", "tsv", "csv.gz"):  # a missing text is an empty field, or none
        expected = Counter({key: n for key, n in expected.items() if key[1] is not None})
        assert not expected - listed(found)
    else:
        assert listed(found) == expected
    assert all([*own] == sorted(own) for own in found.labels)
    weighted = count_labeled(engine.make(rows(), tmp_path), GRID, "other", count="n")
    assert not Counter({k: n for k, n in plain(rows(), "n").items() if k[1]}) - listed(weighted)


@every_engine
@pytest.mark.quick("pandas", "csv")
def test_users_keep_at_most_that_many_rows(engine: Engine, tmp_path: Path) -> None:
    frame = engine.make(rows(), tmp_path)
    found = count_labeled(frame, GRID, "other", user="who", max_records=2)
    per_user = Counter(rows()["who"].to_pylist())
    assert found.counts.sum() == sum(min(2, each) for each in per_user.values())
    assert not listed(found) - plain(rows())


@pytest.mark.parametrize("count", [None, "n"])
def test_which_rows_a_user_keeps_depends_on_no_other_user(count: str | None) -> None:
    """A user ahead, with texts that nobody else has, moves nothing but own rows."""
    key, most = "0123456789abcdef" * 2, 3
    table = rows()
    more = pa.table(
        {
            "drug": [f"new {i}" for i in range(9)],
            "sex": ["f"] * 9,
            "ward": ["a ward"] * 9,
            "who": ["somebody"] * 9,
            "n": [2] * 9,
        }
    )
    pair = []
    for held in (table, pa.concat_tables([more.cast(table.schema), table])):
        found = count_labeled(
            held, GRID, "other", user="who", max_records=most, count=count, key=key
        )
        pair.append(listed(found))
    alone, together = pair
    assert not alone - together
    added = together - alone
    assert sum(added.values()) == most
    assert all(cell[1].startswith("new") for cell in added)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e.name == "spark"], ids=["spark"])
def test_which_rows_a_user_of_spark_keeps(engine: Engine, tmp_path: Path) -> None:
    """The same whoever else is there, and in whichever order rows come."""
    key, table = "0123456789abcdef" * 2, rows()
    given: dict[str, Any] = {"user": "who", "max_records": 2, "key": key}
    found = listed(count_labeled(engine.make(table, tmp_path), GRID, "other", **given))
    own = pa.array([who < "p3" for who in table["who"].to_pylist()])
    few = table.filter(own)[::-1]
    some = listed(count_labeled(engine.make(few, tmp_path), GRID, "other", **given))
    assert 0 < some.total() < found.total()
    assert not some - found


def test_rows_outside_other_keys_are_refused_or_dropped() -> None:
    table = rows().append_column("age", pa.array([*range(ROWS)]))
    keys = {**KEYS, "age": dh.Axis.regular(0, 100, 50)}
    with refused(DataError, "column 'age'"):
        KeyedCounts.from_table(table, keys=keys)
    held = KeyedCounts.from_table(table, keys=keys, unlisted="drop")
    assert held.counts.sum() == 100
    assert KeyedCounts.from_table(table, keys=keys, other=["age"]).counts.sum() == ROWS


def test_what_is_not_text_is_refused() -> None:
    for column in (pa.array([1] * ROWS), pa.array([True] * ROWS)):
        with refused(ColumnError, "column 'drug'", "cast it to text"):
            KeyedCounts.from_table(rows().set_column(0, "drug", column), keys=KEYS)
    for column in (pa.array(["a"] * ROWS).dictionary_encode(), pa.array([None] * ROWS)):
        held = KeyedCounts.from_table(rows().set_column(0, "drug", column), keys=KEYS)
        assert held.counts.sum() == ROWS


def test_a_key_of_no_value_has_all_rows_in_other() -> None:
    """So are the keys of a release that found no value of a key."""
    keys = {"drug": {"values": [], "other": True}, "n": {"values": [], "other": True}}
    held = KeyedCounts.from_table(rows(), keys={**keys, "sex": ["f", "m"]})
    assert held.keys.shape == (1, 1, 2)
    assert held.counts.sum() == ROWS


def test_labels_are_not_shown() -> None:
    table = rows().set_column(0, "drug", pa.array([SENTINEL] * ROWS))
    held = KeyedCounts.from_table(table, keys=KEYS)
    for shown in (repr(held), str(held.labels), held._repr_html_()):
        assert SENTINEL not in shown
    with refused(ParameterError, "keys"):
        KeyedCounts.from_counts([[1], [2]], keys=KEYS)


def test_a_warehouse_counts_labels() -> None:
    """The query groups by the texts of all keys, so its result has the labels."""
    import duckdb

    connection, table = duckdb.connect(), rows()
    connection.register("t", table)
    query = dh.sql.count_keys(dialect="duckdb", table="t", keys=KEYS)
    held = dh.sql.keyed_counts(connection.sql(query).to_arrow_table(), keys=KEYS)
    assert held == KeyedCounts.from_table(table, keys=KEYS)
