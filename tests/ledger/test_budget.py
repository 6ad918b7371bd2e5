"""Budgets and the rules of admission (ledger, Lemmas 3, 4 and 7)."""

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from dphist.errors import ParameterError
from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.balance import Amounts, Balance
from dphist.ledger.budget import Budget
from dphist.ledger.charging import describe_left
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PureDP
from dphist.privacy.conversion import pure_to_rho, rho_to_epsilon

MIXED = Budget(epsilon=1, delta="1e-6")


def filled(budget: Budget, guarantee: Guarantee) -> int:
    """Return how many such entries a budget admits."""
    totals, cost = Totals(), Cost.of(guarantee)
    while budget.admits(totals, cost):
        totals = totals.plus(cost)
        assert totals.entries < 10_000
    return totals.entries


def after(*guarantees: Guarantee) -> Totals:
    totals = Totals()
    for guarantee in guarantees:
        totals = totals.plus(Cost.of(guarantee))
    return totals


def test_a_pure_account_is_filled_exactly() -> None:
    assert filled(Budget(epsilon=1), PureDP("0.1")) == 10
    assert filled(Budget(epsilon="0.3"), PureDP("0.1")) == 3  # in floats 0.1 * 3 > 0.3
    assert filled(Budget(epsilon=1), PureDP(Fraction(1, 10) + Fraction(1, 10**60))) == 9


@pytest.mark.parametrize(
    "guarantee", [ZCDP("1e-9"), ApproxDP("1e-9", "1e-12"), ApproxZCDP("1e-9", "1e-12")], ids=str
)
def test_a_pure_account_admits_nothing_else(guarantee: Guarantee) -> None:
    assert filled(Budget(epsilon=100), guarantee) == 0


def test_a_pure_account_admits_an_entry_of_rho_that_is_pure_as_well() -> None:
    cost = Cost.of(ZCDP("0.1"), PureDP(1))
    assert Budget(epsilon=1).admits(Totals(), cost)
    assert not Budget(epsilon=1).admits(after(PureDP("0.1")), cost)


def test_accounts_of_rho_add_rhos_and_deltas() -> None:
    assert filled(Budget(rho=1), ZCDP("0.1")) == 10
    assert filled(Budget(rho=1), ApproxZCDP("0.1", "1e-12")) == 0
    assert filled(Budget(rho=1, delta="1e-6"), ApproxZCDP("0.1", "1e-12")) == 10
    assert filled(Budget(rho=1, delta="1e-6"), ApproxZCDP("0.001", "1e-7")) == 10
    assert filled(Budget(rho=pure_to_rho(Fraction(1)) * 3), PureDP(1)) == 3


def test_few_pure_releases_add_epsilons_and_many_add_rhos() -> None:
    """ALGORITHMS 13: at delta 1e-6, 10 of 0.1 cost 1.00 by (a), and 30 cost less by (b)."""
    assert filled(Budget(epsilon=1, delta="1e-6"), PureDP("0.1")) == 10
    assert filled(Budget(epsilon="2.8", delta="1e-6"), PureDP("0.1")) > 28
    assert filled(Budget(epsilon="2.8"), PureDP("0.1")) == 28


def test_the_rules_are_judged_by_all_entries_together() -> None:
    """What is left for epsilons is nothing once an entry states none, and the other way."""
    assert MIXED.admits(after(PureDP("0.9")), Cost.of(PureDP("0.1")))
    assert not MIXED.admits(after(PureDP("0.9")), Cost.of(ZCDP("1e-9")))
    most = MIXED.most_rho
    assert MIXED.admits(after(ZCDP(most / 2)), Cost.of(ZCDP(most / 2)))
    assert not MIXED.admits(after(ZCDP(most)), Cost.of(PureDP("1e-9")))
    epsilon = Fraction(1, 10)
    rest = most - pure_to_rho(epsilon)
    assert MIXED.admits(after(ZCDP(rest)), Cost.of(PureDP(epsilon)))
    assert not MIXED.admits(after(ZCDP(rest)), Cost.of(PureDP(epsilon * Fraction(1001, 1000))))


@pytest.mark.parametrize("stated", [ApproxDP, ApproxZCDP])
def test_deltas_of_entries_have_their_own_part(stated: type) -> None:
    part = MIXED.delta_of_entries
    assert part == MIXED.delta / 2
    small = Fraction(1, 1000)
    assert filled(MIXED, stated(small, part / 4)) == 4
    assert filled(MIXED, stated(small, part / 4 + Fraction(1, 10**40))) == 3
    assert (
        filled(Budget(epsilon=1, delta="1e-6", delta_of_entries="9e-7"), stated(small, part)) == 1
    )
    assert filled(Budget(epsilon=1, delta="1e-6", delta_of_entries=0), stated(small, "1e-12")) == 0
    assert not MIXED.admits(after(stated(small, part)), Cost.of(stated(small, "1e-30")))
    assert MIXED.admits(after(stated(small, part)), Cost.of(PureDP(small)))


