"""The exact law of counts with sums, on neighbors: docs/understand/proofs/sums.md, Lemma 3."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtr

import dphist as dh
from dphist.labels.threshold import noise as count_noise
from dphist.labels.threshold import sums as sum_noise

CLAMP = dh.Clamp(-1, 3, 1)  # about 1, by at most 2
REACH = 12
Law = dict[Any, float]
Rows = list[tuple[int, str, int]]

# Users with rows of one label each, and the same with one user more.
NEIGHBORS: dict[str, tuple[Rows, Rows]] = {
    "a shared label, a total above": ([(1, "a", 0)], [(1, "a", 0), (2, "a", 9)]),
    "a shared label, a total below": ([(1, "a", 3)], [(1, "a", 3), (2, "a", -9)]),
    "a frequent label": (
        [(who, "a", 1) for who in range(9)],
        [(who, "a", 1) for who in range(10)] + [(9, "a", 2)],
    ),
    "a new label": ([(1, "a", 1)], [(1, "a", 1), (2, "b", 3)]),
    "nothing before": ([], [(2, "b", 3), (2, "b", 3)]),
}


def chance(rate: float, value: int) -> float:
    a = math.exp(-rate)
    return (1 - a) / (1 + a) * a ** abs(value)


def law_of(mechanism: Any, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> Law:
    """Run the mechanism on every value of all noise within the reach."""
    data = dh.LabelCounts.from_table(
        pa.table(
            {
                "who": pa.array([who for who, _, _ in rows], pa.int64()),
                "word": pa.array([word for _, word, _ in rows], pa.string()),
                "x": pa.array([x for _, _, x in rows], pa.int64()),
            }
        ),
        label="word",
        user="who",
        max_labels=1,
        sums={"x": CLAMP},
    )
    labels = len({word for _, word, _ in rows})
    rates = float(1 / mechanism.noise_scale), float(1 / mechanism.sum_answers["x"].noise.scale)
    found: Law = defaultdict(float)
    steps = range(-REACH, REACH + 1)
    for counts in itertools.product(steps, repeat=labels):
        weight = math.prod(chance(rates[0], z) for z in counts)
        if weight < 1e-7:
            continue
        monkeypatch.setattr(count_noise, "two_sided_geometric", lambda *_, z=counts: np.array(z))
        monkeypatch.setattr(
            sum_noise, "two_sided_geometric", lambda _, size, __: np.zeros(size, np.int64)
        )
        table = mechanism.release(data).value
        shown = [*zip(table.labels, table.counts.tolist(), table._sums["x"].tolist(), strict=True)]
        # A sum is the number released without noise, and noise that is independent.
        for noise in itertools.product(steps, repeat=len(shown)):
            chances = math.prod(chance(rates[1], z) for z in noise)
            key = tuple((label, n, s + z) for (label, n, s), z in zip(shown, noise, strict=True))
            found[key] += weight * chances
    return found


def delta_of(one: Law, other: Law, epsilon: float) -> float:
    """The hockey stick of two laws, both ways, less what lies beyond the reach."""
    ways = [
        sum(max(p - math.exp(epsilon) * second.get(key, 0.0), 0) for key, p in first.items())
        for first, second in ((one, other), (other, one))
    ]
    missed = max(1 - sum(one.values()), 1 - sum(other.values()))
    return max(ways) - 2 * math.exp(epsilon) * max(missed, 0)


def made(**more: Any) -> Any:
    return dh.ThresholdHistogram(epsilon=1, delta="0.05", max_labels=1, sums={"x": CLAMP}, **more)


@pytest.fixture(scope="module")
def laws() -> dict[str, tuple[Law, Law]]:
    with pytest.MonkeyPatch.context() as patch:
        return {
            name: (law_of(made(), one, patch), law_of(made(), other, patch))
            for name, (one, other) in NEIGHBORS.items()
        }


@pytest.mark.parametrize("name", NEIGHBORS)
def test_a_release_keeps_its_claim(name: str, laws: dict[str, tuple[Law, Law]]) -> None:
    claim = made().epsilon_guarantee
    assert (claim.epsilon, claim.delta) == (2, Fraction("0.05"))
    assert delta_of(*laws[name], float(claim.epsilon)) <= float(claim.delta)


@pytest.mark.parametrize("epsilon", [1.0, 1.5, 1.8])
def test_smaller_claims_are_broken(epsilon: float, laws: dict[str, tuple[Law, Law]]) -> None:
    """Without the sums, with half of their reach, or nearly all of it, by a frequent label."""
    frequent = delta_of(*laws["a frequent label"], epsilon)
    above = delta_of(*laws["a shared label, a total above"], epsilon)
    assert max(frequent, above) > 0.005


def test_a_new_label_pays_delta_alone(laws: dict[str, tuple[Law, Law]]) -> None:
    """Its sum is not seen unless it is shown: more epsilon does not help."""
    for epsilon in (2.0, 3.0):
        found = delta_of(*laws["nothing before"], epsilon)
        assert 0.01 < found <= 0.05


def test_rho_covers_the_law_of_a_shared_label(laws: dict[str, tuple[Law, Law]]) -> None:
    """D_order / order is at most rho where nothing is new: at orders from 1.1 to 8."""
    rho = float(made().guarantee.rho)
    one, other = laws["a frequent label"]
    for order in (1.1, 2, 4, 8):
        for first, second in ((one, other), (other, one)):
            total = sum(
                p**order * second[key] ** (1 - order) for key, p in first.items() if key in second
            )
            assert math.log(total) / (order - 1) / order <= rho + 1e-6


def gaussian_delta(epsilon: float, distance: float) -> float:
    if distance == 0:
        return max(0.0, 1 - math.exp(epsilon))
    ends = (distance / 2 - epsilon / distance, -distance / 2 - epsilon / distance)
    return float(ndtr(ends[0]) - math.exp(epsilon) * ndtr(ends[1]))


@pytest.mark.parametrize("share", ["0.2", "0.5", "0.9"])
@pytest.mark.parametrize("most", [1, 2, 5, 20])
def test_no_mixture_of_new_and_shared_labels_exceeds_the_delta(most: int, share: str) -> None:
    """The exact delta of Gaussian noise at the epsilon that one release states is just kept."""
    sums = {"x": CLAMP, "y": dh.Clamp(0, 1, "0.1")}
    mechanism: Any = dh.calibrate(
        dh.ThresholdHistogram,
        epsilon=1,
        delta="1e-6",
        max_labels=most,
        noise="gaussian",
        sums=sums,
        sums_share=share,
    )
    epsilon, sigma = float(mechanism.epsilon_at("1e-6")), float(mechanism.noise_scale)
    hidden = float(ndtr((float(mechanism.threshold) - 1) / sigma))
    moved = 1 / sigma**2
    for answers in mechanism.sum_answers.values():
        moved += (answers.clamp.reach(counts_users=True) / float(answers.noise.scale)) ** 2
    worst = 0.0
    for shared in range(most + 1):
        kept, distance = hidden ** (most - shared), math.sqrt(shared * moved)
        seen = 1 - kept + kept * gaussian_delta(epsilon - math.log(kept), distance)
        worst = max(worst, seen, gaussian_delta(epsilon + math.log(kept), distance))
    assert 0.999999 <= worst / 1e-6 <= 1.000001
