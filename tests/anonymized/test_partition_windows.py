"""Windows of the partition sampler, against all partitions within the distance, and the distance.

Lemmas 2 and 3 of docs/understand/proofs/partition_sampler.md.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dphist as dh
from dphist.anonymized.partition_sampler import proposals as partition_proposals
from dphist.anonymized.partition_sampler.radius import log_mass_of_cut, minus_log_above, radius
from dphist.anonymized.partition_sampler.windows import (
    beyond_corner,
    find_windows,
    missing_in_square,
    row_windows,
)
from tests.support.privacy.diagrams import Partition, partitions, profile

EVERY = [p for n in range(13) for p in partitions(n)]


def side(partition: Partition) -> int:
    return sum(count >= i for i, count in enumerate(partition, start=1))


def columns(partition: Partition) -> Partition:
    return tuple(sum(c >= r for c in partition) for r in range(1, max(partition, default=0) + 1))


def entry(partition: Partition, i: int) -> int:
    return partition[i] if i < len(partition) else 0


@pytest.mark.long(every=2)
@pytest.mark.quick(
    "[()]", "[(1,)]", "[(2,)]", "[(1, 1)]", "[(3,)]", "[(2, 1)]", "[(1, 1, 1)]", "[(2, 2)]"
)
@pytest.mark.parametrize("data", [p for n in range(7) for p in partitions(n)], ids=str)
def test_windows_hold_every_partition_within_the_distance_and_no_more(data: Partition) -> None:
    for distance in range(6):
        near = [p for p in EVERY if profile(p).distance(profile(data)) <= distance]
        windows = find_windows(profile(data), distance)
        sides = [side(p) for p in near]
        assert (windows.smallest, windows.largest) == (min(sides), max(sides))
        for found, of in ((windows.rows, near), (windows.columns, [columns(p) for p in near])):
            for i in range(windows.largest):
                values = [entry(p, i) for p in of]
                assert (found.least[i], found.most[i]) == (min(values), max(values))


def test_cells_around_squares() -> None:
    for data in (p for n in range(9) for p in partitions(n)):
        sides = np.arange(6)
        cells = {(i, r) for i, count in enumerate(data) for r in range(count)}
        for s in sides:
            missing = sum((i, r) not in cells for i in range(s) for r in range(s))
            beyond = sum(i >= s and r >= s for i, r in cells)
            diagram, conjugate = profile(data), profile(data).conjugate()
            assert missing_in_square(diagram, conjugate, sides)[s] == missing
            assert beyond_corner(diagram, conjugate, sides)[s] == beyond


def test_windows_next_to_the_largest_numbers_do_not_wrap() -> None:
    """One label of nearly 2**62 records, rows that would leave int64 if multiplied as they are."""
    most = 2**62 - 1
    found = row_windows(profile((most,)), 3, 2**60)
    # Row 2 is raised to v by v cells, and row 3 by 2 v; row 1 may lose and gain as much.
    assert found.most.tolist() == [most + 2**60, 2**60, 2**59]
    assert found.least.tolist() == [most - 2**60, 0, 0]
    windows = find_windows(profile((most,)), 10)
    assert (windows.smallest, windows.largest) == (1, 3)
    assert windows.rows.most.tolist() == [most + 10, 10, 5]


@pytest.mark.parametrize("distance", [0, 1, 7, 10**9, 2**61, 2**62])
def test_windows_of_long_rows_are_those_of_whole_numbers(distance: int) -> None:
    """Against Lemma 3 in Python's integers, for rows whose products with their place are large."""
    rows = [2**60, 2**59, 2**58 + 1, 2**58, 5]
    found = row_windows(profile(tuple(rows)), 30, distance)
    true = [*rows, *[0] * 25]

    def outside(i: int, v: int) -> int:
        return sum(max(v - row, 0) for row in true[: i + 1])

    def beyond(i: int, v: int) -> int:
        return sum(max(row - v, 0) for row in true[i:])

    for i, (least, most) in enumerate(zip(found.least.tolist(), found.most.tolist(), strict=True)):
        assert outside(i, most) <= distance < outside(i, most + 1)
        assert beyond(i, least) <= distance
        assert least == 0 or beyond(i, least - 1) > distance


# --- the radius (Lemma 2) --------------------------------------------------------------------


def log_tail(n: int, rate: mpmath.mpf, distance: int, t: mpmath.mpf) -> mpmath.mpf:
    """The logarithm of Lemma 2's bound."""
    c = mpmath.pi * mpmath.sqrt(mpmath.mpf(2) / 3)
    log_z = mpmath.log(2) + c * mpmath.sqrt(n) + c * c / (2 * t)
    return log_z - mpmath.log(-mpmath.expm1(-t / 2)) - (rate - t) * distance


