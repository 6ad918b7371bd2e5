"""What holds of every mechanism: what saves loads, what keeps noisy counts decodes them again.

A mechanism that can be saved and is not in the table here fails a test.
"""

import copy
import json
import pickle
import re
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.noise import Source
from dphist.privacy import Target
from dphist.release import release as release_module
from dphist.release.release import FOR_TESTS, parameters_of
from dphist.report import report_html
from dphist.report.kinds import kind_of
from dphist.report.summary import summary_text

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "docs" / "release-1.schema.json").read_text())
PROFILE = dh.Profile.from_counts([200, 90, 90, 31, *range(1, 20), *[1] * 30])
LABELS = pa.table({"label": ["x", "y", "z", "u"], "count": [400, 380, 3, 1]})
GRID = np.arange(12).reshape(3, 4)

Make = Callable[..., Any]

# How a mechanism is made from epsilon (and delta), and what it is given.
CASES: dict[str, tuple[Make, object]] = {
    "AdaptiveScan": (dh.AdaptiveScan, PROFILE),
    "AdaptiveScan, users": (lambda **k: dh.AdaptiveScan(sensitivity=3, **k), PROFILE),
    "RankSplit": (dh.RankSplit, PROFILE),
    "RankSplit, public total": (lambda **k: dh.RankSplit(total=900, **k), PROFILE),
    "SortedCounts": (lambda **k: dh.SortedCounts(labels=60, **k), PROFILE),
    "CumulativeCounts": (lambda **k: dh.CumulativeCounts(largest=300, **k), PROFILE),
    "PrivHist, split": (lambda **k: dh.PrivHist(shares=(1, 9, 0), **k), PROFILE),
    "PrivHist, blocks": (lambda **k: dh.PrivHist(shares=(1, 1, 1), **k), PROFILE),
    "PrivHist, empty": (dh.PrivHist, dh.Profile.from_counts([])),
    "PartitionSampler": (dh.PartitionSampler, PROFILE),
    "AdaptiveTree": (lambda **k: dh.AdaptiveTree(bins=12, **k), GRID.ravel()),
    "AdaptiveTree, two axes": (lambda **k: dh.AdaptiveTree(bins=(3, 4), **k), GRID),
    "AdaptiveTree, rho": (
        lambda epsilon, **k: dh.AdaptiveTree(rho=epsilon, bins=12, **k),
        GRID.ravel(),
    ),
    "HierarchicalTree": (lambda **k: dh.HierarchicalTree(bins=12, **k), GRID.ravel()),
    "HierarchicalTree, least squares": (
        lambda **k: dh.HierarchicalTree(bins=12, nonnegative=False, **k),
        GRID.ravel(),
    ),
    "HierarchicalTree, zero subtrees": (
        lambda **k: dh.HierarchicalTree(bins=12, nonnegative="subtrees", **k),
        GRID.ravel(),
    ),
    "HierarchicalTree, inconsistent": (
        lambda **k: dh.HierarchicalTree(bins=12, consistent=False, **k),
        GRID.ravel(),
    ),
    "LeafCounts": (lambda **k: dh.LeafCounts(bins=12, **k), GRID.ravel()),
    "LeafCounts, rho": (
        lambda epsilon, **k: dh.LeafCounts(rho=epsilon, bins=12, **k),
        GRID.ravel(),
    ),
    "ThresholdHistogram, laplace": (
        lambda **k: dh.ThresholdHistogram(max_labels=2, **k),
        LABELS,
    ),
    "ThresholdHistogram, gaussian": (
        lambda **k: dh.ThresholdHistogram(max_labels=2, noise="gaussian", **k),
        LABELS,
    ),
    "ThresholdHistogram, known": (
        lambda epsilon: dh.ThresholdHistogram(epsilon=epsilon, max_labels=2, labels=["x", "q"]),
        LABELS,
    ),
    "TopThreshold": (lambda **k: dh.TopThreshold(k=3, max_labels=2, **k), LABELS),
    "TopLabels": (lambda **k: dh.TopLabels(k=3, candidates=4, **k), LABELS),
    "ContinualMechanism": (lambda **k: dh.ContinualMechanism(horizon=100, **k), None),
    "ContinualMechanism, known": (
        lambda epsilon: dh.ContinualMechanism(epsilon=epsilon, horizon=100, labels=["x", "q"]),
        None,
    ),
}
WITHOUT_DELTA = {"PartitionSampler", "TopThreshold", "TopLabels"}
KEEPING_NOISY = {
    *("AdaptiveScan", "AdaptiveScan, users", "RankSplit", "RankSplit, public total"),
    *("PrivHist, split", "PrivHist, blocks", "PrivHist, empty"),
    *(name for name in CASES if name.startswith(("AdaptiveTree", "HierarchicalTree"))),
}


