"""The hard instances have the distances that make the lower bounds' proofs work."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks import hard_instances as hard
from benchmarks import lower_bounds
from dphist import Profile, RankSplit
from dphist.anonymized.comparing import CONTENDERS
from dphist.document.compared import NOTHING, Contender
from dphist.lab.comparing.measuring import Effort, Measured

# (n, epsilon) at which ALGORITHMS' figures were checked: epsilon from 0.001 to 0.1.
WIDE = [(10**6, 0.1), (10**8, 0.03), (10**6, 0.01), (10**8, 0.01), (10**10, 0.001)]


def hamming(a, b) -> int:
    return int(np.count_nonzero(np.asarray(a) != np.asarray(b)))


@pytest.mark.parametrize("n", [1, 4, 9, 15, 16])
def test_low_privacy_distance_is_the_hamming_distance_of_all_bits(n) -> None:
    every = list(itertools.product((0, 1), repeat=hard.low_privacy_bits(n)))
    profiles = [hard.low_privacy(n, bits) for bits in every]
    for (a, p), (b, q) in itertools.product(zip(every, profiles, strict=True), repeat=2):
        assert p.distance(q) == hamming(a, b)


def test_low_privacy_distance_is_the_hamming_distance_of_random_bits() -> None:
    generator, n = np.random.default_rng(1), 10**6
    for _ in range(20):
        a, b = (hard.random_bits(hard.low_privacy_bits(n), generator) for _ in range(2))
        assert hard.low_privacy(n, a).distance(hard.low_privacy(n, b)) == hamming(a, b) > 400


@pytest.mark.parametrize("n", [*range(1, 30), 10**6])
def test_low_privacy_instance_has_at_most_n_records(n) -> None:
    k = hard.low_privacy_bits(n)
    assert (n - 2 * k) / 2 < hard.low_privacy(n, [1] * k).total <= n


@pytest.mark.parametrize(("n", "epsilon"), [(100, 0.1), (300, 0.3), (1000, 0.02)])
@pytest.mark.quick(every=3)
def test_high_privacy_distance_is_what_the_differing_bits_move(n, epsilon) -> None:
    moved = hard.moved_by_each_bit(n, epsilon)
    generator = np.random.default_rng(2)
    for _ in range(500):
        a, b = (hard.random_bits(len(moved), generator) for _ in range(2))
        distance = hard.high_privacy(n, epsilon, a).distance(hard.high_privacy(n, epsilon, b))
        assert distance == moved @ (a != b)


@pytest.mark.parametrize(("n", "epsilon"), WIDE)
def test_high_privacy_distance_of_random_bits(n, epsilon) -> None:
    generator, moved = np.random.default_rng(3), hard.moved_by_each_bit(n, epsilon)
    a, b = (hard.random_bits(len(moved), generator) for _ in range(2))
    distance = hard.high_privacy(n, epsilon, a).distance(hard.high_privacy(n, epsilon, b))
    assert distance == moved @ (a != b) > 0


@pytest.mark.parametrize(("n", "epsilon"), WIDE)
def test_high_privacy_sizes_are_those_of_the_proof(n, epsilon) -> None:
    moved = hard.moved_by_each_bit(n, epsilon)
    one = 1 / (2 * epsilon)
    assert 0.4 * one <= moved.min()
    assert 0.75 * one <= moved.mean() <= one
    assert moved.max() <= 1.45 * one
    assert 0.2 <= moved.sum() / hard.high_privacy_order(n, epsilon) <= 0.35
    for bits in (np.zeros_like(moved), np.ones_like(moved)):
        assert 0.19 * n <= hard.high_privacy(n, epsilon, bits).total <= 0.351 * n


@pytest.mark.parametrize(
    ("n", "epsilon", "together", "total"),
    [(10**8, 0.36, 0.13, 0.13), (10**8, 0.2, 0.15, 0.15), (10**10, 1e-4, 0.38, 0.38)],
)
def test_high_privacy_sizes_beyond_that_range_of_epsilon(n, epsilon, together, total) -> None:
    moved = hard.moved_by_each_bit(n, epsilon)
    assert moved.min() > 0
    assert moved.sum() / hard.high_privacy_order(n, epsilon) == pytest.approx(together, abs=0.01)
    assert hard.high_privacy(n, epsilon, np.ones_like(moved)).total / n == pytest.approx(
        total, abs=0.01
    )


@pytest.mark.parametrize("epsilon", [1 / math.e, 0.1, 0.01, 1e-3, 1e-4])
@pytest.mark.parametrize("n", [10**3, 10**4, 10**5, 10**6])
def test_high_privacy_instance_has_at_most_n_records_or_is_refused(n, epsilon) -> None:
    try:
        k = hard.high_privacy_bits(n, epsilon)
    except ValueError:
        assert n * epsilon <= 10
        return
    assert hard.high_privacy(n, epsilon, [1] * k).total <= n


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 0.4, 1.0, math.nan])
def test_high_privacy_refuses_epsilons_out_of_its_range(epsilon) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        hard.high_privacy_bits(10**6, epsilon)


@pytest.mark.parametrize("bits", [[0, 1], [0, 1, 2], [0, 1, 0, 1]])
def test_bits_must_be_as_many_as_there_are(bits) -> None:
    with pytest.raises(ValueError, match="3 zeros and ones"):
        hard.low_privacy(9, bits)


def test_slope_is_that_of_the_last_points() -> None:
    x = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]
    assert lower_bounds.slope(x, [9.0, 1.0, *(value**0.5 for value in x[2:])]) == pytest.approx(0.5)
    assert lower_bounds.slope(x[:3], x[:3]) is None


def test_releases_are_foreseen_from_the_nearest_made() -> None:
    done = {
        (10**4, Fraction(1)): Measured(2, 1, 1, seconds=1.0),
        (10**5, Fraction(1)): Measured(2, 1, 1, seconds=2.0),
    }
    assert lower_bounds.foreseen_seconds((10**6, Fraction(1, 2)), done) == pytest.approx(40)
    assert lower_bounds.foreseen_seconds((10**3, Fraction(2)), done) == pytest.approx(1)
    assert lower_bounds.foreseen_seconds((10**9, Fraction(1)), {}) == 0


@pytest.mark.usefixtures("repeatable")
def test_rank_split_keeps_the_order_of_the_low_privacy_bound() -> None:
    """Told n, its error is about 2 sqrt(n) e^-epsilon on these instances: noise on each row."""
    split = next(one for one in CONTENDERS if one.name == "RankSplit, n known")
    points = [(10**power, Fraction(2)) for power in (4, 5, 6, 7)]
    effort = Effort(target=0.02, fewest=10, most=60, seconds=2)
    errors = [
        lower_bounds.measure_at(lower_bounds.LOW, split, point, effort).error for point in points
    ]
    fitted = lower_bounds.slope([n for n, _ in points], errors)
    assert fitted is not None
    assert 0.45 < fitted < 0.55
    assert 1.5 < errors[-1] / hard.low_privacy_order(10**7, 2) < 2.5


def test_a_mechanism_that_fails_at_a_point_goes_on_at_the_next(capsys) -> None:
    def make(epsilon: Fraction, profile: Profile) -> RankSplit:
        if profile.total > 10**4:
            raise MemoryError("too large")
        return RankSplit(epsilon=epsilon)

    points = [(n, Fraction(1)) for n in (10**3, 10**5, 10**4)]
    regime = replace(lower_bounds.LOW, by_total=points, by_epsilon=[])
    contender = Contender("greedy", NOTHING, make, "")
    found, skipped = lower_bounds.examine(regime, contender, Effort(most=2), 600.0)
    assert list(found.results) == [points[0], points[2]]
    assert skipped == ["n = 10^5, ε = 1 (failed)"]
    assert "too large" in capsys.readouterr().err


@pytest.mark.verify
def test_the_program_prints_and_draws(tmp_path, capsys, monkeypatch) -> None:
    """Few points and one mechanism; too slow a one is named."""
    by_total = [(10**power, Fraction(1, 10)) for power in (4, 5, 6, 7)]
    by_epsilon = [(10**6, Fraction(1, part)) for part in (10, 20, 50, 100)]
    for name in ("LOW", "HIGH"):
        regime = replace(getattr(lower_bounds, name), by_total=by_total, by_epsilon=by_epsilon)
        monkeypatch.setattr(lower_bounds, name, regime)
    common = ["--mechanisms", "RankSplit", "--output", str(tmp_path), "--seconds", "0.01"]
    lower_bounds.main(common)
    printed = capsys.readouterr().out
    assert "Skipped, too slow or failed: none." in printed
    assert printed.strip() in (tmp_path / "lower_bounds.md").read_text()
    assert printed.count("| bound's order |") == 4
    assert (tmp_path / "lower_bounds.png").read_bytes().startswith(b"\x89PNG")
    lower_bounds.main([*common, "--slowest", "0"])
    assert "Skipped, too slow or failed: RankSplit at n = 10^5, ε = 0.1" in capsys.readouterr().out
