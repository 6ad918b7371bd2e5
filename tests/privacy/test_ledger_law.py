"""The filter of a ledger against an analyst who chooses costs after seeing results.

The best of all strategies is found exactly (`ledger_analyst`): with the ledger's rules it stays
within (epsilon, delta), and with each planted rule it does not. "Stays" is shown with a factor just
below e**epsilon, "breaks" with one just above.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.budget import Budget
from dphist.ledger.units import DataUnit, for_account
from dphist.privacy import ZCDP, ApproxDP, Guarantee, PrivacyUnit, PureDP
from tests.support.privacy.ledger_analyst import (
    Play,
    Rule,
    composed,
    discrete_gaussian,
    filter_of,
    gain,
    power_of_e,
    response,
    revealing,
    several,
    totals_of,
)

BUDGET = Budget(epsilon=1, delta="0.1")
BELOW, ABOVE = power_of_e(Fraction(1), up=False), power_of_e(Fraction(1), up=True)
DELTA = BUDGET.delta

PLAYS = [
    response("11/10"),
    response("5/4"),
    response(2),
    response("3/2", ZCDP),
    revealing("5/4", "1/40"),
    revealing("11/10", "1/80"),
    discrete_gaussian("9/10", 1),
]


@pytest.mark.long(every=2)
@pytest.mark.quick("epsilon=1, delta=0.1_0", "epsilon=1.5", every=2)
@pytest.mark.parametrize(
    "budget",
    [
        BUDGET,
        Budget(epsilon=1, delta="0.1", delta_of_entries="0.08"),
        Budget(epsilon=1, delta="0.1", delta_of_entries="0.01"),
        Budget(epsilon="1/2", delta="0.2"),
        Budget(epsilon="3/2", delta="0.03"),
    ],
    ids=str,
)
def test_no_strategy_gains_more_than_the_account_allows(budget: Budget) -> None:
    assert budget.epsilon is not None
    factor = power_of_e(budget.epsilon, up=False)
    most = gain(PLAYS, filter_of(budget), factor, 5)
    assert 0 < most <= budget.delta


def test_a_strategy_reaches_a_pure_account_exactly_and_not_beyond() -> None:
    """Ten releases of epsilon 1/10 fill an account of 1; an eleventh is refused."""
    play = response(power_of_e(Fraction(1, 10), up=False))
    play = replace(play, cost=Cost.of(PureDP("0.1")))
    rule = filter_of(Budget(epsilon=1))
    assert gain([play], rule, BELOW, 12) < Fraction(1, 10**20)
    just_below = power_of_e(Fraction(999, 1000), up=True)
    assert gain([play], rule, just_below, 12) > 0


def test_a_rho_account_keeps_what_its_rho_converts_to() -> None:
    """At any delta: the conversion of accounting, Lemma 3."""
    budget = Budget(rho="0.15")
    for delta in ("0.01", "0.1"):
        epsilon = ZCDP("0.15").to_approx_dp(delta).epsilon
        most = gain(PLAYS, filter_of(budget), power_of_e(epsilon, up=False), 5)
        assert most <= Fraction(delta)


def test_what_months_promise_adds_up() -> None:
    """Two months, whose entries the analyst may even mix: at most (2 epsilon, 2 delta).

    With the epsilon of one month, the deltas of two are not enough: a month's promise is for it.
    """
    budget = Budget(epsilon="1/2", delta="0.02")
    plays = [response("8/5"), response("5/4", ZCDP), revealing("5/4", "1/100")]
    months = [replace(play, name=f"{month} {play.name}") for month in "12" for play in plays]

    def admits(history: tuple[Play, ...], play: Play) -> bool:
        same = tuple(each for each in history if each.name[0] == play.name[0])
        return budget.admits(totals_of(same), play.cost)

    most = gain(months, admits, power_of_e(Fraction(1), up=False), 4)
    assert 0 < most <= 2 * budget.delta
    assert gain(months, admits, power_of_e(Fraction(1, 2), up=True), 4) > 2 * budget.delta


def test_exact_composition_of_the_entries_so_far_is_no_filter() -> None:
    """The planted rule admits what the exact composition (Kairouz, Oh, Viswanath) of all allows.

    For each list of costs that is right. The analyst who picks the list by the results gains more.
    """
    plays = [response(odds) for odds in ("5/4", "3/2", 2, 3)]
    delta = composed((response("5/4"), response(3)), BELOW)

    def exact(history: tuple[Play, ...], play: Play) -> bool:
        return composed((*history, play), BELOW) <= delta

    assert gain(plays, exact, ABOVE, 4) > delta
    fixed = max(
        composed((one, other), BELOW) for one in plays for other in plays if exact((one,), other)
    )
    assert fixed <= delta  # of fixed lists none breaks it: the choice by results does


RESPONSES = [response("5/4"), response("3/2"), response("5/4", ZCDP), response("3/2", ZCDP)]


def judged_by_different_entries(history: tuple[Play, ...], play: Play) -> bool:
    costs = [each.cost for each in (*history, play)]
    pure = sum((cost.epsilon for cost in costs if cost.epsilon is not None), Fraction(0))
    others = sum((cost.rho for cost in costs if cost.epsilon is None), Fraction(0))
    deltas = sum((cost.delta for cost in costs), Fraction(0))
    assert BUDGET.epsilon is not None
    within = pure <= BUDGET.epsilon and others <= BUDGET.most_rho
    return within and deltas <= BUDGET.delta_of_entries


def mixed_entries_cost_no_epsilon(history: tuple[Play, ...], play: Play) -> bool:
    after = totals_of((*history, play))
    return BUDGET.keeps_epsilon(replace(after, mixed=0)) or BUDGET.keeps_rho(after)


def epsilons_may_use_all_of_delta(history: tuple[Play, ...], play: Play) -> bool:
    after = totals_of((*history, play))
    assert BUDGET.epsilon is not None
    by_epsilon = after.mixed == 0 and after.epsilon <= BUDGET.epsilon and after.delta <= DELTA
    return by_epsilon or BUDGET.keeps_rho(after)


def delta_is_spent_twice(history: tuple[Play, ...], play: Play) -> bool:
    """Entries may use all of delta, and rho is converted with all of it too."""
    after = totals_of((*history, play))
    converted = Budget(epsilon=1, delta="0.1", delta_of_entries=0)
    return after.rho <= converted.most_rho and after.delta <= DELTA


def the_largest_delta_counts(history: tuple[Play, ...], play: Play) -> bool:
    after = totals_of((*history, play))
    after = replace(after, delta=max(each.cost.delta for each in (*history, play)))
    return BUDGET.keeps_epsilon(after) or BUDGET.keeps_rho(after)


def alone_with_others(history: tuple[Play, ...], play: Play) -> bool:
    return BUDGET.admits(totals_of(history), play.cost) or BUDGET.admits(Totals(), play.cost)


def last_entry_is_left_out(history: tuple[Play, ...], play: Play) -> bool:
    """The rules hold before the entry, and not with it."""
    before = totals_of(history)
    return BUDGET.keeps_epsilon(before) or BUDGET.keeps_rho(before)


@pytest.mark.parametrize(
    ("rule", "plays"),
    [
        (judged_by_different_entries, [*RESPONSES, response(2)]),
        (mixed_entries_cost_no_epsilon, [response(2), response("3/2", ZCDP)]),
        (
            epsilons_may_use_all_of_delta,
            [*RESPONSES, revealing("11/10", "1/20")],
        ),
        (
            delta_is_spent_twice,
            [*RESPONSES, revealing("11/10", "1/40")],
        ),
        (the_largest_delta_counts, [revealing("11/10", "1/20")]),
        (alone_with_others, [response(2)]),
        (last_entry_is_left_out, [response(2), response("3/2")]),
    ],
)
@pytest.mark.quick(every=4)
def test_planted_rules_are_broken(rule: Rule, plays: list[Play]) -> None:
    assert gain(plays, rule, ABOVE, 5) > DELTA
    assert gain(plays, filter_of(BUDGET), BELOW, 5) <= DELTA


def test_the_only_entry_may_use_all_of_the_account() -> None:
    """Rule (c): a mechanism that is (1, 0.1)-DP itself, which neither (a) nor (b) admits."""
    odds = power_of_e(Fraction(1), up=False)
    whole = replace(revealing(odds, "0.1"), cost=Cost.of(ApproxDP(1, "0.1"), alone=Fraction(1)))
    totals = Totals().plus(whole.cost)
    assert not BUDGET.keeps_epsilon(totals)
    assert not BUDGET.keeps_rho(totals)
    rule = filter_of(BUDGET)
    assert rule((), whole)
    most = gain([whole, *PLAYS], rule, BELOW, 4)
    assert DELTA - Fraction(1, 10**6) < most <= DELTA + Fraction(1, 10**20)

    def with_others(history: tuple[Play, ...], play: Play) -> bool:
        return rule(history, play) or (play is whole and len(history) < 2)

    assert gain([whole, *PLAYS], with_others, ABOVE, 3) > DELTA


def test_the_product_of_deltas_cannot_be_broken_and_the_ledger_uses_the_sum() -> None:
    """1 - product(1 - delta) is a filter as well (ledger, Lemma 2): no strategy gains more.

    So no strategy can tell it from the sum; the ledger's sum is checked by itself.
    """
    step = revealing("11/10", "1/79")  # four of them: more than 1/20 as a sum, less as a product

    def product(history: tuple[Play, ...], play: Play) -> bool:
        after = totals_of((*history, play))
        inside = Fraction(1)
        for each in (*history, play):
            inside *= 1 - each.cost.delta
        after = replace(after, delta=1 - inside)
        return BUDGET.keeps_epsilon(after) or BUDGET.keeps_rho(after)

    assert product((step,) * 3, step)
    assert not filter_of(BUDGET)((step,) * 3, step)
    assert totals_of((step,) * 4).delta == Fraction(4, 79)
    plays = [step, revealing("3/2", "1/40"), response(2), response("3/2", ZCDP)]
    assert gain(plays, product, BELOW, 5) <= DELTA


def test_a_cost_rounded_down_is_broken() -> None:
    """Five entries of 0.0000019 are not five of 0.000001, for an account of 0.000005."""
    epsilon = Fraction(19, 10**7)
    play = response(power_of_e(epsilon, up=False))
    play = replace(play, cost=Cost.of(PureDP(epsilon)))
    budget = Budget(epsilon="0.000005")
    factor = power_of_e(Fraction(5, 10**6), up=True)

    def rounded_down(history: tuple[Play, ...], _: Play) -> bool:
        return Fraction(int(epsilon * 10**6), 10**6) * (len(history) + 1) <= Fraction(5, 10**6)

    assert gain([play], rounded_down, factor, 5) > 0
    below = power_of_e(Fraction(5, 10**6), up=False)
    assert gain([play], filter_of(budget), below, 5) < Fraction(1, 10**20)


USERS = PrivacyUnit("user")


@pytest.mark.parametrize(
    ("budget", "guarantee", "made"),
    [
        (
            Budget(epsilon=1),
            PureDP("0.23"),
            lambda cost: several(response(power_of_e(Fraction(23, 100), up=False)), 2, cost),
        ),
        (
            Budget(epsilon=1, delta="0.01"),
            ZCDP("0.0253178079843"),  # at least ln(1 / 0.975)
            lambda cost: discrete_gaussian("39/40", 2, apart=2, cost=cost),
        ),
    ],
    ids=["pure", "zcdp"],
)
@pytest.mark.quick(every=2)
def test_a_group_of_records_charged_as_one_is_broken(
    budget: Budget, guarantee: Guarantee, made: Callable[[Cost], Play]
) -> None:
    """A user has two records, and the release protects one."""
    assert budget.epsilon is not None
    grouped = for_account(guarantee, DataUnit("one user", 2), USERS, "main")
    ignored = guarantee
    below = power_of_e(budget.epsilon, up=False)
    above = power_of_e(budget.epsilon, up=True)
    room = Fraction(1, 10**20)
    assert gain([made(Cost.of(grouped))], filter_of(budget), below, 8) <= budget.delta + room
    assert gain([made(Cost.of(ignored))], filter_of(budget), above, 8) > budget.delta