def needs_delta(name: str) -> bool:
    return name in WITHOUT_DELTA or (
        name.startswith(("ThresholdHistogram", "ContinualMechanism")) and "known" not in name
    )


def made(name: str) -> Any:
    """The mechanism, as made by hand."""
    delta = {"delta": "1e-6"} if needs_delta(name) else {}
    return CASES[name][0](epsilon="0.7", **delta)


@lru_cache
def calibrated(name: str, **asked: Any) -> Any:
    """The mechanism, made from a total."""
    make = CASES[name][0]
    if needs_delta(name):

        def with_delta(epsilon: Any, delta: Any) -> Any:
            return make(epsilon=epsilon, delta=delta)

        return dh.calibrate(with_delta, epsilon=2, delta="1e-5", **asked)
    return dh.calibrate(lambda epsilon: make(epsilon=epsilon), epsilon=2, delta="1e-5", **asked)


def released(mechanism: Any, data: object, source: Source | None = None) -> dh.Release:
    if not isinstance(mechanism, dh.ContinualMechanism):
        release: dh.Release = mechanism.release(data, source)
        return release
    stream = dh.ContinualHistogram(**parameters_of(mechanism))
    if mechanism.target is not None:
        stream = stream.calibrated_to(mechanism.target)
    stream.update_many([["x"]] * 90, source=source)
    return stream.release(source=source)


every_mechanism = pytest.mark.parametrize("name", CASES)


def test_every_mechanism_that_saves_is_tested_here() -> None:
    ours = {
        name
        for name, kind in release_module._MECHANISMS.items()
        if kind.__module__.startswith("dphist.")
    }
    assert {type(made(name)).__name__ for name in CASES} == ours


def check_saved(release: dh.Release, path: Path) -> dh.Release:
    release.save(path)
    loaded = dh.Release.load(path)
    assert loaded == release
    assert loaded.to_json() == release.to_json()
    assert loaded.guarantee == release.guarantee
    assert loaded.guarantee.unit.bounds == release.guarantee.unit.bounds
    assert loaded.mechanism == release.mechanism
    assert hash(loaded.mechanism) == hash(release.mechanism)
    assert repr(loaded) == repr(release)
    assert summary_text(loaded) == summary_text(release)
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    return loaded


@every_mechanism
def test_what_saves_loads(name: str, tmp_path: Path) -> None:
    release = released(made(name), CASES[name][1])
    assert release.mechanism.target is None
    assert release.budget is None
    assert "target" not in repr(release)
    assert {"budget", "target"}.isdisjoint(json.loads(release.to_json()))
    check_saved(release, tmp_path / "r.json")


