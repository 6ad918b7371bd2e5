"""DESIGN, 'What must not leak': outputs are functions of released values, errors of parameters."""

import dataclasses
import logging

import numpy as np
import pytest

import dphist as dh
from dphist.anonymized import measuring
from dphist.anonymized.partition_sampler.proposals import Proposals
from tests.support.privacy.diagrams import neighbour_pairs
from tests.support.privacy.published import everything_published
from tests.support.refusal import NUMBER


class Compensating:
    """Noise that brings any data to the same noisy counts: a release must then be the same."""

    def __init__(self, noisy_total: int, true_total: int) -> None:
        self.first = noisy_total - true_total
        self.wanted: np.ndarray | None = None
        self.cells = np.zeros(0, np.int64)

    def __call__(self, epsilon: object, size: int, source: object = None) -> np.ndarray:
        if size == 1:
            return np.array([self.first])
        return np.zeros(size, np.int64) if self.wanted is None else self.wanted - self.cells


def released_with(
    mechanism: dh.RankSplit, data: tuple[int, ...], sampler: Compensating
) -> dh.Release:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "two_sided_geometric", sampler)
        return mechanism.release(dh.Profile.from_counts(list(data)))


PAIRS = [
    *list(neighbour_pairs(3)),
    ((), (1,)),
    ((NUMBER,), (NUMBER + 1,)),
    ((5,) * 30, (5,) * 30 + (1,)),
]


@pytest.mark.long(every=4)
@pytest.mark.quick(
    "[None-((), (1,))",
    "[None-((1, 1), (2, 1))",
    "[None-((3,), (3, 1))",
    "[None-((918273645,)",
    "[3-((3,), (3, 1))",
    every=3,
)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("total", [None, 3])
def test_equal_noisy_counts_give_equal_publications(pair, total) -> None:
    """Nothing but the noisy counts separates neighbours: no row count, no length, no message."""
    mechanism = dh.RankSplit(epsilon=1, total=total)
    cells = []
    for data in pair:
        noisy = released_with(mechanism, data, Compensating(6, sum(data))).noisy
        cells.append(np.append(noisy["rows"], noisy["columns"]))
    published = set()
    for data, own in zip(pair, cells, strict=True):
        sampler = Compensating(6, sum(data))
        sampler.cells, sampler.wanted = own, cells[0]
        published.add(everything_published(released_with(mechanism, data, sampler)))
    assert len(published) == 1


@pytest.mark.long(every=6)
@pytest.mark.quick(
    "[2-isotonic-((), (1,))",
    "[2-isotonic-((1, 1), (2, 1))",
    "[2-none-((), (1,))",
    "[2-none-((1, 1), (2, 1))",
    every=2,
)
@pytest.mark.parametrize("pair", PAIRS[::4] + PAIRS[-2:], ids=str)
@pytest.mark.parametrize("inference", ["isotonic", "sort", "none"])
@pytest.mark.parametrize("labels", [2, 6])
def test_equal_noisy_sorted_counts_give_equal_publications(pair, inference, labels) -> None:
    """As above; the labels of the data may be fewer or more than the public number."""
    mechanism = dh.SortedCounts(epsilon=1, labels=labels, inference=inference)
    wanted = np.array([7, 9, 2, 0, -3, 1][:labels])
    published = set()
    for data in pair:
        rows = np.array([*data, *[0] * labels][:labels])

        def compensating(epsilon, size, source=None, rows=rows):
            return wanted - rows

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(measuring, "two_sided_geometric", compensating)
            release = mechanism.release(dh.Profile.from_counts(list(data)))
        published.add(everything_published(release))
    assert len(published) == 1


def released_as(mechanism: dh.PrivHist, data: tuple[int, ...], wanted: list) -> dh.Release:
    """Release with noise such that each noisy vector is the wanted one; None: noise 0."""
    calls: list[np.ndarray] = []

    def compensating(epsilon, size, source=None):
        k = len(calls)
        calls.append(np.zeros(size, np.int64))
        return np.array(wanted[k](data)) if k < len(wanted) else calls[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "two_sided_geometric", compensating)
        return mechanism.release(dh.Profile.from_counts(list(data)))


@pytest.mark.long(every=6)
@pytest.mark.quick(
    "[2-7-((), (1,))", "[2-7-((1, 1), (2, 1))", "[2-7-((3,), (3, 1))", "[2-7-((918273645,)", every=4
)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("total", [0, 7])
@pytest.mark.parametrize("epsilon", ["0.1", "2"])
def test_equal_noisy_numbers_of_priv_hist_give_equal_publications(pair, total, epsilon) -> None:
    """Total, number above T, columns, rows and blocks made equal: nothing else tells them apart."""
    mechanism = dh.PrivHist(epsilon=epsilon)
    start = mechanism._start(max(total, 1))

    def to_total(data):
        return [total - sum(data)]

    def to_above(data):
        return [2 - sum(count > start for count in data)]

    script = [to_total] if mechanism.block_epsilon else [to_total, to_above]
    first = [released_as(mechanism, data, script).noisy for data in pair]
    published = set()
    for data, own in zip(pair, first, strict=True):
        last = [name for name in own if name not in ("total", "above", "ends")]
        # Noise that turns the data's own numbers into those of the pair's first.
        shift = np.concatenate([first[0][n] - own[n] for n in last] or [np.zeros(0, np.int64)])
        release = released_as(mechanism, data, [*script, lambda _, shift=shift: shift])
        published.add(everything_published(release))
    assert len(published) == 1


