"""TopLabels: the law of what is chosen, and everything around it."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chi2

from dphist.data.label_counts import LabelCounts
from dphist.errors import BoundsError, DphistError, ParameterError
from dphist.labels import measuring
from dphist.labels.top_labels import TopLabels
from dphist.noise.inversion import Source
from dphist.noise.lazy import GUMBEL, LazyNoise
from dphist.noise.quantiles import logarithm_above
from dphist.privacy import ApproxZCDP
from dphist.release.release import Release
from tests.support.goodness import LEVEL

Make = Callable[[int], Source]


def promised_counts(counts: dict, max_labels: int | None = None, max_count: int = 1) -> LabelCounts:
    columns = {"label": list(counts), "count": list(counts.values())}
    return LabelCounts.promised(pa.table(columns), max_labels, max_count)


def peeled(counts: Sequence[int], mechanism: TopLabels) -> dict[tuple[int, ...], float]:
    """The law of the places chosen: one exponential mechanism after another, until ⊥ or k."""
    rate = float(mechanism.epsilon) / mechanism.max_count
    rivals = counts[: mechanism.candidates]
    next_count = counts[mechanism.candidates] if len(counts) > mechanism.candidates else 0
    stop = math.exp(rate * (next_count + float(mechanism.threshold) - counts[0]))
    weights = [math.exp(rate * (c - counts[0])) for c in rivals]
    law = {}
    for size in range(min(mechanism.k, len(rivals)) + 1):
        for order in itertools.permutations(range(len(rivals)), size):
            chance, left = 1.0, sum(weights) + stop
            for i in order:
                chance *= weights[i] / left
                left -= weights[i]
            law[order] = chance if size == mechanism.k else chance * stop / left
    assert sum(law.values()) == pytest.approx(1)
    return law


def p_value(counts: Sequence[int], mechanism: TopLabels, runs: int, source: Source) -> float:
    """Chi-square of the places chosen in many runs against the closed form."""
    seen = Counter(tuple(mechanism.choose(counts, source)) for _ in range(runs))
    law = peeled(counts, mechanism)
    if not seen.keys() <= law.keys():
        return 0.0
    cells = sorted(law, key=lambda y: -law[y])
    expected = np.array([law[y] * runs for y in cells])
    observed = np.array([seen[y] for y in cells], float)
    many = int(np.sum(expected >= 10))
    expected = np.append(expected[:many], expected[many:].sum() + 1e-9)
    observed = np.append(observed[:many], observed[many:].sum())
    if expected[-1] < 5:
        expected, observed = expected[:-1], observed[:-1]
    return float(chi2.sf(np.sum((observed - expected) ** 2 / expected), len(expected) - 1))


CASES = [
    ([5, 4, 4, 2, 1], {"k": 2, "candidates": 4, "epsilon": 1, "delta": "0.3"}),
    ([3, 3, 3, 3], {"k": 2, "candidates": 3, "epsilon": "0.5", "delta": "0.5"}),  # ties, cut off
    ([4, 4, 3], {"k": 3, "candidates": 5, "epsilon": 1, "delta": "0.4"}),  # too few labels
    ([9, 9, 6, 3], {"k": 1, "candidates": 3, "epsilon": 2, "delta": "0.1", "max_count": 3}),
    ([6, 2, 2, 2], {"k": 3, "candidates": 3, "epsilon": 1, "delta": "0.5", "max_labels": 1}),
]


@pytest.mark.long(every=2)
@pytest.mark.quick("counts0")
@pytest.mark.parametrize(("counts", "parameters"), CASES)
def test_the_law_is_that_of_exponential_mechanisms(counts, parameters, seeded: Make) -> None:
    assert p_value(counts, TopLabels(**parameters), 20_000, seeded(1)) > LEVEL


class TrueOrder(TopLabels):
    """Labels above the threshold, sorted by their true counts."""

    __slots__ = ()

    def choose(self, counts, source=None):
        return sorted(TopLabels.choose(self, counts, source))


class QuietThreshold(TopLabels):
    """No noise on the threshold."""

    __slots__ = ()

    def choose(self, counts, source=None):
        next_count = counts[self.candidates] if len(counts) > self.candidates else 0
        noise = LazyNoise(GUMBEL, self.noise_scale, [*counts[: self.candidates], 0], source)
        high = next_count + self.threshold
        above = [i for i in range(len(counts[: self.candidates])) if noise._low[i] > high]
        return sorted(above, key=lambda i: -noise._low[i])[: self.k]


class OneTooFew(TopLabels):
    """The count of rank `candidates` in place of the next one."""

    __slots__ = ()

    def choose(self, counts, source=None):
        return TopLabels.choose(
            self, [*counts[: self.candidates], counts[self.candidates - 1]], source
        )


class SharedNoise(TopLabels):
    """The first label and the last of four get the same noise."""

    __slots__ = ()

    def choose(self, counts, source=None):
        def repeated(size: int) -> bytes:
            drawn = source(size)
            return drawn[:24] + drawn[:8] + drawn[32:] if size == 40 else drawn

        return TopLabels.choose(self, counts, repeated)


class HalvedNoise(TopLabels):
    __slots__ = ()

    @property
    def noise_scale(self):
        return TopLabels.noise_scale.fget(self) / 2


@pytest.mark.long(every=2)
@pytest.mark.verify
@pytest.mark.parametrize("bug", [TrueOrder, QuietThreshold, OneTooFew, SharedNoise, HalvedNoise])
def test_wrong_laws_are_noticed(bug: type[TopLabels], seeded: Make) -> None:
    counts, parameters = CASES[0]
    wrong, right = bug(**parameters), TopLabels(**parameters)  # type: ignore[arg-type]
    seen = Counter(tuple(wrong.choose(counts, s)) for s in [seeded(2)] for _ in range(20_000))
    replay = iter(y for y, times in seen.items() for _ in range(times))

    class Replayed(TopLabels):
        __slots__ = ()

        def choose(self, counts, source=None):
            return next(replay)

    assert p_value(counts, Replayed(**parameters), 20_000, seeded(2)) < LEVEL  # type: ignore[arg-type]
    assert right.guarantee == wrong.guarantee


def test_labels_follow_their_counts(seeded: Make) -> None:
    """Counts so far apart that the order is sure."""
    counts = {"c": 10**6, "a": 10**9, "b": 10**7, "d": 5}
    mechanism = TopLabels(k=3, candidates=3, epsilon=1, delta="1e-9")
    release = mechanism.release(promised_counts(counts), seeded(3))
    assert release.value.labels == ["a", "b", "c"]
    assert release.value.to_arrow().column_names == ["label"]  # and no counts
    assert release.value.counts is None
    assert release.guarantee == mechanism.guarantee


@pytest.mark.parametrize("labels", [["x", "y"], [7, 8], [b"x", b"y"]])
def test_too_few_are_followed_by_a_null(labels: list, seeded: Make) -> None:
    mechanism = TopLabels(k=3, epsilon=1, delta="1e-9")
    data = promised_counts({labels[0]: 10**6, labels[1]: 10**3})
    assert mechanism.release(data, seeded(1)).value.labels == [*labels, None]
    assert TopLabels(k=2, epsilon=1, delta="1e-9").release(data, seeded(1)).value.labels == labels


def test_nothing_is_valid_data() -> None:
    empty = LabelCounts.promised(
        pa.table({"label": pa.array([], pa.string()), "count": pa.array([], pa.int64())}), 1, 1
    )
    assert TopLabels(k=1, epsilon=1, delta="0.5").release(empty).value.labels == [None]


def test_only_the_largest_counts_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = LabelCounts.largest

    def counted(self, number):
        asked.append(number)
        return original(self, number)

    monkeypatch.setattr(LabelCounts, "largest", counted)
    monkeypatch.delattr(LabelCounts, "filter_batches")
    monkeypatch.delattr(LabelCounts, "counts_of")
    TopLabels(k=2, candidates=5, epsilon=1, delta="0.1").release(
        promised_counts(dict.fromkeys("abcdefgh", 9))
    )
    assert asked == [6]


def test_order_of_the_input_does_not_matter(seeded: Make) -> None:
    """Ties are broken by label: the same noise gives the same release, whatever the rows' order."""
    mechanism = TopLabels(k=3, candidates=4, epsilon=1, delta="0.5")
    counts = dict(zip("abcdefgh", [4, 4, 4, 4, 4, 4, 3, 3], strict=True))
    expected = [mechanism.release(promised_counts(counts), seeded(s)) for s in range(30)]
    for rows in [list(counts)[::-1], random.Random(1).sample(list(counts), 8)]:
        data = promised_counts({label: counts[label] for label in rows})
        assert [mechanism.release(data, seeded(s)) for s in range(30)] == expected


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_welcome(frame, seeded: Make) -> None:
    data = frame({"label": ["x", "y", "x"], "count": [500, 10**6, 500]})
    value = TopLabels(k=2, epsilon=1, delta="1e-6").release(data, seeded(1)).value
    assert value.labels == ["y", "x"]


