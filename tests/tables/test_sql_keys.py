"""Queries that count by several keys in a warehouse, run in DuckDB and in PostgreSQL."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
from scipy.stats import binomtest

import dphist as dh
from dphist.errors import ParameterError
from tests.support.postgres import Server, running_server

KEYS = {
    'se"x': ["f", "m"],
    "region": range(3),
    "member": [False, True],
    "age": dh.Axis.from_edges([0, 0.5, 2]),
    "day": dh.Axis.from_edges(["2024-01-01", "2024-01-02", "2024-01-05"]),
    "moment": dh.Axis.from_edges(["2024-03-30", "2024-03-31", "2024-04-01"], tz="Europe/Zurich"),
}
COLUMNS = (
    'who TEXT, "se""x" TEXT, region INT, member BOOLEAN, age DOUBLE PRECISION, '
    "day DATE, moment TIMESTAMP WITH TIME ZONE"
)
LEVEL = 1e-4

Row = tuple[Any, ...]
both = pytest.mark.parametrize("dialect", dh.sql.DIALECTS)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


@pytest.fixture
def execute(dialect: str, request: pytest.FixtureRequest) -> Iterator[Callable[[str], Any]]:
    """Return what runs a statement in a warehouse."""
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            yield connection.execute
    else:
        server: Server = request.getfixturevalue("server")
        with psycopg.connect(server.new(), autocommit=True) as session:
            yield session.execute


def literal(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'"


def hold(run: Callable[[str], Any], rows: list[Row], columns: str = COLUMNS) -> None:
    """Make the table `visits` of these rows."""
    run("DROP TABLE IF EXISTS visits")
    run(f"CREATE TABLE visits ({columns})")
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    if rows:
        run(f"INSERT INTO visits VALUES {values}")  # noqa: S608 - a test's own rows


def counted(run: Callable[[str], Any], dialect: str, keys: Any, **given: Any) -> pa.Table:
    """Return the result of a query, as a client of the warehouse gets it."""
    query = dh.sql.count_keys(dialect=dialect, table="visits", keys=keys, **given)
    found = run(query)
    names = [column[0] for column in found.description]
    rows = found.fetchall()
    assert names == [*keys, "count"]
    assert len({row[:-1] for row in rows}) == len(rows)
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


ALL = [
    (f"u{place % 5}", *row)
    for place, row in enumerate(
        product(
            ["f", "m", "F", "x", None], [0, 2, 7, None], [True, None], [0, 0.4999999, 0.5, 1.5],
            ["2024-01-01", "2024-01-04", "2025-01-01"], ["2024-03-31 00:30:00+01:00"],
        )
    )
]  # fmt: skip


@both
@pytest.mark.parametrize("user", ["who", None])
def test_the_counts_are_those_of_dphist(
    execute: Callable[[str], Any], dialect: str, user: str | None
) -> None:
    """Where no user is above the bound, every value of every type is in the same cell."""
    hold(execute, [*ALL, *ALL[:7]])
    bounds: dict[str, Any] = {} if user is None else {"user": user, "max_rows": 10_000}
    rows = counted(execute, dialect, KEYS, **bounds)
    bound = bounds.get("max_rows")
    other = [name for name in KEYS if name != "day"]
    found = dh.sql.keyed_counts(rows, keys=KEYS, other=other, unlisted="drop", max_rows=bound)
    given = execute("SELECT * FROM visits").fetchall()
    names = ["who", *KEYS]
    frame = pa.table({name: [row[place] for row in given] for place, name in enumerate(names)})
    expected = dh.KeyedCounts.from_table(frame, keys=KEYS, other=other, unlisted="drop", **bounds)
    assert found.cells.tolist() == expected.cells.tolist()
    assert found.counts.tolist() == expected.counts.tolist()
    assert (found.max_rows, found.unlisted) == (expected.max_rows, "drop")
    said = None if user is None else "one user, as promised by the caller"
    assert said == (None if found.unit is None else str(found.unit))


FEW = {"a": ["x", "y", "z"], "b": range(2)}
TWO = "who TEXT, a TEXT, b INT"
OTHERS: list[Row] = [
    (f"v{place % 4}", ("x", "y", None)[place % 3], place % 2) for place in range(40)
]
OWN: list[Row] = [
    *[("u", "x", 0)] * 5, *[("u", "y", 1)] * 2, ("u", None, 1), ("u", "z", None), ("u", "q", 9),
]  # fmt: skip


@both
@pytest.mark.parametrize("max_rows", [1, 2, 5, 7])
def test_a_user_changes_the_counts_by_no_more_than_the_bound(
    execute: Callable[[str], Any], dialect: str, max_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated rows, missing values and values that are not listed count as rows, too."""
    monkeypatch.setattr("dphist.sql.draw_key", lambda: "5e" * 16)
    found = []
    for rows in (OTHERS, OWN[:4] + OTHERS + OWN[4:]):
        hold(execute, rows, TWO)
        table = counted(execute, dialect, FEW, user="who", max_rows=max_rows)
        found.append(Counter({tuple(row[name] for name in FEW): row["count"]
                              for row in table.to_pylist()}))  # fmt: skip
    without, with_user = found
    assert without.total() == 4 * min(max_rows, 10)
    assert not without - with_user
    assert (with_user - without).total() == max_rows