@pytest.mark.long(every=4)
@pytest.mark.quick("((), (1,))", "((1, 1), (2, 1))", "((3,), (3, 1))", "((918273645,)", every=5)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_equal_noisy_columns_give_equal_publications(pair) -> None:
    mechanism = dh.CumulativeCounts(epsilon=1, largest=4)
    published = set()
    for data in pair:
        columns = np.array([sum(count >= r for count in data) for r in range(1, 5)])

        def compensating(epsilon, size, source=None, columns=columns):
            return np.array([7, 9, -3, 1]) - columns

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(measuring, "two_sided_geometric", compensating)
            release = mechanism.release(dh.Profile.from_counts(list(data)))
        published.add(everything_published(release))
    assert len(published) == 1


@pytest.mark.long(every=4)
@pytest.mark.quick("((), (1,))", "((1, 1), (2, 1))", "((3,), (3, 1))", every=3)
@pytest.mark.parametrize("pair", list(neighbour_pairs(3)), ids=str)
def test_equal_draws_of_partitions_give_equal_publications(pair, monkeypatch) -> None:
    """The sampler publishes the drawn table and its parameters: not the window it drew from."""
    drawn = np.array([4, 2]), np.array([1, 1])
    monkeypatch.setattr(Proposals, "draw", lambda self, source: drawn)
    mechanism = dh.PartitionSampler(epsilon=1, delta=1e-9)
    releases = [mechanism.release(dh.Profile.from_counts(list(data))) for data in pair]
    assert len({everything_published(release) for release in releases}) == 1


@pytest.mark.parametrize("total", [0, 1, 49, 50, 51, 10**6])
def test_the_choice_of_mechanism_depends_on_parameters_alone(total) -> None:
    for profile in (dh.Profile.from_counts([total]), dh.Profile.from_prevalences([1], [total])):
        assert dh.anonymize(profile, epsilon=1).mechanism == dh.AdaptiveScan(epsilon=1)


@pytest.mark.verify
def test_a_total_without_noise_would_be_noticed() -> None:
    """Power: the same comparison tells two releases apart that carry the true total."""
    published = set()
    for data in [(3,), (4,)]:
        sound = released_with(dh.RankSplit(epsilon=1), (3,), Compensating(6, 3))
        published.add(everything_published(dataclasses.replace(sound, total=sum(data))))
    assert len(published) == 2


def test_sentinels_do_not_reach_what_people_see(seeded, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    profile = dh.Profile.from_counts([NUMBER] * 3)
    seen = [repr(profile), str(profile), f"{profile}"]
    release = dh.anonymize(profile, epsilon="0.0001", source=seeded(1))
    assert NUMBER not in release.value.counts
    seen += [everything_published(release), caplog.text]
    with pytest.raises(dh.BoundsError) as caught:
        dh.RankSplit(epsilon=1).release(dh.Profile.from_counts([NUMBER], sensitivity=2))
    seen += [str(caught.value), repr(caught.value)]
    for text in seen:
        assert str(NUMBER) not in text
        assert f"{NUMBER:,}" not in text


def test_shape_is_a_function_of_the_noisy_total(seeded) -> None:
    """Equal randomness, hence equal noisy total up to one: lengths follow it and nothing else."""
    for total in (None, 100):
        mechanism = dh.RankSplit(epsilon=1, total=total)
        for n in (0, 1, 50, 10_000):
            one_label = mechanism.release(dh.Profile.from_counts([n]), seeded(n)).noisy
            many = mechanism.release(dh.Profile.from_prevalences([1], [n]), seeded(n)).noisy
            assert {k: len(v) for k, v in one_label.items()} == {k: len(v) for k, v in many.items()}


@pytest.mark.long(every=2)
@pytest.mark.quick("counts1]")
@pytest.mark.parametrize("counts", [[], [1], [1] * 11, [1] * 12, [1] * 13, [2] * 40])
def test_no_warning_or_error_depends_on_the_data(counts, seeded, recwarn) -> None:
    profile = dh.Profile.from_counts(counts)
    for mechanism in (
        dh.RankSplit(epsilon=1),
        dh.RankSplit(epsilon=1, total=12),
        dh.SortedCounts(epsilon=1, labels=12),
        dh.CumulativeCounts(epsilon=1, largest=2),
        dh.PrivHist(epsilon=1),
        dh.PrivHist(epsilon="0.5", shares=(1, 1, 1)),
        dh.PartitionSampler(epsilon=1, delta=1e-9),
        dh.AdaptiveScan(epsilon=1),
    ):
        everything_published(mechanism.release(profile, seeded(1)))
    assert len(recwarn) == 0


def test_sampler_is_the_library_s_own() -> None:
    """Mechanisms draw from dphist.noise, whose default source is the operating system."""
    assert measuring.two_sided_geometric is dh.noise.two_sided_geometric
