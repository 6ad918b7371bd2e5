"""Audits of releases with numbers of users: neighbors have them, and runs that fail say nothing."""

from fractions import Fraction
from typing import Any

import pytest

import dphist as dh
from dphist.data.open_data import open_users
from dphist.lab.auditing.subject import make_pairs
from dphist.labels.threshold.noise import GeometricNoise

TOTALS: dict[str, Any] = {
    "sums": {"x": dh.Clamp(0, 4, 1), "y": dh.Clamp(-3, 1, "0.5")}, "users_by_totals": True,
}  # fmt: skip
BY_LABELS: dict[str, Any] = {"users_by_labels": 5}
COUNTED = {"totals": TOTALS, "labels": BY_LABELS, "both": TOTALS | BY_LABELS}
LISTED: dict[str, Any] = {"labels": ["a", "b", "c"]}
FOUND: dict[str, Any] = {"delta": "1e-2"}


def make(name: str, **more: Any) -> dh.ThresholdHistogram:
    return dh.ThresholdHistogram(epsilon="1/2", max_labels=2, **COUNTED[name], **more)


def audit(mechanism: Any, layer: str, delta: Any = 0, seconds: float = 60) -> dh.AuditResult:
    return dh.audit(mechanism, delta=delta, seconds=seconds, layers=[layer])


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("labels", [LISTED, FOUND], ids=["listed", "found"])
@pytest.mark.quick("both")
def test_users_cost_what_they_claim(name: str, noise: Any, labels: dict[str, Any]) -> None:
    """No more, and with these neighbors no less."""
    mechanism = make(name, noise=noise, **labels)
    result = audit(mechanism, "replay", "1e-1")
    (layer,) = result.layers
    assert layer.verdict == "holds", layer.covered
    pure, rho = mechanism.epsilon_guarantee, mechanism.guarantee.rho
    cost = f"rho {float(rho):.4g}" if pure is None else f"epsilon {float(pure.epsilon):.4g}"
    assert f"changes cost {cost} at most" in layer.covered


@pytest.mark.parametrize("name", ["both"])
@pytest.mark.parametrize("noise", ["truncated", "optimal"])
@pytest.mark.parametrize("labels", [LISTED, {}], ids=["listed", "found"])
def test_noise_that_ends_is_not_objected_to(name: str, noise: Any, labels: dict[str, Any]) -> None:
    mechanism = make(name, noise=noise, **labels, **FOUND)
    for layer in ("exact", "replay"):
        result = audit(mechanism, layer, "1e-1", seconds=1)
        assert not result.refuted
        assert not result.objects


@pytest.mark.parametrize("name", COUNTED)
def test_one_user_changes_one_number_of_each_kind(name: str) -> None:
    mechanism = make(name, **LISTED)
    kinds = int(name != "totals"), len(TOTALS["sums"]) * (name != "labels")
    for pair in make_pairs(mechanism):
        for many, here, there in zip(
            kinds, open_users(pair.one), open_users(pair.other), strict=True
        ):
            changes = [after - before for before, after in zip(here, there, strict=True)]
            assert [change for change in changes if change] == [1] * many, pair.name


@pytest.mark.parametrize("name", COUNTED)
def test_weak_noise_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weak = GeometricNoise(Fraction(30))
    monkeypatch.setattr(dh.ThresholdHistogram, "_noise_for", lambda _self, _change: weak)
    result = audit(make(name, **LISTED), "replay")
    assert result.refuted
    assert result.certain
    (layer,) = audit(make(name, **FOUND), "replay", "1e-1", seconds=4).layers
    assert layer.verdict in {"refuted", "objects"}


def test_laws_refute_weak_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    weak = GeometricNoise(Fraction(30))
    monkeypatch.setattr(dh.ThresholdHistogram, "_noise_for", lambda _self, _change: weak)
    assert audit(make("labels", **LISTED), "exact", seconds=30).refuted


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_weak_noise_of_users_alone_is_objected_to(
    name: str, noise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = dh.ThresholdHistogram._noise_for
    less = Fraction(9, 10)
    monkeypatch.setattr(
        dh.ThresholdHistogram,
        "_noise_of_users",
        lambda self: right(self, less),  # type: ignore[arg-type]
    )
    delta = 0 if noise == "laplace" else "1e-1"
    result = audit(make(name, noise=noise, **LISTED), "replay", delta, seconds=6)
    assert result.refuted or result.objects
    if noise == "laplace":
        assert result.refuted
        assert result.certain


# --- Runs of which none returns anything


def test_an_audit_of_errors_alone_says_that_it_saw_nothing() -> None:
    plain = dh.LabelCounts.from_counts(["a"], [3], max_labels=2, max_count=1)
    more = dh.LabelCounts.from_counts(["a"], [4], max_labels=2, max_count=1)
    with pytest.raises(dh.ParameterError, match=r"saw nothing; .*users_by_labels needs data"):
        dh.audit(make("labels", **LISTED), [(plain, more)], seconds=1, layers=["exact"])


@pytest.mark.parametrize("layer", ["exact", "statistical"])
def test_runs_of_a_callable_that_all_fail_are_refused(layer: str) -> None:
    def fail(data: int, source: Any = None) -> int:
        raise ValueError("nothing is released")

    with pytest.raises(dh.ParameterError, match="ValueError: nothing is released"):
        dh.audit(fail, [(0, 1)], epsilon=1, seconds=0.5, layers=[layer])


def test_errors_beside_results_are_compared() -> None:
    """An error that only one of two neighbors gets refutes, and so does one that says the data."""

    def fail_on_one(data: int, source: Any = None) -> int:
        if data:
            raise ValueError("a one")
        return 0

    def tell(data: int, source: Any = None) -> int:
        raise ValueError(f"this is {data}")

    for run in (fail_on_one, tell):
        assert dh.audit(run, [(0, 1)], epsilon=1, seconds=5, layers=["exact"]).refuted
    (layer,) = dh.audit(
        lambda data, source=None: 0, [(0, 1)], epsilon=1, seconds=5, layers=["exact"]
    ).layers
    assert layer.verdict == "holds"
