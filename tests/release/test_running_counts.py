"""Readings of a stream: what they hold, their order, and what is refused."""

import copy
import json
import pickle
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dphist as dh
from dphist.errors import DataError, DphistError, ParameterError, ReleaseFileError
from dphist.privacy import Target
from dphist.release.running_counts import RunningCounts
from dphist.streams import ContinualMechanism
from tests.support.refusal import SENTINEL

ROOT = Path(__file__).parents[2]
MECHANISM = ContinualMechanism(epsilon="0.2", delta="1e-6", horizon=1000)

readings = st.lists(
    st.dictionaries(
        st.text(max_size=3), st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2), max_size=4
    ),
    min_size=1,
    max_size=5,
)


def usual() -> RunningCounts:
    return RunningCounts(
        [10, 20, 40],
        [{"b": 9, "gone": 12}, {"c": 9, "b": 9, "a": 9, "left": 8}, {"d": 3, "a": 11, "b": 20}],
    )


def test_rows_are_by_count_then_by_label() -> None:
    counts = usual()
    assert counts.at(20).labels == ["a", "b", "c", "left"]
    assert counts.at(20).counts.tolist() == [9, 9, 9, 8]
    assert counts.latest.labels == ["b", "a", "d"]
    assert counts.latest == counts.at(40)
    assert counts.top(2).labels == ["b", "a"]
    assert counts.top(9) == counts.latest
    assert len(counts) == 3
    assert counts.times.dtype == np.int64
    assert counts.times.tolist() == [10, 20, 40]


def test_labels_are_those_of_the_last_reading_then_by_their_last_counts() -> None:
    assert usual().labels == ["b", "a", "d", "gone", "c", "left"]
    assert RunningCounts([1, 2], [{"x": 1, "y": 2}, {}]).labels == ["y", "x"]
    assert RunningCounts([0], [{}]).labels == []


def test_a_line_is_one_label_through_all_readings() -> None:
    places, counts = usual().line("b")
    assert places.tolist() == [0, 1, 2]
    assert counts.tolist() == [9, 9, 20]
    assert [part.tolist() for part in usual().line("d")] == [[2], [3]]
    assert [part.tolist() for part in usual().line("no")] == [[], []]
    late = RunningCounts([1, 2, 3], [{}, {}, {"a": 5}])
    assert [part.tolist() for part in late.line("a")] == [[2], [5]]


def test_the_long_table_has_all_readings() -> None:
    rows = [
        *[(10, "gone", 12), (10, "b", 9)],
        *[(20, "a", 9), (20, "b", 9), (20, "c", 9), (20, "left", 8)],
        *[(40, "b", 20), (40, "a", 11), (40, "d", 3)],
    ]
    counts = usual()
    table = counts.to_arrow()
    assert table.schema == pa.schema(
        [("time", pa.int64()), ("label", pa.string()), ("count", pa.int64())]
    )
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows
    assert list(counts.to_pandas().itertuples(index=False, name=None)) == rows
    assert counts.to_polars().rows() == rows
    assert RunningCounts([5], [{}]).to_arrow().schema == table.schema


def test_it_is_equal_by_what_it_holds_and_cannot_be_changed() -> None:
    counts = usual()
    pairs = [(["gone", "b"], [12, 9]), (np.array(["b"], object), np.array([9])), ([], [])]
    assert RunningCounts([10, 20, 40], pairs) == RunningCounts(  # type: ignore[arg-type]
        np.array([10, 20, 40]),  # type: ignore[arg-type]
        [{"b": 9, "gone": 12}, {"b": 9}, {}],
    )
    for twin in (usual(), copy.deepcopy(counts), pickle.loads(pickle.dumps(counts))):  # noqa: S301
        assert twin == counts
        assert not twin.times.flags.writeable
    assert counts != RunningCounts([10, 20, 41], [counts_of(counts, t) for t in (10, 20, 40)])
    assert counts != "counts"
    with pytest.raises(AttributeError):
        counts.times = None  # type: ignore[misc]
    with pytest.raises(TypeError):
        hash(counts)
    counts.labels.append("x")
    assert "x" not in counts.labels
    assert counts.latest.counts.flags.writeable is False


def counts_of(counts: RunningCounts, time: int) -> dict[str, int]:
    table = counts.at(time)
    return dict(zip(table.labels, table.counts.tolist(), strict=True))


def test_the_repr_shows_no_label() -> None:
    assert repr(RunningCounts([3], [{SENTINEL: 4}])) == "RunningCounts(1 reading, 1 label)"
    assert repr(usual()) == "RunningCounts(3 readings, 6 labels)"


@given(readings)
@pytest.mark.verify
def test_what_is_saved_is_loaded(held: list[dict[str, int]]) -> None:
    times = [3 * i for i in range(len(held))]
    counts = RunningCounts(times, held)
    text = json.dumps(counts.to_content())
    again = RunningCounts.from_content(json.loads(text))
    assert again == counts
    assert json.dumps(again.to_content()) == text
    for time, reading in zip(times, held, strict=True):
        rows = sorted(reading.items(), key=lambda row: (-row[1], row[0]))
        assert list(counts_of(again, time).items()) == rows
    last = [label for label, _ in sorted(held[-1].items(), key=lambda row: (-row[1], row[0]))]
    assert counts.labels[: len(last)] == last
    assert set(counts.labels) == set().union(*held)


