"""What every mechanism offers alike: those of dphist, the example, and those of `others`."""

import copy
import importlib
import json
import pickle
import sys
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.mechanism import ExpectedError, read_meanings
from dphist.release.maker import read_parameters
from tests.support.mechanisms.cases import (
    CASES,
    GRID,
    KEEPING_NOISY,
    LABELS,
    PROFILE,
    ROOT,
    made,
    released,
)
from tests.support.mechanisms.others import EVENTS, OTHERS, OtherStream

EXAMPLE = "GeometricBins, of another package"
FOREIGN = {kind.__name__: kind for kind in OTHERS}
NAMES = [*CASES, EXAMPLE, *FOREIGN]
BAD = {
    "NaN": float("nan"),
    "zero": 0,
    "infinite": float("inf"),
    "bool": True,
    "text": "x",
    "negative": -1,
}
# What would be refused elsewhere and has a meaning here.
ALLOWED = {
    ("RankSplit, public total", "total", "zero"),
    ("GroupedHistogram, rho", "expected_total", "zero"),
    *(
        (name, "top_share", "zero")
        for name in ("RegionalProfiles", "RegionalProfiles, top", "ScannedLeaves")
    ),
}

every = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module", autouse=True)
def example() -> Any:
    """Make the example importable from its folder."""
    folder = str(ROOT / "examples" / "own_mechanism" / "src")
    sys.path.insert(0, folder)
    yield importlib.import_module("geometric_bins")
    sys.path.remove(folder)


def mechanism_of(name: str) -> Any:
    if name == EXAMPLE:
        return sys.modules["geometric_bins"].GeometricBins(epsilon="0.7", bins=12)
    return FOREIGN[name](epsilon="0.7") if name in FOREIGN else made(name)


def data_of(name: str) -> object:
    if name in FOREIGN:
        return EVENTS if name == OtherStream.__name__ else LABELS
    return GRID.ravel() if name == EXAMPLE else CASES[name][1]


def neighbor_of(name: str) -> object:
    """Return data without one record, or one user."""
    data = data_of(name)
    if data is PROFILE:
        return dh.Profile.from_counts([200, 90, 90, 30, *range(1, 20), *[1] * 30])
    if isinstance(data, dh.Profile):  # of nothing
        return dh.Profile.from_counts([1])
    if data is EVENTS:
        return [*EVENTS[1:], []]
    if data is LABELS:
        return LABELS.slice(0, 3)
    if isinstance(data, np.ndarray):
        other = data.copy()
        other.flat[5] -= 1
        return other
    return data


@pytest.mark.quick(every=3)
@every
def test_it_has_what_the_protocol_asks_for(name: str) -> None:
    mechanism = mechanism_of(name)
    streams = isinstance(mechanism, dh.ContinualMechanism)
    assert isinstance(mechanism, dh.Mechanism) != streams
    assert isinstance(mechanism.guarantee.unit, dh.PrivacyUnit)
    assert mechanism.noise_scale > 0
    for text in (mechanism.description, mechanism.reference):
        assert isinstance(text, str)
        assert text.endswith(".")


@every
def test_each_parameter_has_a_meaning(name: str) -> None:
    mechanism = mechanism_of(name)
    told = read_meanings(mechanism)
    assert list(told) == list(read_parameters(mechanism))
    for parameter, value in read_parameters(mechanism).items():
        assert told[parameter]["meaning"].endswith(".")
        if value is None:
            assert told[parameter]["not_given"].endswith(".")


@pytest.mark.verify
@every
@pytest.mark.parametrize("kind", BAD)
def test_bad_parameters_are_refused_alike(name: str, kind: str) -> None:
    """An error of ours, which names the parameter and not what was given for it."""
    mechanism = mechanism_of(name)
    given = read_parameters(mechanism)
    for parameter, value in given.items():
        number = isinstance(value, Fraction | int) and not isinstance(value, bool)
        if not (number or isinstance(value, tuple)) or (name, parameter, kind) in ALLOWED:
            continue
        with pytest.raises(dh.ParameterError, match=parameter) as caught:
            type(mechanism)(**{**given, parameter: BAD[kind]})
        assert "Fraction(" not in str(caught.value)


@every
def test_it_is_frozen_hashable_and_picklable(name: str) -> None:
    mechanism = mechanism_of(name)
    for item in fields(mechanism):
        with pytest.raises((FrozenInstanceError, TypeError)):
            setattr(mechanism, item.name, getattr(mechanism, item.name))
    for again in (
        type(mechanism)(**read_parameters(mechanism)),
        pickle.loads(pickle.dumps(mechanism)),  # noqa: S301
        copy.deepcopy(mechanism),
    ):
        assert again == mechanism
        assert hash(again) == hash(mechanism)
        assert repr(again) == repr(mechanism)


@pytest.mark.verify
@every
def test_the_guarantee_is_known_before_data_and_stays(name: str) -> None:
    mechanism = mechanism_of(name)
    before = mechanism.guarantee, repr(mechanism), pickle.dumps(mechanism)
    release = released(mechanism, data_of(name))
    assert release.guarantee == before[0]
    assert release.guarantee.unit.bounds == before[0].unit.bounds
    # What is held, and so shown, is as it was: nothing of the data is kept.
    assert (mechanism.guarantee, repr(mechanism), pickle.dumps(mechanism)) == before
    assert release.mechanism == mechanism


