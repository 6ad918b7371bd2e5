"""Saving and loading releases: whole, exact, and refused when in doubt."""

import copy
import dataclasses
import datetime
import decimal
import hashlib
import json
import pickle
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.reading.columns import canonical_type
from dphist.errors import OutputFileError, ReleaseFileError
from dphist.privacy import Target

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs" / "reference" / "release-1.schema.json").read_text())
)

MECHANISMS = [
    dh.RankSplit(epsilon="1/3"),
    dh.RankSplit(epsilon="0.1", total=50, sensitivity=2),
    dh.SortedCounts(epsilon=2, labels=7, inference="sort"),
    dh.CumulativeCounts(epsilon="0.1", largest=9),
    dh.PrivHist(epsilon=2),
    dh.PrivHist(epsilon="1/3", shares=(1, "1/2", 1), sensitivity=2),
    dh.PartitionSampler(epsilon=2, delta=1e-6),
    dh.AdaptiveScan(epsilon=2, sensitivity=2),
]


@pytest.fixture(params=MECHANISMS, ids=lambda m: type(m).__name__)
def release(request, seeded) -> dh.Release:
    return request.param.release(dh.Profile.from_counts([20, 9, 9, 1, 1]), seeded(1))


def signed(content: dict) -> str:
    """A document with a right checksum, as a careful forger would make it."""
    content.pop("checksum", None)
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return json.dumps({**content, "checksum": "sha256:" + digest})


def test_what_is_saved_is_loaded(release, tmp_path) -> None:
    path = tmp_path / "release.json"
    release.save(path)
    loaded = dh.Release.load(path)
    assert loaded.value == release.value
    assert loaded.guarantee == release.guarantee
    assert loaded.mechanism == release.mechanism
    assert loaded.total == release.total
    assert loaded.version == release.version
    assert loaded.noisy.keys() == release.noisy.keys()
    assert all(np.array_equal(loaded.noisy[k], release.noisy[k]) for k in release.noisy)
    assert loaded.to_json() == release.to_json()


def test_document_holds_what_the_user_guide_says(release) -> None:
    content = json.loads(release.to_json())
    assert content["format"] == "dphist release"
    assert content["format_version"] == 1
    assert content["guarantee"]["name"] == type(release.guarantee).__name__
    assert content["mechanism"]["parameters"]["epsilon"] in ("1/3", "0.1", "2")
    assert set(content["value"]) == {"counts", "prevalences"}
    assert content["library_version"]


def test_a_later_version_is_refused(release) -> None:
    content = json.loads(release.to_json())
    content["format_version"] = 3
    with pytest.raises(ReleaseFileError, match="later version"):
        dh.Release.from_json(signed(content))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("value", "counts"), [1, 2]),
        (("total",), 10**6),
        (("mechanism", "parameters", "epsilon"), "0.001"),
        (("guarantee", "parameters", "epsilon"), "0.001"),
        (("library_version",), "9"),
    ],
)
def test_an_edited_file_is_refused(release, place, value, tmp_path) -> None:
    content = json.loads(release.to_json())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ReleaseFileError, match="changed after it was written"):
        dh.Release.load(path)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("guarantee", "parameters", "epsilon"), "0.001"),
        (("mechanism", "parameters", "epsilon"), "-1"),
        (("mechanism", "parameters", "epsilon"), None),
        (("mechanism", "name"), "Unheard"),
        (("value", "counts"), [-1]),
        (("value", "counts"), "many"),
        (("value",), None),
        (("total",), "many"),
        (("total",), 1.5),
        (("noisy",), {"rows": ["x"]}),
        (("noisy",), None),
        (("guarantee",), {}),
    ],
)
@pytest.mark.quick(every=3)
def test_a_document_that_cannot_be_is_refused_whole(release, place, value) -> None:
    content = json.loads(release.to_json())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(signed(content))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"format": "other"}', "[" * 10**5])
def test_other_files_are_refused(text, tmp_path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ReleaseFileError, match=r"other\.json"):
        dh.Release.load(path)