@pytest.mark.parametrize("label", ["x", 3, b"y"])
def test_what_is_saved_is_loaded(label, tmp_path, seeded: Make) -> None:
    mechanism = TopLabels(k=2, epsilon="1/3", delta="1e-6", max_labels=4, max_count=2)
    release = mechanism.release(promised_counts({label: 10**6}, 4, 2), seeded(1))
    if isinstance(label, bytes):
        return  # bytes have no place in a release file yet
    release.save(tmp_path / "r.json")
    loaded = Release.load(tmp_path / "r.json")
    assert loaded == release
    assert loaded.mechanism == mechanism
    assert loaded.value == release.value


def test_the_guarantee_is_known_before_data() -> None:
    mechanism = TopLabels(k=10, candidates=100, epsilon="0.2", delta="1e-6")
    assert mechanism.guarantee == ApproxZCDP("0.05", "1e-6", unit="user")
    few = TopLabels(k=3, epsilon=1, delta="0.1", max_count=7)
    assert few.guarantee == ApproxZCDP("3/8", "0.1", unit="user")


@pytest.mark.parametrize(
    ("parameters", "differing", "scale", "shift"),
    [
        ({"epsilon": 1, "delta": "1e-6"}, 100, 1, 1),
        ({"epsilon": "0.1", "delta": "1e-9", "max_labels": 3, "max_count": 5}, 3, 50, 5),
        ({"epsilon": 2, "delta": "0.9", "max_labels": 1000, "candidates": 20}, 20, 0.5, 1),
        ({"epsilon": 1, "delta": "1e-140", "k": 1, "candidates": 1}, 1, 1, 1),
    ],
)
def test_the_threshold_is_the_papers_rounded_up(parameters, differing, scale, shift) -> None:
    found = TopLabels(**parameters).threshold
    with mpmath.workdps(60):
        true = shift + mpmath.mpf(scale) * mpmath.log(differing / mpmath.mpf(parameters["delta"]))
        assert 0 <= mpmath.mpf(found.numerator) / found.denominator - true < 2.0**-30 * scale


