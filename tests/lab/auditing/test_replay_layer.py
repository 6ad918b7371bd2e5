"""The replay layer: what is asked of the noise on neighbors, and that nobody else is disturbed."""

import linecache
import random
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist import noise
from dphist.lab.auditing.exact.laws import PathSource
from dphist.lab.auditing.replay import DivergedError, record, replay, replayable
from dphist.lab.auditing.replay import session as session_module
from dphist.lab.auditing.replay.session import (
    ask_for_noise,
    ask_in_place,
    get_sampling,
    replace_samplers,
)
from dphist.lab.auditing.suite import counts
from dphist.noise.for_tests import KNOWN_NOISE
from tests.support.lazy_noise import record_lazy

REPLAY = ("replay",)
RNG = np.random.default_rng()

laplace = replayable(lambda scale, size=None: RNG.laplace(0, scale, size), epsilon=lambda scale, size=None: 1 / scale)  # fmt: skip  # noqa: E501
normal = replayable(random.gauss, sigma=lambda mu, sigma: sigma)


def verdict(run: Any, pairs: Any, **claim: Any) -> tuple[str, str]:
    result = dh.audit(run, pairs, seconds=3, layers=REPLAY, **claim)
    assert not result.refuted
    (found,) = result.layers
    assert result.objects == (found.verdict == "objects")
    return found.verdict, found.covered


ONE, OTHER = np.array([5, 0, 3, 10**9]), np.array([5, 1, 3, 10**9])


def histogram(counts: Any) -> Any:
    return (counts + laplace(2, len(counts))).round(3)


def one_by_one(counts: Any) -> Any:
    return [count + laplace(2) for count in counts.tolist()]


def of_normal(counts: Any) -> Any:
    return [normal(0, 4) + count for count in counts]


def no_noise_on_zeros(counts: Any) -> Any:
    return [count + laplace(2) if count else 0 for count in counts.tolist()]


def one_draw_for_all(counts: Any) -> Any:
    return counts + laplace(2)


def more_for_large(counts: Any) -> Any:
    return counts + laplace(2 + int(counts[1]), len(counts))


def twice(counts: Any) -> Any:
    return [*histogram(counts), *histogram(counts)]


def halved(counts: Any) -> Any:
    return counts + laplace(2, len(counts)) / 2


def bare(counts: Any) -> Any:
    return [*histogram(counts), counts.sum()]


@pytest.mark.parametrize("run", [histogram, one_by_one])
def test_wrapped_samplers_are_replayed(run: Callable[[Any], Any]) -> None:
    pairs = [("a record", ONE, OTHER)]
    assert verdict(run, pairs, epsilon="1/2") == (
        "holds",
        "10 replays of 1 of 1 pair asked for the same noise and showed the same; changes cost "
        "epsilon 0.5 at most.",
    )
    assert verdict(run, pairs, epsilon="0.49")[0] == "objects"


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "known", [{"labels": ["a", "b"]}, {"delta": "0.05"}], ids=["listed", "new"]
)
def test_plain_tables_of_counts_are_replayed(noise: Any, known: dict[str, Any]) -> None:
    mechanism = dh.ThresholdHistogram(epsilon=1, max_labels=1, noise=noise, **known)
    one, other = (pa.table({"label": ["b", "a"], "count": [3, count]}) for count in (1, 2))
    pure = noise == "laplace" and "labels" in known
    found = dh.audit(
        mechanism, [(one, other)], delta=0 if pure else "0.05", seconds=2, layers=REPLAY
    )
    assert [each.verdict for each in found.layers] == ["holds"]


def test_normal_noise_costs_rho() -> None:
    pairs = [(ONE, OTHER)]
    assert verdict(of_normal, pairs, epsilon=2, delta="1e-6")[0] == "holds"
    assert verdict(of_normal, pairs, epsilon=1, delta="1e-6")[0] == "objects"
    assert verdict(of_normal, pairs, epsilon=100)[0] == "objects"  # and no delta


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (no_noise_on_zeros, "more requests are made"),
        (one_draw_for_all, "a draw is added to several numbers"),
        (more_for_large, "another one"),
        (twice, "The noise costs epsilon 1, which the claim does not cover"),
        (halved, "a draw was not added to one exact number, once"),
        (bare, "what is published is not"),
    ],
)
def test_planted_faults_are_objected_to(run: Any, said: str) -> None:
    found = verdict(run, [("a record", ONE, OTHER)], epsilon="1/2")
    assert found[0] == "objects"
    assert said.lower() in found[1].lower()


