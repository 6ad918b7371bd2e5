"""What Hay et al. (2010) claim of their three inferences, where it holds, and where not.

Every mean lies at least six of its standard errors from each of the limits here, so another seed
would fail a test with a probability below 1e-6.
"""

import itertools
import random
from functools import cache

import numpy as np
import pytest
from benchmarks.hay2010 import __main__ as hay2010
from benchmarks.hay2010 import errors as hay

from dphist import Profile
from dphist.anonymized.inference import isotonic_decreasing

RUNS = 40
SHORT = 10_000  # shorter sequences get as much noise in all as one of this length
REAL = [
    "SEARCHLOGS",
    "NETTRACE",
    "degrees_facebook_combined",
    "degrees_wiki-Vote",
    "degrees_ca-GrQc",
    "degrees_ca-HepTh",
    "degrees_p2p-Gnutella31",
    "words_subtlex_us, top 20,000",
]
SHIPPED = "words_shakespeare, top 20,000"
# Too many distinct counts: docs/understand/hay2010.md says why.
LESS_THAN_TEN = {("SEARCHLOGS", "1"), ("words_subtlex_us, top 20,000", "1")}


@cache
def every() -> dict[str, hay.Histogram]:
    return {histogram.name: histogram for histogram in hay.histograms()}


def found(name: str) -> hay.Histogram:
    if name not in every():
        pytest.skip(f"{name} is not shipped; name a folder that has it in DPHIST_DATA")
    return every()[name]


