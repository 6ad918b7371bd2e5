"""What holds of every mechanism: what saves loads, what keeps noisy counts decodes them again.

A mechanism that can be saved and is not in the table here fails a test.
"""

import copy
import json
import pickle
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import dphist as dh
from dphist.privacy import Target
from dphist.release import mechanisms
from dphist.release.maker import read_parameters
from dphist.report import make_release_document
from tests.support.mechanisms.cases import (
    CASES,
    KEEPING_NOISY,
    NOISY_BESIDE,
    calibrated,
    check_saved,
    every_mechanism,
    made,
    page,
    released,
    signed,
)


def test_every_mechanism_that_saves_is_tested_here() -> None:
    ours = {
        name
        for name, kind in mechanisms.mechanisms_in(None).items()
        if kind.__module__.startswith("dphist.")
    }
    assert {type(made(name)).__name__ for name in CASES} == ours


@every_mechanism
@pytest.mark.quick(every=29)
def test_what_saves_loads(name: str, tmp_path: Path) -> None:
    release = released(made(name), CASES[name][1])
    assert release.mechanism.target is None
    assert release.budget is None
    assert "target" not in repr(release)
    assert {"budget", "target"}.isdisjoint(json.loads(release.to_json()))
    check_saved(release, tmp_path / "r.json")


@pytest.mark.long(every=4)
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
    by_hand = type(mechanism)(**read_parameters(mechanism))
    assert by_hand != mechanism
    assert by_hand.calibrated_to(mechanism.target) == mechanism
    # What is said first is what was asked for, or a pure guarantee that says more.
    cost = make_release_document(release).fact("cost").text
    assert str(mechanism.target) in cost or ("(pure)" in cost and releases == 1)


@pytest.mark.long(every=6)
@pytest.mark.quick(
    *("[4-RankSplit]", "[4-AdaptiveTree]", "[4-LeafCounts]", "[4-Hier"),
    *("[4-Threshold", "[4-Top", "[4-Discover", "[4-Contin"),
    every=17,
)
@every_mechanism
@pytest.mark.parametrize("releases", [1, 4])
def test_a_page_says_what_was_asked_for(name: str, releases: int) -> None:
    mechanism = calibrated(name, releases=releases)
    release = released(mechanism, CASES[name][1])
    assert f"target {mechanism.target}" in " ".join(page(release).split())


@pytest.mark.quick(every=3)
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
@pytest.mark.quick(every=6)
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


@every_mechanism
@pytest.mark.parametrize("how", ["made", "calibrated"])
@pytest.mark.quick(every=3)
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
    assert replace(mechanism).target is None  # a new one, which was asked for nothing
    assert "target" in {item.name for item in fields(mechanism)}
    assert "target" not in read_parameters(mechanism)


@every_mechanism
@pytest.mark.quick(every=2)
def test_what_keeps_noisy_counts_decodes_them_again(name: str) -> None:
    mechanism = made(name)
    release = released(mechanism, CASES[name][1])
    assert bool(release.noisy) == (name in KEEPING_NOISY | NOISY_BESIDE)
    loaded = dh.Release.from_json(release.to_json())
    if name not in KEEPING_NOISY:
        with pytest.raises(dh.UnsupportedError, match="does not keep what its value came from"):
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