@every_mechanism
@pytest.mark.parametrize("releases", [1, 4])
def test_what_was_calibrated_saves_loads_and_says_so(
    name: str, releases: int, tmp_path: Path
) -> None:
    mechanism = calibrated(name, releases=releases)
    asked = dh.ApproxDP(2, "1e-5", unit=mechanism.guarantee.unit)
    assert mechanism.target == Target(asked, releases)
    release = released(mechanism, CASES[name][1])
    assert release.mechanism == mechanism
    loaded = check_saved(release, tmp_path / "r.json")
    assert loaded.mechanism.target == mechanism.target
    assert loaded.budget == asked
    assert f"target={mechanism.target!r}" in repr(mechanism)
    # By hand, the same parameters are another mechanism: one that was asked for nothing.
    by_hand = type(mechanism)(**parameters_of(mechanism))
    assert by_hand != mechanism
    assert by_hand.calibrated_to(mechanism.target) == mechanism
    # What is said first is what was asked for, or a pure guarantee that says more.
    assert f"target {mechanism.target}" in " ".join(page(release).split())
    cost = kind_of(release).cost(release)
    assert str(mechanism.target) in cost or ("(pure)" in cost and releases == 1)


def page(release: dh.Release) -> str:
    return re.sub(r"<[^>]*>", " ", report_html(release)).replace("\u00a0", " ")


@every_mechanism
def test_a_target_that_is_exceeded_is_refused(name: str) -> None:
    mechanism = calibrated(name, releases=4)
    for target in (
        Target(dh.ApproxDP("1.9", "1e-5"), 4),
        Target(dh.ApproxDP(2, "1e-5"), 40),
        Target(dh.ApproxDP(2, "1e-30"), 40),
    ):
        with pytest.raises(dh.ParameterError, match="target must be"):
            mechanism.calibrated_to(target)
    with pytest.raises(dh.ParameterError, match="target must be"):
        mechanism.calibrated_to(dh.ApproxDP(2, "1e-5"))


@every_mechanism
def test_a_target_for_another_unit_is_refused(name: str) -> None:
    """It would be remembered as one for whom the mechanism protects, and stated so."""
    mechanism = calibrated(name, releases=4)
    for unit in ("patient", dh.PrivacyUnit("record", 7), dh.PrivacyUnit("user", 2)):
        with pytest.raises(dh.ParameterError, match=r"target must be for .* or state no unit"):
            mechanism.calibrated_to(Target(dh.ApproxDP(2, "1e-5", unit), 4))
    own = mechanism.guarantee.unit
    for same in (own, dh.PrivacyUnit(own.who, own.at_most)):
        again = mechanism.calibrated_to(Target(dh.ApproxDP(2, "1e-5", same), 4))
        assert again == mechanism