def test_labels_are_saved_once() -> None:
    text = json.dumps(RunningCounts(range(50), [{"a long label": 7}] * 50).to_content())
    assert text.count("a long label") == 1


@pytest.mark.parametrize(
    ("times", "held"),
    [
        ([], []),
        ([1], []),
        ([], [{"a": 1}]),
        ([2, 2], [{}, {}]),
        ([2, 1], [{}, {}]),
        ([-1], [{}]),
        ([2**63], [{}]),
        ([1.0], [{}]),
        ([True], [{}]),
        ([1], [{1: 1}]),
        ([1], [{"\ud800": 1}]),
        ([1], [{SENTINEL: 1.5}]),
        ([1], [{SENTINEL: True}]),
        ([1], [{SENTINEL: 2**63}]),
        ([1], [{SENTINEL: None}]),
        ([1], [(["a"], [1, 2])]),
        ([1], [([SENTINEL, SENTINEL], [1, 2])]),
    ],
)
def test_what_is_no_reading_is_refused(times: list[object], held: list[object]) -> None:
    with pytest.raises(DataError) as caught:
        RunningCounts(times, held)  # type: ignore[arg-type]
    assert SENTINEL not in str(caught.value)


@pytest.mark.parametrize("time", [11, 0, 41, -1, 10.0, True, "10"])
def test_only_times_of_readings_can_be_asked_for(time: object) -> None:
    with pytest.raises(ParameterError, match="time must be"):
        usual().at(time)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_top_needs_a_number(k: object) -> None:
    with pytest.raises(ParameterError, match="k must be"):
        usual().top(k)  # type: ignore[arg-type]


SOUND = {"times": [1, 2], "labels": ["a", "b"], "places": [[0], [0, 1]], "counts": [[5], [6, 3]]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("times", [2, 1]),
        ("times", [1]),
        ("times", [1, 2.5]),
        ("times", [1, "2"]),
        ("times", "12"),
        ("times", None),
        ("labels", ["a", "a"]),
        ("labels", ["a", "b", "unused"]),
        ("labels", ["a"]),
        ("labels", ["a", 1]),
        ("labels", ["a", None]),
        ("labels", "ab"),
        ("places", [[0], [0, 2]]),
        ("places", [[0], [0, -1]]),
        ("places", [[0], [0, 0]]),
        ("places", [[0], [0, True]]),
        ("places", [[0], [0, 1.0]]),
        ("places", [[0], [0]]),
        ("places", [[0]]),
        ("places", None),
        ("counts", [[5], [6]]),
        ("counts", [[5], [6, 2**63]]),
        ("counts", [[5], [6, 1.5]]),
        ("counts", [[5], [6, True]]),
        ("counts", [[5], "63"]),
        ("counts", [[5]]),
        ("counts", {"0": [5]}),
    ],
)
def test_content_that_cannot_be_is_refused(name: str, value: object) -> None:
    assert RunningCounts.from_content(SOUND).to_content() == SOUND
    with pytest.raises(DphistError):
        RunningCounts.from_content({**SOUND, name: value})
    release = json.loads(dh.Release(usual(), MECHANISM.guarantee, MECHANISM).to_json())
    release["value"] = {**SOUND, name: value}
    with pytest.raises(ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(signed(release))


def signed(content: dict[str, object]) -> str:
    """Return an edited release with a checksum that fits."""
    from dphist.release.document import checksum

    content = {name: part for name, part in content.items() if name != "checksum"}
    return json.dumps({**content, "checksum": checksum(content)})


def test_a_release_is_saved_and_loaded_and_fits_the_schema(tmp_path: Path) -> None:
    release = dh.Release(
        usual(),
        MECHANISM.guarantee,
        MECHANISM.calibrated_to(Target(dh.ApproxDP(9, "1e-5"))),
        provenance={"unit": "one event"},
    )
    release.save(tmp_path / "r.json")
    assert dh.Release.load(tmp_path / "r.json") == release
    content = json.loads(release.to_json())
    assert content["kind"] == "streams"
    schema = json.loads((ROOT / "docs" / "reference" / "release-1.schema.json").read_text())
    jsonschema.validate(content, schema)
    assert "RunningCounts(3 readings, 6 labels)" in repr(release)
    for value in ({**SOUND, "times": []}, {**SOUND, "labels": [1]}, {**SOUND, "more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**content, "value": value}, schema)


def test_a_release_that_its_mechanism_cannot_have_made_is_refused() -> None:
    listed = ContinualMechanism(epsilon="0.2", horizon=1000, labels=["a"])
    for mechanism, value in (
        (MECHANISM, RunningCounts([1001], [{}])),
        (listed, RunningCounts([1], [{"b": 2}])),
        (dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1), usual()),
        (MECHANISM, usual().latest),
    ):
        text = dh.Release(value, mechanism.guarantee, mechanism).to_json()
        with pytest.raises(ReleaseFileError, match="not a valid release"):
            dh.Release.from_json(text)