def test_what_is_left_is_what_was_not_charged() -> None:
    budget = Budget(epsilon=1, delta="1e-6")
    totals = after(ApproxZCDP("0.001", "1e-7"), PureDP("0.02"))
    assert totals.rho == Fraction("0.001") + pure_to_rho(Fraction("0.02"))
    left = Balance("", budget, totals).remaining
    assert left == Amounts(None, budget.most_rho - totals.rho, Fraction("4e-7"))
    assert "(and delta=4e-7 for" in describe_left(budget, totals)
    spent = after(ApproxZCDP("0.001", budget.delta_of_entries))
    assert Balance("", budget, spent).remaining.delta == 0
    pure = Balance("", budget, after(PureDP("0.02"))).remaining
    assert (pure.epsilon, pure.delta) == (Fraction("0.98"), budget.delta_of_entries)


def test_the_sum_of_deltas_is_the_sum() -> None:
    """1 - product(1 - delta) is smaller; it would be sound, and is not what is used."""
    budget = Budget(rho=1, delta="0.5")
    assert filled(budget, ApproxZCDP("0.01", "1/4")) == 2
    assert filled(budget, ApproxZCDP("0.01", "0.26")) == 1  # 1 - 0.74**2 is 0.4524
    assert after(*[ApproxZCDP("0.01", "0.26")] * 2).delta == Fraction(52, 100)


def test_a_sharper_statement_counts_for_the_only_entry_alone() -> None:
    sharp = Cost(None, MIXED.most_rho * 2, MIXED.delta, alone=Fraction(1))
    small = Cost.of(PureDP("1e-9"))
    assert not MIXED.keeps_epsilon(Totals().plus(sharp))
    assert not MIXED.keeps_rho(Totals().plus(sharp))
    assert MIXED.admits(Totals(), sharp)
    assert not MIXED.admits(Totals().plus(small), sharp)
    assert not MIXED.admits(Totals().plus(sharp), small)
    assert not MIXED.admits(Totals().plus(sharp), sharp)
    assert MIXED.admits(Totals().plus(small).minus(small), sharp)  # it was only reserved
    dull = Cost(None, sharp.rho, sharp.delta, alone=Fraction(1) + Fraction(1, 10**30))
    assert not MIXED.admits(Totals(), dull)
    assert not MIXED.admits(Totals(), Cost(None, sharp.rho, sharp.delta))
    assert not Budget(rho=MIXED.most_rho, delta="1e-6").admits(Totals(), sharp)