@every_mechanism
def test_a_file_with_a_target_that_does_not_follow_is_refused(name: str) -> None:
    content = json.loads(released(calibrated(name, releases=4), CASES[name][1]).to_json())
    asked = content["target"]["guarantee"]
    little = {"name": "ApproxDP", "parameters": {"epsilon": "0.4", "delta": "1e-5"}}
    other = {"name": "ZCDP", "parameters": {"rho": "1"}}
    for target in (
        {"guarantee": little, "releases": 4},
        {"guarantee": asked, "releases": 40},
        {"guarantee": asked, "releases": 0},
        {"guarantee": asked, "releases": "4"},
        {"guarantee": asked},
        {"guarantee": other, "releases": 1},
        "much",
    ):
        with pytest.raises(dh.ReleaseFileError, match="not a valid release"):
            dh.Release.from_json(signed({**content, "target": target}))
    del content["target"]  # as earlier versions wrote it, and could not read it of most mechanisms
    with pytest.raises(dh.ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(signed({**content, "budget": little}))
    read = dh.Release.from_json(signed({**content, "budget": asked}))
    assert read.mechanism.target == Target(dh.ApproxDP(2, "1e-5", unit=read.guarantee.unit))


def signed(content: dict[str, Any]) -> str:
    """Return an edited release with a checksum that fits."""
    content = {name: part for name, part in content.items() if name != "checksum"}
    return json.dumps({**content, "checksum": release_module._checksum(content)})


@every_mechanism
@pytest.mark.parametrize("how", ["made", "calibrated"])
def test_mechanisms_are_copied_and_pickled(name: str, how: str) -> None:
    mechanism = made(name) if how == "made" else calibrated(name)
    for again in (
        pickle.loads(pickle.dumps(mechanism)),  # noqa: S301
        copy.copy(mechanism),
        copy.deepcopy(mechanism),
    ):
        assert again == mechanism
        assert hash(again) == hash(mechanism)
        assert again.target == mechanism.target
    assert replace(mechanism).target is None  # made anew, it was asked for nothing
    assert "target" in {item.name for item in fields(mechanism)}
    assert "target" not in parameters_of(mechanism)


@every_mechanism
def test_what_keeps_noisy_counts_decodes_them_again(name: str, tmp_path: Path) -> None:
    mechanism = made(name)
    release = released(mechanism, CASES[name][1])
    assert bool(release.noisy) == (name in KEEPING_NOISY)
    loaded = check_saved(release, tmp_path / "r.json")
    if not release.noisy:
        with pytest.raises(dh.ParameterError, match="does not keep what its value came from"):
            release.redecode()
        return
    for kept in (release, loaded):
        again = kept.redecode()
        assert again == release
        assert (again.guarantee, again.mechanism, again.total) == (
            release.guarantee,
            release.mechanism,
            release.total,
        )


@every_mechanism
def test_noisy_counts_of_nothing_are_refused(name: str) -> None:
    if name not in KEEPING_NOISY:
        return
    mechanism = made(name)
    with pytest.raises(dh.ParameterError, match="noisy"):
        mechanism.decode({})
    with pytest.raises(dh.ParameterError, match="noisy"):
        mechanism.decode({"something else": np.zeros(3, np.int64)})


# --- whose random bits


@every_mechanism
def test_a_release_drawn_with_a_callers_bits_says_so(
    name: str, seeded: Make, tmp_path: Path
) -> None:
    mechanism, data = made(name), CASES[name][1]
    real, drawn = released(mechanism, data), released(mechanism, data, seeded(1))
    assert (real.for_tests, drawn.for_tests) == (False, True)
    for shown in (repr, summary_text, page, dh.Release.to_json):
        assert "supplied by the caller: for tests" in " ".join(shown(drawn).split())
        assert "for tests" not in shown(real)
        assert "supplied by the caller" not in shown(real)
    assert kind_of(drawn).as_json(drawn)["random_bits"] == "supplied by the caller: for tests"
    assert "random_bits" not in kind_of(real).as_json(real)
    loaded = check_saved(drawn, tmp_path / "r.json")
    assert loaded.for_tests
    assert not dh.Release.from_json(real.to_json()).for_tests
    if drawn.noisy:
        assert loaded.redecode().for_tests
    assert drawn != replace(drawn, for_tests=False)


def test_a_file_that_names_other_bits_is_refused(seeded: Make) -> None:
    content = json.loads(dh.anonymize(PROFILE, epsilon=1, source=seeded(1)).to_json())
    for said in ("supplied by nobody", None, True, ""):
        with pytest.raises(dh.ReleaseFileError, match="not a valid release"):
            dh.Release.from_json(signed({**content, "random_bits": said}))


def test_data_that_were_bounded_with_a_callers_bits_mark_all_their_releases(seeded: Make) -> None:
    rows = pd.DataFrame({"who": ["a", "a", "b"], "word": ["x", "y", "x"]})
    asked = {"label": "word", "user": "who", "max_labels": 1}
    real = dh.LabelCounts.from_table(rows, **asked)
    tested = dh.LabelCounts.from_table(rows, source=seeded(1), **asked)
    assert (real.for_tests, tested.for_tests) == (False, True)
    for mechanism in (
        dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1),
        dh.TopThreshold(epsilon=1, delta="1e-6", max_labels=1),
        dh.TopLabels(epsilon=1, delta="1e-6"),
    ):
        assert not mechanism.release(real).for_tests
        assert mechanism.release(tested).for_tests
    session = dh.PayWhatYouGet(epsilon=1, delta="1e-6")
    assert not session.top(real).for_tests
    assert not session.for_tests
    assert FOR_TESTS not in repr(session)
    assert session.top(tested).for_tests
    assert session.for_tests
    assert FOR_TESTS in repr(session)


