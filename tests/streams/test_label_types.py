"""Labels of other types than text: in streams, their states, releases and on the command line."""

import datetime
import json
import random
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dphist as dh
from dphist.cli import main
from dphist.release.label_types import LABEL_TYPES, as_arrow, find_type, format_label, read_label
from dphist.report import report_html

UTC = datetime.UTC
VALUES: dict[str, list[Any]] = {
    "text": ["", "a", "7", "true", "é"],
    "integer": [0, 7, -1, 2**63 - 1, -(2**63)],
    "boolean": [False, True],
    "date": [datetime.date(1, 1, 1), datetime.date(2026, 1, 31)],
    "timestamp": [
        datetime.datetime(2026, 1, 31),
        datetime.datetime(2026, 1, 31, 12, 30, 0, 5),
        datetime.datetime(1, 1, 1, 0, 0, 1),
    ],
    "instant": [
        datetime.datetime(2026, 1, 31, tzinfo=UTC),
        datetime.datetime(2026, 1, 31, 12, 30, 0, 5, tzinfo=UTC),
    ],
    "bytes": [b"", b"\x00\xff", b"a"],
    "decimal": [Decimal(0), Decimal("1.5"), Decimal("-0.001"), Decimal(10) ** 37],
}


@pytest.mark.parametrize("kind", LABEL_TYPES)
def test_texts_are_one_to_one_with_labels(kind: Any) -> None:
    texts = [format_label(value, kind) for value in VALUES[kind]]
    assert len(set(texts)) == len(texts)
    for text, value in zip(texts, VALUES[kind], strict=True):
        assert text is not None
        assert read_label(text, kind) == value
        assert format_label(text, kind) == text
        assert find_type(value) == kind
    assert as_arrow([str(text) for text in texts], kind).to_pylist() == VALUES[kind]


@pytest.mark.parametrize("kind", LABEL_TYPES)
def test_values_of_other_types_are_none(kind: Any) -> None:
    """A truth value is no integer, a date no timestamp, and nothing else is a label at all."""
    for other in set(LABEL_TYPES) - {kind, "text"}:
        for value in VALUES[other]:
            assert format_label(value, kind) is None
    for value in (None, 2.5, float("nan"), [1], object(), pd.NaT, pd.NA, Decimal("NaN")):
        assert format_label(value, kind) is None
        assert find_type(value) is None


def test_equal_values_have_one_text() -> None:
    assert format_label(Decimal("1.50"), "decimal") == format_label(Decimal("15E-1"), "decimal")
    assert format_label(Decimal("-0"), "decimal") == format_label(Decimal("0E+5"), "decimal") == "0"
    assert format_label(np.int32(7), "integer") == format_label(7, "integer")
    east = datetime.timezone(datetime.timedelta(hours=2))
    moment = datetime.datetime(2026, 1, 31, 14, tzinfo=east)
    assert format_label(moment, "instant") == "2026-01-31 12:00:00"
    assert format_label(pd.Timestamp("2026-01-31 12:00"), "timestamp") == "2026-01-31 12:00:00"
    assert format_label(pd.Timestamp(1), "timestamp") is None  # a nanosecond
    for text in ("07", "+7", "7.0", " 7", "7_000", "", "9223372036854775808"):
        assert format_label(text, "integer") is None
    for text in ("1.50", "1E2", "-0", "NaN", "x"):
        assert format_label(text, "decimal") is None


def a_stream(kind: str, **parameters: Any) -> dh.ContinualHistogram:
    shared = {"epsilon": 8, "delta": "1e-3", "horizon": 1000, "label_type": kind, "windows": 100}
    return dh.ContinualHistogram(**{**shared, **parameters})


@pytest.mark.parametrize("kind", LABEL_TYPES)
@pytest.mark.quick(every=4)
def test_a_stream_counts_saves_and_releases_them(kind: Any, tmp_path: Path, seeded: Any) -> None:
    one, other = VALUES[kind][-1], VALUES[kind][0]
    stream, source = a_stream(kind, max_labels=2), seeded(1)
    stream.update([one], source=source)
    stream.update_many([[one, one, other], [], [one]] * 66 + [[]], source=source)
    stream.update_many(pa.table({"label": as_arrow([str(format_label(one, kind))] * 100, kind)}))
    counts = stream.record(source=source)
    assert list(counts) == [one, other]
    assert abs(counts[one] - 233) < 40
    assert set(stream.window(101, 200)) == {one, other}
    assert stream.top(1) == {one: counts[one]}
    stream.save(tmp_path / "s.state")
    loaded = dh.ContinualHistogram.load(tmp_path / "s.state")
    assert loaded.counts() == counts
    release = loaded.release()
    value = release.value
    assert value.labels == [one, other]
    assert value.line(one)[1].tolist() == [counts[one]]
    assert value.latest.to_arrow()["label"].to_pylist() == [one, other]
    again = dh.Release.from_json(release.to_json())
    assert again == release
    assert again.value.label_type == kind
    assert again.value.labels == value.labels
    texts = [format_label(one, kind), format_label(other, kind)]
    assert value.label_texts == texts
    if kind in ("integer", "date"):
        assert all(str(text) in report_html(release) for text in texts)


def tables(rows: list[int | None]) -> list[Any]:
    arrow = pa.table({"label": pa.array(rows, pa.int16())})
    made = duckdb.connect()
    made.register("rows", arrow)
    return [
        arrow,
        pa.table({"label": arrow["label"].dictionary_encode()}),
        pl.from_arrow(arrow),
        pl.from_arrow(arrow).lazy(),
        pd.DataFrame({"label": pd.array(rows, "Int64")}),
        made.sql("SELECT label FROM rows"),
    ]


