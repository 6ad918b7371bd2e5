"""Transcripts of the anonymized mechanisms, replayed at production scale.

A thousand million labels, counts above 10**9 and up to 2**61, calls of more than 2**22 draws, and
epsilon from the smallest that is accepted, or can be run, to the largest. Lemmas 1 to 3 of
docs/understand/proofs/adaptive_scan.md, sorted_counts.md, cumulative_counts.md and rank_split.md,
and 1 to 4 of priv_hist.md.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist import (
    AdaptiveScan,
    CumulativeCounts,
    ParameterError,
    PrivHist,
    Profile,
    RankSplit,
    SortedCounts,
)
from dphist.lab.auditing.replay import Told, loss_of_neighbours, record, replay

profile = Profile.from_prevalences

# Labels of few records, of many, of very many: neighbours, with a cell of a large count added.
HUGE = profile([1, 3, 40, 10**4, 10**9 + 7, 2**50], [10**9, 10**6, 1000, 50, 2, 1])
HUGE_MORE = profile(
    [1, 3, 40, 10**4, 10**9 + 7, 10**9 + 8, 2**50], [10**9, 10**6, 1000, 50, 1, 1, 1]
)
LARGE = profile([1, 3, 40, 10**4, 10**9 + 7], [10**4, 10**3, 100, 5, 2])
LARGE_MORE = profile([1, 3, 40, 10**4, 10**9 + 7, 10**9 + 8], [10**4, 10**3, 100, 5, 1, 1])
# A label of one record more, a record of a small label more, and the one large count at 10**9.
SMALL_CELLS = [
    (LARGE, profile([1, 3, 40, 10**4, 10**9 + 7], [10**4 + 1, 10**3, 100, 5, 2])),
    (LARGE, profile([1, 3, 4, 40, 10**4, 10**9 + 7], [10**4, 10**3 - 1, 1, 100, 5, 2])),
    (profile([1, 10**9], [40, 1]), profile([1, 10**9 + 1], [40, 1])),
]
# All that two data sets may differ in: what is asked for may not depend on it.
FAR = [profile([], []), profile([2**61], [1]), profile([1], [2**61]), profile([5], [10**9])]

TOTAL: dict[int, Told] = {0: lambda data: np.array([data.total])}
SPARE = 1023  # the scan draws this many at once, and may leave all but one unused


def check(
    mechanism: Any, pairs: Any, told: Any = None, spare: int = 0, *, whole: bool = True
) -> None:
    """Check that neighbours lose epsilon at most, and that any data ask for the same."""
    worst = Fraction(0)
    for one, other in pairs:
        epsilon, rho = loss_of_neighbours(mechanism.release, one, other, told=told, spare=spare)
        assert epsilon <= mechanism.epsilon
        assert rho == 0
        worst = max(worst, epsilon)
    if whole:
        assert worst == mechanism.epsilon
    transcript = record(mechanism.release, pairs[0][0], told=told)
    for data in FAR:
        replay(transcript, mechanism.release, data, told=told)


def several(sensitivity: int) -> list[tuple[Profile, Profile]]:
    """Neighbors of this many cells: all in one large count, or in as many labels."""
    more = profile(
        [1, 3, 40, 10**4, 10**9 + 7, 10**9 + 7 + sensitivity], [10**4, 10**3, 100, 5, 1, 1]
    )
    labels = profile([1, 3, 40, 10**4, 10**9 + 7], [10**4 + sensitivity, 10**3, 100, 5, 2])
    return [(LARGE, more), (LARGE, labels), (more, LARGE)]


@pytest.mark.quick("[0.001]", "[1]")
@pytest.mark.parametrize("epsilon", ["1e-9", "0.001", "1", "64", "100", "1e9"])
def test_sorted_counts(epsilon: str) -> None:
    mechanism = SortedCounts(epsilon=epsilon, labels=2**14 + 3)
    check(mechanism, [(LARGE, LARGE_MORE), *SMALL_CELLS])
    check(SortedCounts(epsilon=epsilon, labels=5000), [(HUGE, HUGE_MORE)])


@pytest.mark.quick("[1]", "[64]")
@pytest.mark.parametrize("epsilon", ["1e-9", "0.001", "1", "64", "100", "1e9"])
def test_cumulative_counts(epsilon: str) -> None:
    mechanism = CumulativeCounts(epsilon=epsilon, largest=2**14 + 3)
    check(mechanism, [(LARGE, LARGE_MORE), *SMALL_CELLS])
    check(CumulativeCounts(epsilon=epsilon, largest=5000), [(HUGE, HUGE_MORE)], whole=False)


@pytest.mark.long(every=2)
@pytest.mark.quick("[1]")
@pytest.mark.parametrize("epsilon", ["1e-9", "0.001", "1", "64", "100", "1e9"])
def test_rank_split_of_a_public_total(epsilon: str) -> None:
    mechanism = RankSplit(epsilon=epsilon, total=10**8)
    check(mechanism, [(LARGE, LARGE_MORE), (HUGE, HUGE_MORE)])
    check(mechanism, SMALL_CELLS)


@pytest.mark.long(every=2)
@pytest.mark.quick("[1]", "[64]")
@pytest.mark.parametrize("epsilon", ["1e-7", "0.001", "1", "64", "100", "1e9"])
def test_rank_split(epsilon: str) -> None:
    check(RankSplit(epsilon=epsilon), [(LARGE, LARGE_MORE), *SMALL_CELLS], TOTAL)


@pytest.mark.long(every=2)
@pytest.mark.quick("[1]", "[64]")
@pytest.mark.parametrize("epsilon", ["1e-4", "0.01", "1", "2", "64", "100", "1e8"])
def test_priv_hist(epsilon: str) -> None:
    check(PrivHist(epsilon=epsilon), [(LARGE, LARGE_MORE), *SMALL_CELLS], TOTAL, whole=False)


@pytest.mark.quick("[1/100]")
@pytest.mark.parametrize("epsilon", ["1/100", "1/10", "1"])
def test_priv_hist_with_all_its_shares(epsilon: str) -> None:
    """Total, split and blocks are measured, and noisy counts end blocks."""
    mechanism = PrivHist(epsilon=epsilon, shares=(1, 1, 1))
    more = profile([1, 3, 40, 10**4, 10**7, 10**7 + 1], [10**4, 10**3, 100, 5, 1, 1])
    less = profile([1, 3, 40, 10**4, 10**7], [10**4, 10**3, 100, 5, 2])
    check(mechanism, [(less, more), (more, less), *SMALL_CELLS], TOTAL, whole=False)


@pytest.mark.long(every=2)
@pytest.mark.quick("[1]", "[0.01]")
@pytest.mark.parametrize("epsilon", ["1e-4", "0.01", "1", "2", "64", "100", "1e9"])
def test_the_adaptive_scan(epsilon: str) -> None:
    pairs = [(HUGE, HUGE_MORE), (LARGE, LARGE_MORE), *SMALL_CELLS]
    check(AdaptiveScan(epsilon=epsilon), pairs, spare=SPARE)


@pytest.mark.quick("[64]")
@pytest.mark.parametrize("epsilon", ["1", "64"])
def test_an_adaptive_scan_of_thousands_of_blocks(epsilon: str) -> None:
    """A long curve, counted in runs of dozens of blocks, with draws from several calls."""
    counts = np.arange(1, 3000)
    curve = profile(counts, 1 + 10**7 // counts**2)
    longer = profile([*counts, 3000], [*(1 + 10**7 // counts[:-1] ** 2), 1, 1])
    more = profile(counts, [10**7 + 2, *(1 + 10**7 // counts[1:] ** 2)])
    mechanism = AdaptiveScan(epsilon=epsilon)
    assert len(record(mechanism.release, curve).entries) > 1
    check(mechanism, [(curve, more), (curve, longer)], spare=SPARE)


@pytest.mark.quick("[2]")
@pytest.mark.parametrize("sensitivity", [2, 1000])
def test_units_of_several_cells(sensitivity: int) -> None:
    pairs = several(sensitivity)
    own: dict[str, Any] = {"epsilon": 1, "sensitivity": sensitivity}
    check(SortedCounts(labels=2**14 + 3, **own), pairs)
    check(CumulativeCounts(largest=2**14, **own), pairs)
    check(RankSplit(total=10**8, **own), pairs)
    check(RankSplit(**own), pairs, TOTAL)
    check(PrivHist(**own), pairs, TOTAL, whole=False)
    check(AdaptiveScan(**own), pairs, spare=SPARE)


SMALLEST = [
    lambda epsilon: SortedCounts(epsilon=epsilon, labels=1),
    lambda epsilon: CumulativeCounts(epsilon=epsilon, largest=1),
    lambda epsilon: RankSplit(epsilon=epsilon, total=1),
    lambda epsilon: AdaptiveScan(epsilon=epsilon),
]


@pytest.mark.parametrize("make", SMALLEST)
def test_the_ends_of_epsilon_are_those_that_are_replayed(make: Any) -> None:
    for accepted in ("1e-9", "1e9"):
        make(accepted)
    for refused in ("0.99e-9", "1.01e9"):
        with pytest.raises(ParameterError, match="epsilon"):
            make(refused)


MORE_THAN = 2**22


@pytest.mark.long(every=2)
@pytest.mark.parametrize("make", [
    lambda: (SortedCounts(epsilon=1, labels=MORE_THAN + 3), None),
    lambda: (CumulativeCounts(epsilon="0.01", largest=MORE_THAN + 3), None),
    lambda: (RankSplit(epsilon=1, total=5 * 10**12), None),
])  # fmt: skip
def test_calls_of_more_than_four_million_draws(make: Any) -> None:
    mechanism, told = make()
    transcript = record(mechanism.release, HUGE, told=told)
    assert max(np.prod(request.size) for request in transcript.requests) > MORE_THAN
    check(mechanism, [(HUGE, HUGE_MORE)], told, whole=False)
