"""Parts of a table, counted apart and added, are the table: for every engine and kind."""

import itertools
import pickle
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.data.partial import Partial
from dphist.errors import ColumnError, DataError, DphistError, InputFileError, ParameterError
from dphist.privacy.unit import as_unit
from tests.support.counting.contribution_engines import ENGINES, Engine, table_of
from tests.support.counting.contributions import BOUNDS, WITH, WITHOUT, falls, most_changed
from tests.support.data.partial import part_in_python, refusal

PARTS = 3
PLAIN = [engine for engine in ENGINES if engine.name != "spark"]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)

ODD = ["", "a", "A", " a", "é", "é", "a\0b", "a\0c", "𝛼", "名", "🙂", "0", "00", "-1", "x" * 300]
ROWS = [(user, f"t{place % 4}", place % 5 + 1) for place, user in enumerate(ODD * 3)]
ROWS += [(f"u{place}", "t0", 1) for place in range(40)]


def labels_of(counts: dh.LabelCounts) -> dict[Any, int]:
    table = counts.filter_batches(lambda batch: batch)
    return dict(zip(table["label"].to_pylist(), table["count"].to_pylist(), strict=True))


def repeated(part: int, size: int) -> bytes:
    return bytes([part]) * size


def cut(frame: Callable[[int], Any], **given: Any) -> list[Partial]:
    given = {"label": "term", "user": "who", "parts": PARTS, **given}
    return [dh.LabelCounts.partial(frame(part), part=part, **given) for part in range(PARTS)]


# --- Sums of parts are counts of the whole


@pytest.mark.long(every=2)
@pytest.mark.quick("[pyarrow]", "[duckdb]", "[csv]", "[polars]", "[pandas]")
@every_engine
def test_parts_add_up_to_the_table(engine: Engine, tmp_path: Path) -> None:
    def frame(part: int) -> Any:
        folder = tmp_path / str(part)
        folder.mkdir()
        return engine.make(table_of(rows), folder)

    # Text files have no NUL, and DuckDB reads none in quotes.
    rows = [row for row in ROWS if "\0" not in row[0]] if "sv" in engine.name else ROWS
    given: dict[str, Any] = {"count": "n", "max_labels": 100, "max_count": 7}
    parts = cut(frame, **given)
    whole = dh.LabelCounts.from_table(frame(PARTS), label="term", user="who", **given)
    merged = dh.LabelCounts.merge(parts)
    assert labels_of(merged) == labels_of(whole)
    assert (merged.max_labels, merged.max_count, merged.unit) == (100, 7, whole.unit)
    assert merged.bounds_in_text() == whole.bounds_in_text()
    assert merged.only_adds
    assert merged.null_users == whole.null_users


@pytest.mark.long(every=4)
@pytest.mark.quick("[pyarrow]", "[csv]", "[polars-lazy]")
@every_engine
def test_every_engine_puts_a_user_into_the_same_part(engine: Engine, tmp_path: Path) -> None:
    """Here the label is the user, so that a part shows who is in it."""
    users = [
        user for user in ODD if engine.name not in ("csv", "csv.zst", "tsv") or "\0" not in user
    ]
    rows = [(user, user, 1) for user in users]
    for part in range(PARTS):
        folder = tmp_path / str(part)
        folder.mkdir()
        found = dh.LabelCounts.partial(
            engine.make(table_of(rows), folder),
            label="term", user="who", max_labels=1, part=part, parts=PARTS,
        )  # fmt: skip
        own = {user for user in users if part_in_python(user, PARTS) == part}
        assert set(found.table["label"].to_pylist()) == own


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint64(), pa.binary(), pa.string()])
def test_integers_and_bytes_have_the_part_of_their_text(kind: pa.DataType) -> None:
    users: list[Any] = [0, 1, 7, 42, 100]
    users = [str(user).encode() for user in users] if kind == pa.binary() else users
    users = [str(user) for user in users] if kind == pa.string() else users
    table = pa.table({"who": pa.array(users, kind), "term": [f"t{n}" for n in range(5)]})
    for part in range(PARTS):
        found = dh.LabelCounts.partial(
            table, label="term", user="who", max_labels=1, part=part, parts=PARTS
        )
        own = {f"t{n}" for n, user in enumerate(users) if part_in_python(user, PARTS) == part}
        assert set(found.table["label"].to_pylist()) == own