def test_outside_of_audits_a_wrapped_sampler_is_the_same() -> None:
    assert isinstance(laplace(1), float)
    assert laplace(1, 3).shape == (3,)
    with pytest.raises(dh.ParameterError, match="exactly one of them"):
        replayable(random.gauss)


def test_what_asks_for_no_noise_is_not_covered() -> None:
    assert (
        verdict(lambda count: count + random.random(), [(0, 1)], epsilon=1)[0] == "does not apply"
    )


class HalfTheNoise(dh.SortedCounts):
    __slots__ = ()

    @property
    def cell_epsilon(self):
        return 2 * self.epsilon


@pytest.mark.long(every=4)
@pytest.mark.quick("[HierarchicalTree]", "[PrivHist]", "[ThresholdHistogram3]", every=3)
@pytest.mark.parametrize("mechanism", [
    dh.AdaptiveScan(epsilon="1/2"),
    dh.RankSplit(epsilon=1, sensitivity=3),
    dh.PrivHist(epsilon="1/20"),
    dh.AdaptiveTree(epsilon=1, bins=4096),
    dh.HierarchicalTree(rho="1/10", bins=(8, 8)),
    dh.LeafCounts(epsilon=1, bins=4),
    dh.ThresholdHistogram(epsilon=1, delta="1e-9", max_labels=3),
    dh.ThresholdHistogram(epsilon=1, delta="1e-9", max_labels=3, noise="gaussian"),
    dh.ThresholdHistogram(epsilon=1, max_labels=1, labels=["c", "a", "b"]),
    dh.ThresholdHistogram(epsilon=1, max_labels=2, labels=["c", "a", "b"], noise="gaussian"),
    dh.DiscoverLabels(epsilon=1, delta="1e-6", max_labels=3),
], ids=lambda m: type(m).__name__)  # fmt: skip
def test_mechanisms_of_dphist_are_replayed_as_they_are(mechanism: Any) -> None:
    found = verdict(mechanism, None, delta=Fraction(1, 10**5))
    assert found[0] == "holds", found


@pytest.mark.quick("[ContinualMechanism]")
@pytest.mark.parametrize("mechanism", [
    dh.PartitionSampler(epsilon=1, delta="1/20"),
    dh.TopLabels(epsilon=1, delta="1e-6", max_labels=2, k=2, candidates=4),
    dh.ContinualMechanism(epsilon=1, delta="1e-6", horizon=16, max_labels=1),
], ids=lambda m: type(m).__name__)  # fmt: skip
def test_what_cannot_be_replayed_is_said(mechanism: Any) -> None:
    assert verdict(mechanism, None, delta=Fraction(1, 10**5))[0] == "does not apply"


def test_too_little_noise_in_a_mechanism_is_objected_to() -> None:
    assert verdict(HalfTheNoise(epsilon=1, labels=3), None)[0] == "objects"


# --- Other threads, other runs


def test_other_threads_get_the_real_samplers() -> None:
    """A release made during an audit, in another thread, has noise of the operating system."""
    counts = np.zeros(50, np.int64)
    seen: list[Any] = []

    def release() -> None:
        seen.append(dh.LeafCounts(epsilon="0.001", bins=50).release(counts).value.counts.tolist())

    def run(data: Any) -> Any:
        other = threading.Thread(target=release)
        other.start()
        other.join()
        return (data + noise.two_sided_geometric(Fraction(1), 50)).tolist()

    first, second = record(run, counts, seed=1), record(run, counts, seed=1)
    assert first.published == second.published
    assert seen[0] != seen[1]
    assert len(first.entries) == 1


def test_samplers_are_put_back() -> None:
    before = noise.two_sided_geometric
    with replace_samplers():
        assert noise.two_sided_geometric is not before
        drawn = noise.two_sided_geometric(Fraction(1, 100), 4)  # nobody is asked: the real one
        assert type(drawn) is np.ndarray
    assert noise.two_sided_geometric is before


def test_broken_mechanisms_of_the_suite_keep_their_own_noise() -> None:
    before = noise.two_sided_geometric
    with replace_samplers():
        assert counts.two_sided_geometric is before is not noise.two_sided_geometric


