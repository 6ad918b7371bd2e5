"""What holds in every session of Spark: `test_sessions.py` runs this file once for each kind.

To run it by hand, also with another version of Spark:

    DPHIST_SPARK_SESSION=connect python -m pytest tests/counting/spark/test_conformance.py

Kinds are in `sessions.py`. One user has 1 % of all rows. Where the plan matters most, a test
runs with adaptive execution and, in the classic session, without it.
"""

import os
import re
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dphist import (
    Axis,
    Clamp,
    DiscoverKeys,
    KeyedCounts,
    LabelCounts,
    Profile,
    ThresholdHistogram,
    bin_counts,
)
from dphist.counting.binning.edges import WholeSearch
from dphist.counting.binning.spark_slots import find_slots
from dphist.counting.bounding import stores
from dphist.counting.engine import progress
from dphist.counting.engine.rows import SparkRows
from dphist.counting.reading.spark import USED
from dphist.errors import DataError, ParameterError
from tests.support.counting.contribution_engines import bounded
from tests.support.counting.spark.rows import BINS, KEY, NAMES, NUMBER, ROWS, TABLE, as_dict
from tests.support.counting.spark.sessions import kind, session
from tests.support.refusal import SENTINEL, refused

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas", "ignore::ResourceWarning"
)

CELLS: dict[str, Any] = {
    "keys": {
        "term": [f"t{i}" for i in range(50)],
        "n": [3, 10**9, 0, 1, 2],  # one is not listed first, and one is no value of some types
        "x": Axis.from_edges([0, 7, 500]),
    },
    "other": ["term", "x"],
}
FOUND_CELLS: dict[str, Any] = {
    "keys": {
        "n": [3, 0, 1, 2],
        "term": DiscoverKeys(share="0.3"),
        "x": Axis.from_edges([0, 7, 500]),
    },
    "other": ["x"],
}
DROPPED = {"keys": FOUND_CELLS["keys"] | {"n": [3, 0]}, "other": ["x"], "unlisted": "drop"}

has_python = pytest.mark.skipif(kind() == "no-python", reason="needs Python in the workers")


@pytest.fixture
def frame(request: pytest.FixtureRequest) -> Any:
    """The rows in three partitions, with adaptive execution unless a test says otherwise."""
    session().conf.set("spark.sql.adaptive.enabled", getattr(request, "param", "true"))
    return session().createDataFrame(TABLE).repartition(3)


def another_session() -> Any:
    """A new session of the same server; in Spark 4.0, those of Connect have no `newSession`."""
    own = session()
    if hasattr(own, "newSession"):
        return own.newSession()
    from pyspark.sql.connect.session import SparkSession

    return SparkSession.builder.remote("sc://localhost").create()


NO_FUNCTIONS = {
    "and",
    "by",
    "cast",
    "decimal",
    "else",
    "div",
    "in",
    "not",
    "or",
    "over",
    "then",
    "when",
}


