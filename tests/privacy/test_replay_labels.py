"""Transcripts of the mechanisms for labels, replayed at production scale.

Hundreds of thousands of labels in several batches, counts above 10**9, users of many labels,
epsilon from the smallest to the largest. Lemmas 1 to 3 of docs/understand/proofs/threshold.md, 3
and 5 to 7 of top_labels.md.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dphist import ParameterError, PayWhatYouGet, ThresholdHistogram, TopLabels, TopThreshold
from dphist.counting.bounding import stores
from dphist.data.label_counts import LabelCounts
from dphist.lab.auditing.replay import (
    SAMPLERS,
    DivergedError,
    Told,
    loss,
    loss_of_neighbours,
    record,
    replay,
)
from dphist.labels.threshold.law import grid
from dphist.labels.threshold.noise import GeometricNoise
from tests.support.lazy_noise import (
    THRESHOLD,
    Counts,
    LazyTranscript,
    changes,
    record_lazy,
    replay_lazy,
)

BATCH = 2**18  # rows that a table gives at once
LABELS = 2 * BATCH + 5


def long_tail(labels: int) -> np.ndarray:
    """Enormous counts, a tail, and most labels with a count of 1 to 3."""
    counts = 1 + np.arange(labels) % 3
    counts[: labels // 50] = 10**6 // (1 + np.arange(labels // 50))
    counts[:3] = 5 * 10**10, 10**9 + 1, 10**9
    return counts


def with_user(counts: np.ndarray, max_labels: int, max_count: int) -> np.ndarray:
    """Add a user to the most common labels, to rare ones and to some between, all there is."""
    more = counts.copy()
    step = max(1, len(counts) // max_labels)
    more[::step][:max_labels] += max_count
    return more


def counts_in_memory(counts: np.ndarray, mechanism: Any) -> LabelCounts:
    """Counts in memory however many they are: DuckDB gives batches of any size in any order."""
    columns = pa.table({"label": np.arange(len(counts)), "count": counts})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "_FEW", 1 << 30)
        return LabelCounts.promised(columns, mechanism.max_labels, mechanism.max_count)


def make_releaser(mechanism: Any) -> Callable[[np.ndarray], Any]:
    return lambda counts: mechanism.release(counts_in_memory(counts, mechanism)).value


# --- Algorithm 1: noise on every count, in batches


def told(mechanism: ThresholdHistogram) -> dict[int, Told]:
    """What Gaussian noise is added to is out of sight: counts in steps of the grid, by batch."""
    if mechanism.noise == "laplace":
        return {}
    fine = grid(mechanism.noise_scale)
    return {
        k: lambda counts, k=k: fine * counts[k * BATCH : (k + 1) * BATCH]  # type: ignore[misc]
        for k in range(-(-LABELS // BATCH))
    }


@pytest.mark.long(every=2)
@pytest.mark.quick("'delta': '1e-30'", "'max_count': 7")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("parameters", [
    {"epsilon": "1e-9", "delta": "1e-30", "max_labels": 10},
    {"epsilon": 1, "delta": "1e-9", "max_labels": 1000, "max_count": 50},
    {"epsilon": 64, "delta": "1e-6", "max_labels": 3, "max_count": 7},
    {"epsilon": 44_721, "delta": "1/2", "max_labels": 1},
], ids=str)  # fmt: skip
def test_noise_on_every_count(noise: Any, parameters: dict[str, Any]) -> None:
    mechanism = ThresholdHistogram(noise=noise, **parameters)
    counts = long_tail(LABELS)
    more = with_user(counts, mechanism.max_labels, mechanism.max_count)
    assert (more > counts).sum() == mechanism.max_labels
    sight = told(mechanism)
    epsilon, rho = loss_of_neighbours(make_releaser(mechanism), counts, more, told=sight)
    if noise == "laplace":
        assert epsilon == mechanism.epsilon_guarantee.epsilon
    else:
        assert rho == mechanism.guarantee.rho
    transcript = record(make_releaser(mechanism), counts, told=sight)
    assert [request.size for request in transcript.requests] == [BATCH, BATCH, 5]
    for far in (np.full(LABELS, 1), np.full(LABELS, 2**35), counts[::-1].copy()):
        replay(transcript, make_releaser(mechanism), far, told=sight)


def _first_of_many(sampler: str, parameter: Any, size: int, source: Any) -> Any:
    """What is drawn for the first labels does not depend here on how many there are."""
    return SAMPLERS[sampler](parameter, 10_000, source)[:size]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.quick(every=2)
def test_a_label_of_one_user_shows_above_the_threshold_alone(
    noise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The neighbour's own label comes last, and gets a draw that the others do not share."""
    monkeypatch.setattr("dphist.lab.auditing.replay.session.sample_noise", _first_of_many)
    mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1, noise=noise)
    counts = long_tail(5000)
    shown = []
    for seed in range(3):
        without = record(make_releaser(mechanism), counts, seed=seed).published.to_pandas()
        with_it = record(
            make_releaser(mechanism), np.append(counts, 1), seed=seed
        ).published.to_pandas()
        kept = with_it[with_it["label"] != 5000].reset_index(drop=True)
        assert kept.equals(without)
        shown.append(len(with_it) - len(kept))
    assert shown == [0, 0, 0]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.quick(every=2)
