"""A release says so where its random bits were the caller's, and what is calibrated remembers."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dphist as dh
from dphist.privacy import Target
from dphist.release.maker import read_parameters
from dphist.release.release import FOR_TESTS
from dphist.report import make_json, summary_text
from tests.support.mechanisms.cases import (
    CASES,
    KEEPING_NOISY,
    LABELS,
    PROFILE,
    Make,
    check_saved,
    every_mechanism,
    made,
    page,
    released,
    signed,
)


@every_mechanism
@pytest.mark.long(every=2)
def test_a_release_drawn_with_a_callers_bits_says_so(
    name: str, seeded: Make, tmp_path: Path
) -> None:
    mechanism, data = made(name), CASES[name][1]
    real, drawn = released(mechanism, data), released(mechanism, data, seeded(1))
    assert (real.for_tests, drawn.for_tests) == (False, True)
    for shown in (repr, summary_text, dh.Release.to_json):
        check_shown(shown(real), shown(drawn))
    assert make_json(drawn)["random_bits"] == "supplied by the caller: for tests"
    assert "random_bits" not in make_json(real)
    loaded = check_saved(drawn, tmp_path / "r.json")
    assert loaded.for_tests
    assert not dh.Release.from_json(real.to_json()).for_tests
    if name in KEEPING_NOISY:
        assert loaded.redecode().for_tests
    assert drawn != replace(drawn, for_tests=False)


@pytest.mark.quick(every=3)
@every_mechanism
def test_a_source_of_too_few_bits_is_refused(name: str, seeded: Make) -> None:
    """A single word in the place of many would be noise that all counts share."""
    draw = seeded(1)
    with pytest.raises(dh.ParameterError, match="source must return bytes"):
        released(made(name), CASES[name][1], lambda size: draw(size)[: size // 2])


@pytest.mark.long(every=6)
@every_mechanism
def test_its_page_says_so(name: str, seeded: Make) -> None:
    """One line for all mechanisms of a kind; a page of a profile takes a second."""
    mechanism, data = made(name), CASES[name][1]
    real, drawn = released(mechanism, data), released(mechanism, data, seeded(1))
    check_shown(page(real), page(drawn))


def check_shown(of_real: str, of_drawn: str) -> None:
    assert "supplied by the caller: for tests" in " ".join(of_drawn.split())
    assert "for tests" not in of_real
    assert "supplied by the caller" not in of_real


def test_a_file_that_names_other_bits_is_refused(seeded: Make) -> None:
    content = json.loads(dh.anonymize(PROFILE, epsilon=1, source=seeded(1)).to_json())
    for said in ("supplied by nobody", None, True, ""):
        with pytest.raises(dh.ReleaseFileError, match="not a valid release"):
            dh.Release.from_json(signed({**content, "random_bits": said}))


def test_data_that_were_bounded_with_a_callers_bits_mark_all_their_releases(seeded: Make) -> None:
    rows = pd.DataFrame({"who": ["a", "a", "b"], "word": ["x", "y", "x"]})
    asked: dict[str, Any] = {"label": "word", "user": "who", "max_labels": 1}
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


STREAM: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 100, "max_labels": 1}


@pytest.mark.verify
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
    with dh.ContinualHistogram.open(path, **read_parameters(asked)) as stream:
        assert stream.mechanism.target == asked.target
    other = asked.calibrated_to(Target(dh.ApproxDP(9, "1e-6")))
    with pytest.raises(dh.ParameterError, match="as the stream at"):
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


@pytest.mark.verify
def test_guesses_of_errors_are_no_releases_with_a_callers_bits() -> None:
    """Trials on public profiles draw from a fixed stream, and give a number."""
    for name in ("AdaptiveScan", "RankSplit", "PrivHist, split"):
        mechanism = made(name)
        assert mechanism.expected_error(1000) == mechanism.expected_error(1000) > 0
