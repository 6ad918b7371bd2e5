"""Streams without a horizon: their noise at every time, and a threshold that grows with it."""

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import dphist as dh
from dphist.cli import main
from dphist.report import report_html, summary_text
from dphist.streams.counters.design import UNBOUNDED, unbounded_design
from dphist.streams.counters.noise_table import NoiseTable
from dphist.streams.counters.spectrum import squared_sensitivity
from dphist.streams.counters.toeplitz import (
    ToeplitzCounter,
    first_draw,
    first_squared_shifts,
    unbounded_counter,
    variance_without_past,
)
from dphist.streams.state.state import StreamState

# The largest variance of parts of which the slowest starts small, for a horizon of 2**bits, in
# sigma_1**2: the bounded mechanism that this one is compared with.
SLOW_START = {12: 14.25, 14: 18.01, 16: 21.74, 18: 26.35, 20: 30.81}


def bounded(time: float) -> float:
    """Return the largest variance of the square-root factorization for this horizon, from below."""
    return ((math.log(time) + 0.5772156649 + math.log(16)) / math.pi) ** 2


def variance(time: int) -> float:
    """Return the variance at a squared distance of 1."""
    found = unbounded_design()
    return float(
        found.squared_sensitivity * variance_without_past(found.decays, found.weights, time)
    )


def test_the_design_is_priced_for_all_events() -> None:
    found = unbounded_design()
    assert UNBOUNDED == 2**40
    stated = squared_sensitivity(found.decays, found.weights, 2**40)
    assert found.squared_sensitivity == stated
    assert squared_sensitivity(found.decays, found.weights, 2**24) < stated * Fraction(9, 10)


def test_the_variance_is_near_that_for_the_best_horizon_at_every_time() -> None:
    """Both grow with time, so a grid with the next time's variance covers all times between."""
    times = [round(2 ** (k / 8)) for k in range(10 * 8, 24 * 8 + 1)]
    ratios = [variance(later) / bounded(time) for time, later in itertools.pairwise(times)]
    assert max(ratios) < 1.6
    assert all(variance(2**bits) < 1.5 * largest for bits, largest in SLOW_START.items())
    late = [variance(2**bits) / bounded(2**bits) for bits in range(24, 41)]
    assert max(late) < 1.8


def test_the_bounds_of_the_proof_hold_for_its_parts() -> None:
    found = unbounded_design()
    for time in (1, 2, 1000, 2**20, 2**40):
        drawn = first_draw(found.decays, found.weights, time)
        assert all(-1 <= b <= 0 for row in drawn.coefficients for b in row)
        for theta, weight, own in zip(found.decays, found.weights, drawn.variances, strict=True):
            assert weight * (1 - theta**2) <= own <= weight * (1 + Fraction(1, 10**20))


def distance(counter: ToeplitzCounter) -> float:
    """Return how far one event moves the paths, with what rounding adds."""
    parts = counter.width
    smallest = min(counter._transition(j, 1)[1] for j in range(parts))
    added = (counter.times - 1) * ((parts + 0.25) ** 2 + (parts - 1) * 2.25**2)
    added += float(first_squared_shifts(parts))
    exact = math.sqrt(unbounded_design().squared_sensitivity / counter.variances[0])
    return exact + math.sqrt(added) / float(smallest)


@pytest.mark.parametrize("most", [1, 50, 1000])
def test_the_rounding_is_added_to_the_distance(most: int) -> None:
    for square in (Fraction(1, 20), Fraction(3), Fraction(60000)):
        used = distance(unbounded_counter(square, most))
        assert 0.86 * math.sqrt(square) < used <= math.sqrt(square) * (1 + 1e-12)


def made(**parameters: Any) -> dh.ContinualMechanism:
    shared = {"epsilon": "0.2", "delta": "1e-6", "horizon": None, "readings": 100}
    return dh.ContinualMechanism(**{**shared, **parameters})


@pytest.mark.parametrize(
    "parameters", [{}, {"readings": 1000}, {"max_labels": 3, "max_events_per_user": 4}], ids=str
)
def test_the_counter_of_a_mechanism_is_as_far_as_is_paid(parameters: dict[str, int]) -> None:
    """All labels of all events of a user together, hardly less: proofs/streams.md, Lemma 6."""
    mechanism = made(**parameters)
    counter = mechanism.counter
    assert isinstance(counter, ToeplitzCounter)
    moved = (mechanism.max_events_per_user or 1) * math.sqrt(mechanism.changed_labels)
    share = moved * distance(counter) / math.sqrt(2 * mechanism.guarantee.rho)
    assert 0.995 < share <= 1 + 1e-12


@pytest.mark.parametrize(("windows", "most"), [(None, 5), (2**37, 1), (2**35, 3), (2**40, 2)])
def test_readings_and_marks_are_all_paid_for(windows: int | None, most: int) -> None:
    """The clock is set ahead from one mark to the next: there are no 2**40 events."""
    mechanism = made(windows=windows, readings=most)
    stream = dh.ContinualHistogram._from_state(StreamState(mechanism), None)
    marks = list(range(windows, UNBOUNDED + 1, windows)) if windows else []
    readings = [7 + place for place in range(most)]
    for time in (*readings, *marks):
        stream._state.time = time - 1
        stream.update(["a"])
        if time in readings:
            stream.counts()
    counter, drawn = mechanism.counter, len(stream._state.noise.times)
    assert isinstance(counter, ToeplitzCounter)
    assert counter.times == drawn == most + len(marks)
    assert distance(counter) <= math.sqrt(2 * mechanism.guarantee.rho) * (1 + 1e-12)


