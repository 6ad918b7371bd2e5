"""Accounts of exchanged units: docs/understand/proofs/exchanged.md, Lemma 3."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.document.disclosure import facts_of_charge
from dphist.document.totals import state_account
from dphist.errors import BudgetError, LedgerError, ParameterError
from dphist.ledger.book import Account
from dphist.ledger.budget import Budget
from dphist.ledger.document import make_document
from dphist.ledger.units import DataUnit, cost_for, for_account
from dphist.privacy import ZCDP, ApproxZCDP, PrivacyUnit, PureDP, Target
from dphist.render.html import page
from dphist.streams.mechanism import ContinualMechanism

RECORD, SWAPPED = PrivacyUnit("record"), PrivacyUnit("record", exchanged=True)
USER, OTHER_USER = PrivacyUnit("user"), PrivacyUnit("user", exchanged=True)
FRAME = pa.table({"who": ["a", "a", "b"], "at": [0.5, 1.5, 2.5]})


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[dh.Ledger]:
    with dh.Ledger.create(tmp_path / "a.ledger", epsilon=4, delta="1e-6", unit=SWAPPED) as made:
        yield made


def price(mechanism: Any, data: DataUnit, unit: PrivacyUnit) -> Any:
    return cost_for(mechanism, data, unit, Fraction(1, 10**6), "main")[0]


def test_an_account_charges_what_an_exchange_costs(ledger: dh.Ledger, tmp_path: Path) -> None:
    leaves = dh.LeafCounts(epsilon=1, bins=4)
    release = ledger.release(leaves, [1, 2, 3, 4], by="a", key="one")
    assert release.guarantee == PureDP(1)  # as everywhere: for one that is added or removed
    assert release.exchanged == PureDP(2, SWAPPED)
    assert ledger.balance().spent.epsilon == 2
    rho = dh.LeafCounts(rho="1/100", bins=4)
    with dh.Ledger.create(tmp_path / "b", rho=1, unit=SWAPPED) as other:
        other.release(rho, [1, 2, 3, 4], by="a", key="two")
        assert other.balance().spent.rho == Fraction(2, 100)


def test_what_is_proved_of_a_unit_added_is_not_charged() -> None:
    """A mechanism may prove less epsilon by its noise; that is for a unit added or removed."""
    labels = dh.ThresholdHistogram(epsilon="0.1", delta="1e-9", max_labels=2, noise="laplace")
    own = cost_for(labels, DataUnit(), USER, Fraction(1, 10**6), "main")[1]
    assert own.epsilon == Fraction(2, 10)
    stated, cost = cost_for(labels, DataUnit(), OTHER_USER, Fraction(1, 10**6), "main")
    assert stated == labels.exchanged
    assert cost.epsilon is None
    assert cost.rho == stated.rho == 4 * labels.guarantee.rho
    assert cost.alone == stated.to_approx_dp("1e-6").epsilon


def test_what_fits_is_stated_of_what_is_added_or_removed(ledger: dh.Ledger) -> None:
    """A budget of 4 pays for one release of epsilon 2, which an exchange costs twice."""
    with pytest.raises(BudgetError, match="the largest epsilon that fits is 2"):
        ledger.release(dh.LeafCounts(epsilon=3, bins=4), [1, 2, 3, 4], by="a", key="three")
    ledger.release(dh.LeafCounts(epsilon=2, bins=4), [1, 2, 3, 4], by="a", key="two")
    assert ledger.balance().spent.epsilon == 4


def test_a_ledger_is_read_again_for_exchanged_units(ledger: dh.Ledger) -> None:
    (account,) = ledger.accounts
    assert account.unit == SWAPPED
    assert Account.from_content(account.to_content()).unit == SWAPPED
    several = Account("a", PrivacyUnit("record", 3, exchanged=True), Budget(epsilon=1), "")
    assert Account.from_content(several.to_content()).unit == several.unit
    with dh.Ledger.open(ledger.place) as again:
        assert again.accounts[0].unit == SWAPPED
    shown = page(make_document(ledger))
    assert "one record, exchanged for another" in shown
    assert "is in the data or another one," in shown
    assert "in the data or not" not in shown
    assert dh.Ledger.create(
        Path(ledger.place).with_name("b"), epsilon=1, unit="one record, exchanged for another"
    ).accounts[0].unit == SWAPPED  # fmt: skip


def test_a_guarantee_of_one_unit_is_refused_for_the_other() -> None:
    """And never converted to the cheaper of the two."""
    data = DataUnit()
    with pytest.raises(LedgerError, match="says little of others"):
        for_account(PureDP(1, SWAPPED), data, RECORD, "main")
    with pytest.raises(ParameterError, match="that are exchanged"):
        PureDP(1, SWAPPED).for_unit(RECORD)
    with pytest.raises(ParameterError, match="that are exchanged"):
        PureDP(1, SWAPPED).for_unit(OTHER_USER, has=3)
    with pytest.raises(ParameterError, match=r"the other added or removed; use mechanism\.exch"):
        dh.compose(PureDP(1), PureDP(1, SWAPPED))
    with pytest.raises(ParameterError, match="must be for one record, whom"):
        dh.LeafCounts(epsilon=1, bins=4).calibrated_to(Target(PureDP(1, SWAPPED)))


class Stating:
    """A mechanism of somebody else's, which states what it is given."""

    def __init__(self, guarantee: Any, exchanged: Any = None) -> None:
        self.guarantee, self.exchanged = guarantee, exchanged