@pytest.fixture(autouse=True)
def functions_are_listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No query of a test calls a function that is not in `USED`."""
    texts: list[str] = []
    for name in ("project", "where", "group", "beside"):
        step = getattr(SparkRows, name)

        def noted(rows: Any, first: Any, *more: str, step: Any = step) -> Any:
            texts.extend([*([first] if isinstance(first, str) else first), *more])
            return step(rows, first, *more)

        monkeypatch.setattr(SparkRows, name, noted)
    yield
    called = {name.lower() for name in re.findall(r"\b([A-Za-z_]\w*)\s*\(", ", ".join(texts))}
    assert called - NO_FUNCTIONS <= USED


# Plans depend on it, and not on the kind of session.
adaptive_or_not = pytest.mark.parametrize(
    "frame", ["true", "false"] if kind() == "classic" else ["true"], indirect=True
)


@pytest.fixture
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every choice of labels or records is made under the same key."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: KEY)


def pairs(profile: Profile) -> list[tuple[int, int]]:
    return list(zip(profile.counts.tolist(), profile.prevalences.tolist(), strict=True))


@pytest.mark.parametrize("users", [{}, {"user": "who", "max_rows": NUMBER}])
def test_cells_of_keys_are_counted_as_in_arrow(frame: Any, users: dict[str, Any]) -> None:
    rows = frame.selectExpr("who", "term", "CAST(n AS TINYINT) AS n", "x")
    assert KeyedCounts.from_table(rows, **CELLS, **users) == KeyedCounts.from_table(
        TABLE, **CELLS, **users
    )


@pytest.mark.parametrize("joined", ["false", "true"])
@pytest.mark.parametrize("users", [{}, {"user": "who", "max_rows": 10**6, "count": "m"}])
def test_labels_of_keys_are_counted_as_in_arrow(
    frame: Any, users: dict[str, Any], joined: str
) -> None:
    """Labels that nobody listed, "other" and missing ones too, whatever bytes joined are."""
    own = frame.sparkSession
    own.conf.set("spark.sql.function.concatBinaryAsString", joined)
    named = "CASE WHEN term = 't1' THEN 'other' WHEN term = 't4' THEN NULL ELSE term || 'é:' END"
    try:
        rows = frame.selectExpr("who", f"{named} AS term", "n", "x", "x AS m")
        found = KeyedCounts.from_table(rows, **FOUND_CELLS, **users)
        here = KeyedCounts.from_table(rows.toArrow(), **FOUND_CELLS, **users)
        assert found == here
        dropped = KeyedCounts.from_table(rows, **DROPPED, **users)
        assert dropped == KeyedCounts.from_table(rows.toArrow(), **DROPPED, **users)
        assert 0 < dropped.counts.sum() < here.counts.sum()
        with refused(DataError, "column 'n'"):
            KeyedCounts.from_table(rows, **DROPPED | {"unlisted": "error"}, **users)
    finally:
        own.conf.unset("spark.sql.function.concatBinaryAsString")


@adaptive_or_not
@pytest.mark.usefixtures("one_key")
@pytest.mark.parametrize("count", [None, "m"])
def test_which_labels_of_keys_a_user_keeps_depends_on_no_other_user(
    frame: Any, count: str | None
) -> None:
    given: dict[str, Any] = {**FOUND_CELLS, "user": "who", "max_rows": 3, "count": count}
    more = [("heavy", f"new {i}", 2, i) for i in range(9)]
    added = frame.sparkSession.createDataFrame(more, ["who", "term", "n", "x"])
    added, without = (
        each.selectExpr("*", "2 AS m") for each in (added, frame.where("who != 'heavy'"))
    )
    alone, both = (
        labels_of(KeyedCounts.from_table(rows, **given))
        for rows in (without, added.unionByName(without))
    )
    assert not alone - both
    assert (both - alone).total() == 3
    assert all(label.startswith("new") for _, label in both - alone)


def labels_of(held: KeyedCounts) -> Counter[tuple[int, str]]:
    """Return the rows of each cell and label."""
    assert held.labels is not None
    places = held.labels.places[:, 0].tolist()
    labels = [*held.labels.labels[0], ""]
    return Counter(
        {
            (cell, labels[place]): n
            for cell, place, n in zip(
                held.cells.tolist(), places, held.counts.tolist(), strict=True
            )
        }
    )


def test_labels_are_counted_as_in_duckdb(frame: Any) -> None:
    options = NAMES | {"count": "n", "max_labels": None, "max_count": 2**40}
    assert as_dict(LabelCounts.from_table(frame, **options)) == as_dict(
        LabelCounts.from_table(TABLE, **options)
    )


@adaptive_or_not
@pytest.mark.usefixtures("one_key")
def test_labels_are_bounded_as_in_plain_python(frame: Any) -> None:
    options = NAMES | {"count": "n", "max_labels": 5, "max_count": 3}
    found = LabelCounts.from_table(frame, users_by_labels=9, **options)
    assert as_dict(found) == bounded([row[:3] for row in ROWS], 5, 3, KEY, "spark")
    assert found.users == LabelCounts.from_table(TABLE, users_by_labels=9, **options).users
    assert as_dict(found) == as_dict(LabelCounts.from_table(frame, **options))


def test_questions_are_answered_as_in_duckdb(frame: Any) -> None:
    options = NAMES | {"count": "n", "max_labels": None, "max_count": 2**40}
    found, expected = (LabelCounts.from_table(rows, **options) for rows in (frame, TABLE))
    assert found.largest(7) == expected.largest(7)
    listed = ["t1", "no such label", "t0", "t4"]
    assert found.counts_of(listed) == expected.counts_of(listed)


def test_sums_are_those_of_duckdb(frame: Any) -> None:
    """Of whole numbers, decimals and floats; of labels, in pieces and asked for, and of cells."""
    typed = frame.selectExpr("who", "term", "CAST(x AS DECIMAL(20, 3)) / 8 AS x", "n / 3 AS n")
    sums = {"x": Clamp(-2, 300, "0.01"), "n": Clamp(0, 2, "0.25")}
    labels, cells = (
        [counted.from_table(rows, **options, sums=sums) for rows in (typed, typed.toArrow())]
        for counted, options in (
            (LabelCounts, NAMES | {"max_labels": None, "max_count": 1}),
            (KeyedCounts, {"keys": {"term": CELLS["keys"]["term"]}, "other": ["term"]}),
        )
    )
    tables = [counts.filter_sums(lambda batch: batch).sort_by("label") for counts in labels]
    assert tables[0] == tables[1]
    assert tables[0].column_names == ["label", "count", "v0", "v1"]
    assert labels[0].sums_of(["t1", "?", "t0"]) == labels[1].sums_of(["t1", "?", "t0"])
    assert cells[0] == cells[1]


def test_profiles_are_those_of_duckdb(frame: Any) -> None:
    assert pairs(Profile.from_table(frame, label="term")) == pairs(
        Profile.from_table(TABLE, label="term")
    )
    everything = NAMES | {"max_records": NUMBER}
    assert pairs(Profile.from_table(frame, **everything)) == pairs(
        Profile.from_table(TABLE, label="term")
    )


@adaptive_or_not
@pytest.mark.usefixtures("one_key")
def test_profiles_are_bounded(frame: Any) -> None:
    options = NAMES | {"max_records": 3}
    first, second = (Profile.from_table(frame, **options) for _ in range(2))
    assert pairs(first) == pairs(second)
    assert first.total == sum(min(3, rows) for rows in Counter(r[0] for r in ROWS).values())


@pytest.mark.parametrize("directed", [False, True])
def test_degrees_are_those_of_duckdb(frame: Any, directed: bool) -> None:
    options: dict[str, Any] = {"source": "who", "target": "term", "directed": directed}
    assert pairs(Profile.from_edges(frame, **options)) == pairs(
        Profile.from_edges(TABLE, **options)
    )


def test_bins_are_counted_as_in_duckdb(frame: Any) -> None:
    ways: list[dict[str, Any]] = [{}, {"user": "who", "max_records": NUMBER}, {"count": "n"}]
    for more in ways:
        found, expected = (bin_counts(rows, **BINS, **more) for rows in (frame, TABLE))
        assert np.array_equal(found.counts, expected.counts)
        assert found.outside == expected.outside


def held_by_spark() -> tuple[list[str], int]:
    """Names of temporary views, and the number of datasets that are kept."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context  # also of a server of Connect, here
    views = sorted(table.name for table in session().catalog.listTables())
    return views, len(context._jsc.getPersistentRDDs())