@pytest.mark.parametrize("epsilon", ["1e-6", "0.1", "1", "2.5", "40"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_the_largest_rho_is_what_converts_to_epsilon(epsilon: str, delta: str) -> None:
    """At the half of delta that converts; twelve digits more would be too much."""
    budget = Budget(epsilon=epsilon, delta=delta)
    rho = budget.most_rho
    half = Fraction(delta) / 2
    assert rho > 0
    assert rho_to_epsilon(rho, half) <= Fraction(epsilon)
    assert rho_to_epsilon(rho * (1 + Fraction(1, 10**9)), half) > Fraction(epsilon)
    assert Budget(epsilon=epsilon, delta=delta, delta_of_entries=0).most_rho > rho


@pytest.mark.parametrize("used", [[], ["0.05"], ["0.1"] * 9, ["0.05"] * 30, ["0.999999999"]])
def test_the_largest_epsilon_fits_and_little_more_does_not(used: list[str]) -> None:
    for budget in (Budget(epsilon=2, delta="1e-6"), Budget(epsilon=2), Budget(rho="0.9")):
        totals = after(*map(PureDP, used))
        largest = budget.largest_epsilon(totals)
        assert largest > 0
        assert budget.admits(totals, Cost.of(PureDP(largest)))
        assert not budget.admits(totals, Cost.of(PureDP(largest * (1 + Fraction(1, 10**9)))))


def test_nothing_fits_a_full_account() -> None:
    assert Budget(epsilon=1).largest_epsilon(after(PureDP(1))) == 0
    assert Budget(rho=1).largest_epsilon(after(ZCDP(1))) == 0


def test_nothing_fits_once_the_deltas_of_entries_exceed_their_part() -> None:
    """A sharper statement alone admits such an entry."""
    part = MIXED.delta_of_entries
    assert MIXED.largest_epsilon(after(ApproxZCDP("0.001", part))) > 0
    assert MIXED.largest_epsilon(after(ApproxZCDP("0.001", part * Fraction(1001, 1000)))) == 0


def test_the_conversion_is_that_of_the_paper() -> None:
    """rho* by the formula of Canonne, Kamath and Steinke, with mpmath."""
    with mpmath.workdps(40):
        rho, delta = mpmath.mpf(str(float(MIXED.most_rho))), mpmath.mpf("5e-7")

        def bound(a: mpmath.mpf) -> mpmath.mpf:
            return a * rho + (
                mpmath.log(1 / delta) + (a - 1) * mpmath.log(1 - 1 / a) - mpmath.log(a)
            ) / (a - 1)

        best = mpmath.findroot(lambda a: mpmath.diff(bound, a), 30)
        assert abs(bound(best) - 1) < 1e-9


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({}, "epsilon or rho"),
        ({"epsilon": 1, "rho": 1}, "epsilon or rho"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": "1e999999999"}, "epsilon"),
        ({"epsilon": 5e-324}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": Fraction(1, 10**200)}, "epsilon"),
        ({"epsilon": 10**10}, "epsilon"),
        ({"rho": Fraction(1, 3**400)}, "rho"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": -1}, "delta"),
        ({"epsilon": 1, "delta": "x"}, "delta"),
        ({"epsilon": 1, "delta": Fraction(1, 10**200)}, "delta"),
        ({"epsilon": 1, "delta": "0.1", "delta_of_entries": "0.1"}, "delta_of_entries"),
        ({"epsilon": 1, "delta_of_entries": 0}, "delta_of_entries"),
        ({"rho": 1, "delta": "0.1", "delta_of_entries": "0.01"}, "delta_of_entries"),
    ],
)
def test_bad_budgets_are_refused(parameters: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Budget(**parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "budget",
    [
        Budget(epsilon=0.1),
        Budget(epsilon="1/3", delta="1/7"),
        Budget(epsilon=1, delta="1e-6", delta_of_entries="1/3000000"),
        Budget(epsilon=1, delta="1e-6", delta_of_entries=0),
        Budget(rho="1/3"),
        Budget(rho=2, delta="1e-9"),
    ],
    ids=str,
)
def test_budgets_are_read_as_they_were_written(budget: Budget) -> None:
    assert Budget.from_content(budget.to_content()) == budget
    assert Budget.from_content(budget.to_content()).most_rho == budget.most_rho


def test_a_search_that_ends_elsewhere_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Floats find rho and the order; an entry keeps both, and decimals alone judge them."""

    def another_machine(*_: object) -> None:
        raise AssertionError("searched again")

    content = Budget(epsilon="0.7", delta="3e-7").to_content()
    for name in ("best_order", "rho_to_epsilon"):
        monkeypatch.setattr(f"dphist.ledger.budget.{name}", another_machine)
    assert Budget.from_content(content).to_content() == content


def worth(**changes: object) -> dict[str, Any]:
    content = MIXED.to_content()
    return {**content, "largest_rho": {**content["largest_rho"], **changes}}


@pytest.mark.parametrize(
    "content",
    [
        worth(rho=str(MIXED.most_rho * (1 + Fraction(1, 10**9)))),
        worth(rho=str(MIXED.most_rho * 1000)),
        worth(rho=str(-MIXED.most_rho)),
        worth(order="1"),
        worth(order="1/2"),
        worth(order="1000"),
        worth(order=None),
        worth(rho="0"),
        worth(rho="1e-2"),
        worth(rho="1e999999999"),
        worth(rho="2/4"),
        worth(rho="9" * 1000),
        worth(rho=5),
        {**MIXED.to_content(), "largest_rho": None},
        {**Budget(epsilon=1).to_content(), "largest_rho": worth()["largest_rho"]},
        {**Budget(rho=1, delta="0.1").to_content(), "largest_rho": worth()["largest_rho"]},
    ],
)
def test_a_rho_that_is_not_worth_epsilon_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Budget.from_content(content)


def test_a_smaller_rho_is_another_budget() -> None:
    smaller = Budget.from_content(worth(rho=str(MIXED.most_rho / 2)))
    assert smaller != MIXED
    assert smaller.most_rho == MIXED.most_rho / 2


def test_what_accounts_guarantee() -> None:
    assert Budget(epsilon=1).guarantee == PureDP(1)
    assert MIXED.guarantee == ApproxDP(1, "1e-6")
    assert Budget(rho=1).guarantee == ZCDP(1)
    assert Budget(rho=1, delta="1e-6").guarantee == ApproxZCDP(1, "1e-6")
    assert Budget(epsilon=0.1) == Budget(epsilon="1/10")


@pytest.mark.parametrize("spent", [0, 1, 3])
@pytest.mark.parametrize(
    "budget",
    [
        Budget(epsilon=1),
        Budget(epsilon=1, delta="1e-6"),
        Budget(epsilon="0.02", delta="1e-6"),
        Budget(rho="0.1"),
        Budget(rho="0.1", delta="1e-6"),
    ],
    ids=str,
)
def test_as_many_releases_are_left_as_are_admitted(budget: Budget, spent: int) -> None:
    """The number is the one that charges reach, one after the other, never one more."""
    third = Fraction(1, 3)
    costs = [
        Cost.of(PureDP("0.1")),
        Cost.of(PureDP(Fraction(1, 30))),
        Cost.of(PureDP(Fraction(7**140, 3**40 * 10**100))),  # sums of it are rounded up
        Cost.of(ZCDP("0.001")),
        Cost.of(ApproxZCDP("0.001", "1e-7")),
        Cost.of(ApproxDP(third, "2e-7")),
        Cost.of(ZCDP("0.01"), alone=Fraction(1, 100)),
    ]
    for before in costs:
        for cost in costs:
            totals = Totals()
            for _ in range(spent):
                totals = totals.plus(before)
            said, admitted = budget.count_releases(totals, cost), 0
            while budget.admits(totals, cost):
                totals, admitted = totals.plus(cost), admitted + 1
            assert said == admitted, (before, cost)