def test_the_threshold_of_each_time_keeps_its_share_of_delta() -> None:
    mechanism = made(max_labels=3, max_events_per_user=4)
    counter = mechanism.counter
    assert isinstance(counter, ToeplitzCounter)
    thresholds = []
    with mpmath.workdps(40):
        for time in (1, 10, 1000, 10**6, 2**40):
            threshold = mechanism.threshold_at(time)
            assert threshold is not None
            thresholds.append(threshold)
            held = counter.variance_at(time)
            root = mpmath.sqrt(mpmath.mpf(held.numerator) / held.denominator)
            shares = []
            for count in (1, 2, 3, 4):
                away = threshold - count - counter.rounding
                chance = mpmath.erfc(mpmath.mpf(float(away)) / root / mpmath.sqrt(2)) / 2
                shares.append(float(chance / (mpmath.mpf("1e-6") / 300 * count / 4)))
            assert 0.99 < max(shares) <= 1 + 1e-9
    assert thresholds == sorted(thresholds)
    assert mechanism.threshold == thresholds[-1]


def test_readings_use_the_threshold_of_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the noise taken away: a label is read from the first count above the threshold on."""
    zeros = lambda self: np.zeros(len(self.rows), np.int64)  # noqa: E731
    monkeypatch.setattr(NoiseTable, "total", zeros)
    mechanism = made()
    seen = []
    for time in (500, 200_000):
        limit = mechanism.threshold_at(time)
        assert limit is not None
        least = math.floor(limit) + 1
        for count in (least - 1, least):
            stream = dh.ContinualHistogram(epsilon="0.2", delta="1e-6", horizon=None, readings=100)
            stream.update_many([["a"]] * count + [[]] * (time - count))
            assert stream.counts() == ({"a": count} if count == least else {})
        seen.append(least)
    assert seen[0] < seen[1]


@pytest.mark.verify
def test_a_stream_is_read_saved_continued_and_reported(tmp_path: Path, seeded: Any) -> None:
    source = seeded(2)
    stream = dh.ContinualHistogram(epsilon=1, delta="1e-3", horizon=None, readings=5)
    stream.update_many([["tea"], ["milk"], []] * 200, source=source)
    counts = stream.record(source=source)
    assert set(counts) == {"tea", "milk"}
    assert stream.remaining == 2**40 - 600
    stream.save(tmp_path / "s.state")
    loaded = dh.ContinualHistogram.load(tmp_path / "s.state")
    assert loaded.counts() == counts
    loaded.update(["tea"], source=source)
    release = loaded.release(source=source)
    assert dh.Release.from_json(release.to_json()) == release
    mechanism = release.mechanism
    width = mechanism.half_width(0.95, 601)
    assert width < mechanism.half_width(0.95) / 1.5
    bounds = mechanism.intervals(release)
    assert (bounds.upper - release.value.latest.counts).max() == width
    said = " ".join(summary_text(release).split())
    assert "601, public and known exactly, read 2 times; no horizon was chosen" in said
    assert "(after 601 events; less before)" in said
    assert f"± {width:,}, with probability" in said
    assert "no horizon was chosen" in report_html(release)
    assert "1,099,511,627,776 events" in report_html(release).replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"readings": None}, "readings must be given"),
        ({"readings": 2**40}, "bound the number of readings"),
        ({"labels": ["a"], "delta": 0}, "horizon must be given"),
        ({"method": "toeplitz"}, "horizon must be given"),
        ({"horizon": 1000, "method": "unbounded"}, "horizon must be None"),
    ],
)
def test_what_does_not_go_without_a_horizon(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        made(**parameters)


def test_known_labels_have_no_threshold() -> None:
    mechanism = made(labels=["a"], delta=None)
    assert mechanism.threshold is mechanism.threshold_at(5) is None
    assert dh.ContinualMechanism.needs_delta(labels=["a"]) is False


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = ["stream", "--state", str(tmp_path / "s.state"), "--epsilon", "1", "--dry-run"]
    endless = [*state, "--delta", "1e-6", "--horizon", "none"]
    assert main([*endless, "--readings", "10", "--expect-events", "5000"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "however long (it ends after 1,099,511,627,776 events)" in said
    assert "(after 5,000 events; less before)" in said
    assert "at any time up to 5,000 events; standard error at most" in said
    assert main(endless) != 0
    assert "--horizon none needs --readings" in capsys.readouterr().err
    (tmp_path / "known.txt").write_text("a\nb\n")
    pure = [*state, "--delta", "0", "--horizon", "500"]
    known = ["--known-labels", str(tmp_path / "known.txt")]
    assert main([*pure, *known]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Guarantee 1-differential privacy (pure) in all" in said
    assert "In zCDP ρ = 0.244919" in said
    for wrong, said in (
        (pure, "--delta 0 and --method laplace need --known-labels"),
        ([*pure, "--method", "binary", *known], "--delta 0 needs --method laplace"),
    ):
        assert main(wrong) != 0
        assert said in capsys.readouterr().err