@adaptive_or_not
def test_bins_between_uneven_edges_are_counted_as_in_duckdb(frame: Any) -> None:
    """Their edges lie beside the rows: of each type, on two axes, with nulls, and with no rows."""
    held = held_by_spark()
    typed = frame.selectExpr(
        "who",
        "CASE WHEN x > 11 THEN x END AS whole",
        "CAST(x AS DECIMAL(30, 2)) AS exact",
        "CAST(x AS DOUBLE) / 3 - 1 AS real",
        "DATE'2024-01-01' + CAST(x AS INT) AS day",
    )
    whole = [0, 7, 31, 500, 901]
    edges: dict[str, Any] = {
        "whole": whole,
        "exact": [0.5, *whole[1:]],
        "real": [-np.inf, -0.0, 3.5, 70.25, np.inf],
        "day": np.array(whole, "M8[D]") + 19723,
    }
    plane = {"column": ["whole", "real"], "edges": [whole, edges["real"]]}
    users = plane | {"user": "who", "max_records": NUMBER}
    cases: list[tuple[Any, dict[str, Any]]] = [
        *((typed, {"column": name, "edges": edges[name]}) for name in edges),
        *((typed.where(rows), way) for rows in ("true", "day IS NULL") for way in (plane, users)),
        (typed, {"column": ["whole", "exact"], "edges": [whole, whole]}),
    ]
    if kind() != "classic":
        cases = cases[5::2]  # users, with rows and with none
    for rows, way in cases:
        found, expected = (bin_counts(each, **way) for each in (rows, rows.toArrow()))
        assert np.array_equal(found.counts, expected.counts)
        assert found.outside == expected.outside
    assert held_by_spark() == held


