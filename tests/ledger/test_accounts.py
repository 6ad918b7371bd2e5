"""Reservations, plans, caps, and several accounts in one ledger."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import BudgetError, LedgerError, ParameterError
from dphist.ledger import Ledger
from dphist.privacy import ZCDP, ApproxDP, PrivacyUnit, PureDP
from tests.support.ledgers import PROFILE, SCAN, Promise, actions, refused


@pytest.fixture
def ledger(any_ledger: Ledger) -> Ledger:
    return any_ledger


# Reservations


@pytest.mark.quick(every=2)
def test_a_reservation_counts_and_is_used_once(ledger: Ledger) -> None:
    ledger.reserve(dh.AdaptiveScan(epsilon="0.9"), by="ana", key="later")
    assert ledger.spent.epsilon == Fraction(9, 10)
    assert not ledger.can_afford(dh.AdaptiveScan(epsilon="0.2"))
    ledger.release(dh.AdaptiveScan(epsilon="0.9"), PROFILE, by="ana", key="later")
    assert ledger.spent.epsilon == Fraction(9, 10)
    assert actions(ledger) == ["reserved", "charged", "finished"]
    refused(ledger, lambda: ledger.cancel("later"), "only a reservation can be canceled")


def test_a_canceled_reservation_gives_all_back(ledger: Ledger) -> None:
    before = ledger.balance()
    ledger.reserve(SCAN, by="ana", key="later")
    ledger.cancel("later")
    assert ledger.balance() == before
    refused(ledger, lambda: ledger.cancel("later"), "is canceled")
    refused(ledger, lambda: ledger.cancel("never"), "no entry with the key 'never'")
    ledger.release(SCAN, PROFILE, by="ana", key="later")  # the key is free again
    assert ledger.spent.epsilon == Fraction(1, 10)


def test_a_charge_is_never_given_back(ledger: Ledger) -> None:
    with pytest.raises(RuntimeError):
        ledger.release(Promise(fails=True), PROFILE, by="ana", key="failed")
    refused(ledger, lambda: ledger.cancel("failed"), "a charge may have looked at data")


def test_a_reservation_is_for_one_mechanism_and_its_owner(ledger: Ledger) -> None:
    ledger.allow("ana", epsilon="0.5")
    ledger.allow("bob", epsilon="0.05")
    ledger.reserve(SCAN, by="ana", key="k")
    refused(ledger, lambda: ledger.reserve(SCAN, by="ana", key="k"), "is reserved")
    other = dh.AdaptiveScan(epsilon="0.2")
    refused(ledger, lambda: ledger.release(other, PROFILE, by="ana", key="k"), "another release")
    refused(
        ledger, lambda: ledger.release(SCAN, PROFILE, by="bob", key="k"), "was reserved by 'ana'"
    )
    ledger.release(SCAN, PROFILE, by="ana", key="k")


def test_the_only_entry_may_be_reserved_and_given_back(tmp_path: Path) -> None:
    """Rule (c) looks at live entries: nothing else while it is reserved, all again afterwards."""
    ledger = Ledger.create(tmp_path / "a", epsilon=1, delta="1e-6", unit="one record")
    whole = Promise(ApproxDP(1, "1e-6"))
    small = Promise(PureDP("1e-9"))
    ledger.reserve(whole, by="ana", key="k")
    assert not ledger.can_afford(small)
    ledger.cancel("k")
    ledger.release(small, PROFILE, by="ana", key="small")
    assert not ledger.can_afford(whole)
    refused(ledger, lambda: ledger.reserve(whole, by="ana", key="k"), "costs", BudgetError)


# Plans


@pytest.mark.verify
def test_a_plan_prices_a_list_and_charges_nothing(ledger: Ledger) -> None:
    steps = [SCAN] * 9 + [dh.AdaptiveScan(epsilon="0.2"), SCAN]
    plan = ledger.plan(steps)
    assert (plan.paid, plan.affordable) == (9, False)
    assert len(plan.prices) == len(steps)
    assert plan.prices[9][0].cost.epsilon == Fraction(1, 5)
    assert ledger.plan([SCAN] * 10).affordable
    assert ledger.plan([]).affordable
    assert not actions(ledger)
    for number in range(9):
        ledger.release(SCAN, PROFILE, by="ana", key=str(number))
    assert not ledger.can_afford(steps[9])
    assert ledger.can_afford(SCAN)


def test_plans_know_caps_and_closed_accounts(ledger: Ledger) -> None:
    ledger.allow("ana", epsilon="0.2")
    assert ledger.plan([SCAN] * 3, by="ana").paid == 2
    assert ledger.plan([SCAN] * 3, by="bob").paid == 3
    ledger.close_account("main")
    assert ledger.plan([SCAN]).paid == 0


def test_a_plan_says_which_release_ends_the_adding_up_of_epsilons(tmp_path: Path) -> None:
    """The first that states none, as with Gaussian noise; a refusal says so as well."""
    ledger = Ledger.create(tmp_path / "a", epsilon=1, delta="1e-6", unit="one record")
    pure, noisy = Promise(PureDP("0.3")), Promise(ZCDP("0.001"))
    assert ledger.plan([pure] * 3).ends_epsilons is None
    plan = ledger.plan([pure, noisy, pure, noisy])
    assert (plan.ends_epsilons, plan.paid) == (1, 1)
    assert ledger.plan([noisy, noisy]).ends_epsilons == 0
    for number in range(3):
        ledger.release(pure, PROFILE, by="ana", key=str(number))
    call = lambda: ledger.release(noisy, PROFILE, by="ana", key="k")  # noqa: E731
    refused(ledger, call, "states no epsilon, as with Gaussian noise", BudgetError)
    costly = Promise(PureDP("0.3"))
    with pytest.raises(BudgetError) as caught:
        ledger.release(costly, PROFILE, by="ana", key="k")
    assert "states no epsilon" not in str(caught.value)
    budgets: list[dict[str, Any]] = [{"epsilon": 1}, {"rho": 1}]
    for budget in budgets:
        other = Ledger.create(tmp_path / next(iter(budget)), unit="one record", **budget)
        assert other.plan([noisy]).ends_epsilons is None


# Caps and accounts


def test_a_cap_holds_below_the_total(ledger: Ledger) -> None:
    ledger.release(SCAN, PROFILE, by="ana", key="0")  # counts for a cap that is set later
    ledger.allow("ana", epsilon="0.2")
    ledger.release(SCAN, PROFILE, by="ana", key="1")

    def call():
        return ledger.release(SCAN, PROFILE, by="ana", key="2")

    refused(ledger, call, "fit in the cap of 'ana'.* epsilon=0 ", BudgetError)
    ledger.release(SCAN, PROFILE, by="bob", key="2")
    assert ledger.balance(by="ana").spent.epsilon == Fraction(1, 5)
    assert ledger.balance().spent.epsilon == Fraction(3, 10)
    ledger.allow("ana", epsilon="0.3")
    ledger.release(SCAN, PROFILE, by="ana", key="3")
    ledger.allow("ana")
    ledger.release(SCAN, PROFILE, by="ana", key="4")
    with pytest.raises(LedgerError, match="'ana' has no cap"):
        ledger.balance(by="ana")
    for wrong in ({"epsilon": 100}, {"delta": "1e-9"}):
        with pytest.raises(ParameterError, match=r"at most that of|epsilon or rho must"):
            ledger.allow("bob", **wrong)


def test_caps_of_people_do_not_add_to_the_total(ledger: Ledger) -> None:
    for name in ("ana", "bob"):
        ledger.allow(name, epsilon="0.8")
    large = dh.AdaptiveScan(epsilon="0.7")
    ledger.release(large, PROFILE, by="ana", key="1")

    def call():
        return ledger.release(large, PROFILE, by="bob", key="2")

    refused(ledger, call, "the account 'main'", BudgetError)


def test_a_cap_with_a_smaller_delta_is_not_kept_by_a_claim_at_a_larger_one(ledger: Ledger) -> None:
    """Rule (c) for a cap: the entry's own statement is at the delta of the account."""
    whole = Promise(ApproxDP("0.5", "1e-6"))
    ledger.allow("ana", epsilon="0.5", delta="1e-9")
    refused(
        ledger,
        lambda: ledger.release(whole, PROFILE, by="ana", key="k"),
        "the cap of 'ana'",
        BudgetError,
    )
    assert not ledger.can_afford(whole, by="ana")
    ledger.allow("ana", epsilon="0.5")
    ledger.release(whole, PROFILE, by="ana", key="k")


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda ledger: ledger.allow("ana", rho=1), "is given as"),
        (lambda ledger: ledger.allow("", epsilon=1), "by must not be empty"),
        (lambda ledger: ledger.allow("a\nb", epsilon=1), "by must be one line"),
        (lambda ledger: ledger.allow("ana", epsilon=0), "epsilon"),
        (lambda ledger: ledger.release(SCAN, PROFILE, by="", key="k"), "by must not be empty"),
        (lambda ledger: ledger.release(SCAN, PROFILE, by="ana", key=" "), "key must not be empty"),
        (lambda ledger: ledger.release(SCAN, PROFILE, by="ana", key="k" * 1001), "key must be"),
        (lambda ledger: ledger.release(SCAN, PROFILE, by=1, key="k"), "by must be one line"),
        (lambda ledger: ledger.release(SCAN, PROFILE, by="a", key="k", note="\x1b[2J"), "note"),
        (lambda ledger: ledger.release(SCAN, PROFILE, by="a", key="k", account=[]), "account"),
        (
            lambda ledger: ledger.release(SCAN, PROFILE, by="a", key="k", account=["main", "main"]),
            "account must name each account once",
        ),
        (lambda ledger: ledger.open_account("b", unit="record"), "epsilon or rho"),
        (lambda ledger: ledger.open_account("b", epsilon=1, unit=1), "unit"),
        (lambda ledger: ledger.open_account("b", epsilon=5e-324, unit="record"), "epsilon"),
    ],
)
@pytest.mark.quick(every=3)
def test_bad_parameters_are_refused(
    ledger: Ledger, call: Callable[[Ledger], object], match: str
) -> None:
    refused(ledger, lambda: call(ledger), match, ParameterError)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda ledger: ledger.allow("ana", epsilon=1, account="b"), "no account 'b'"),
        (lambda ledger: ledger.balance("b"), "no account 'b'"),
        (lambda ledger: ledger.close_account("b"), "no account 'b'"),
        (lambda ledger: ledger.open_account("main", epsilon=1, unit="user"), "'main' exists"),
        (lambda ledger: ledger.plan([SCAN], account="b"), "no account 'b'"),
    ],
)
def test_accounts_that_are_not_there(
    ledger: Ledger, call: Callable[[Ledger], object], match: str
) -> None:
    refused(ledger, lambda: call(ledger), match)