def test_a_session_remembers_a_query_with_a_callers_bits(seeded: Make) -> None:
    session = dh.PayWhatYouGet(epsilon=1, delta="1e-6")
    assert session.top(LABELS, k=2, source=seeded(1)).for_tests
    assert not session.top(LABELS, k=2).for_tests  # by itself it is a real one
    assert session.for_tests


def test_anonymize_hands_the_mark_on(seeded: Make) -> None:
    assert dh.anonymize(PROFILE, epsilon=1, source=seeded(1)).for_tests
    assert not dh.anonymize(PROFILE, epsilon=1).for_tests


STREAM = {"epsilon": 1, "delta": "1e-6", "horizon": 100, "max_labels": 1}


@pytest.mark.parametrize("step", ["update", "update_many", "counts", "record", "release"])
def test_a_stream_remembers_a_callers_bits_for_good(
    step: str, seeded: Make, tmp_path: Path
) -> None:
    """Noise of a stream is drawn once and used at all later times."""
    stream = dh.ContinualHistogram(**STREAM)
    stream.update(["a", "b"])
    source = seeded(1)
    if step == "update":
        stream.update(["a", "b"], source=source)
    elif step == "update_many":
        stream.update_many([["a"], ["b"]], source=source)
    else:
        getattr(stream, step)(source=source)
    assert stream.for_tests
    assert FOR_TESTS in repr(stream)
    stream.update(["a"])
    assert stream.release().for_tests
    stream.save(tmp_path / "s.state")
    again = dh.ContinualHistogram.load(tmp_path / "s.state")
    assert again.for_tests
    assert again.release().for_tests


