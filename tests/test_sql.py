"""Queries that count labels in a warehouse, run in DuckDB and in PostgreSQL."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import ParameterError
from tests.support.counting.contribution_engines import Rows, table_of
from tests.support.counting.contributions import (
    BOUNDS,
    FOUR,
    WITH,
    WITHOUT,
    choices_of,
    falls,
    laws,
    most_changed,
)
from tests.support.goodness import LEVEL
from tests.support.postgres import Server, running_server

both = pytest.mark.parametrize("dialect", dh.sql.DIALECTS)


class Warehouse:
    """A table of who, term and n, and queries over it."""

    def __init__(self, dialect: str, connection: Any) -> None:
        self.dialect, self._connection = dialect, connection

    def hold(self, rows: Rows, kind: str = "TEXT") -> None:
        """Make a new table; `kind` is the type of its labels."""
        self._connection.execute('DROP TABLE IF EXISTS "visits, ""all"""')
        self._connection.execute(
            f'CREATE TABLE "visits, ""all""" (who TEXT, "te""rm" {kind}, n BIGINT)'
        )
        if self.dialect == "duckdb":
            self._connection.register("held", table_of(rows))
            self._connection.execute('INSERT INTO "visits, ""all""" SELECT * FROM held')
            return
        with (
            self._connection.cursor() as cursor,
            cursor.copy('COPY "visits, ""all""" FROM STDIN') as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def counts(
        self, max_labels: int, max_count: int = 1, count: str | None = "n", **more: Any
    ) -> dict[str, int]:
        query = dh.sql.count_labels(
            dialect=self.dialect, table='visits, "all"', label='te"rm', user="who",
            max_labels=max_labels, max_count=max_count, count=count, **more,
        )  # fmt: skip
        found = self._connection.execute(query).fetchall()
        assert all(isinstance(label, str) and type(n) is int and n > 0 for label, n in found)
        assert len(dict(found)) == len(found)
        return dict(found)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


@pytest.fixture
def warehouse(dialect: str, request: pytest.FixtureRequest) -> Iterator[Warehouse]:
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            yield Warehouse(dialect, connection)
    else:
        server: Server = request.getfixturevalue("server")
        with psycopg.connect(server.new(), autocommit=True) as connection:
            yield Warehouse(dialect, connection)


@both
@pytest.mark.quick(every=2)
def test_the_counts_are_those_of_dphist(warehouse: Warehouse) -> None:
    rows = [(f"u{n % 7}", f"t{n % 5}", n % 4 - 1) for n in range(60)]
    rows += [(None, "t0", 1), ("u", None, 1), ("u", "", 3), ("", "é", 1), ("v", "é", 1)]
    rows += [("u", "big", 2**62 - 1), ("v", "big", 2**62 - 1), ("w", "big", 2**62 - 1)]
    warehouse.hold(rows)
    sound = [
        (who, term, max(n, 0)) for who, term, n in rows if who is not None and term is not None
    ]
    for most in (1, 3, 2**62 - 1):
        ours = dh.LabelCounts.from_table(
            table_of(sound), label="term", user="who", count="n", max_labels=100, max_count=most
        ).filter_batches(lambda batch: batch)
        expected = dict(zip(ours["label"].to_pylist(), ours["count"].to_pylist(), strict=True))
        assert warehouse.counts(100, most) == expected
    each = Counter((who, term) for who, term, _ in sound)
    several: Counter[str] = Counter()
    for (_, term), n in each.items():
        several[term] += min(n, 2)
    assert warehouse.counts(100, 2, None) == several


@both
@pytest.mark.parametrize(("max_labels", "max_count"), BOUNDS)
@pytest.mark.quick(every=3)
def test_a_user_changes_no_more_than_the_bounds(
    warehouse: Warehouse, max_labels: int, max_count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dphist.sql.draw_key", lambda: "5e" * 16)
    warehouse.hold(WITHOUT)
    without = warehouse.counts(max_labels, max_count)
    warehouse.hold(WITH)
    with_user = warehouse.counts(max_labels, max_count)
    assert most_changed(without, with_user) == (max_labels, max_count)
    assert not falls(without, with_user)


@both
@pytest.mark.parametrize(("max_labels", "max_count"), BOUNDS)
@pytest.mark.quick(every=3)
def test_labels_that_are_not_listed_count_as_one_before_users_are_bounded(
    warehouse: Warehouse, max_labels: int, max_count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query is that of a table in which nobody has an unlisted label."""
    monkeypatch.setattr("dphist.sql.draw_key", lambda: "5e" * 16)
    listed = ["t0", "t'1", "é", 't"\\2', "never there"]
    terms = [*listed[:4], "x", "y", "z", "other", "e\u0301", None]
    rows: Rows = [(f"u{n % 7}", terms[n * n % 10], n % 4) for n in range(90)]
    warehouse.hold(rows)
    found = warehouse.counts(max_labels, max_count, other_than=listed)
    warehouse.hold([(who, t if t is None or t in listed else "other", n) for who, t, n in rows])
    assert found == warehouse.counts(max_labels, max_count)
    assert "other" in found
    table = pa.table({"label": list(found), "count": list(found.values())})
    given: dict[str, Any] = {"max_labels": max_labels, "max_count": max_count}
    assert dh.sql.label_counts(table, **given, other_than=listed).other_than == tuple(listed)


@pytest.mark.parametrize("dialect", dh.sql.DIALECTS)
def test_a_list_with_other_is_refused(dialect: str) -> None:
    asked: dict[str, Any] = {"table": "t", "label": "l", "user": "u", "max_labels": 1}
    with pytest.raises(ParameterError, match="other_than must not list 'other'"):
        dh.sql.count_labels(dialect=dialect, **asked, other_than=["a", "other"])


@both
def test_labels_are_kept_evenly_and_independently(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.hold(FOUR)
    monkeypatch.setattr("dphist.sql.draw_key", lambda: "3c" * 16)
    choices = choices_of(warehouse.counts(2))
    assert {len(choice) for choice in choices} == {2}
    assert min(laws(choices)) > LEVEL


@both
def test_each_query_draws_a_fresh_key(warehouse: Warehouse) -> None:
    warehouse.hold(FOUR[:400])
    assert warehouse.counts(2) != warehouse.counts(2)


@both
def test_labels_that_the_warehouse_calls_equal_stay_apart(warehouse: Warehouse) -> None:
    """Equality is that of bytes, in whatever spelling the warehouse would have shown a group."""
    kind, labels = "TEXT COLLATE NOCASE", ["a", "A", "á"]
    if warehouse.dialect == "postgres":  # its wheel has neither ICU nor citext
        kind, labels = "NUMERIC", ["1.0", "1.00", "2"]
    warehouse.hold([(f"u{place}", label, 1) for place, label in enumerate(labels)], kind)
    merged = warehouse._connection.execute(
        'SELECT count(*) FROM "visits, ""all""" GROUP BY "te""rm" ORDER BY 1 DESC'
    )
    assert merged.fetchone() == (2,)
    assert warehouse.counts(1) == dict.fromkeys(labels, 1)


@both
def test_a_table_may_be_named_with_its_schema(warehouse: Warehouse) -> None:
    warehouse._connection.execute('CREATE SCHEMA "a shop"')
    warehouse._connection.execute("""CREATE TABLE "a shop"."vis its" AS SELECT 1 who, 'tea' item""")
    query = dh.sql.count_labels(
        dialect=warehouse.dialect,
        table=["a shop", "vis its"],
        label="item",
        user="who",
        max_labels=1,
    )
    assert warehouse._connection.execute(query).fetchall() == [("tea", 1)]


@both
def test_a_column_that_is_missing_is_no_other(warehouse: Warehouse) -> None:
    warehouse.hold([("u", "a", 1)])
    for name in ("term", "place", "amount"):
        query = dh.sql.count_labels(
            dialect=warehouse.dialect, table='visits, "all"', label=name, user="who", max_labels=1
        )
        with pytest.raises((duckdb.Error, psycopg.Error)):
            warehouse._connection.execute(query).fetchall()


@both
@pytest.mark.parametrize(
    "user",
    ["visits", "rowid", "ctid", "user", "current_user", "current_date", "row_to_json", "text"],
)
def test_a_user_column_that_is_missing_is_no_row(warehouse: Warehouse, user: str) -> None:
    """A table's name stands for a whole row there, and others for functions: of it, or of none."""
    warehouse._connection.execute(
        "CREATE TEMPORARY TABLE IF NOT EXISTS visits (who TEXT, item TEXT)"
    )
    query = dh.sql.count_labels(
        dialect=warehouse.dialect, table="visits", label="item", user=user, max_labels=1
    )
    with pytest.raises((duckdb.Error, psycopg.Error)):
        warehouse._connection.execute(query).fetchall()


def test_a_field_of_a_record_is_no_column() -> None:
    """DuckDB reads `a.b` as the field b of a column a, too: no column is called like the table."""
    with duckdb.connect() as connection:
        for name in ("dphist_table", "dphist_given"):
            connection.execute(
                f"CREATE TABLE of_{name} AS SELECT 'tea' AS item, {{'person': 1}} AS {name}"
            )
            query = dh.sql.count_labels(
                dialect="duckdb", table=f"of_{name}", label="item", user="person", max_labels=1
            )
            with pytest.raises(duckdb.Error, match="person"):
                connection.execute(query).fetchall()


@both
@pytest.mark.parametrize("evil", ['x"; DROP TABLE t; --', "x`; DROP TABLE t; --", "x'; --"])
def test_names_stay_names(warehouse: Warehouse, evil: str) -> None:
    """A name that closes its quotes would be SQL of somebody else."""
    run, name = warehouse._connection.execute, evil.replace('"', '""')
    run("DROP TABLE IF EXISTS t")
    run("CREATE TABLE t (n INT)")
    run(f'CREATE TABLE "{name}" (who TEXT, "{name}" BIGINT)')
    run(f"""INSERT INTO "{name}" VALUES ('u', 7), ('v', 7)""")  # noqa: S608 - quoted here
    for label, user in ((evil, "who"), ("who", evil)):
        query = dh.sql.count_labels(
            dialect=warehouse.dialect, table=evil, label=label, user=user, max_labels=2, count=evil
        )
        found = dict(run(query).fetchall())
        assert found == ({"7": 2} if label == evil else {"u": 1, "v": 1})
    assert run("SELECT count(*) FROM t").fetchone() == (0,)


@pytest.mark.quick(every=3)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dialect": "oracle"}, "dialect must be one of 'duckdb', 'postgres'"),
        ({"max_labels": 0}, "max_labels must be"),
        ({"max_labels": None}, "max_labels must be"),
        ({"max_count": 0}, "max_count must be"),
        ({"label": ""}, "label must be a name"),
        ({"user": None}, "user must be a name"),
        ({"user": "a\\"}, "user must be a name"),
        ({"table": []}, "table must be"),
        ({"table": None}, "table must be the name of a table, or a list"),
        ({"table": 3}, "table must be the name of a table, or a list"),
        ({"table": ["a", 1]}, "table must be a name"),
        ({"count": 1}, "count must be a name"),
        ({"label": "dphist_who"}, "label must not begin with dphist_"),
        ({"user": "DPHIST_TERM"}, "user must not begin with dphist_"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], message: str) -> None:
    kept = {"dialect": "duckdb", "table": "t", "label": "l", "user": "u", "max_labels": 1}
    with pytest.raises(ParameterError, match=re.escape(message)):
        dh.sql.count_labels(**{**kept, **given})


@pytest.mark.verify
def test_a_result_is_released_with_its_bounds() -> None:
    rows = pa.table({"label": [f"t{n}" for n in range(5)], "count": [500] * 5})
    counts = dh.sql.label_counts(rows, max_labels=2, unit="one patient")
    assert (counts.max_labels, counts.max_count, counts.only_adds) == (2, 1, True)
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2)
    release = mechanism.release(counts)
    assert len(release.value) == 5
    assert "one patient" in str(release.guarantee.unit)
    with pytest.raises(dh.DphistError):
        dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(counts)
