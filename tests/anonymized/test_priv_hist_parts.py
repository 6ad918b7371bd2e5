"""PrivHist's regions and decoding, piece by piece, against the published definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist import PrivHist, Profile
from dphist.anonymized.priv_hist import regions
from dphist.anonymized.priv_hist.decoding import decode_blocks, decode_split, without_closest

NONE = np.zeros(0, np.int64)


@pytest.mark.parametrize(("total", "epsilon", "expected"), [(1, 5, 1), (10, 5, 4), (10, 0.1, 1)])
def test_threshold_is_the_root_of_the_total(total, epsilon, expected) -> None:
    assert regions.threshold(total, epsilon) == expected


@given(st.integers(1, 2**61), st.floats(1e-9, 1e9))
def test_noise_rarely_exceeds_the_fake_counts(total: int, epsilon: float) -> None:
    """Pr[|Z| > M] <= 2 N**-2, as the published choice of M promises."""
    fakes = regions.fake_counts(total, epsilon)
    assert fakes >= 1
    assert epsilon * fakes >= 2 * math.log(total) * (1 - 1e-12)


@pytest.mark.verify
@settings(deadline=None)
@given(st.integers(1, 10**9), st.floats(1e-2, 1.0), st.lists(st.integers(-50, 10**13), max_size=20))
def test_boundaries_are_those_of_step_h2(total: int, epsilon: float, noisy: list[int]) -> None:
    start = regions.threshold(total, epsilon)
    ends = regions.boundaries(total, start, epsilon, np.array(noisy, np.int64))
    last, own = 2 * total, 10 * math.sqrt(total / epsilon**3)
    assert ends[-1] == last
    assert np.all(np.diff(ends) > 0)
    assert np.array_equal(ends[: min(start, last)], np.arange(1, min(start, last) + 1))
    assert set(ends.tolist()) >= {x for x in noisy if own <= x <= last}
    # Between T and T' no block is more than a factor 1 + q long, but for rounding to integers.
    q = math.sqrt(max(-math.log(epsilon), 0.5) / (total * epsilon))
    middle = ends[(ends >= start) & (ends <= min(own, last))]
    assert np.all(middle[1:] <= (middle[:-1] + 1) * (1 + q) + 1)
    extra = [x for x in ends.tolist() if x > max(own, start) and x != last]
    assert set(extra) <= set(noisy)


@pytest.mark.verify
def test_number_of_boundaries_grows_like_the_root() -> None:
    """Half a power of n, up to logarithms: a thousand times the records, some 32 times the ends."""
    for epsilon in (1.0, 0.1, 0.01):
        few, many = (
            len(regions.boundaries(n, regions.threshold(n, epsilon), epsilon, NONE))
            for n in (10**8, 10**11)
        )
        assert 20 < many / few < 60


@pytest.mark.verify
@given(st.lists(st.integers(1, 30), max_size=12), st.integers(1, 6), st.integers(0, 5))
def test_fake_counts_are_taken_out_again(counts: list[int], start: int, fakes: int) -> None:
    """With no noise, and any number of labels moved across T that fake counts allow."""
    truth = Profile.from_counts(counts)
    above = sum(count > start for count in counts)
    for moved in range(-fakes, fakes + 1):
        # Fake counts M at T and at T + 1; `moved` of those at T become T + 1.
        small = [min(c, start) for c in counts if c <= start] + [start] * (fakes - moved)
        rows = sorted([c for c in counts if c > start] + [start + 1] * (fakes + moved))[::-1]
        columns = np.array([sum(c >= r for c in small) for r in range(1, start + 1)], np.int64)
        released = decode_split(columns, np.array(rows, np.int64), fakes)
        # Fake counts moved from T to T + 1 come back as T: published, and at most one cell each.
        assert released.distance(truth) <= abs(moved)
        assert moved or released.distance(truth) == 0
    assert above <= len(counts)


@pytest.mark.verify
@given(
    st.dictionaries(st.integers(1, 20), st.integers(1, 5), max_size=6),
    st.integers(1, 10),
    st.integers(0, 12),
)
def test_the_closest_are_removed(prevalences: dict[int, int], place: int, fakes: int) -> None:
    counts = np.array(list(prevalences), np.int64)
    how_many = np.array(list(prevalences.values()), np.int64)
    remaining = without_closest(counts, how_many, place, place + 1, fakes)
    expanded = sorted(np.repeat(counts, how_many).tolist(), key=lambda c: abs(c - place))
    kept = sorted(abs(c - place) for c in np.repeat(counts, remaining).tolist())
    assert kept == [abs(c - place) for c in expanded[fakes:]]


def test_blocks_spread_their_cells_evenly() -> None:
    ends, cells = np.array([1, 2, 6, 10]), np.array([9, 7, 12, 4])
    profile = decode_blocks(ends, cells)
    assert profile.cumulative_prevalences([1, 2, 3, 6, 7, 10, 11]).tolist() == [9, 7, 3, 3, 1, 1, 0]


def test_wide_blocks_weigh_more() -> None:
    """A noisy single column gives way to a block whose mean height is known far better."""
    profile = decode_blocks(np.array([1, 101]), np.array([0, 1000]))
    assert profile.cumulative_prevalences([1, 50]).tolist() == [10, 10]


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "1", "2", "4"])
def test_default_shares_follow_epsilon_alone(epsilon) -> None:
    mechanism = PrivHist(epsilon=epsilon)
    smoothed = mechanism.block_epsilon is not None
    assert smoothed == (float(epsilon) <= 0.1)
    spent = mechanism.total_epsilon + mechanism.split_epsilon + (mechanism.block_epsilon or 0)
    assert spent == mechanism.epsilon
    assert PrivHist(epsilon=mechanism.epsilon * 3, sensitivity=3).cell_epsilon == (
        mechanism.cell_epsilon
    )


def test_published_shares_leave_the_third_unspent_at_low_privacy() -> None:
    low, high = (PrivHist(epsilon=e, shares=(1, 1, 1)) for e in (3, "0.3"))
    assert (low.total_epsilon, low.split_epsilon, low.block_epsilon) == (1, 1, None)
    assert high.block_epsilon == high.split_epsilon == high.epsilon / 3


@pytest.mark.parametrize("epsilon", [4, 1, "0.1", "0.01"])
@pytest.mark.quick(every=3)
def test_work_is_sublinear(epsilon, seeded) -> None:
    """Noisy numbers of 10^10 records: thousands of times fewer than records."""
    profile = Profile.from_prevalences(10**10 // np.arange(1, 2000), np.ones(1999, np.int64))
    noisy = PrivHist(epsilon=epsilon).release(profile, seeded(1)).noisy
    assert sum(map(len, noisy.values())) < 50 * math.sqrt(profile.total)