@given(
    st.integers(0, 2**62),
    st.fractions(Fraction(1, 2000), 500, max_denominator=10**6),
    st.fractions(0, 2000, max_denominator=10**6),
)
@settings(max_examples=20, deadline=None)
def test_radius_is_never_below_the_lemma_s_and_hardly_above(n, rate, log_mass) -> None:
    with mpmath.workdps(60):
        exact = mpmath.mpf(rate.numerator) / rate.denominator
        mass = mpmath.mpf(log_mass.numerator) / log_mass.denominator
        found = radius(n, rate, log_mass)
        grid = [exact * k / 4096 for k in range(1, 4096, 160)]
        middle_first = sorted(range(1, 4096), key=lambda k: abs(k - 2048))
        assert any(log_tail(n, exact, found, exact * k / 4096) <= -mass for k in middle_first)
        # The constants are known to nine digits.
        smaller = math.floor(found * (1 - 1e-8)) - 1
        assert all(log_tail(n, exact, smaller, t) > -mass for t in grid)


@given(
    st.one_of(
        st.fractions(0, 1).filter(bool),
        st.integers(1, 400).map(lambda k: Fraction(1, 10**k)),
        st.integers(1, 400).map(lambda k: 1 - Fraction(1, 10**k)),
    )
)
def test_logarithms_are_rounded_up(p: Fraction) -> None:
    with mpmath.workdps(450):
        true = -mpmath.log(mpmath.mpf(p.numerator) / p.denominator)
        found = minus_log_above(p)
        assert true <= mpmath.mpf(found.numerator) / found.denominator <= true + 2.0**-30


@pytest.mark.parametrize("epsilon", ["1/1000", "1", "40", "700", "1000000"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-300", "0.999999"])
def test_what_may_be_cut_is_delta_over_one_plus_e_to_the_epsilon(epsilon, delta) -> None:
    with mpmath.workdps(400):
        exact = mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
        true = mpmath.log(1 + mpmath.exp(exact)) - mpmath.log(mpmath.mpf(delta))
        found = log_mass_of_cut(Fraction(delta), Fraction(epsilon))
        assert true <= mpmath.mpf(found.numerator) / found.denominator <= true + 2.0**-30


def test_radius_grows_with_the_data_and_shrinks_with_the_rate() -> None:
    half, tenth, mass = Fraction(1, 2), Fraction(1, 10), Fraction(20)
    assert radius(0, half, mass) < radius(10**6, half, mass) < radius(10**6, tenth, mass)
    assert radius(100, half, Fraction(10)) < radius(100, half, Fraction(30))


# --- parameters ------------------------------------------------------------------------------


EXTREMES = [
    *[("1/64", "1e-9", 1), ("1", "1e-300", 1), ("1", "1e-399", 1), ("1", "0.999999", 1)],
    *[("64", "1e-300", 1), ("1000", "1e-9", 1), ("5", "1e-9", 200), ("3000", "1e-30", 3)],
]


@pytest.mark.parametrize(("epsilon", "delta", "sensitivity"), EXTREMES)
@pytest.mark.parametrize("counts", [[], [10**6], [1] * 1000, [300] * 300], ids=len)
@pytest.mark.quick(every=7)
def test_extreme_parameters_work_on_extreme_profiles(
    counts, epsilon, delta, sensitivity, seeded, monkeypatch
) -> None:
    """And from the first proposal on: no table of floats has too short a range."""
    monkeypatch.setattr(partition_proposals, "TRIES", 2)
    monkeypatch.setattr(partition_proposals, "draw_exactly", None)
    mechanism = dh.PartitionSampler(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    data = dh.Profile.from_counts(counts)
    release = mechanism.release(data, seeded(1))
    assert release.guarantee == dh.ApproxDP(epsilon, delta, dh.PrivacyUnit("record", sensitivity))
    assert data.distance(release.value) <= mechanism.distance(data)
    if mechanism.rate > 8:
        assert release.value.distance(data) == 0


@pytest.mark.parametrize("epsilon", ["1/1001", "1001", 10**8])
def test_epsilons_that_floats_do_not_reach_are_refused(epsilon) -> None:
    with pytest.raises(dh.errors.ParameterError, match=r"epsilon .*PrivHist"):
        dh.PartitionSampler(epsilon=epsilon, delta=1e-9)
    with pytest.raises(dh.errors.ParameterError, match=r"epsilon .*PrivHist"):
        dh.PartitionSampler(epsilon=3 * Fraction(epsilon), delta=1e-9, sensitivity=3)