def test_mechanisms_of_others_pay_what_they_state_or_two_steps() -> None:
    nothing = DataUnit()
    assert price(Stating(PureDP(1)), nothing, SWAPPED) == PureDP(2, SWAPPED)
    assert price(Stating(ZCDP(1)), nothing, SWAPPED) == ZCDP(4, SWAPPED)
    assert price(Stating(ZCDP(1), ZCDP("3/2", SWAPPED)), nothing, SWAPPED) == ZCDP("3/2", SWAPPED)
    assert price(Stating(ZCDP(1), ZCDP("3/2", SWAPPED)), nothing, RECORD) == ZCDP(1)
    with pytest.raises(ParameterError, match="must state `exchanged` for the unit"):
        price(Stating(ZCDP(1), ZCDP("3/2", RECORD)), nothing, SWAPPED)
    with pytest.raises(LedgerError, match="too large for two units"):
        price(Stating(ApproxZCDP(1, "0.6")), nothing, SWAPPED)


def test_users_are_exchanged_with_all_their_records() -> None:
    three = dh.LeafCounts(rho="1/10", bins=4, sensitivity=3)
    assert price(three, DataUnit("one user", 3), OTHER_USER) == ZCDP("1/5", OTHER_USER)
    assert price(three, DataUnit("one user", 2), OTHER_USER) == ZCDP("1/5", OTHER_USER)
    for records in (4, None):
        with pytest.raises(LedgerError, match="does not protect all records of one"):
            price(three, DataUnit("one user", records), OTHER_USER)
    with pytest.raises(LedgerError, match="protects one record, exchanged"):
        price(three, DataUnit("one user", 3), SWAPPED)
    with pytest.raises(LedgerError, match="at most 3 records, each exchanged for another"):
        price(three, DataUnit(), OTHER_USER)
    labels = dh.ThresholdHistogram(epsilon="0.1", delta="1e-9", max_labels=2)
    patient = PrivacyUnit("patient", exchanged=True)
    two = labels.guarantee.for_group(2)
    assert isinstance(two, ApproxZCDP)
    expected = ApproxZCDP(two.rho, two.delta, patient)
    assert price(labels, DataUnit("one patient", 2), patient) == expected


def test_bounds_of_tables_are_checked_before_a_charge(tmp_path: Path) -> None:
    data = dh.bin_counts(
        FRAME, column="at", start=0, stop=4, width=1, user="who", max_records=2
    )  # fmt: skip
    with dh.Ledger.create(tmp_path / "a", epsilon=4, unit=OTHER_USER) as ledger:
        two = dh.LeafCounts(epsilon=1, bins=4, sensitivity=2)
        release = ledger.release(two, data, by="a", key="one")
        assert release.exchanged == PureDP(2, OTHER_USER)
        with pytest.raises(dh.BoundsError):
            ledger.release(dh.LeafCounts(epsilon=1, bins=4), data, by="a", key="two")
        assert ledger.balance().spent.epsilon == 2


def test_streams_sessions_and_groups_are_refused(ledger: dh.Ledger, tmp_path: Path) -> None:
    """Two steps are not proved for what runs beside others, and a unit may change its group."""
    stream = ContinualMechanism(epsilon=1, horizon=16, method="laplace", labels=("a",))
    with pytest.raises(LedgerError, match="not covered for streams and sessions"):
        ledger.open_stream(tmp_path / "s", stream, by="a", key="s")
    session = dh.PayWhatYouGet(epsilon="0.1", delta="1e-9", max_labels=1, budget=2, queries=1)
    with pytest.raises(LedgerError, match="not covered for streams and sessions"):
        ledger.session(session, by="a", key="t")
    leaves, data = dh.LeafCounts(epsilon="1/4", bins=2), {"x": [1, 2], "y": [3, 4]}
    with pytest.raises(LedgerError, match="may be in two groups"):
        ledger.parallel(leaves, data, by="a", key="g")
    assert ledger.balance().spent.epsilon == 0


def test_data_do_not_say_that_their_units_are_exchanged() -> None:
    for make in (
        lambda: dh.Profile.from_counts([1], unit=OTHER_USER),
        lambda: dh.bin_counts(FRAME, column="at", start=0, stop=4, width=1, user="who",
                              max_records=2, unit="one user, exchanged for another"),
        lambda: dh.plan("ranges", epsilon=1, bins=4, total=9, unit=OTHER_USER),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match="must not be exchanged"):
            make()


def test_a_release_must_say_what_adding_costs() -> None:
    release = dh.LeafCounts(epsilon=1, bins=2).release([1, 2])
    for stated in ({"guarantee": PureDP(2, SWAPPED)}, {"provenance": {"unit": OTHER_USER}}):
        given: dict[str, Any] = {"guarantee": release.guarantee, **stated}
        with pytest.raises(ParameterError, match="must be for a unit that is added or removed"):
            dh.Release(release.value, mechanism=release.mechanism, **given)


def test_an_account_of_exchanges_is_disclosed_as_that(ledger: dh.Ledger) -> None:
    (account,) = ledger.accounts
    stated = state_account(account.over_months(1))
    assert str(stated.unit) == "one record, exchanged for another"
    facts = facts_of_charge(dh.LeafCounts(epsilon=1, bins=4), account.unit)
    said = (
        "Two data sets are neighbors if they differ in a unit: one record, exchanged for another."
    )
    assert facts.neighbors == said