@every
@pytest.mark.quick(every=7)
def test_a_release_is_saved_and_loaded_equal(name: str, tmp_path: Path) -> None:
    mechanism = mechanism_of(name)
    release = released(mechanism, data_of(name))
    release.save(tmp_path / "r.json")
    loaded = dh.Release.load(tmp_path / "r.json")
    assert loaded == release
    assert (loaded.mechanism, loaded.guarantee) == (mechanism, mechanism.guarantee)
    assert loaded.to_json() == release.to_json()
    package = json.loads(release.to_json()).get("package")
    foreign = "tests" if name in FOREIGN else None
    assert package == ("geometric_bins" if name == EXAMPLE else foreign)
    if data_of(name) is not PROFILE:  # their pages take a second each; test_conformance reads them
        dh.write_report(loaded, tmp_path / "r.html")
        assert type(mechanism).__name__ in (tmp_path / "r.html").read_text()


@every
@pytest.mark.quick(every=3)
def test_decoding_repeats(name: str) -> None:
    mechanism = mechanism_of(name)
    release = released(mechanism, data_of(name))
    if name != EXAMPLE and name not in KEEPING_NOISY:
        with pytest.raises(dh.UnsupportedError, match="does not keep"):
            mechanism.decode(release.noisy)
        return
    assert release.redecode() == release.redecode() == release
    with pytest.raises(dh.ParameterError, match="noisy"):
        mechanism.decode({"something else": np.zeros(3, np.int64)})


@every
@pytest.mark.quick(every=17)
def test_the_error_to_expect_is_known_before_data(name: str) -> None:
    mechanism = mechanism_of(name)
    guess = [1000] if isinstance(data_of(name), dh.Profile | dh.RegionalProfile) else []
    found = mechanism.expected_error(*guess)
    if not isinstance(found, ExpectedError):
        assert found > 0
        return
    assert found.noise_scale == mechanism.noise_scale
    assert found.level == 0.95
    if name in FOREIGN:
        return
    assert (found.appears_from is None) == (mechanism.threshold is None)
    if found.appears_from is not None:
        assert found.appears_from > mechanism.threshold


@pytest.mark.verify
@every
def test_intervals_hold_the_release(name: str) -> None:
    mechanism = mechanism_of(name)
    release = released(mechanism, data_of(name))
    ends = getattr(mechanism, "largest_error", None) is not None  # then they may always hold
    for level in (0, 2 if ends else 1, float("nan"), -1, "x", None, True):
        with pytest.raises(dh.ParameterError, match="level"):
            mechanism.intervals(release, level)
    found = mechanism.intervals(release, 0.9)
    if found is None:
        assert release.value.counts is None
        return
    assert found.level == 0.9
    if isinstance(release.value, dh.AnonymizedHistogram | dh.RegionalHistograms):
        rows = release.value.labels
        for low, high in ((found.lower, release.value), (release.value, found.upper)):
            assert (low.total, low.labels) <= (high.total, max(high.labels, rows))
        return
    assert (found.lower <= found.upper).all()
    wider = mechanism.intervals(release, 0.99)
    assert (wider.lower <= found.lower).all()
    assert (wider.upper >= found.upper).all()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(every=5)
def test_bounds_on_what_another_mechanism_released_are_refused(name: str) -> None:
    mechanism = mechanism_of(name)
    for other in ("LeafCounts", "AdaptiveScan", "TopThreshold", "ContinualMechanism", EXAMPLE):
        if isinstance(mechanism_of(other), type(mechanism)):
            continue
        release = released(mechanism_of(other), data_of(other))
        asked = [mechanism.intervals]
        if isinstance(data_of(name), dh.Profile):
            asked += [mechanism.band, mechanism.pointwise_band]
            if other != "AdaptiveScan":
                with pytest.raises(dh.ParameterError, match="shape must be a release of"):
                    mechanism.expected_error(shape=release)
        for ask in asked:
            with pytest.raises(
                dh.ParameterError, match=f"release must be one of {type(mechanism).__name__}"
            ):
                ask(release)
            with pytest.raises(dh.ParameterError, match="release must be one of"):
                ask(release.value)


@every
@pytest.mark.quick(every=3)
def test_releases_of_neighbors_have_one_shape(name: str) -> None:
    """Names, kinds and types are those of the mechanism, whatever the data are."""

    def shape(data: object) -> Any:
        release = released(mechanism, data)
        content = json.loads(release.to_json())
        arrays = {key: (part.dtype, part.ndim) for key, part in release.noisy.items()}
        bins = getattr(release.value, "bins", np.zeros(0))
        return (
            type(release.value),
            {key: sorted(part) if isinstance(part, dict) else None for key, part in content.items()}
            | {"noisy": None},
            None if name == "PrivHist, empty" else arrays,  # a total of 0 has no counts
            (bins.shape, bins.dtype),
            release.provenance,
        )

    mechanism = mechanism_of(name)
    assert shape(data_of(name)) == shape(neighbor_of(name))