def test_no_user_is_in_two_parts_and_none_is_lost() -> None:
    rows = table_of([(f"u{n}", f"u{n}", 1) for n in range(500)])
    labels = [found.table["label"].to_pylist() for found in cut(lambda _: rows, max_labels=1)]
    assert sorted(itertools.chain(*labels)) == sorted(f"u{n}" for n in range(500))
    assert min(map(len, labels)) > 100


@pytest.mark.parametrize(("max_labels", "max_count"), BOUNDS)
@pytest.mark.quick(every=4)
def test_a_user_changes_merged_counts_no_more_than_the_bounds(
    max_labels: int, max_count: int
) -> None:
    """As for whole tables: for fixed keys, one in each part."""

    def merged(rows: list[Any]) -> dict[str, int]:
        parts = [
            dh.LabelCounts.partial(
                table_of(rows), label="term", user="who", count="n", max_labels=max_labels,
                max_count=max_count, part=part, parts=PARTS, source=partial(repeated, part),
            )
            for part in range(PARTS)
        ]  # fmt: skip
        return labels_of(dh.LabelCounts.merge(parts))

    without, with_user = merged(WITHOUT), merged(WITH)
    assert most_changed(without, with_user) == (max_labels, max_count)
    assert not falls(without, with_user)


def test_profiles_and_bins_add_up_as_well() -> None:
    table = table_of(ROWS).append_column("age", pa.array([n % 90 for n in range(len(ROWS))]))
    table = table.append_column("rank", pa.array([n % 5 for n in range(len(ROWS))]))
    labels: dict[str, Any] = {"label": "term", "user": "who", "max_records": 100}
    bins: dict[str, Any] = {
        "column": ["age", "rank"], "edges": [[0, 18, 65], [0, 2, 4]], "user": "who",
        "max_records": 100,
    }  # fmt: skip
    kinds: list[tuple[Any, Any, dict[str, Any]]] = [
        (dh.Profile, dh.Profile.from_table, labels),
        (dh.BinnedCounts, dh.bin_counts, bins),
        (dh.BinnedCounts, dh.bin_counts, {**bins, "count": "n", "max_records": 1000}),
    ]
    for kind, whole, given in kinds:
        parts = [kind.partial(table, part=k, parts=PARTS, **given) for k in range(PARTS)]
        assert kind.merge(parts) == whole(table, **given)
        assert kind.merge(reversed(parts)) == kind.merge(parts)


def test_bounds_of_profiles_and_bins_hold_for_each_user() -> None:
    table = pa.table({"who": ["a"] * 9 + ["b"] * 9, "term": list("xyz") * 6, "age": [3] * 18})
    given: dict[str, Any] = {"user": "who", "max_records": 2, "parts": PARTS}
    profile = [dh.Profile.partial(table, label="term", part=k, **given) for k in range(PARTS)]
    assert dh.Profile.merge(profile).total == 4
    assert dh.Profile.merge(profile).sensitivity == 2
    bins = [
        dh.BinnedCounts.partial(table, column="age", edges=[0, 9], part=k, **given)
        for k in range(PARTS)
    ]
    assert dh.BinnedCounts.merge(bins).counts.tolist() == [4]
    assert (dh.BinnedCounts.merge(bins).sensitivity, dh.BinnedCounts.merge(bins).unit) == (
        2,
        dh.PrivacyUnit("user"),
    )


def test_sums_stop_at_the_largest_count() -> None:
    rows = table_of([(f"u{n}", "a", 2**62 - 1) for n in range(20)])
    parts = cut(lambda _: rows, count="n", max_labels=1, max_count=2**62 - 1)
    assert labels_of(dh.LabelCounts.merge(parts)) == {"a": 2**62 - 1}
    bins = [
        dh.BinnedCounts.partial(
            rows.append_column("age", pa.array([1] * 20)),
            column="age", edges=[0, 9], count="n", user="who", max_records=2**62 - 1, part=k,
            parts=PARTS,
        )
        for k in range(PARTS)
    ]  # fmt: skip
    assert dh.BinnedCounts.merge(bins).counts.tolist() == [2**62 - 1]


def test_users_are_counted_over_all_parts() -> None:
    rows = table_of([("a", "x", 1), ("a", "y", 1), ("b", "x", 1), ("c", "y", 1)])
    parts = cut(lambda _: rows, max_labels=1, users_by_labels=2)
    assert dh.LabelCounts.merge(parts).users == (2, 1)