@both
def test_rows_are_kept_evenly(
    execute: Callable[[str], Any], dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three equal rows and one other, one row in four is the other, for each user alone."""
    monkeypatch.setattr("dphist.sql.draw_key", lambda: "3c" * 16)
    users = 2000
    hold(execute, [(f"u{n}", row, n) for n in range(users) for row in "xxxy"], TWO)
    keys = {"a": ["x", "y"], "b": range(users)}
    rows = counted(execute, dialect, keys, user="who", max_rows=1).to_pylist()
    assert len(rows) == users
    kept = {row["b"]: row["a"] for row in rows}
    rare = [kept[n] == "y" for n in range(users)]
    pairs = sum(one and two for one, two in zip(rare[::2], rare[1::2], strict=True))
    assert binomtest(sum(rare), users, 1 / 4).pvalue > LEVEL
    assert binomtest(pairs, users // 2, 1 / 16).pvalue > LEVEL


@both
def test_each_query_draws_a_fresh_key(execute: Callable[[str], Any], dialect: str) -> None:
    hold(execute, [(f"u{n}", row, n) for n in range(60) for row in "xy"], TWO)
    keys = {"a": ["x", "y"], "b": range(60)}
    one, two = (counted(execute, dialect, keys, user="who", max_rows=1) for _ in range(2))
    assert sorted(map(str, one.to_pylist())) != sorted(map(str, two.to_pylist()))


@both
def test_rows_without_a_user_are_dropped(execute: Callable[[str], Any], dialect: str) -> None:
    hold(execute, [(None, "x", 0), ("u", "x", 0)], TWO)
    assert counted(execute, dialect, FEW, user="who", max_rows=3)["count"].to_pylist() == [1]


@both
@pytest.mark.parametrize(
    "names",
    [
        *[("visits", "a"), ("who", "visits"), ("ctid", "a"), ("user", "a"), ("who", "user")],
        *[("current_user", "a"), ("current_date", "a"), ("row_to_json", "a")],
    ],
)
def test_a_column_that_is_missing_is_no_row(
    execute: Callable[[str], Any], dialect: str, names: tuple[str, str]
) -> None:
    """A table's name stands for a whole row there, and others for functions: of it, or of none."""
    hold(execute, OWN, TWO)
    user, key = names
    with pytest.raises((duckdb.Error, psycopg.Error)):
        counted(execute, dialect, {key: ["x"]}, user=user, max_rows=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dialect": "oracle"}, "dialect must be one of 'duckdb', 'postgres'"),
        ({"keys": {}}, "keys must name at least one column"),
        ({"keys": {"dphist_who": ["x"]}}, "keys must not begin with dphist_"),
        ({"keys": {"a\\": ["x"]}}, "keys must be a name, without backslashes"),
        ({"max_rows": None}, "user and max_rows must be given together"),
        ({"user": None}, "user and max_rows must be given together"),
        ({"max_rows": 0}, "max_rows must be"),
        ({"max_rows": 1.5}, "max_rows must be"),
        ({"table": []}, "table must be"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], message: str) -> None:
    kept = {"dialect": "duckdb", "table": "t", "keys": FEW, "user": "who", "max_rows": 1}
    with pytest.raises(ParameterError, match=re.escape(message)):
        dh.sql.count_keys(**{**kept, **given})


def test_a_result_is_released_with_its_bound() -> None:
    rows = pa.table({"a": ["x", "y"], "b": [0, 1], "count": [500, 400]})
    counts = dh.sql.keyed_counts(rows, keys=FEW, max_rows=2, unit="one patient")
    release = dh.Tables(rho=1, keys=FEW, tables=["a+b"], max_rows=2).release(counts)
    assert str(release.guarantee.unit) == "one patient"
    assert str(release.provenance["unit"]) == "one patient, as promised by the caller"
    assert release.provenance["max_records"] == "2"
    with pytest.raises(dh.DphistError, match="max_rows"):
        dh.Tables(rho=1, keys=FEW, tables=["a+b"]).release(counts)
    with pytest.raises(ParameterError, match="unit needs max_rows"):
        dh.sql.keyed_counts(rows, keys=FEW, unit="one patient")
    with pytest.raises(ParameterError, match="max_rows must be"):
        dh.sql.keyed_counts(rows, keys=FEW, max_rows=0)