def test_after_one_interrupt_the_samplers_are_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each line that looks for samplers, and that puts them back."""
    sampler, file = noise.two_sided_geometric, session_module.__file__
    packages = {noise, sys.modules[noise.two_sided_geometric.__module__]}
    monkeypatch.setattr(session_module, "_is_ours", packages.__contains__)
    lines = 0

    def stand_in(interrupted_at: int) -> None:
        def trace(frame: Any, event: str, _: Any) -> Any:
            nonlocal lines
            if frame.f_code.co_filename != file:
                return None
            if event == "line" and frame.f_code.co_name in ("replace_objects", "_put_back", "_end"):
                # Before a `try` no signal is handled, as nothing is called there.
                lines += linecache.getline(file, frame.f_lineno).strip() != "try:"
                if lines == interrupted_at:
                    raise KeyboardInterrupt
            return trace

        nonlocal lines
        lines, earlier = 0, sys.gettrace()
        sys.settrace(trace)
        try:
            with ask_in_place(PathSource(())):
                pass
        finally:
            sys.settrace(earlier)

    stand_in(0)
    for number in range(2, lines + 1):
        with pytest.raises(KeyboardInterrupt):
            stand_in(number)
        assert noise.two_sided_geometric is sampler
        assert get_sampling() is None
        assert not KNOWN_NOISE.get()


def test_draws_kept_from_a_replay_are_numbers_later() -> None:
    kept: list[Any] = []

    def run(count: int) -> int:
        kept.extend(noise.two_sided_geometric(Fraction(1), 2).tolist())
        return count + kept[0]

    record(run, 5)
    assert kept[1] + 7 == int(kept[1]) + 7


def test_an_error_that_a_run_catches_still_ends_the_replay() -> None:
    def catches(counts: Any) -> Any:
        try:
            return (counts + noise.two_sided_geometric(Fraction(1), 1)).tolist()
        except DivergedError:
            return "caught"

    with pytest.raises(DivergedError, match="several numbers"):
        record(catches, np.array([1, 2]))


def test_replays_do_not_nest() -> None:
    with pytest.raises(DivergedError, match="inside of another"):
        record(lambda data: record(lambda held: held, data), 1)
    path = PathSource(())
    with replace_samplers(), pytest.raises(TypeError), ask_for_noise(path):
        raise TypeError
    assert path.over


def test_what_is_released_in_a_replay_says_that_its_noise_is_known(tmp_path: Path) -> None:
    mechanism, data = dh.SortedCounts(epsilon=1, labels=3), dh.Profile.from_counts([3, 1])
    release = record(mechanism.release, data).published
    assert release.for_tests
    assert replay(record(mechanism.release, data), mechanism.release, data).published.for_tests
    assert not mechanism.release(data).for_tests
    release.save(tmp_path / "r.json")
    assert dh.Release.load(tmp_path / "r.json").for_tests
    counts = dh.LabelCounts.from_counts(["a", "b"], [9, 4], max_labels=1, max_count=1)
    top = dh.TopLabels(epsilon=1, delta="1e-6", max_labels=1, k=1, candidates=2)
    kept: list[dh.Release] = []
    record_lazy(lambda held: kept.append(top.release(counts)), {"a": 9, "b": 4})
    assert kept[0].for_tests

    def own(counts: Any) -> Any:
        """A mechanism of somebody else, which makes its releases itself."""
        record_lazy(lambda _: None, {"a": 9, "b": 4})
        noisy = noise.two_sided_geometric(Fraction(1), 3)
        kept.append(dh.Release(noisy, mechanism.guarantee, mechanism))
        return noisy

    record(own, data)
    assert kept[1].for_tests


def test_a_stream_that_counted_in_a_replay_says_so_afterwards() -> None:
    stream = dh.ContinualHistogram(
        epsilon=1, delta=0, method="laplace", horizon=8, labels=["a"], readings=4
    )

    def run(data: Any) -> Any:
        stream.update_many(data)
        return sorted(stream.counts().items())

    record(run, [["a"], ["a"]])
    assert stream.release().for_tests


def test_what_a_run_leaves_behind_gets_real_noise() -> None:
    """A task that outlives the run keeps its context, but not the noise that can be foretold."""
    left: list[Any] = []
    mine = replayable(lambda: 7.0, epsilon=lambda: 1)

    def run(counts: Any) -> Any:
        left.append(copy_context())
        return [float(count + mine()) for count in counts]

    record(run, [1, 2])
    with replace_samplers():
        drawn = left[0].run(lambda: noise.two_sided_geometric(Fraction(1, 10**6), 50))
        assert type(drawn) is np.ndarray
    assert type(left[0].run(mine)) is float

    def fails(_: Any) -> Any:
        left.append(copy_context())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        record(fails, 1)
    assert type(left[1].run(mine)) is float
