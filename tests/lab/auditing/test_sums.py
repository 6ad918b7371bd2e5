"""Audits of releases with sums: neighbors whose user moves each sum as far as a user can."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import dphist as dh
from dphist.data.open_data import open_labels
from dphist.lab.auditing.subject import make_pairs
from dphist.labels.threshold.sums import SumNoise, Sums
from dphist.tables import Tables

SUMS = {"spent": dh.Clamp(-1, 2, 1), "hours": dh.Clamp(0, 8, "0.5")}
CLAMPS = [
    dh.Clamp(0, 5, 1), dh.Clamp(-5, 0, 1), dh.Clamp(-9, -8, 1), dh.Clamp(2, 3, "0.5"),
    dh.Clamp(-3, 1, "1/3"), dh.Clamp(0, 2**20, 1),
]  # fmt: skip
LISTED: dict[str, Any] = {"epsilon": 1, "max_labels": 2, "labels": ["a", "b", "c"], "sums": SUMS}
FOUND: dict[str, Any] = {"epsilon": 1, "delta": "1e-3", "max_labels": 2, "sums": SUMS}


def replayed(mechanism: Any, delta: Any = 0, seconds: float = 60) -> dh.AuditResult:
    """Replay all pairs: that takes a second, and time is left."""
    return dh.audit(mechanism, delta=delta, seconds=seconds, layers=("replay",))


@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [
        (dh.ThresholdHistogram(**FOUND), "1e-2"),
        (dh.ThresholdHistogram(**FOUND, noise="gaussian"), "1e-2"),
        (dh.ThresholdHistogram(**LISTED), 0),
        (dh.ThresholdHistogram(**LISTED, noise="gaussian"), "1e-2"),
        (dh.ThresholdHistogram(**LISTED, max_count=3), 0),
        (dh.ThresholdHistogram(**LISTED, other=True), 0),
    ],
    ids=["found", "found, normal", "listed", "listed, normal", "many records", "other"],
)
def test_labels_with_sums_cost_what_they_claim(mechanism: Any, delta: Any) -> None:
    """No more, and with these neighbors no less: a smaller noise of any sum is objected to."""
    result = replayed(mechanism, delta)
    assert not result.refuted
    (layer,) = result.layers
    assert layer.verdict == "holds", layer.covered
    pure, rho = mechanism.epsilon_guarantee, mechanism.guarantee.rho
    cost = f"rho {float(rho):.4g}" if pure is None else f"epsilon {float(pure.epsilon):.4g}"
    assert f"changes cost {cost} at most" in layer.covered


@pytest.mark.parametrize("epsilon", [1, Fraction(7, 3)])
def test_claims_of_sums_are_refuted_below_their_cost(epsilon: Any) -> None:
    mechanism = dh.ThresholdHistogram(**{**LISTED, "epsilon": epsilon})
    claim = mechanism.epsilon_at(0) * (1 - Fraction(1, 10**6))
    result = dh.audit(mechanism, epsilon=claim, seconds=60, layers=("replay",))
    assert result.refuted
    assert result.certain


@pytest.mark.parametrize("clamp", CLAMPS, ids=repr)
@pytest.mark.parametrize("max_count", [1, 3])
def test_a_user_moves_each_sum_as_far_as_a_user_can(clamp: dh.Clamp, max_count: int) -> None:
    mechanism = dh.ThresholdHistogram(
        epsilon=1, max_labels=2, max_count=max_count, labels=["a", "b", "c"], sums={"v": clamp}
    )
    reach = clamp.reach(counts_users=max_count == 1)
    for pair in make_pairs(mechanism):
        ((one,), (other,)) = (each.sums_of(["a", "b", "c"]) for each in (pair.one, pair.other))
        moved = [abs(here - there) for here, there in zip(one, other, strict=True)]
        counted = [each.counts_of(["a", "b", "c"]) for each in (pair.one, pair.other)]
        for change, here, there in zip(moved, *counted, strict=True):
            assert (change, there - here) in {(0, 0), (reach, max_count)}, pair.name
        assert any(moved)


def test_neighbors_with_sums_have_counts_as_those_without() -> None:
    alone = dh.ThresholdHistogram(epsilon=1, delta="1e-3", max_labels=2)
    summed = dh.ThresholdHistogram(
        epsilon=1, delta="1e-3", max_labels=2, sums={"label": dh.Clamp(0, 1, 1)}
    )
    line = alone.threshold
    assert line == summed.threshold
    pairs = {pair.name: pair for pair in make_pairs(alone) if not pair.huge}
    for pair in make_pairs(summed):
        for side in ("one", "other"):
            counts = (open_labels(getattr(each, side)) for each in (pair, pairs[pair.name]))
            assert len({tuple(each["count"].to_pylist()) for each in counts}) == 1


@pytest.fixture
def half_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Sums.make_noise

    def make_less(sums: Sums, clamp: dh.Clamp) -> SumNoise:
        noise = real(sums, clamp)
        return replace(noise, scale=noise.scale / 2)

    monkeypatch.setattr(Sums, "make_noise", make_less)


@pytest.mark.usefixtures("half_of_the_noise")
def test_half_of_the_noise_of_sums_is_refuted() -> None:
    result = replayed(dh.ThresholdHistogram(**LISTED))
    assert result.refuted
    assert result.certain
    for noise in ("laplace", "gaussian"):
        result = replayed(dh.ThresholdHistogram(**FOUND, noise=noise), "1e-2", seconds=6)
        assert result.refuted or result.objects


@pytest.mark.verify
@pytest.mark.usefixtures("half_of_the_noise")
def test_runs_refute_half_of_the_noise_of_sums() -> None:
    """From the noisy totals that runs release."""
    sums = {"spent": dh.Clamp(0, 2, 1)}
    mechanism = dh.ThresholdHistogram(
        epsilon="0.2", max_labels=1, labels=["a"], sums=sums, sums_share="0.8"
    )
    result = dh.audit(mechanism, seconds=60, layers=("statistical",))
    assert result.refuted
    assert "sum of spent" in result.event


# --- Tables

TABLES: dict[str, Any] = {"keys": {"a": [1, 2], "b": ["x", "y"]}, "tables": ["a+b"]}


@pytest.mark.parametrize(
    "more",
    [{}, {"max_rows": 3}, {"ranges": ["a"]}, {"sums_share": "0.9", "weights": {"a+b": 2}}],
    ids=str,
)
@pytest.mark.quick("[{}]")
def test_tables_with_sums_cost_what_they_claim(more: dict[str, Any]) -> None:
    mechanism = dh.Tables(rho=2, sums=SUMS, **TABLES, **more)
    result = replayed(mechanism, "1e-2")
    assert not result.refuted
    (layer,) = result.layers
    assert layer.verdict == "holds", layer.covered
    assert "changes cost rho 2 at most" in layer.covered


def small_table() -> Tables:
    sums = {"spent": SUMS["spent"]}
    return dh.Tables(epsilon=2, delta="0.05", keys={"a": [1, 2]}, tables=["a"], sums=sums)


def test_laws_of_tables_with_sums_hold() -> None:
    """Of counts and sums: a product of draws, of which delta is nearly all of the claim."""
    result = dh.audit(small_table(), seconds=100, layers=("exact",))
    (layer,) = result.layers
    assert layer.verdict == "holds"
    assert "products of those of up to 4 draws" in layer.covered
    assert 1.9 < result.epsilon_lower < 2


def test_less_noise_of_sums_of_tables_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Tables._measure_contrasts

    def measure(self: Tables, sum_over: Any, scales: Any, source: Any) -> Any:
        factor = 1 if scales == self.scales else Fraction(7, 10)
        less = {table: scale * factor for table, scale in scales.items()}
        return real(self, sum_over, less, source)

    monkeypatch.setattr(Tables, "_measure_contrasts", measure)
    result = dh.audit(small_table(), seconds=100, layers=("exact",))
    assert result.refuted
    assert result.certain


@pytest.mark.parametrize("clamp", CLAMPS, ids=repr)
@pytest.mark.parametrize("keys", [
    {"a": [1, 2]}, {"a": ["x", "y", "z"], "b": dh.Axis.from_edges([0, 1, 2])},
], ids=len)  # fmt: skip
def test_a_row_moves_each_sum_as_far_as_a_row_can(clamp: dh.Clamp, keys: Any) -> None:
    mechanism = dh.Tables(rho=1, keys=keys, tables=["+".join(keys)], max_rows=2, sums={"v": clamp})
    reach, places = clamp.reach(counts_users=True), tuple(range(len(keys)))
    for pair in make_pairs(mechanism):
        counts = pair.other.sum_over(places) - pair.one.sum_over(places)
        sums = pair.other.sum_values("v", places) - pair.one.sum_values("v", places)
        assert counts.sum() == 2
        assert (counts >= 0).all()
        assert (abs(sums) == reach * counts).all()


def test_tables_with_sums_of_too_many_cells_are_refused() -> None:
    mechanism = dh.Tables(rho=1, keys={"a": range(5000)}, tables=["a"], sums=SUMS)
    with pytest.raises(dh.ParameterError, match="at most 4096 cells"):
        make_pairs(mechanism)