def test_a_durable_stream_remembers_it_across_restarts(seeded: Make, tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    with dh.ContinualHistogram.open(path, **STREAM) as stream:
        stream.update(["a"])
        assert not stream.release().for_tests
    with dh.ContinualHistogram.open(path) as stream:
        assert not stream.for_tests
        stream.update(["a"], source=seeded(1))
        stream.update(["a"], source=seeded(1))
    with dh.ContinualHistogram.open(path) as stream:
        assert stream.for_tests
        assert stream.release().for_tests


def test_a_stream_calibrated_keeps_its_target_across_restarts(tmp_path: Path) -> None:
    asked = dh.calibrate(dh.ContinualMechanism, epsilon=1, delta="1e-6", horizon=100, releases=3)
    path = tmp_path / "s.state"
    with dh.ContinualHistogram.open(path, mechanism=asked) as stream:
        assert stream.mechanism == asked
        assert repr(asked.target) in repr(stream)
    with dh.ContinualHistogram.open(path) as stream:
        assert stream.mechanism == asked
    with dh.ContinualHistogram.open(path, mechanism=asked) as stream:
        assert stream.budget == asked.target.guarantee
    # The same parameters without a target, as an earlier version would state them, go on with it.
    with dh.ContinualHistogram.open(path, **parameters_of(asked)) as stream:
        assert stream.mechanism.target == asked.target
    other = asked.calibrated_to(Target(dh.ApproxDP(9, "1e-6")))
    with pytest.raises(dh.ParameterError, match="other parameters"):
        dh.ContinualHistogram.open(path, mechanism=other)


def test_a_stream_is_calibrated_before_its_first_event() -> None:
    stream = dh.calibrate(dh.ContinualHistogram, epsilon=1, delta="1e-6", horizon=100)
    assert stream.mechanism.target == Target(dh.ApproxDP(1, "1e-6", unit="event"))
    stream.update(["a"])
    assert stream.release().mechanism.target == stream.mechanism.target
    with pytest.raises(dh.ParameterError, match="before the first event"):
        stream.calibrated_to(stream.mechanism.target)


def test_a_session_is_calibrated_and_shares_its_budget() -> None:
    session = dh.calibrate(dh.PayWhatYouGet, epsilon=2, delta="1e-5", budget=9, queries=3)
    assert session.target == Target(dh.ApproxDP(2, "1e-5", unit="user"))
    assert "target=(2, 1e-5)-differential privacy" in repr(session)
    same = session.calibrated_to(session.target)
    same.top(LABELS, k=4)
    assert session.remaining == same.remaining < 9


def test_guesses_of_errors_are_no_releases_with_a_callers_bits() -> None:
    """Trials on public profiles draw from a fixed stream, and give a number."""
    for name in ("AdaptiveScan", "RankSplit", "PrivHist, split"):
        mechanism = made(name)
        assert mechanism.expected_error(1000) == mechanism.expected_error(1000) > 0


# --- files of earlier versions


SAVED = sorted((ROOT / "tests" / "saved_releases").glob("*.json"))
UNITS = {
    "adaptive_scan": dh.PrivacyUnit("record", 2),
    "stream_of_users": dh.PrivacyUnit("user"),
    "threshold_with_budget": dh.PrivacyUnit("user"),
    "top_labels": dh.PrivacyUnit("user"),
    "tree_of_users": dh.PrivacyUnit("user"),
}


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_files_without_units_load_as_before(path: Path, tmp_path: Path) -> None:
    """They were written by the version before units, targets and marks."""
    content = json.loads(path.read_text())
    assert {"unit", "target", "random_bits"}.isdisjoint(content)
    release = dh.Release.load(path)
    assert release.guarantee.unit == UNITS.get(path.stem, dh.PrivacyUnit("record"))
    asked = content.get("budget")
    assert (release.budget is None) == (asked is None)
    if asked is not None:
        assert {name: str(getattr(release.budget, name)) for name in ("epsilon", "delta")} == {
            name: str(Fraction(text)) for name, text in asked["parameters"].items()
        }
    assert not release.for_tests  # it was not noted, and is not known
    if release.noisy:
        assert release.redecode().value.__class__ is release.value.__class__
    check_saved(release, tmp_path / "again.json")
    report_html(release)


def test_there_are_such_files() -> None:
    assert len(SAVED) == 7


def test_what_earlier_versions_read_is_where_it_was(tmp_path: Path) -> None:
    """They take a guarantee's parameters for those of its class, which knew no unit."""
    release = released(calibrated("ThresholdHistogram, gaussian", releases=4), LABELS)
    content = json.loads(release.to_json())
    assert content["format_version"] == 1
    assert set(content["guarantee"]["parameters"]) == {"rho", "delta"}
    assert "budget" not in content  # which they knew of two kinds of mechanisms only
    assert "target" not in content["mechanism"]["parameters"]
    assert content["unit"]["who"] == "user"


@pytest.mark.parametrize(
    "unit",
    [
        {"who": "user", "at_most": 1, "bounds": {}},
        {"who": "record", "at_most": 4, "bounds": {}},
        {"who": "record", "at_most": 0, "bounds": {}},
        {"who": "", "at_most": 1, "bounds": {}},
        {"at_most": 1},
        "one record",
        None,
    ],
)
def test_a_unit_that_nothing_states_is_read_only_if_it_can_be(unit: object) -> None:
    """A file whose unit is not what it states is refused; so is one that is no unit."""
    mechanism = dh.AdaptiveScan(epsilon=1, sensitivity=3)
    users = replace(mechanism.release(PROFILE), provenance={"unit": "one patient"})
    content = json.loads(users.to_json())
    with pytest.raises(dh.ReleaseFileError, match="not a valid release"):
        dh.Release.from_json(signed({**content, "unit": unit}))