def test_every_truncation_is_refused(release) -> None:
    text = release.to_json().rstrip()
    for length in range(0, len(text), max(1, len(text) // 60)):
        with pytest.raises(ReleaseFileError):
            dh.Release.from_json(text[:length])


def test_missing_or_binary_files_are_refused(tmp_path) -> None:
    with pytest.raises(ReleaseFileError, match="cannot be read"):
        dh.Release.load(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReleaseFileError, match="cannot be read"):
        dh.Release.load(tmp_path / "binary.json")


def test_saving_into_a_missing_folder_says_so(release, tmp_path) -> None:
    with pytest.raises(OutputFileError, match="create it first"):
        release.save(tmp_path / "none" / "release.json")


@pytest.mark.verify
def test_document_fits_its_published_schema(release) -> None:
    schema = json.loads((ROOT / "docs" / "reference" / "release-1.schema.json").read_text())
    jsonschema.validate(json.loads(release.to_json()), schema)


def test_equal_releases_are_equal_however_they_came(release) -> None:
    for twin in (
        dh.Release.from_json(release.to_json()),
        copy.deepcopy(release),
        pickle.loads(pickle.dumps(release)),  # noqa: S301 - our own bytes
    ):
        assert twin == release
        assert hash(twin) == hash(release)
        assert twin.value.counts.flags.writeable is False
    other = release.mechanism.release(dh.Profile.from_counts([20, 9, 9, 1, 1] * 9))
    assert other != release
    assert release != "release"


LABELS = {
    "text": ["a", "b", "", "ü☃\n<b>", "d"],
    "int": [1, -2, 3, 2**40, 5],
    "bool": [True, False],
    "date": [datetime.date(2024, 2, day) for day in range(1, 6)],
    "datetime": [datetime.datetime(2024, 2, day, 1, 2, 3) for day in range(1, 6)],
}
LABELLED = [
    dh.ThresholdHistogram(epsilon=2, delta="1e-6", max_labels=1),
    dh.ThresholdHistogram(epsilon="1/3", delta="1e-6", max_labels=3, noise="gaussian"),
    dh.TopThreshold(k=9, epsilon=2, delta="1e-6", max_labels=2),
    dh.TopLabels(k=9, candidates=20, epsilon=2, delta="1e-6"),
]


def labelled(mechanism, kind: str, seeded) -> dh.Release:
    labels = LABELS[kind]
    counts = dh.LabelCounts.from_counts(
        pa.array(labels),
        range(10**6, 10**6 + len(labels)),  # type: ignore[arg-type]
        max_labels=mechanism.max_labels,
        max_count=1,
    )
    return mechanism.release(counts, seeded(1))


def fits_the_schema(release: dh.Release) -> None:
    SCHEMA.validate(json.loads(release.to_json()))


@pytest.mark.parametrize("mechanism", LABELLED, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.quick(every=4)
def test_labels_of_each_kind_are_saved_and_loaded(mechanism, kind, seeded, tmp_path) -> None:
    release = labelled(mechanism, kind, seeded)
    release.save(tmp_path / "r.json")
    loaded = dh.Release.load(tmp_path / "r.json")
    missing = isinstance(mechanism, dh.TopLabels)
    assert set(loaded.value.labels) == {*LABELS[kind], *([None] if missing else [])}  # type: ignore[misc]
    assert loaded == release
    assert loaded.value.to_arrow().schema == release.value.to_arrow().schema
    assert json.loads(release.to_json())["kind"] == "labels"
    fits_the_schema(release)


@pytest.mark.parametrize("kind", ["duration[s]", "time32[s]", "null", "float", "no type"])
def test_a_type_that_no_labels_have_is_refused(kind, seeded) -> None:
    content = json.loads(labelled(LABELLED[0], "int", seeded).to_json())
    content["value"]["label_type"] = kind
    with pytest.raises(ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(signed(content))


MOST = 2**63 - 1


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([b"\xff\x00", b""]),
        pa.array([decimal.Decimal("-1.50"), decimal.Decimal("2.00")], pa.decimal128(20, 2)),
        pa.array([MOST, -MOST, 0]).cast(pa.timestamp("ns", "Europe/Zurich")),
        pa.array([MOST, -MOST, 0]).cast(pa.timestamp("us")),
        pa.array([MOST // 10**6, 0]).cast(pa.timestamp("s", "UTC")),
        pa.array([2**31 - 1, -(2**31), 0], pa.int32()).cast(pa.date32()),
        pa.array([86_400_000]).cast(pa.date64()),
        pa.array([-2717650800, 0]).cast(pa.timestamp("s", "Europe/Berlin")),
        pa.array([2**64 - 1], pa.uint64()),
    ],
    ids=lambda labels: str(labels.type),
)
@pytest.mark.quick(every=3)
def test_labels_of_every_type_are_saved_and_loaded(labels, seeded) -> None:
    counts = dh.LabelCounts.from_counts(labels, [10**6] * len(labels), max_labels=None, max_count=1)
    for mechanism in (LABELLED[3], dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1)):
        frame = pa.table({"label": labels, "count": [10**6] * len(labels)})
        release = mechanism.release(counts if mechanism is LABELLED[3] else frame, seeded(1))
        loaded = dh.Release.from_json(release.to_json())
        assert loaded == release
        canonical = labels.cast(canonical_type(labels.type))
        assert loaded.value.to_arrow().schema.field("label").type == canonical.type
        assert set(loaded.value.to_arrow()["label"].drop_null()) == set(canonical)
        assert len(release.value.labels) == len(release.value)
        fits_the_schema(release)


@pytest.mark.parametrize("kind", ["text", "int", "bool", "date"])
def test_known_labels_are_saved_and_loaded(kind, seeded) -> None:
    mechanism = dh.ThresholdHistogram(epsilon=1, max_labels=2, labels=LABELS[kind])  # type: ignore[arg-type]
    release = labelled(mechanism, kind, seeded)
    assert dh.Release.from_json(release.to_json()) == release
    fits_the_schema(release)


def test_the_repr_of_a_labelled_release_is_short(seeded) -> None:
    assert "5 rows" in repr(labelled(LABELLED[0], "text", seeded))


def with_budget(seeded, budget) -> dh.Release:
    release = labelled(LABELLED[0], "text", seeded)
    mechanism = release.mechanism.calibrated_to(Target(budget))
    return dataclasses.replace(release, provenance={"unit": "one user"}, mechanism=mechanism)


def test_what_is_stated_is_saved_and_loaded(seeded) -> None:
    release = with_budget(seeded, dh.ApproxDP(2, "1e-6"))
    loaded = dh.Release.from_json(release.to_json())
    asked = dh.ApproxDP(2, "1e-6", unit="user")
    assert (loaded.provenance, loaded.budget) == ({"unit": dh.PrivacyUnit("user")}, asked)
    assert loaded.mechanism.target == Target(asked)
    fits_the_schema(release)


@pytest.mark.parametrize(
    "budget",
    [dh.ApproxDP("1.99", "1e-6"), dh.ApproxDP(2, "1e-7"), dh.PureDP(2), dh.ZCDP(2)],
    ids=repr,
)
def test_a_budget_that_is_exceeded_is_refused(budget, seeded) -> None:
    content = json.loads(with_budget(seeded, dh.ApproxDP(2, "1e-6")).to_json())
    numbers = {
        name: str(getattr(budget, name))
        for name in ("epsilon", "delta", "rho")
        if hasattr(budget, name)
    }
    del content["target"]
    content["budget"] = {"name": type(budget).__name__, "parameters": numbers}
    with pytest.raises(ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(signed(content))
    with pytest.raises(dh.ParameterError, match="target must be"):
        with_budget(seeded, budget)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("value", "counts"), [1]),
        (("value", "labels"), [1.5]),
        (("value", "label_type"), "nonsense"),
        (("stated",), {"unit": 3}),
        (("stated",), "one user"),
        (("kind",), "something else"),
    ],
)
def test_a_labelled_document_that_cannot_be_is_refused_whole(place, value, seeded) -> None:
    content = json.loads(labelled(LABELLED[0], "text", seeded).to_json())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(signed(content))


def universal_data() -> dict[str, object]:
    """Counts without edges, with edges of each kind, and of several axes."""
    table = pa.table(
        {
            "n": [1, 5, 7, None],
            "x": [0.1, 0.25, -1.0, float("nan")],
            "day": [datetime.date(2024, 1, 1 + day) for day in range(4)],
            "time": [datetime.datetime(2024, 1, 1, hour, 20) for hour in range(4)],
        }
    )
    found = {
        "whole": dh.bin_counts(table, column="n", edges=[0, 2, 6, 8]),
        "real": dh.bin_counts(table, column="x", edges=[float("-inf"), 0, 0.2, float("inf")]),
        "regular": dh.bin_counts(table, column="x", start=-1, stop=1, width=0.1),
        "dates": dh.bin_counts(
            table, column="day", start="2024-01-01", stop="2024-01-04", width="1d"
        ),
        "times": dh.bin_counts(
            table, column="time", start="2024-01-01T00:00", stop="2024-01-01T04:00", width="15m"
        ),
        "two axes": dh.bin_counts(table, column=["n", "x"], edges=[[0, 4, 8], [-1.0, 0.2, 1.0]]),
    }
    return {"plain": [3, 0, 10, 2, 1], "more axes": np.arange(12).reshape(2, 3, 2), **found}


UNIVERSAL = {
    "adaptive": lambda bins: dh.AdaptiveTree(epsilon="1/3", bins=bins, workload="prefix"),
    "tree": lambda bins: dh.HierarchicalTree(rho="0.1", bins=bins, branching=2, sensitivity=3),
    "least squares": lambda bins: dh.HierarchicalTree(
        epsilon=1, bins=bins, root=False, nonnegative=False
    ),
    "inconsistent": lambda bins: dh.HierarchicalTree(epsilon=1, bins=bins, consistent=False),
    "leaves": lambda bins: dh.LeafCounts(epsilon="0.05", bins=bins),
}


def shape_of(counts):
    return counts.bins if isinstance(counts, dh.BinnedCounts) else np.shape(counts)


@pytest.mark.parametrize("data", universal_data())
@pytest.mark.parametrize("make", UNIVERSAL.values(), ids=UNIVERSAL)
@pytest.mark.quick(every=6)
def test_universal_histograms_are_saved_and_loaded(data, make, seeded, tmp_path) -> None:
    counts = universal_data()[data]
    release = make(shape_of(counts)).release(counts, seeded(1))
    release.save(tmp_path / "r.json")
    loaded = dh.Release.load(tmp_path / "r.json")
    assert loaded == release
    assert loaded.value.axes == release.value.axes
    np.testing.assert_array_equal(loaded.value.to_pandas(), release.value.to_pandas())
    assert json.loads(release.to_json())["kind"] == "ranges"
    fits_the_schema(release)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("value", "bins"), "5"),
        (("value", "outside"), {"below": 1.5}),
        (("value", "axes"), [{"name": "x", "kind": "whole"}]),
        (("value", "more"), 1),
        (("kind",), "labels"),
    ],
)
def test_the_schema_refuses_what_is_no_universal_histogram(place, value, seeded) -> None:
    release = UNIVERSAL["tree"]((5,)).release(universal_data()["plain"], seeded(1))
    content = json.loads(release.to_json())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(content)


OF_EACH_KIND = {
    "anonymized": lambda: dh.RankSplit(epsilon=1).release(dh.Profile.from_counts([5, 4])),
    "ranges": lambda: dh.LeafCounts(epsilon=1, bins=2).release([3, 5]),
    "labels": lambda: dh.ThresholdHistogram(epsilon=1, labels=["a"], max_labels=1).release(
        dh.LabelCounts.from_counts(["a"], [9], max_labels=1, max_count=1)
    ),
    "streams": lambda: stream_of_one(),
}


def stream_of_one() -> dh.Release:
    running = dh.ContinualHistogram(epsilon=1, horizon=4, max_labels=1, labels=["a"])
    running.update(["a"])
    running.counts()
    return running.release()


@pytest.mark.long(every=2)
@pytest.mark.parametrize("kind", OF_EACH_KIND)
def test_a_process_that_has_imported_nothing_else_shows_any_release(
    kind: str, tmp_path: Path
) -> None:
    """A command imports its own modules alone, and a release may be of any mechanism."""
    OF_EACH_KIND[kind]().save(tmp_path / "r.json")
    done = subprocess.run(
        [sys.executable, "-m", "dphist", "show", str(tmp_path / "r.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "released with differential privacy" in done.stdout