@cache
def errors(name: str, epsilon: str) -> dict[str, hay.FloatArray]:
    source = random.Random(f"{name} {epsilon}").randbytes
    runs = RUNS * max(1, SHORT // found(name).labels)
    return hay.squared_errors(found(name), epsilon, runs, source=source)


def gain(name: str, epsilon: str, inference: str = "projected") -> float:
    """How many times more S̃ errs than S̄."""
    mine = errors(name, epsilon)
    return hay.ratio(mine["raw"], mine[inference]).value


def behind(name: str, epsilon: str) -> float:
    """How many times more S̃_r errs than S̄."""
    mine = errors(name, epsilon)
    return hay.ratio(mine["sorted"], mine["projected"]).value


def claimed_gain(value: float) -> bool:
    """Whether S̄ errs at most a tenth of S̃ (section 5.1)."""
    return value >= 10


@pytest.mark.parametrize("epsilon", hay2010.EPSILONS)
@pytest.mark.parametrize("name", [*REAL, SHIPPED])
@pytest.mark.quick(every=14)
def test_projecting_gains_ten_times_but_for_two_sequences(name, epsilon) -> None:
    for inference in ("projected", "rounded"):  # the paper's S̄, and what is released
        measured = gain(name, epsilon, inference)
        assert claimed_gain(measured) == ((name, epsilon) not in LESS_THAN_TEN)
        assert measured > 5


@pytest.mark.parametrize("name", [*REAL, SHIPPED])
@pytest.mark.quick(every=5)
def test_the_gain_grows_as_epsilon_falls(name) -> None:
    assert gain(name, "1") < gain(name, "0.1") < gain(name, "0.01")


def test_the_gain_on_the_shipped_words() -> None:
    assert 25 < gain(SHIPPED, "1") < 35
    assert gain(SHIPPED, "0.1") > 70
    assert gain(SHIPPED, "0.01") > 180
    assert behind(SHIPPED, "1") > 3.5


def test_sorting_comes_close_on_the_social_network_at_epsilon_1() -> None:
    social = "degrees_facebook_combined"
    assert 0.95 < behind(social, "1") < 1.2
    # Not so at larger and at smaller epsilon; and in between it is the better of the two.
    assert behind(social, "2") > 1.5
    assert behind(social, "4") > 3
    assert behind(social, "0.5") < 0.95
    assert behind(social, "0.01") > 25


def test_sorting_stays_behind_on_the_network_trace() -> None:
    assert all(behind("NETTRACE", epsilon) > 15 for epsilon in hay2010.EPSILONS)


@pytest.mark.verify
@pytest.mark.parametrize("name", [*REAL, SHIPPED])
def test_the_error_keeps_to_the_bound(name) -> None:
    """n v for S̃, at most v Σ H(nᵢ) for S̄, v being the variance of the noise."""
    for epsilon in hay2010.EPSILONS:
        mine, variance = errors(name, epsilon), hay.noise_variance(epsilon)
        raw, projected = mine["raw"], mine["projected"]
        expected = found(name).labels * variance
        assert abs(raw.mean() - expected) < 10 * hay.standard_error(raw)
        bound = variance * hay.harmonic_sum(found(name).runs)
        assert projected.mean() < bound + 10 * hay.standard_error(projected)


@pytest.mark.verify
def test_the_bound_is_reached_where_counts_are_far_apart(seeded) -> None:
    profile = Profile.from_prevalences([10**4, 2 * 10**4, 3 * 10**4], [60, 1, 7])
    stairs = hay.Histogram("stairs", "nothing", profile, 100)
    assert stairs.runs.tolist() == [32, 60, 1, 7]
    for epsilon in ("2", "0.1"):
        mine = hay.squared_errors(stairs, epsilon, 2000, source=seeded(1))["projected"]
        bound = hay.noise_variance(epsilon) * hay.harmonic_sum(stairs.runs)
        assert abs(mine.mean() - bound) < 6 * hay.standard_error(mine)
        assert hay.standard_error(mine) < 0.03 * bound


@pytest.mark.parametrize(
    "noise", [(-3, -1, 0, 0, 4, 5), (2, 2, 2, -1, -1, -4), (1, 5, 7, 9, 20, 0)]
)
def test_projected_noise_of_a_run_has_harmonic_size(noise) -> None:
    """The lemma of hay2010.md, over all orders of some noise: E|P z|² = Σ E[S_k²] / k²."""
    orders = np.array(list(itertools.permutations(noise)), float)
    sizes = [float(np.square(isotonic_decreasing(order)).sum()) for order in orders]
    partial = np.cumsum(orders, axis=1) / np.arange(1, len(noise) + 1)
    assert np.mean(sizes) == pytest.approx(np.square(partial).mean(axis=0).sum())


def increasing(noisy):
    return isotonic_decreasing(noisy[::-1])[::-1]


def running_mean(noisy):
    return np.convolve(np.pad(noisy, 4, mode="edge"), np.full(9, 1 / 9), "valid")


def in_blocks_of_eight(noisy):
    return np.concatenate([isotonic_decreasing(part) for part in np.split(noisy, len(noisy) // 8)])


@pytest.mark.verify
@pytest.mark.parametrize(
    "broken",
    [lambda noisy: noisy, increasing, running_mean, in_blocks_of_eight],
    ids=["identity", "increasing", "running mean", "blocks"],
)
@pytest.mark.parametrize("name", ["NETTRACE", SHIPPED])
def test_the_claim_fails_for_a_broken_inference(name, broken, seeded) -> None:
    among = {"raw": hay.inferences(1)["raw"], "projected": broken}
    mine = hay.squared_errors(found(name), "1", 5, among, seeded(2))
    assert not claimed_gain(hay.ratio(mine["raw"], mine["projected"]).value)


@pytest.mark.parametrize("name", ["NETTRACE", "degrees_ca-HepTh", SHIPPED])
def test_the_error_vanishes_inside_long_runs(name, seeded) -> None:
    """Fig. 7: the head keeps the noise, the middle of a long run has next to none."""
    histogram = found(name)
    mine = hay.errors_by_position(histogram, "1", RUNS, source=seeded(3))["projected"]
    first, last = hay2010.figures.longest_run(histogram)
    quarter = (last - first + 1) // 4
    variance = hay.noise_variance("1")
    assert mine[:5].mean() > 0.2 * variance
    assert mine[first - 1 + quarter : last - quarter].mean() < 0.09 * variance


def test_the_raw_counts_are_not_clipped(seeded) -> None:
    """S̃ keeps its negative counts, and so twice the error of half a run of zeros."""
    zeros = hay.Histogram("zeros", "nothing", Profile.from_counts([]), 5000)
    mine = hay.squared_errors(zeros, "0.1", 20, source=seeded(4))
    assert hay.ratio(mine["raw"], mine["sorted"]).value == pytest.approx(2, rel=0.1)


def test_standard_error_of_a_ratio_is_that_of_repeated_measurements() -> None:
    generator = np.random.default_rng(5)  # not noise: made-up errors
    common = generator.gamma(50, size=(4000, 30))
    over, under = 3 * common, common + generator.gamma(5, size=common.shape)
    each = [hay.ratio(a, b) for a, b in zip(over, under, strict=True)]
    spread = np.std([one.value for one in each])
    assert np.mean([one.standard_error for one in each]) == pytest.approx(spread, rel=0.1)


@pytest.mark.verify
def test_the_program_does_with_what_is_shipped(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("DPHIST_DATA", str(tmp_path / "absent"))
    hay2010.main(["--runs", "2", "--output", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    assert "only what is shipped" in printed
    assert printed.count(f"| {SHIPPED} |") == 1 + len(hay2010.EPSILONS)
    drawn = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert drawn == ["hay2010-errors.png", "hay2010-positions-keywords.png"]
    for name in drawn:
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")


def test_one_run_is_refused(tmp_path, capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        hay2010.main(["--runs", "1", "--output", str(tmp_path)])
    assert stopped.value.code == 2
    assert "at least 2" in capsys.readouterr().err