@adaptive_or_not
def test_edges_are_not_copied_into_rows(frame: Any) -> None:
    """Each is a subquery in the expression that bisects, in the plan that is executed."""
    rows = find_slots(
        SparkRows(frame.selectExpr("x AS c0", "x AS c1", "who")),
        [WholeSearch.from_edges(np.array([0, 7, 31]), "i8")] * 2,
        [pa.int64()] * 2,
        (2, 2),
        ["who"],
    )
    with redirect_stdout(StringIO()) as shown:
        rows.frame.explain()
    holding = [line for line in shown.getvalue().splitlines() if re.search(r"\be[01]#", line)]
    assert holding
    assert all("LocalTableScan" in line or "Scan ExistingRDD" in line for line in holding)


@pytest.mark.usefixtures("one_key")
def test_bins_are_bounded(frame: Any) -> None:
    options = BINS | {"user": "who", "max_records": 3}
    first, second = (bin_counts(frame, **options) for _ in range(2))
    assert np.array_equal(first.counts, second.counts)
    kept = sum(first.counts.tolist()) + sum(first.outside.values())
    assert kept == sum(min(3, rows) for rows in Counter(r[0] for r in ROWS).values())


@has_python
@pytest.mark.usefixtures("one_key")
def test_repeated_tasks_count_nothing_twice(frame: Any, tmp_path: Path) -> None:
    """The first attempt at each partition of the source fails after its rows were sent on."""

    def failing(name: str) -> Any:
        folder = str(tmp_path / name)
        os.mkdir(folder)  # noqa: PTH102

        def lose(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyspark

            yield from batches
            task = pyspark.TaskContext.get()
            open(f"{folder}/{task.partitionId()}-{task.attemptNumber()}", "w").close()  # noqa: PTH123
            if task.attemptNumber() == 0:
                raise RuntimeError("lost")

        return frame.mapInArrow(lose, frame.schema)

    readers = {
        "labels": lambda rows: as_dict(LabelCounts.from_table(rows, **NAMES, max_labels=3)),
        "profile": lambda rows: pairs(Profile.from_table(rows, **NAMES, max_records=3)),
        "edges": lambda rows: pairs(Profile.from_edges(rows, source="who", target="term")),
        "bins": lambda rows: bin_counts(rows, **BINS, user="who", max_records=3).counts.tolist(),
    }
    for name, reader in readers.items():
        assert reader(failing(name)) == reader(frame), name
        attempts = [path.name.split("-") for path in (tmp_path / name).iterdir()]
        assert {number for _, number in attempts} > {"0"}, name


def test_noise_is_drawn_here_once_for_each_label(
    frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the counts come in pieces; Spark's processes could not fill this list."""
    monkeypatch.setattr(stores, "_ROWS_OF_A_PIECE", 30)
    counts = LabelCounts.from_table(frame, **NAMES, max_labels=5)
    seen: list[list[str]] = []

    def keep(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch["label"].to_pylist())
        return batch

    counts.filter_batches(keep)
    labels = [label for batch in seen for label in batch]
    assert len(seen) > 1
    assert len(labels) == len(set(labels))
    # A release asks for fresh bytes, so two of the same counts differ.
    one, two = (
        ThresholdHistogram(epsilon=1, delta=0.5, max_labels=5).release(counts).value.to_arrow()
        for _ in range(2)
    )
    assert one != two


@adaptive_or_not
def test_labels_cost_two_shuffles(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by user, one by label, in the plan that is executed."""
    plans: list[str] = []
    held = stores.SparkStore.__init__

    def noted(self: Any, rows: Any, *more: Any) -> None:
        with redirect_stdout(StringIO()) as shown:
            rows.frame.explain()
        plans.append(shown.getvalue())
        held(self, rows, *more)

    monkeypatch.setattr(stores.SparkStore, "__init__", noted)
    source = frame.sparkSession.range(100).selectExpr("id % 7 AS who", "id % 5 AS term")
    LabelCounts.from_table(source, **NAMES, max_labels=3)
    LabelCounts.from_table(source, **NAMES, max_labels=3, users_by_labels=9)
    for plan in plans:
        moved = [line for line in plan.splitlines() if "Exchange " in line]
        assert [line.split("hashpartitioning(")[1].split("#")[0] for line in moved] == [
            "term",
            "who",
        ]
    assert len(plans) == 2


@adaptive_or_not
def test_records_of_users_cost_two_shuffles(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by user, one by label or bin; a profile then counts the counts."""
    plans: dict[str, str] = {}

    def note(name: str) -> None:
        step = getattr(SparkRows, name)

        def noted(rows: Any, columns: Any) -> Any:
            with redirect_stdout(StringIO()) as shown:
                rows.frame.explain()
            plans[name] = shown.getvalue()
            return step(rows, columns)

        monkeypatch.setattr(SparkRows, name, noted)

    note("fetch")
    note("to_arrow")
    source = frame.sparkSession.range(100).selectExpr("id % 7 AS who", "id % 5 AS term", "id AS x")
    Profile.from_table(source, **NAMES, max_records=3)
    bin_counts(source, **BINS, user="who", max_records=3)
    moved = {
        name: [
            line.split("hashpartitioning(")[1].split("#")[0]
            for line in plan.splitlines()
            if "Exchange " in line
        ]
        for name, plan in plans.items()
    }
    assert moved == {"fetch": ["records", "term", "who"], "to_arrow": ["term", "who"]}


@pytest.mark.skipif(kind() not in ("classic", "connect"), reason="sessions as the classic ones")
def test_sessions_of_one_server_count_their_own_rows(frame: Any) -> None:
    """In turn and in threads; PySpark takes a checkpoint for one of the process's first session."""
    first, second = frame.sparkSession, another_session()
    found: dict[int, list[dict[str, int]]] = {}

    def rows_of(own: Any, number: int) -> Any:
        return own.range(6).selectExpr("id AS who", f"CONCAT('t', {number}) AS term")

    def count(own: Any, number: int) -> None:
        rows = rows_of(own, number)
        counts = [LabelCounts.from_table(rows, **NAMES, max_labels=1) for _ in range(2)]
        found[number] = [as_dict(each) for each in counts]
        assert [each.counts_of([f"t{number}", "t"]) for each in counts] == [[6, 0]] * 2
        assert Profile.from_table(rows, **NAMES, max_records=1).total == 6

    for number, own in enumerate((second, first, second)):
        count(own, number)
    threads = [
        threading.Thread(target=count, args=(own, number))
        for number, own in enumerate((first, second), start=3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [{f"t{number}": 6}] * 2 for number in range(5)}


@pytest.mark.skipif(kind() != "connect", reason="classic sessions are not cloned")
def test_cloned_sessions_count_their_own_rows(frame: Any) -> None:
    if not hasattr(frame.sparkSession, "cloneSession"):
        pytest.skip("no session of this version is cloned")
    cloned = frame.sparkSession.cloneSession().createDataFrame(TABLE)
    options = NAMES | {"max_labels": None}
    assert as_dict(LabelCounts.from_table(cloned, **options)) == as_dict(
        LabelCounts.from_table(frame, **options)
    )


def temporary_first(own: Any) -> Any:
    """Make Spark look for temporary functions first, as it always does before 4.3."""
    if own.version >= "4.3":
        own.conf.set("spark.sql.functionResolution.sessionOrder", "first")
    return own


@pytest.mark.skipif(kind() != "classic", reason="registers functions in a session of its own")
@pytest.mark.usefixtures("one_key")
def test_functions_of_the_caller_s_are_not_called() -> None:
    """Also where their names are those of built-in functions."""
    own = session().newSession()
    own.udf.register("md5", lambda _: "0")
    own.udf.register("least", lambda *_: 10**6, "bigint")
    options = {**NAMES, "max_labels": 2}
    if own.version >= "4.3":
        found = as_dict(LabelCounts.from_table(own.createDataFrame(TABLE), **options))
        assert found == bounded([(*row[:2], 1) for row in ROWS], 2, 1, KEY, "spark")
    temporary_first(own)
    with refused(DataError, "least, md5"):
        LabelCounts.from_table(own.createDataFrame(TABLE), **options)


@pytest.mark.skipif(kind() != "classic", reason="registers functions in a session of its own")
def test_no_other_function_is_called() -> None:
    """Every built-in function that is not in `USED` is replaced by one that returns 7."""
    own = temporary_first(session().newSession())
    for name in {each.name for each in own.catalog.listFunctions()} - USED:
        own.udf.register(name, lambda *_: 7, "bigint")
    assert own.range(1).selectExpr("id BETWEEN 5 AND 6").collect()[0][0] == 7
    rows, everything = own.createDataFrame(TABLE), {"max_labels": 97, "max_count": 2**40}
    options = NAMES | everything | {"count": "n", "users_by_labels": 98}
    found, expected = (LabelCounts.from_table(each, **options) for each in (rows, TABLE))
    assert as_dict(found) == as_dict(expected)
    assert found.users == expected.users
    assert found.counts_of(["t1", "no"]) == expected.counts_of(["t1", "no"])
    for part in range(2):
        cut = NAMES | {"max_labels": 97, "part": part, "parts": 2}
        one, two = (LabelCounts.partial(each, **cut).table for each in (rows, TABLE))
        assert one.sort_by("label") == two.sort_by("label")
    many = NAMES | {"max_records": NUMBER}
    assert pairs(Profile.from_table(rows, **many)) == pairs(Profile.from_table(TABLE, **many))
    plane: dict[str, Any] = {"column": ["x", "n"], "edges": [[0, 7, 500], [1, 2, 4]]}
    ways: list[dict[str, Any]] = [BINS, plane, plane | {"user": "who", "max_records": NUMBER}]
    for way in ways:
        one, two = (bin_counts(each, **way) for each in (rows, TABLE))
        assert np.array_equal(one.counts, two.counts)
        assert one.outside == two.outside
    one, two = (KeyedCounts.from_table(each, **CELLS) for each in (rows, TABLE))
    assert one == two


def test_a_path_with_other_schemas_first_is_refused() -> None:
    own = another_session()
    if own.version < "4.3":
        pytest.skip("has no SQL path")
    own.conf.set("spark.sql.path.enabled", "true")
    rows = own.createDataFrame(TABLE)
    own.sql("SET PATH = spark_catalog.default, system.builtin, system.session")
    with refused(DataError, "SQL path"):
        LabelCounts.from_table(rows, **NAMES, max_labels=2)
    own.sql("SET PATH = system.builtin, system.session, spark_catalog.default")
    LabelCounts.from_table(rows, **NAMES, max_labels=2)


def test_parts_of_spark_and_of_a_table_are_one_table(frame: Any) -> None:
    """A user is in one of them; users of two types are refused."""
    given: dict[str, Any] = {**NAMES, "max_labels": NUMBER, "parts": 2}
    whole = LabelCounts.from_table(TABLE, **NAMES, max_labels=NUMBER)
    for pair in ((frame, TABLE), (TABLE, frame)):
        parts = [LabelCounts.partial(rows, part=part, **given) for part, rows in enumerate(pair)]
        assert as_dict(LabelCounts.merge(parts)) == as_dict(whole)
    numbers = frame.selectExpr("x AS who", "term")
    parts = [
        LabelCounts.partial(rows, part=part, **given) for part, rows in enumerate((numbers, TABLE))
    ]
    with refused(ParameterError, "users of one type"):
        LabelCounts.merge(parts)


def test_refusals_are_those_of_other_engines(frame: Any) -> None:
    broken = frame.selectExpr("IF(x = 31, NULL, who) AS who", f"'{SENTINEL}' AS term")
    with refused(DataError, "'who'", "null_users"):
        LabelCounts.from_table(broken, **NAMES, max_labels=1)
    with refused(DataError, "'who'"):
        Profile.from_table(broken, **NAMES, max_records=1)


def running() -> list[int]:
    """The jobs that run now; a session of Connect has its server in this process."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    return sorted(context.statusTracker().getActiveJobsIds())


def wait_until_running(jobs: list[int]) -> None:
    """Wait until these jobs run and no others.

    Spark answers that it cancels a job before the job has ended. One that nobody cancelled would
    go on for years.
    """
    deadline = time.monotonic() + 30
    while running() != jobs and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running() == jobs


@pytest.fixture
def plain_interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt; PySpark's handler would cancel all jobs of the session."""
    session()  # which installs that handler
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


READ: dict[str, Callable[..., Any]] = {
    "labels": lambda rows, **more: LabelCounts.from_table(rows, **NAMES, max_labels=3, **more),
    "bins": lambda rows, **more: bin_counts(rows, **BINS | {"column": "who"}, **more),
}


@pytest.mark.usefixtures("plain_interrupts")
@pytest.mark.parametrize("reader", READ)
def test_ctrl_c_cancels_the_jobs_of_a_call_alone(reader: str, frame: Any) -> None:
    """The first report of progress sends it; rows without end would go on for years."""
    seen: list[Any] = []

    def interrupt(done: Any) -> None:
        seen.append(done)
        if len(seen) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    tags = set(session().getTags())
    session().addTag("callers")
    endless = session().range(0, 10**15, 1, 3).selectExpr("id % 7 AS who", "id % 5 AS term")
    alone = session().range(0, 10**15, 1, 1).where("id < 0")  # leaves a core
    failed: list[BaseException] = []

    def count_alone() -> None:
        try:
            alone.count()
        except Exception as error:
            failed.append(error)

    other = threading.Thread(target=count_alone)
    other.start()
    while not running():
        time.sleep(0.05)
    before = running()
    try:
        with pytest.raises(KeyboardInterrupt):
            READ[reader](endless, progress=interrupt)
        assert not any(each.name == "dphist-spark" for each in threading.enumerate())
        wait_until_running(before)
        assert failed == []
        assert session().getTags() == tags | {"callers"}
    finally:
        session().removeTag("callers")
        from pyspark import SparkContext

        everything: Any = SparkContext._active_spark_context
        everything.cancelAllJobs()
        other.join()
    assert (seen[0].unit, seen[0].done, seen[0].note) == ("tasks", 0, "stage 1")
    READ["labels"](frame)


@pytest.mark.usefixtures("plain_interrupts")
def test_ctrl_c_cancels_a_release(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = LabelCounts.from_table(frame, **NAMES, max_labels=3)
    endless = session().range(0, 10**15, 1, 3).selectExpr("id AS term", "id AS n").where("n < 0")
    monkeypatch.setattr(counts._store, "_frame", endless.toDF("label", "count"))

    def interrupt() -> None:
        while not running():
            time.sleep(0.05)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        counts.largest(3)
    wait_until_running([])


def test_progress_of_real_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three stages, of which the middle one bounds users; no stage is told of twice."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 0.02)
    seen: list[progress.Done] = []
    rows = session().range(0, 200_000, 1, 4).selectExpr("id % 9999 AS who", "id % 5555 AS term")
    LabelCounts.from_table(rows, **NAMES, max_labels=3, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert all(each < 1 and each.total for each in seen[:-1])
    if kind() != "connect":  # which tells of progress every two seconds
        notes = list(dict.fromkeys(each.note for each in seen[:-1]))
        assert notes == sorted(notes)
        assert {"stage 1", "stage 2"} <= set(notes)


@pytest.mark.skipif(kind() != "no-python", reason="these workers can start Python")
def test_these_workers_cannot_start_python(frame: Any) -> None:
    """So what the other tests of this session count is counted by Spark alone."""
    with pytest.raises(Exception, match="daemon"):
        frame.mapInArrow(lambda batches: batches, frame.schema).collect()


def test_a_session_that_was_stopped_is_named(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test has Spark afterwards: a classic session stops all of them."""
    own = another_session()
    rows = own.createDataFrame(TABLE)
    counts = LabelCounts.from_table(rows, **NAMES, max_labels=3)
    monkeypatch.delenv("SPARK_LOCAL_REMOTE", raising=False)  # with it, the server would end as well
    own.stop()
    with refused(DataError, "session of frame was stopped"):
        LabelCounts.from_table(rows, **NAMES, max_labels=3)
    with refused(
        DataError, "session that holds the counted labels was stopped", "nothing was released"
    ):
        counts.largest(1)