def test_logarithms_are_rounded_up() -> None:
    rng = random.Random(1)
    numbers = [Fraction(1), Fraction(2), 1 + Fraction(1, 10**12), Fraction(10**400)]
    numbers += [1 / Fraction(rng.random()).limit_denominator(10**9) for _ in range(200)]
    with mpmath.workdps(60):
        for number in numbers:
            found = logarithm_above(number)
            true = mpmath.log(mpmath.mpf(number.numerator) / number.denominator)
            assert 0 <= mpmath.mpf(found.numerator) / found.denominator - true < 2.0**-31


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"k": 0}, "k"),
        ({"k": 2.0}, "k"),
        ({"k": True}, "k"),
        ({"candidates": 9}, "candidates"),
        ({"candidates": "100"}, "candidates"),
        *(({"epsilon": e}, "epsilon") for e in (0, -1, math.nan, math.inf, "x", "1e-30", 10**6)),
        *(({"delta": d}, "delta") for d in (0, 1, -1, math.nan, "x", "1e-200")),
        ({"max_labels": 0}, "max_labels"),
        ({"max_labels": 1.5}, "max_labels"),
        ({"max_count": 0}, "max_count"),
        ({"max_count": None}, "max_count"),
    ],
)
def test_bad_parameters_are_refused_at_once(wrong: dict, name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        TopLabels(**{"epsilon": 1, "delta": "1e-6", **wrong})


def test_epsilon_and_delta_have_no_default() -> None:
    with pytest.raises(TypeError):
        TopLabels(delta="1e-6")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        TopLabels(epsilon=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("bounds", "refused"),
    [
        ((3, 2), False),
        ((4, 2), True),
        ((None, 2), True),
        ((3, 3), True),
        ((1, 1), False),
    ],
)
def test_bounds_of_the_data_must_be_protected(bounds: tuple, refused: bool) -> None:
    mechanism = TopLabels(epsilon=1, delta="0.1", max_labels=3, max_count=2)
    data = promised_counts({"a": 5}, *bounds)
    if refused:
        with pytest.raises(BoundsError):
            mechanism.release(data)
    else:
        mechanism.release(data)
    # A threshold that counts on `candidates` alone protects users of any number of labels.
    TopLabels(epsilon=1, delta="0.1", max_count=3).release(data)
    TopLabels(k=2, candidates=3, epsilon=1, delta="0.1", max_labels=3, max_count=3).release(data)


def test_no_error_shows_data() -> None:
    secret = promised_counts({"sentinel-4711": 987654}, None, 9)
    for call in (
        lambda: TopLabels(epsilon=1, delta="0.1", max_labels=3).release(secret),
        lambda: TopLabels(epsilon=1, delta="0.1").release({"sentinel-4711": 987654}),
    ):
        with pytest.raises(DphistError) as caught:
            call()
        assert "4711" not in str(caught.value)
        assert "987654" not in str(caught.value)


def test_nothing_but_the_choice_is_in_the_release(seeded: Make) -> None:
    """Two tables with the same choice have the same release, whatever else differs."""
    mechanism = TopLabels(k=1, candidates=3, epsilon=1, delta="1e-6")
    one = mechanism.release(promised_counts({"a": 10**6, "b": 1}), seeded(1))
    other = mechanism.release(promised_counts({"a": 10**7, "b": 5, "c": 5, "d": 5}), seeded(2))
    assert one.to_json() == other.to_json()
    assert "GUMBEL" in vars(measuring)
