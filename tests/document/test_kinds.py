"""What may be registered as a kind, and what a ledger asks of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.document.audited import AuditedClass, Auditing
from dphist.lab.auditing.named import mechanisms
from dphist.ledger.units import DataUnit, for_account
from dphist.mechanism import MechanismBase
from dphist.release import kind_names
from tests.support.means.amounts import Amounts
from tests.support.means.kind import KIND
from tests.support.means.mechanism import NoisyMean


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_names, "_REGISTERED", {})


class Unsaved:
    """A released value that files do not hold."""


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a name of ours": ({"name": "labels"}, "there is a kind labels already"),
    "an old name of ours": ({"name": "stream"}, "there is a kind stream already"),
    "no name": ({"name": ""}, "name must be one word"),
    "a name of two words": ({"name": "Two words"}, "name must be one word"),
    "any mechanism": ({"mechanism_type": object}, "mechanism_type must be a class of this kind's"),
    "mechanisms of all": ({"mechanism_type": MechanismBase}, "mechanism_type must be"),
    "mechanisms that are no class": ({"mechanism_type": (int,)}, "mechanism_type must be a class"),
    "data of a kind of ours": ({"data_type": dh.Profile}, "data_type must not be one with Profile"),
    "data that are no class": ({"data_type": 5}, "data_type must be a class"),
    "any data": ({"data_type": object}, "data_type must be a class"),
    "bounds nobody checks": ({"accept": None}, "accept must be given"),
}


@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_kinds_that_would_take_the_place_of_others_are_refused(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        dh.register(replace(KIND, value_type=Unsaved, **changes))
    assert not kind_names._REGISTERED


def test_a_name_is_registered_once() -> None:
    dh.register(replace(KIND, value_type=Unsaved))
    other = type("Other", (), {})
    with pytest.raises(dh.ParameterError, match="there is a kind means already"):
        dh.register(replace(KIND, value_type=other))


def test_bounds_that_a_mechanism_does_not_protect_are_refused_before_the_charge(
    tmp_path: Path,
) -> None:
    dh.register(replace(KIND, value_type=Unsaved))
    with dh.Ledger.create(tmp_path / "l.ledger", epsilon=2, unit="one record") as ledger:
        with pytest.raises(dh.BoundsError, match="larger maximum"):
            ledger.release(NoisyMean(epsilon=1, most=10), Amounts([1], 100), by="ana", key="k")
        assert [entry.action for entry in ledger.entries()] == ["opened", "account"]


def test_a_bound_that_is_none_is_refused_before_the_charge(tmp_path: Path) -> None:
    dh.register(replace(KIND, value_type=Unsaved))
    data = Amounts([1], 10)
    data.sensitivity = 0
    with dh.Ledger.create(tmp_path / "l.ledger", epsilon=2, unit="one record") as ledger:
        with pytest.raises(dh.ParameterError, match="sensitivity"):
            ledger.release(NoisyMean(epsilon=1, most=10), data, by="ana", key="k")
        assert [entry.action for entry in ledger.entries()] == ["opened", "account"]


@pytest.mark.parametrize("name", ["unit", "sensitivity"])
def test_data_that_do_not_state_their_bounds_are_refused(name: str) -> None:
    dh.register(replace(KIND, value_type=Unsaved))
    data = Amounts([1], 10)
    delattr(data, name)
    with pytest.raises(dh.ParameterError, match="data must state a unit"):
        DataUnit.of(data)


def test_what_a_check_of_others_raises_shows_no_data(tmp_path: Path) -> None:
    def accept(_mechanism: object, data: Any) -> None:
        raise ValueError(f"amounts {data.total}")

    dh.register(replace(KIND, value_type=Unsaved, accept=accept))
    with dh.Ledger.create(tmp_path / "l.ledger", epsilon=2, unit="one record") as ledger:
        with pytest.raises(dh.ParameterError, match="raised ValueError; nothing") as refused:
            ledger.release(NoisyMean(epsilon=1, most=10), Amounts([7], 10), by="ana", key="k")
        assert "7" not in str(refused.value)
        assert refused.value.__context__ is None
        assert [entry.action for entry in ledger.entries()] == ["opened", "account"]


def test_a_class_of_others_does_not_take_the_name_of_ours() -> None:
    named = type("LeafCounts", (NoisyMean,), {})
    auditing = Auditing(neighbors=lambda _: iter(()), mechanisms={named: AuditedClass()})  # type: ignore[arg-type, return-value]
    dh.register(replace(KIND, value_type=Unsaved, auditing=auditing))
    assert mechanisms()["LeafCounts"] is dh.LeafCounts


def test_data_of_others_bound_the_records_of_a_unit(tmp_path: Path) -> None:
    """A release for one record costs one patient, who has at most three, three times as much."""
    dh.register(replace(KIND, value_type=Unsaved))
    data: Any = Amounts([1, 2, 3], 10)
    data.unit, data.sensitivity = dh.PrivacyUnit("patient"), 3
    assert DataUnit.of(data) == DataUnit("one patient", 3)
    mechanism = NoisyMean(epsilon=1, most=10)
    guarantee = for_account(
        mechanism.guarantee, DataUnit.of(data), dh.PrivacyUnit("patient"), "main"
    )
    assert guarantee == dh.PureDP(3, dh.PrivacyUnit("patient"))
