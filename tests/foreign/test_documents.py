"""Documents that somebody else wrote or damaged: an error of ours, with the reason, or read."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import ReleaseFileError
from dphist.parameters import exact_number
from dphist.planning.document import make_document
from dphist.planning.document import table_csv as table_csv_of_plan
from dphist.release.document import checksum
from dphist.render import text as terminal
from dphist.report import summary_text, table_csv

PROFILE = dh.Profile.from_counts([30, 9, 9, 2])
LABELS = dh.LabelCounts.from_counts(["a", "ü"], [900, 700], max_labels=1, max_count=1)
DAYS = pa.table({"x": [1, 2, 3], "t": pa.array([0, 86_400_000_000, 5], pa.timestamp("us"))})
STREAM = dh.ContinualHistogram(epsilon=9, delta="0.1", horizon=9)
STREAM.update_many([["a"]] * 9)
STREAM.counts()


def _binned(column: str, edges: list[Any]) -> dh.Release:
    data = dh.bin_counts(DAYS, column=column, edges=edges)
    return dh.LeafCounts(epsilon=1, bins=data.bins).release(data)


RELEASES = {
    "profile": dh.SortedCounts(epsilon=1, labels=9).release(PROFILE),
    "labels": dh.calibrate(dh.ThresholdHistogram, epsilon=1, delta="0.1", max_labels=1).release(
        LABELS
    ),
    "listed": dh.ThresholdHistogram(epsilon=1, max_labels=1, labels=["a", "b"]).release(LABELS),
    "bins": _binned("x", [0, 2, 5]),
    "times": _binned("t", ["1970-01-01", "1970-01-02", "1970-01-05"]),
    "tree": dh.HierarchicalTree(epsilon=1, bins=4).release([1, 2, 3, 4]),
    "adaptive": dh.AdaptiveTree(epsilon=1, bins=(2, 2)).release([[1, 2], [3, 4]]),
    "stream": STREAM.release(),
}
DOCUMENTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    **{
        name: (release.present(title="T", owner="O").to_json(), dh.Release.from_json)
        for name, release in RELEASES.items()
    },
    "plan": (dh.plan("labels", users=99, criteria=["labels >= 3"]).to_json(), dh.Plan.from_json),
    "mechanism": (
        dh.mechanism_to_json(dh.AdaptiveTree(epsilon="1/3", bins=4)),
        dh.mechanism_from_json,
    ),
}
LOADED: dict[str, Callable[[Any], Any]] = {
    name: dh.Plan.load if name == "plan" else dh.Release.load
    for name in DOCUMENTS
    if name != "mechanism"
}
STRANGE: list[Any] = [
    *(None, True, -1, 0, -0.0, 0.1, 1.5, 1e308, float("nan"), float("inf"), 2**62, 2**63, 10**300),
    *("", "x", "1_0", "-1", "1.5", "1/3", "\u0661", "9" * 401, "nan", "\x1b[2J\x00", "\ud800"),
    *([], {}, [[]], {"a": None}, [None]),
]


def _places(content: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything in a document."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield (key,)
        if isinstance(value, dict | list):
            yield from ((key, *below) for below in _places(value))


def _changed(text: str, place: tuple[Any, ...], value: Any) -> str:
    content = json.loads(text)
    has_checksum = content.pop("checksum", None) is not None
    held = content
    for key in place[:-1]:
        held = held[key]
    held[place[-1]] = value
    return json.dumps({**content, **({"checksum": checksum(content)} if has_checksum else {})})


def _shown(found: Any) -> list[str]:
    """Return what terminals and files show of a document; the first is for terminals."""
    if isinstance(found, dh.Release):
        return [summary_text(found), repr(found), table_csv(found)]
    if isinstance(found, dh.Plan):
        return [terminal.text(make_document(found)), table_csv_of_plan(found)]
    return [repr(found)]


def _written(found: Any) -> Any:
    is_mechanism = not isinstance(found, dh.Release | dh.Plan)
    return json.loads(dh.mechanism_to_json(found) if is_mechanism else found.to_json())


def _numbers(content: Any) -> list[Any]:
    """Return the numbers of what a document says, at any depth, by what they mean.

    A number that is exact is written as text, and an array of floats has no whole numbers.
    """
    if isinstance(content, dict):
        return [_numbers(content[key]) for key in sorted(content)]
    if isinstance(content, list):
        return [_numbers(each) for each in content]
    if isinstance(content, bool) or content is None:
        return [content]
    try:
        return [exact_number(content, "number")]
    except dh.ParameterError:
        return [content]


PLAN_COLUMNS = json.loads(DOCUMENTS["plan"][0])["columns"]


def _check(name: str, place: tuple[Any, ...], value: Any) -> None:
    """A document with this value is refused, or says the same when it is written again."""
    text, read = DOCUMENTS[name]
    changed = _changed(text, place, value)
    found = said = None
    try:
        found = read(changed)
    except ReleaseFileError as error:
        said = str(error)
    if said is not None:
        assert said.isprintable(), (place, value)
        return
    assert _shown(found)[0].replace("\n", "").isprintable(), (place, value)
    if (place[-2:], repr(value)) in WRITTEN_OTHERWISE:
        return
    again, given = _written(found), json.loads(changed)
    for key in NUMBERS:
        assert _numbers(again.get(key)) == _numbers(given.get(key)), (place, value)


# The same, in another form than the one that was read.
WRITTEN_OTHERWISE = {
    *((("counts", place), str(2**62)) for place in range(9)),  # in their order
    *((("parameters", "delta"), text) for text in ("0", "-0.0")),  # none
    (("edges", 0), "-1"),  # now of equal widths
    (("parameters", "nonnegative"), "None"),  # the default, which is then stated
    (("parameters", "method"), "None"),
    (("parameters", "label_type"), "None"),
    (("parameters", "labels"), "{'a': None}"),  # its keys
    *((("criteria",), text) for text in ("''", "{}")),  # none
}
NUMBERS = ("mechanism", "guarantee", "total", "value", "noisy", "rows", "criteria")


@pytest.mark.long(every=4)
@pytest.mark.verify
@pytest.mark.parametrize("name", DOCUMENTS)
def test_any_part_may_be_anything(name) -> None:
    """With a right checksum: whoever can write a file can compute it."""
    for place in _parts(name):
        for value in STRANGE:
            _check(name, place, value)


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_some_parts_may_be_anything(name) -> None:
    """A value for each part, in turn."""
    for number, place in enumerate(_parts(name)):
        _check(name, place, STRANGE[number * 7 % len(STRANGE)])


def _parts(name: str) -> list[tuple[Any, ...]]:
    content = json.loads(DOCUMENTS[name][0])
    content.pop("checksum", None)
    if name == "plan":
        del content["rows"][2:]  # more of the same
    return list(_places(content))


@pytest.mark.quick(every=3)
@pytest.mark.parametrize(
    "value", [True, 1.5, -0.0, "1", "1_0", "\u0661", None, [1], 2**63, "1e400"]
)
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("labels", ("value", "counts", 0)),
        ("bins", ("value", "bins", 0)),
        ("adaptive", ("value", "bins", 1, 0)),
        ("adaptive", ("noisy", "nodes", 0)),
        ("tree", ("noisy", "level 1", 0)),
        ("profile", ("value", "counts", 0)),
        ("stream", ("value", "counts", 0, 0)),
        ("stream", ("value", "times", 0)),
        ("plan", ("rows", 0, PLAN_COLUMNS.index("max_labels"))),
    ],
)
def test_what_is_no_whole_number_is_none(name, place, value) -> None:
    """NumPy and Arrow made 1 of 1.5, true and texts, and read on."""
    text, read = DOCUMENTS[name]
    with pytest.raises(ReleaseFileError, match="is not a valid"):
        read(_changed(text, place, value))


@pytest.mark.parametrize("kind", ["int64", "uint8", "date32[day]", "timestamp[us]", "bool"])
def test_labels_are_of_their_type(kind) -> None:
    for labels in ([1.5, 1.5], [True, 1], [1, "2"], "12", {"1": 2, "3": 4}):
        with pytest.raises(ReleaseFileError, match="is not a valid"):
            changed = _changed(DOCUMENTS["labels"][0], ("value", "labels"), labels)
            dh.Release.from_json(_changed(changed, ("value", "label_type"), kind))


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400", "9" * 5000, "-" + "9" * 401])
def test_a_number_that_is_none(number) -> None:
    """Wherever it stands, also where nobody reads it."""
    for text, read in DOCUMENTS.values():
        with pytest.raises(ReleaseFileError, match=r"not finite|more than 400 digits"):
            read('{"more": ' + number + ", " + text[1:])


REASONS: dict[str, tuple[Callable[[str], str], str]] = {
    "nothing": (lambda text: "", "is not a dphist .*, or it is cut short"),
    "another format": (lambda text: '{"format": "other"}', "is not a dphist"),
    "cut short": (lambda text: text[:-9], "is not a dphist .*, or it is cut short"),
    "a key twice": (lambda text: '{"kind": "x", ' + text[1:], "cannot be read .*a key twice"),
    "deep": (lambda text: '{"x": ' + "[" * 10**5, "cannot be read .*nested too deeply"),
    "digits": (lambda text: '{"x": ' + "9" * 5000 + ", " + text[1:], "more than 400 digits"),
    "edited": (lambda text: text.replace(": 1", ": 2", 1), "was (changed|written by a later)"),
}


@pytest.mark.parametrize("damage", REASONS)
@pytest.mark.parametrize("name", ["labels", "plan"])
def test_a_damaged_file_is_refused_with_the_reason(name, damage, tmp_path) -> None:
    make, reason = REASONS[damage]
    path = tmp_path / "\x1b[31m.json"
    path.write_text(make(DOCUMENTS[name][0]))
    with pytest.raises(ReleaseFileError, match=reason) as refused:
        LOADED[name](path)
    assert "\\x1b[31m.json" in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_is_cut_is_refused(name) -> None:
    text, read = DOCUMENTS[name]
    for place in [*range(0, len(text) - 1, 1 + len(text) // 200), len(text) - 2]:
        with pytest.raises(ReleaseFileError, match="or it is cut short"):
            read(text[:place])


@pytest.mark.parametrize("name", ["labels", "plan"])
def test_encodings(name, tmp_path) -> None:
    """A byte order mark is read over; other encodings are named."""
    path, text = tmp_path / "saved.json", DOCUMENTS[name][0]
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert LOADED[name](path).to_json() == text
    for content in (text.encode("utf-16"), text.encode() + b"\xff"):
        path.write_bytes(content)
        with pytest.raises(ReleaseFileError, match="it is not UTF-8"):
            LOADED[name](path)
    for missing in (tmp_path, tmp_path / "none", "a\0b", "x" * 5000):
        with pytest.raises(ReleaseFileError, match="cannot be read"):
            LOADED[name](missing)