def test_columns_of_every_engine() -> None:
    rows = [5, None, 5, -7]
    for table in tables(rows):
        stream = a_stream("integer")
        stream.update_many(table)
        assert stream.time == 4
        state = stream._state
        assert dict(zip(state.labels, state.counts, strict=True)) == {"5": 2, "-7": 1}


def test_events_of_several_rows_and_users() -> None:
    table = pd.DataFrame(
        {"label": [5, 6, 5, 5], "receipt": [1, 1, 2, 2], "who": ["a", "a", "b", "b"]}
    )
    stream = a_stream("integer", max_labels=2, max_events_per_user=1)
    stream.update_many(table, event="receipt", user="who")
    assert stream.time == 2
    assert dict(zip(stream._state.labels, stream._state.counts, strict=True)) == {"5": 2, "6": 1}


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("integer", ["a"]),
        ("integer", [1.0]),
        ("integer", [True]),
        ("boolean", [1]),
        ("date", [datetime.datetime(2026, 1, 1)]),
        ("timestamp", [datetime.datetime(2026, 1, 1, tzinfo=UTC)]),
        ("text", [7]),
    ],
)
def test_columns_of_another_type_are_refused(kind: str, column: list[Any]) -> None:
    stream = a_stream(kind)
    with pytest.raises(dh.ColumnError, match="label"):
        stream.update_many(pa.table({"label": column}))
    with pytest.raises(dh.DataError):
        stream.update_many([[value] for value in column])
    assert stream.time == 0


def test_values_without_a_text_are_refused_and_not_shown() -> None:
    secret = 2**64 - 7
    for events in (
        [[secret]],
        pa.table({"label": pa.array([secret], pa.uint64())}),
        [["7"]],  # text is no integer in an event
    ):
        stream = a_stream("integer")
        with pytest.raises(dh.DataError) as found:
            stream.update_many(events)
        assert str(secret) not in str(found.value)
        assert stream.time == 0
    nanosecond = pa.table({"label": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(dh.DataError, match="microseconds"):
        a_stream("timestamp").update_many(nanosecond)
    moment = pa.table({"label": pa.array([1_000_000], pa.timestamp("ns"))})
    stream = a_stream("timestamp")
    stream.update_many(moment)
    assert stream._state.labels == ["1970-01-01 00:00:00.001000"]


def test_listed_labels_give_the_type() -> None:
    stream = dh.ContinualHistogram(epsilon=8, horizon=100, labels=[30, 4])
    assert stream.mechanism.label_type == "integer"
    stream.update_many([[30], [4], [5]] * 20)
    assert set(stream.counts()) == {30, 4}
    again = dh.ContinualMechanism(epsilon=8, horizon=100, labels=["30", "4"], label_type="integer")
    assert again == stream.mechanism
    for labels, kind in (([1, "1"], None), ([1, True], None), (["01"], "integer"), ([1, 1], None)):
        with pytest.raises(dh.ParameterError, match="labels must list"):
            dh.ContinualMechanism(epsilon=8, horizon=100, labels=labels, label_type=kind)  # type: ignore[arg-type]
    with pytest.raises(dh.ParameterError, match="label_type"):
        dh.ContinualMechanism(epsilon=8, horizon=100, label_type="float")  # type: ignore[arg-type]


def test_ties_are_in_the_order_of_numbers() -> None:
    rows = list(range(-3, 12))
    random.Random(1).shuffle(rows)
    value = dh.RunningCounts([1], [dict.fromkeys(rows, 5)], label_type="integer")
    assert value.labels == sorted(rows)


Run = Callable[..., str]


@pytest.fixture
def run_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Return what runs `dphist stream` in this process, and gives all that it prints."""

    def in_this_process(*arguments: str, given: str) -> str:
        (tmp_path / "input").write_text(given)
        with (tmp_path / "input").open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            main(["stream", *arguments])
        printed = capsys.readouterr()
        return printed.out + printed.err

    return in_this_process


@pytest.mark.verify
def test_the_command_line(run_stream: Run, tmp_path: Path) -> None:
    """A state keeps the type; the input then needs no option."""
    state, output, table = (str(tmp_path / name) for name in ("s.state", "r.json", "t.csv"))
    new = ["--epsilon", "20", "--delta", "1e-3", "--horizon", "500", "--label-type", "integer"]
    said = run_stream("--state", state, *new, given="7\n12\n\n" * 60)
    assert " 12 " in said
    objects = '{"label": [7, 12]}\n{"label": 7}\n{"label": "7"}\n' * 20
    more = ["--format", "ndjson", "--json", "--output", output, "--table", table]
    said = run_stream("--state", state, *more, given=objects)
    assert set(json.loads(said.splitlines()[0])["counts"]) == {"7", "12"}
    assert dh.Release.load(output).value.labels == [7, 12]
    assert ",7," in Path(table).read_text()
    users = str(tmp_path / "u.state")
    rows = "label,user\n7;12,1\n,2\n7,3\n" + "7,1\n" * 3
    more = ["--format", "csv", "--separator", ";", "--user", "user", "--max-events-per-user", "2"]
    said = run_stream("--state", users, *new, "--max-labels", "2", *more, given=rows)
    assert "The state holds 6 events" in said
    held = dh.ContinualHistogram.open(users)
    assert dict(zip(held._state.labels, held._state.counts, strict=True)) == {"7": 3, "12": 1}
    held.close()
    said = run_stream("--state", state, given="7\n007\n")
    assert "line 2 must have labels of the stream's type: whole numbers of 64 bits" in said
    said = run_stream("--state", state, "--label-type", "date", given="7\n")
    assert "--label-type must be as the stream" in said
