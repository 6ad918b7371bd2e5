"""Groups that share no user: one charge, the largest of what each costs, and nothing by halves."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.errors import BudgetError, LedgerError, ParameterError
from dphist.ledger import Deferred, Ledger
from dphist.ledger.amounts import Cost
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PureDP
from tests.support.ledgers import PROFILE, SCAN, Promise, actions, refused

OTHER = dh.Profile.from_counts([4, 1])


@pytest.fixture
def ledger(any_ledger: Ledger) -> Ledger:
    return any_ledger


def parallel(ledger: Ledger, mechanism: Any, data: Any = None, **more: Any) -> dict[str, Any]:
    found = {"Bern": PROFILE, "Uri": OTHER} if data is None else data
    return ledger.parallel(mechanism, found, **{"by": "ana", "key": "k", **more})


def test_groups_are_charged_once_and_kept(ledger: Ledger, place: str | Path) -> None:
    found = parallel(ledger, SCAN)
    assert list(found) == ["Bern", "Uri"]
    assert actions(ledger) == ["charged", "finished"]
    assert ledger.spent.epsilon == Fraction(1, 10)
    assert ledger.balance().totals.entries == 1
    opened = Ledger.open(place)
    assert parallel(opened, SCAN) == found == opened.stored_groups("k")
    assert actions(ledger) == ["charged", "finished"]
    refused(ledger, lambda: ledger.release(SCAN, PROFILE, by="ana", key="k"), "another release")
    other = {"Bern": PROFILE, "Glarus": OTHER}
    refused(ledger, lambda: parallel(ledger, SCAN, other), "another release")
    assert ledger.verify() == 4


def test_a_page_names_the_groups_and_who_asserts_them(ledger: Ledger) -> None:
    from dphist.report import make_json, summary_text

    release = parallel(ledger, SCAN)["Uri"]
    said = " ".join(summary_text(release).split())
    assert "It paid once for the groups Bern, Uri; this is Uri." in said
    assert "asserts that nobody is in two groups, and this was not checked" in said
    assert make_json(release)["groups"] == "Bern, Uri"
    with pytest.raises(LedgerError, match="stored_groups"):
        ledger.stored("k")


LIMITS: list[tuple[list[Guarantee], Cost]] = [
    ([PureDP("0.1"), PureDP("0.3")], Cost.of(PureDP("0.3"))),
    ([PureDP("0.3"), PureDP("0.1")], Cost.of(PureDP("0.3"))),
    ([ZCDP("0.001"), ZCDP("0.002")], Cost.of(ZCDP("0.002"))),
    (
        [ApproxZCDP("0.001", "1e-7"), ApproxZCDP("0.002", "1e-8"), ZCDP("0.003")],
        Cost.of(ApproxZCDP("0.003", "1e-7")),
    ),
    (
        [ApproxDP("0.2", "1e-8"), ApproxDP("0.1", "1e-7")],
        replace(Cost.of(ApproxDP("0.2", "1e-7")), rho=Cost.of(ApproxDP("0.2", "1e-8")).rho),
    ),
    (  # one that states no epsilon: none is known of both
        [PureDP("0.1"), ZCDP("0.001")],
        replace(Cost.of(PureDP("0.1")), epsilon=None),
    ),
]


@pytest.mark.parametrize(("guarantees", "cost"), LIMITS, ids=str)
def test_groups_cost_the_largest_of_each_number(
    guarantees: list[Guarantee], cost: Cost, ledger: Ledger
) -> None:
    """Each group's release by itself must not cost more than all of them together."""
    names = [f"group {number}" for number in range(len(guarantees))]
    promises = {name: Promise(each) for name, each in zip(names, guarantees, strict=True)}
    parallel(ledger, promises, {name: dh.Profile.from_counts([2]) for name in names})
    (part,) = list(ledger.entries())[2].content["costs"]
    charged = Cost.from_content(part["cost"])
    assert replace(charged, alone=None) == cost
    alone = [
        price.cost.alone
        for (price,) in ledger.plan(list(promises.values())).prices
        if price.cost.alone is not None
    ]
    assert charged.alone == (max(alone) if len(alone) == len(names) else None)
    assert ledger.verify() == 4


def test_bounds_of_a_group_count_by_the_largest(tmp_path: Path) -> None:
    """A patient has at most 2 records in one hospital and 3 in the other."""
    book = Ledger.create(tmp_path / "l.ledger", epsilon=1, unit="one patient")
    few, many = (Deferred(lambda: PROFILE, "one patient", records) for records in (2, 3))
    with pytest.raises(LedgerError, match="paid for"):
        parallel(book, SCAN, {"few": few, "many": many})
    assert book.spent.epsilon == Fraction(3, 10)


def test_what_fails_in_the_middle_stays_charged_and_returns_nothing(ledger: Ledger) -> None:
    opened = []

    def fail() -> object:
        opened.append(ledger.spent.epsilon)
        raise RuntimeError("the disk is gone")

    bern = Deferred(lambda: PROFILE, PROFILE.unit, PROFILE.sensitivity)
    data = {"Bern": bern, "Uri": Deferred(fail)}
    with pytest.raises(RuntimeError) as raised:
        parallel(ledger, SCAN, data)
    assert raised.value.__notes__ == [
        "The release was charged (entry 3 of clinic) and stays charged."
    ]
    assert opened == [Fraction(1, 10)]
    assert actions(ledger) == ["charged"]
    with pytest.raises(LedgerError, match="has not finished"):
        parallel(ledger, SCAN, data)
    assert ledger.spent.epsilon == Fraction(1, 10)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: {}, "dictionary"),
    (lambda: [PROFILE, OTHER], "dictionary"),
    (lambda: {"Bern": PROFILE, "Bern ": OTHER}, "two groups with one value"),
    (lambda: {"Bern": PROFILE, "BERN": OTHER}, "two groups with one value"),
    (lambda: {"Bern": PROFILE, "Uri": PROFILE}, "the same data in two groups"),
    (lambda: {1: PROFILE}, "one line of text"),
    (
        lambda: {name: Deferred(lambda: PROFILE, about="rows.csv") for name in ("Bern", "Uri")},
        "the same data in two groups",
    ),
]


@pytest.mark.parametrize(("data", "match"), WRONG)
def test_groups_that_cannot_be_are_refused(
    data: Callable[[], Any], match: str, ledger: Ledger
) -> None:
    refused(ledger, lambda: parallel(ledger, SCAN, data()), match, ParameterError)


def test_the_same_guarded_data_are_no_two_groups(ledger: Ledger) -> None:
    data = {"Bern": ledger.guard(PROFILE), "Uri": ledger.guard(PROFILE)}
    refused(ledger, lambda: parallel(ledger, SCAN, data), "same data", ParameterError)


def test_what_does_not_fit_or_protects_couples_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    dear = {"Bern": SCAN, "Uri": dh.AdaptiveScan(epsilon=2)}
    refused(ledger, lambda: parallel(ledger, dear), "costs 2-diff", BudgetError)
    one = {"Bern": SCAN}
    refused(ledger, lambda: parallel(ledger, one), "for each group", ParameterError)
    couples = Ledger.create(tmp_path / "c.ledger", epsilon=1, unit=dh.PrivacyUnit("record", 2))
    refused(couples, lambda: parallel(couples, SCAN), "may be in several groups")