def test_rows_without_a_user_are_in_the_first_part() -> None:
    table = pa.table({"who": pa.array(["a", None, None], pa.string()), "term": ["x", "x", "y"]})
    parts = cut(lambda _: table, max_labels=1, null_users="separate")
    assert labels_of(dh.LabelCounts.merge(parts)) == {"x": 2, "y": 1}
    with pytest.raises(DataError, match="without a user"):
        dh.LabelCounts.partial(table, label="term", user="who", max_labels=1, part=0, parts=PARTS)


def test_a_merged_table_is_released_like_any_other() -> None:
    rows = table_of([(f"u{n}", f"t{n % 3}", 1) for n in range(600)])
    merged = dh.LabelCounts.merge(cut(lambda _: rows, max_labels=1, unit="one patient"))
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1)
    release = mechanism.release(merged)
    assert str(release.guarantee.unit) == "one patient"
    assert len(release.value) == 3
    with pytest.raises(DphistError):
        dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(
            dh.LabelCounts.merge(cut(lambda _: rows, max_labels=2))
        )


# --- Between processes


def test_parts_travel_as_files_tables_and_pickles(tmp_path: Path) -> None:
    parts = cut(lambda _: table_of(ROWS), count="n", max_labels=3)
    parts[0].save(tmp_path / "0.parquet")
    given = [tmp_path / "0.parquet", parts[1].to_arrow(), pickle.loads(pickle.dumps(parts[2]))]  # noqa: S301
    assert labels_of(dh.LabelCounts.merge(given)) == labels_of(dh.LabelCounts.merge(parts))
    assert stat.S_IMODE((tmp_path / "0.parquet").stat().st_mode) == 0o600


def test_files_that_are_no_parts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"missing\.parquet could not be read"):
        Partial.load(tmp_path / "missing.parquet")
    (tmp_path / "text").write_text("secret-name")
    with pytest.raises(InputFileError) as raised:
        Partial.load(tmp_path / "text")
    assert "secret-name" not in str(raised.value)
    with pytest.raises(DataError, match=r"not made by Partial\.to_arrow"):
        Partial.from_arrow(table_of(ROWS))


def test_a_byte_that_changed_in_the_counts_is_found(tmp_path: Path) -> None:
    """As on a disk or a network that fails: else the sums are wrong, and nobody knows."""
    whole, file = cut(lambda _: table_of(ROWS), count="n", max_labels=3)[0], tmp_path / "0.parquet"
    whole.save(file)
    content = file.read_bytes()
    pages = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    found = 0
    for place in range(0, pages, 3):
        changed = bytes([content[place] ^ 0x55])
        file.write_bytes(content[:place] + changed + content[place + 1 :])
        try:
            assert Partial.load(file).table == whole.table
        except DphistError:
            found += 1
    assert found > pages / 6


# --- What is refused


NUMBERS: pa.Table = table_of(ROWS).set_column(1, "term", pa.array(range(len(ROWS))))
SLICES: dict[str, tuple[Callable[[list[Partial], Any], Any], str]] = {
    "missing": (lambda parts, other: parts[:2], "part 2 is missing"),
    "twice": (lambda parts, other: [*parts, parts[1]], "part 1 is there more than once"),
    "twice, in place of another": (
        lambda parts, other: [parts[0], parts[1], parts[1]],
        "part 1 is there more than once",
    ),
    "none": (lambda parts, other: [], "at least one"),
    "one, not in a list": (lambda parts, other: parts[0], "must be a list"),
    "no parts": (lambda parts, other: [1], "must be partials"),
    "of another number of parts": (
        lambda parts, other: [*parts[:2], other(parts=4, part=3)],
        "same arguments",
    ),
    "of other bounds": (lambda parts, other: [*parts[:2], other(max_labels=2)], "same arguments"),
    "of another unit": (lambda parts, other: [*parts[:2], other(unit="one car")], "same arguments"),
    "of another type": (
        lambda parts, other: [*parts[:2], other(frame=NUMBERS)],
        "labels of one type",
    ),
    "of another label": (lambda parts, other: [*parts[:2], other(label="n")], "the same columns"),
    "of another user": (lambda parts, other: [*parts[:2], other(user="n")], "the same columns"),
    "of counts": (lambda parts, other: [*parts[:2], other(count="n")], "the same columns"),
}


@pytest.mark.parametrize("case", SLICES)
@pytest.mark.quick("[of another user]", "[twice]")
def test_parts_that_are_no_whole_are_refused(case: str) -> None:
    def other(**given: Any) -> Partial:
        kept: dict[str, Any] = {"label": "term", "max_labels": 1, "part": 2, "parts": PARTS}
        kept |= {"frame": table_of(ROWS), "user": "who"}
        return dh.LabelCounts.partial(**{**kept, **given})

    change, message = SLICES[case]
    parts = cut(lambda _: table_of(ROWS), max_labels=1)
    with pytest.raises(ParameterError, match=message):
        dh.LabelCounts.merge(change(parts, other))