def test_listed_labels_at_production_scale(noise: Any) -> None:
    """All that are listed, those that nobody has too, and none that is not."""
    listed = 30_000
    mechanism = ThresholdHistogram(
        epsilon="1/3", max_labels=20, max_count=4, noise=noise, labels=list(range(listed))
    )
    counts = long_tail(listed + 500)
    counts[listed - 50 : listed] = 0
    more = with_user(counts, 20, 4)
    fine = grid(mechanism.noise_scale)
    sight: dict[int, Told] = {} if noise == "laplace" else {0: lambda held: fine * held[:listed]}
    epsilon, rho = loss_of_neighbours(make_releaser(mechanism), counts, more, told=sight)
    if noise == "laplace":
        assert epsilon == mechanism.epsilon_guarantee.epsilon
    else:
        assert rho == mechanism.guarantee.rho
    transcript = record(make_releaser(mechanism), counts, told=sight)
    assert sorted(transcript.published.labels) == list(range(listed))
    replay(transcript, make_releaser(mechanism), np.zeros(listed + 1, np.int64), told=sight)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_ends_of_epsilon_are_those_that_are_replayed(noise: Any) -> None:
    parameters = {"delta": "1e-6", "max_labels": 1, "noise": noise}
    for accepted in ("1e-9", 44_721):
        ThresholdHistogram(epsilon=accepted, **parameters)
    for refused in ("0.99e-9", 44_722 if noise == "gaussian" else 10**9 + 1):
        with pytest.raises(ParameterError, match="epsilon"):
            ThresholdHistogram(epsilon=refused, **parameters)


# --- Algorithms 2 to 4: the largest counts alone


def named(counts: np.ndarray) -> Counts:
    return {f"label {i:06}": count for i, count in enumerate(counts.tolist())}


def released_by_name(mechanism: Any) -> Callable[[Counts], Any]:
    def run(counts: Counts) -> Any:
        columns = pa.table({"label": list(counts), "count": list(counts.values())})
        return mechanism.release(
            LabelCounts.promised(columns, mechanism.max_labels, mechanism.max_count)
        ).value

    return run


def check_centers(one: LazyTranscript, other: LazyTranscript, mechanism: Any) -> Fraction:
    """Check that counts move by 0 to `max_count`; return the sum of squares, in variances."""
    total = Fraction(0)
    for mine, its in zip(one.asked, other.asked, strict=True):
        assert mine.scale == its.scale == Fraction(mechanism.max_count) / mechanism.epsilon
        found = changes(mine, its)
        assert all(0 <= change <= mechanism.max_count for change in found)
        total += sum((change / mine.scale) ** 2 for change in found)
    return total


TOP: list[dict[str, Any]] = [
    {"epsilon": "1e-6", "delta": "1e-30", "max_labels": 10},
    {"epsilon": "1/5", "delta": "1e-9", "max_labels": 100, "max_count": 20},
    {"epsilon": 64, "delta": "1e-6", "max_labels": 1},
    {"epsilon": 1000, "delta": "1/2", "max_labels": 3, "max_count": 7},
]


@pytest.mark.parametrize("parameters", TOP, ids=str)
@pytest.mark.parametrize("place", ["common", "rare", "across"])
@pytest.mark.quick(every=10)
def test_top_counts(parameters: dict[str, Any], place: str) -> None:
    mechanism = TopThreshold(k=1000, **parameters)
    counts, more = tied(mechanism, place, 1000)
    run = released_by_name(mechanism)
    transcript = record_lazy(run, counts)
    found = replay_lazy(transcript, run, more)
    distance = check_centers(transcript, found, mechanism)
    assert distance <= 2 * mechanism.guarantee.rho
    if place == "common":
        assert distance == 2 * mechanism.guarantee.rho
    replay_lazy(transcript, run, turned(counts, 1000))