def test_several_accounts_are_charged_all_or_none(ledger: Ledger) -> None:
    ledger.open_account("lab", rho="0.01", unit="one record", dataset="samples of 2026")
    ledger.open_account("users", epsilon=1, unit="one user")
    with pytest.raises(ParameterError, match="account must be given"):
        ledger.release(SCAN, PROFILE, by="ana", key="k")
    both = ["main", "lab"]
    release = ledger.release(SCAN, PROFILE, by="ana", key="k", account=both)
    assert release.provenance["account"] == "main, lab"
    assert ledger.balance("main").spent.epsilon == Fraction(1, 10)
    assert ledger.balance("lab").spent.rho == PureDP("0.1").to_zcdp().rho
    for wanted, match in (
        (both[::-1], "fit in the account 'lab'"),
        (["main", "users"], "'users' protects one user"),
    ):

        def call(wanted=wanted):
            return ledger.release(
                dh.AdaptiveScan(epsilon="0.2"), PROFILE, by="ana", key="l", account=wanted
            )

        refused(ledger, call, match)
    assert ledger.balance("main").spent.epsilon == Fraction(1, 10)
    assert [account.name for account in ledger.accounts] == ["lab", "main", "users"]


def test_each_account_is_charged_for_its_own_unit(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", epsilon=1, unit="one user", account="users")
    ledger.open_account("pairs", epsilon=1, unit=PrivacyUnit("user", 2))
    frame = pa.table({"label": ["a", "a", "b"], "user": ["1", "2", "2"]})
    data = dh.Profile.from_table(frame, label="label", user="user", max_records=3)
    mechanism = dh.AdaptiveScan(epsilon="0.1", sensitivity=3)
    ledger.release(mechanism, data, by="ana", key="k", account=["users", "pairs"])
    assert ledger.balance("users").spent.epsilon == Fraction(1, 10)
    assert ledger.balance("pairs").spent.epsilon == Fraction(1, 5)


def test_a_closed_account_is_closed_for_good(ledger: Ledger) -> None:
    ledger.reserve(SCAN, by="ana", key="reserved")
    first = ledger.release(SCAN, PROFILE, by="ana", key="first")
    ledger.close_account("main", note="the study is over")
    for key in ("new", "reserved"):

        def call(key=key):
            return ledger.release(SCAN, PROFILE, by="ana", key=key)

        refused(ledger, call, "the account 'main' is closed")
    assert ledger.release(SCAN, PROFILE, by="ana", key="first") == first
    assert ledger.accounts[0].closed
    assert ledger.verify() == 6
