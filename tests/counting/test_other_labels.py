"""Labels that are not listed count as one, "other", before users are bounded: on every engine."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.data.other_than import read_other_than
from dphist.errors import ColumnError, DataError, ParameterError
from tests.support.counting.contribution_engines import ENGINES, Engine, Rows, bounded, table_of
from tests.support.counting.contributions import (
    BOUNDS,
    KEYS,
    WITH,
    WITHOUT,
    as_dict,
    count,
    falls,
    most_changed,
    some_rows,
)
from tests.support.counting.users_by_labels import in_python

# PySpark advises against pandas 3; nothing here hands it a pandas frame.
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

LISTED = ["A", "é", "q'q", "x,\ty", "", "never there"]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


def mapped(rows: Rows, listed: list[str]) -> Rows:
    """The mapping, written down a second time."""
    return [(user, label if label in listed else "other", n) for user, label, n in rows]


@every_engine
@pytest.mark.quick("pyarrow", "pandas", "csv", "1-1-1-spark", every=3)
@pytest.mark.parametrize(("seed", "max_labels", "max_count"), [(0, 2, 3), (1, 1, 1), (2, None, 5)])
def test_counts_are_those_of_a_table_without_unlisted_labels(
    engine: Engine, seed: int, max_labels: int | None, max_count: int, tmp_path: Path
) -> None:
    rows = [*some_rows(seed), ("u", "other", 2)]
    key = KEYS[seed % 2]
    options = {"count": "n", "max_labels": max_labels, "max_count": max_count}
    counts = count(engine.make(table_of(rows), tmp_path), key, **options, other_than=LISTED)
    assert as_dict(counts) == bounded(mapped(rows, LISTED), max_labels, max_count, key, engine.name)
    assert counts.other_than == tuple(LISTED)
    assert counts.label_type == pa.string()


@pytest.mark.quick("pyarrow", every=2)
@pytest.mark.parametrize("engine", [e for e in ENGINES if e.name in ("pyarrow", "csv", "polars")])
@pytest.mark.parametrize(("max_labels", "max_count"), BOUNDS)
def test_a_user_changes_no_more_than_the_bounds(
    engine: Engine, max_labels: int, max_count: int, tmp_path: Path
) -> None:
    """All worlds of the bounding suite at once, which are told apart by their labels."""
    listed = [label for label in {label for _, label, _ in WITH} if not label.endswith("b")]
    (tmp_path / "with").mkdir()
    options = {"count": "n", "max_labels": max_labels, "max_count": max_count, "other_than": listed}
    found = []
    for rows, folder in ((WITHOUT, tmp_path), (WITH, tmp_path / "with")):
        counts = as_dict(count(engine.make(table_of(rows), folder), KEYS[0], **options))
        counts.pop("other", None)  # which all worlds share
        found.append(counts)
    assert most_changed(*found) <= (max_labels, max_count)
    assert not falls(*found)


@pytest.mark.parametrize(("max_labels", "max_count"), BOUNDS)
def test_a_user_adds_to_other_once(max_labels: int, max_count: int) -> None:
    """Whatever the key: a hundred unlisted labels of one user are one label together."""
    rows = [("v", "A", 1), *(("u", f"t{n}", 1) for n in range(100)), ("u", "é", 1)]
    options: dict[str, Any] = {"max_labels": max_labels, "max_count": max_count}
    counts = as_dict(count(table_of(rows), **options, other_than=["A", "é"]))
    assert counts["A"] == 1
    assert counts.get("other", 0) in (0, max_count)
    assert counts.get("other", 0) + counts.get("é", 0) <= max_labels * max_count
    if max_labels == 2:  # the listed label is never dropped for unlisted ones
        assert counts == {"A": 1, "é": 1, "other": max_count}


@pytest.mark.parametrize("max_count", [1, 2])
def test_users_are_counted_by_labels_with_other_as_one(max_count: int) -> None:
    rows = [(f"u{n % 9}", "abcdefg"[n * n % 7], 1) for n in range(80)]
    options: dict[str, Any] = {"max_labels": 2, "max_count": max_count, "users_by_labels": 6}
    counts = count(table_of(rows), count="n", **options, other_than=["a", "b"])
    assert counts.users == in_python(mapped(rows, ["a", "b"]), 2)


def test_sums_are_of_the_labels_that_rows_count_under() -> None:
    table = table_of([("u", "a", 1), ("u", "x", 2), ("u", "y", 4), ("v", "x", 8), ("w", "b", 16)])
    sums = {"n": dh.Clamp(0, 5, 1)}
    counts = count(table, max_labels=2, other_than=["a", "b"], sums=sums)
    center = dict(counts.sums)["n"].center(counts_users=True)
    assert counts.counts_of(["a", "b", "other"]) == [1, 1, 2]
    assert counts.sums_of(["a", "b", "other"]) == [[1 - center, 5 - center, 10 - 2 * center]]


def test_rows_without_a_label_are_treated_as_they_are_without_a_list() -> None:
    table = pa.table({"who": ["u", "v"], "term": pa.array(["x", None])})
    with pytest.raises(DataError, match="column 'term' has rows without a label"):
        count(table, max_labels=1, other_than=["a"])
    assert as_dict(count(table, max_labels=1, null_labels="drop", other_than=["a"])) == {"other": 1}


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "x", "a"]).dictionary_encode(),
        pa.array(["a", "x", "a"], pa.large_string()),
        pa.array(["a", "x", "a"], pa.string_view()),
    ],
    ids=lambda column: str(column.type)[:12],
)
def test_every_layout_of_text_is_mapped(column: pa.Array) -> None:
    table = pa.table({"term": column})
    found = dh.LabelCounts.from_table(table, label="term", other_than=["a"])
    assert as_dict(found) == {"a": 2, "other": 1}
    none = pa.table({"term": pa.nulls(2)})
    empty = dh.LabelCounts.from_table(none, label="term", other_than=["a"], null_labels="drop")
    assert as_dict(empty) == {}


@pytest.mark.parametrize(
    "column", [pa.array([1, 2]), pa.array([True, False]), pa.array([b"a", b"b"])]
)
@pytest.mark.parametrize("sums", [None, {"n": dh.Clamp(0, 1, 1)}])
def test_other_columns_than_text_are_refused(column: pa.Array, sums: Any) -> None:
    table = pa.table({"term": column, "n": [1, 1]})
    with pytest.raises(ColumnError, match="column 'term' must hold text where other labels"):
        dh.LabelCounts.from_table(table, label="term", other_than=["a"], sums=sums)


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ([], "other_than must list at least one label"),
        ("a", "other_than must list at least one label"),
        (["a", "a"], "each once"),
        (["a", 1], "all text"),
        ([None], "all text"),
        (["\ud800"], "all text"),
        (7, "all text"),
        (["a", "other"], "must not list 'other'.*; leave it out"),
    ],
)
def test_lists_that_are_none_are_refused_before_data_are_read(listed: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        dh.LabelCounts.from_table("no file.csv", label="term", other_than=listed)
    with pytest.raises(ParameterError, match=said):
        dh.LabelCounts.from_counts(["a"], [1], max_labels=1, max_count=1, other_than=listed)
    with pytest.raises(ParameterError, match=said):
        given = {"label": "term", "user": "who", "part": 0, "parts": 2, "other_than": listed}
        dh.LabelCounts.partial("no file.csv", **given)


def test_users_whose_labels_are_kept_have_no_list() -> None:
    with pytest.raises(ParameterError, match="other_than must be left out with keep_sets"):
        count(table_of([("u", "a", 1)]), max_labels=1, keep_sets=True, other_than=["a"])


def test_parts_agree_about_the_list(tmp_path: Path) -> None:
    rows = some_rows(3)
    table, options = table_of(rows), {"label": "term", "user": "who", "count": "n", "parts": 2}

    def part(number: int, listed: Any) -> Any:
        own: dict[str, Any] = {**options, "part": number, "max_count": 3, "other_than": listed}
        return dh.LabelCounts.partial(table, **own)

    one, other = part(0, LISTED), part(1, LISTED[::-1])
    one.save(tmp_path / "part")
    merged = dh.LabelCounts.merge([tmp_path / "part", other.to_arrow()])
    assert as_dict(merged) == bounded(mapped(rows, LISTED), None, 3, KEYS[0])
    assert sorted(merged.other_than or ()) == sorted(LISTED)
    for listed in (None, LISTED[1:]):
        with pytest.raises(ParameterError, match="and of labels that are not listed"):
            dh.LabelCounts.merge([one, part(1, listed)])


def test_a_list_is_named_in_the_order_given() -> None:
    assert read_other_than(pa.array(["b", "a"]).to_pylist(), "labels") == ("b", "a")