def tied(mechanism: Any, place: str, k: int) -> tuple[Counts, Counts]:
    """Neighbours: a user of common labels; of labels below the k-th; of labels tied with it."""
    counts = 10**6 // (1 + np.arange(4 * k))
    counts[:3] = 5 * 10**12, 10**9 + 1, 10**9
    counts[k - 5 : k + 10] = counts[k]
    number = min(mechanism.max_labels or 50, 3 * k)
    first = {"common": 0, "rare": k + 20, "across": k - 3}[place]
    more = counts.copy()
    more[first : first + number] += mechanism.max_count
    return named(counts), named(more)


@pytest.mark.parametrize("parameters", [*TOP, {**TOP[1], "max_labels": None}], ids=str)
@pytest.mark.parametrize("place", ["common", "rare", "across"])
@pytest.mark.quick(every=8)
def test_top_labels(parameters: dict[str, Any], place: str) -> None:
    mechanism = TopLabels(k=50, candidates=1000, **parameters)
    counts, more = tied(mechanism, place, 1000)
    run = released_by_name(mechanism)
    transcript = record_lazy(run, counts)
    check_centers(transcript, replay_lazy(transcript, run, more), mechanism)
    replay_lazy(transcript, run, turned(counts, 1000))


def turned(counts: Counts, k: int) -> Counts:
    """The same candidates, with counts the other way round: what is released may not tell."""
    labels, held = list(counts), list(counts.values())
    return dict(zip(labels, [*held[k - 1 :: -1], *held[k:]], strict=True))


def test_a_session_of_queries() -> None:
    """Sixty queries at most, over tables of many labels; what is left follows what was released."""

    def run(counts: Counts) -> list[Any]:
        session = PayWhatYouGet(
            budget=200, queries=60, epsilon="1/10", delta="1e-9", max_labels=5, max_count=3
        )
        columns = pa.table({"label": list(counts), "count": list(counts.values())})
        data = LabelCounts.promised(columns, 5, 3)
        said: list[Any] = []
        while session.remaining_queries and session.remaining >= 7:
            labels = session.top(data, k=7, candidates=300).value.labels
            said.append((labels, session.remaining, session.remaining_queries))
        return said

    mechanism = TopLabels(
        k=7, candidates=300, epsilon="1/10", delta="1e-9", max_labels=5, max_count=3
    )
    for place in ("common", "rare", "across"):
        counts, more = tied(mechanism, place, 300)
        transcript = record_lazy(run, counts)
        assert len(transcript.asked) > 25
        spent = 200 - transcript.published[-1][1]
        assert spent == sum(len(labels) for labels, _, _ in transcript.published)
        check_centers(transcript, replay_lazy(transcript, run, more), mechanism)


# --- Power


def test_an_order_by_true_counts_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = TopLabels.choose
    monkeypatch.setattr(
        TopLabels, "choose", lambda self, counts, source=None: sorted(choose(self, counts, source))
    )
    mechanism = TopLabels(k=50, candidates=1000, **TOP[1])
    counts, _ = tied(mechanism, "common", 1000)
    run = released_by_name(mechanism)
    with pytest.raises(DivergedError):
        replay_lazy(record_lazy(run, counts), run, turned(counts, 1000))


def test_a_threshold_above_the_true_maximum_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = TopThreshold.measure

    def wrong(self: Any, counts: list[int], source: Any = None) -> Any:
        return [pair for pair in measure(self, counts, source) if pair[1] <= counts[0]]

    monkeypatch.setattr(TopThreshold, "measure", wrong)
    mechanism = TopThreshold(k=1000, **TOP[0])
    counts, _ = tied(mechanism, "common", 1000)
    run = released_by_name(mechanism)
    smaller = {label: 10**6 - i for i, label in enumerate(counts)}
    with pytest.raises((DivergedError, AssertionError)):
        transcript = record_lazy(run, counts)
        assert transcript.asked[0].noisy[THRESHOLD] > 0
        replay_lazy(transcript, run, smaller)


def test_noise_of_half_the_scale_shows_in_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=10)
    claimed = mechanism.epsilon_guarantee.epsilon
    half = GeometricNoise(2 * mechanism.epsilon)
    monkeypatch.setattr(ThresholdHistogram, "_noise_for", lambda *_: half)
    counts = long_tail(5000)
    run = make_releaser(mechanism)
    one = record(run, counts)
    its = replay(one, run, with_user(counts, 10, 1))
    assert loss(one, its)[0] == 2 * claimed