@pytest.mark.parametrize("kind", [dh.Profile, dh.BinnedCounts])
def test_parts_that_were_cut_by_another_column_of_users_are_refused(kind: Any) -> None:
    """A person who is in two parts, under two names, would add to both."""
    rows = pa.table({"who": [1, 2, 3], "house": [1, 1, 1], "term": ["a"] * 3, "age": [1] * 3})
    given: dict[str, Any] = {"label": "term"} if kind is dh.Profile else {"column": "age"}
    if kind is dh.BinnedCounts:
        given["edges"] = [0, 9]
    parts = [
        kind.partial(rows, user=user, max_records=1, part=part, parts=2, **given)
        for part, user in enumerate(["who", "house"])
    ]
    with pytest.raises(ParameterError, match="the same columns"):
        kind.merge(parts)


def parts_of(kind: str) -> list[Partial]:
    table = table_of(ROWS).append_column("m", pa.array([1] * len(ROWS)))
    make, given = KINDS[kind]
    return [make(table, user="who", part=part, parts=2, **given) for part in range(2)]


MADE_BY = {"labels": dh.LabelCounts, "profile": dh.Profile, "regions": dh.RegionalProfile}


@pytest.mark.parametrize("kind", ["labels", "labels and users", "profile", "bins", "regions"])
@pytest.mark.quick(every=2)
def test_a_head_that_was_edited_is_refused_without_a_value(kind: str) -> None:
    """Whatever was changed, in all parts alike: no other error, and no impossible number."""
    if kind == "labels and users":
        parts = cut(lambda _: table_of(ROWS), max_labels=1, users_by_labels=2)
    else:
        parts = parts_of(kind)
    merge = MADE_BY.get(kind.partition(" ")[0], dh.BinnedCounts).merge
    possible: dict[str, Any] = {
        "unit": "secret-name",
        "max_labels": 2**70,
        "max_records": 2**61,
        "for_tests": True,
    }

    def merged(change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
        edited = [Partial(change(dict(each.head)), each.table).to_arrow() for each in parts]
        return refusal(partial(merge, edited))

    def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda head: {key: value for key, value in head.items() if key != name}

    def replaced(name: str, value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda head: {**head, name: value}

    for name, kept in parts[0].head.items():
        assert merged(without(name)), name
        for value in [None, "secret-name", "", -1, 0.5, True, [], [1], {"a": 1}, [[1]], 2**70]:
            unbounded = name == "max_labels" and value is None
            if value == kept or possible.get(name) == value or unbounded:
                continue
            said = merged(replaced(name, value))
            assert said, (name, value)
            assert "secret-name" not in said
    if kind == "labels and users":
        for users in ([-5, 3], [0.5, 1], [1, 2, 3], [1], ["secret-name", 1]):
            assert "not made by" in merged(replaced("users", users))


@pytest.mark.long(every=2)
@pytest.mark.verify
@pytest.mark.parametrize("kind", ["labels", "profile", "bins"])
@pytest.mark.parametrize("old", [(0, 1), (1,)])
@pytest.mark.parametrize("text", ["one user", "one account, or one row without an account"])
def test_parts_of_0_2_state_their_unit_as_text(kind: str, old: tuple[int, ...], text: str) -> None:
    """Also among parts that state it as a value."""
    unit = as_unit(text)
    heads = [{**each.head, "unit": unit.to_content()} for each in parts_of(kind)]
    parts = [
        Partial({**head, "unit": text} if part in old else head, each.table)
        for part, (head, each) in enumerate(zip(heads, parts_of(kind), strict=True))
    ]
    merged: Any = MADE_BY.get(kind, dh.BinnedCounts).merge([each.to_arrow() for each in parts])
    assert merged.unit == unit
    another = Partial({**heads[0], "unit": "one patient"}, parts[0].table)
    with pytest.raises(ParameterError, match="must all"):
        MADE_BY.get(kind, dh.BinnedCounts).merge([another, parts[1]])


def test_what_other_programs_note_of_columns_does_not_matter() -> None:
    """Such as that no value is missing; other columns are refused."""
    parts = [each.to_arrow() for each in cut(lambda _: table_of(ROWS), max_labels=1)]
    whole = labels_of(dh.LabelCounts.merge(parts))
    full = pa.schema([each.with_nullable(False) for each in parts[0].schema])
    assert (
        labels_of(
            dh.LabelCounts.merge(
                [parts[0].cast(full).replace_schema_metadata(parts[0].schema.metadata), *parts[1:]]
            )
        )
        == whole
    )
    more = [
        each.append_column(name, each["count"]) for name, each in zip("abc", parts, strict=True)
    ]
    with pytest.raises(DataError, match=r"not made by Partial\.to_arrow"):
        dh.LabelCounts.merge(more)


def test_parts_of_another_kind_or_rule_are_refused() -> None:
    parts = cut(lambda _: table_of(ROWS), max_labels=1)
    with pytest.raises(ParameterError, match=r"made by Profile\.partial"):
        dh.Profile.merge(parts)
    older = [Partial({**each.head, "rule": "another"}, each.table).to_arrow() for each in parts]
    with pytest.raises(DataError, match="count it again"):
        dh.LabelCounts.merge(older)


@pytest.mark.parametrize("engine", PLAIN, ids=lambda engine: engine.name)
def test_users_of_another_part_can_be_refused(engine: Engine, tmp_path: Path) -> None:
    """A row of another part is wrong by itself, whatever else is there."""
    rows = [row for row in ROWS if part_in_python(row[0], PARTS) == 1 and "\0" not in row[0]]
    given: dict[str, Any] = {
        "label": "term", "user": "who", "count": "n", "max_labels": 9,
        "part": 1, "parts": PARTS, "others": "refuse",
    }  # fmt: skip
    assert dh.LabelCounts.partial(engine.make(table_of(rows), tmp_path), **given)
    stranger = next(row for row in ROWS if part_in_python(row[0], PARTS) == 2)
    folder = tmp_path / "again"
    folder.mkdir()
    with pytest.raises(DataError, match="column 'who' has users of another part") as raised:
        dh.LabelCounts.partial(engine.make(table_of([*rows, stranger]), folder), **given)
    assert stranger[0] not in str(raised.value).replace("another part", "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"part": PARTS}, "part must be"),
        ({"part": -1}, "part must be"),
        ({"part": True}, "part must be"),
        ({"parts": 0}, "parts must be"),
        ({"parts": 1.5}, "parts must be"),
        ({"others": "keep"}, "others must be"),
        ({"user": None}, "user must name"),
        ({"max_labels": 0}, "max_labels must be"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], message: str) -> None:
    kept: dict[str, Any] = {"label": "term", "user": "who", "max_labels": 1, "part": 0}
    with pytest.raises(ParameterError, match=message):
        dh.LabelCounts.partial(table_of(ROWS), **{**kept, "parts": PARTS, **given})


KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "labels": (dh.LabelCounts.partial, {"label": "term", "max_labels": 1}),
    "profile": (dh.Profile.partial, {"label": "term", "max_records": 1}),
    "bins": (dh.BinnedCounts.partial, {"column": "n", "edges": [0, 9], "max_records": 1}),
    "bins of counts": (
        dh.BinnedCounts.partial,
        {"column": "n", "edges": [0, 9], "max_records": 1, "count": "m"},
    ),
    "cells": (dh.KeyedCounts.partial, {"keys": {"n": range(9)}, "max_rows": 1}),
    "regions": (
        dh.RegionalProfile.partial,
        {"label": "n", "region": "term", "regions": ["t0", "t1", "t2", "t3"], "max_records": 1},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("user", [None, 1, ["who"]])
def test_parts_of_rows_without_users_are_refused(kind: str, user: Any) -> None:
    count, given = KINDS[kind]
    with pytest.raises(ParameterError, match="user must name the column of users"):
        count(table_of(ROWS), **given, user=user, part=0, parts=2)


@pytest.mark.parametrize("kind", [pa.bool_(), pa.date32(), pa.timestamp("us"), pa.decimal128(5, 1)])
def test_users_whose_text_could_differ_are_refused(kind: pa.DataType) -> None:
    table = pa.table({"who": pa.array([None], kind), "term": ["x"]})
    with pytest.raises(ColumnError, match="'who' must hold text, integers, bytes"):
        dh.LabelCounts.partial(table, label="term", user="who", max_labels=1, part=0, parts=2)


def test_nothing_shows_the_counts() -> None:
    parts = cut(lambda _: table_of([("secret-user", "secret-label", 3)]), max_labels=1)
    for each in parts:
        assert "secret" not in repr(each) + str(each) + repr(each.head)
