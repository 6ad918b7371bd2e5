"""Budgets that are renewed monthly: which month pays, and what months add up to."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.cli import main
from dphist.commands.ledger.payment import is_paid
from dphist.errors import BudgetError, LedgerError, ParameterError
from dphist.ledger import Ledger
from dphist.ledger.book import EVERYBODY
from dphist.ledger.history import histories
from dphist.ledger.periods import find_end, over_months
from dphist.privacy import ApproxDP, ApproxZCDP, Guarantee, PureDP
from tests.support.ledgers import PROFILE, Promise, refused

Place = str | Path
HALF = Promise(PureDP("0.5"))
MONTH = dict[str, Fraction]


class Clock:
    """What `datetime.now` says in this test; a function may run before it is said."""

    def __init__(self) -> None:
        self.say: Callable[[], str] = lambda: "2026-11-30"

    def now(self, zone: object) -> datetime:
        assert zone is UTC
        return datetime.fromisoformat(self.say()).replace(tzinfo=UTC)

    def set(self, day: str) -> None:
        self.say = lambda: day


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("dphist.ledger.entries.datetime", made)
    return made


@pytest.fixture
def monthly(clock: Clock, place: Place) -> Iterator[Ledger]:
    with Ledger.create(
        place, epsilon=1, delta="1e-6", unit="one record", renew="monthly", name="clinic"
    ) as ledger:
        yield ledger


def pay(ledger: Ledger, key: str, mechanism: Any = HALF, by: str = "ana") -> None:
    ledger.release(mechanism, PROFILE, by=by, key=key)


def spent_by_month(ledger: Ledger) -> dict[str, Fraction]:
    """Return what entries say, added up by the month of their time."""
    found: dict[str, Fraction] = {}
    for entry in ledger.entries():
        if entry.action == "charged":
            cost = Fraction(entry.content["costs"][0]["cost"]["epsilon"])
            found[entry.time[:7]] = found.get(entry.time[:7], Fraction(0)) + cost
    return found


def test_a_month_has_the_budget_anew_and_months_add_up(monthly: Ledger, clock: Clock) -> None:
    """The whole of two months is what all time has spent; the ledger verifies throughout."""
    assert [account.renew for account in monthly.accounts] == ["monthly"]
    for number, day in enumerate(("2026-11-30T23:59:59.999", "2026-12-01", "2027-02-28")):
        clock.set(day)
        assert monthly.releases_left(HALF) == 2
        for each in range(2):
            pay(monthly, f"{number}.{each}")
        balance = monthly.balance()
        assert (balance.period, balance.spent.epsilon) == (day[:7], 1)
        assert (balance.all_time.epsilon, balance.all_time.entries) == (number + 1, 2 * number + 2)
        assert monthly.releases_left(HALF) == 0
        assert not monthly.can_afford(HALF)
        told = rf"is left of epsilon=1, delta=1e-6 in {day[:7]}\. The budget is renewed on "
        refused(monthly, lambda: pay(monthly, "more"), told + find_end(day[:7]), BudgetError)
    too_much = "that of a whole month does not pay for this release either"
    refused(monthly, lambda: pay(monthly, "big", Promise(PureDP(2))), too_much, BudgetError)
    assert str(monthly.find_room(HALF)) == "no more releases like this one fit in 2027-02"
    assert spent_by_month(monthly) == {"2026-11": 1, "2026-12": 1, "2027-02": 1}


def test_a_clock_that_is_set_back_gives_nothing_back(monthly: Ledger, clock: Clock) -> None:
    """The period is the later of the clock's month and the latest month of any entry."""
    for key in "ab":
        pay(monthly, key)
    clock.set("2026-12-01")
    pay(monthly, "c")
    for day in ("2026-11-15", "2026-10-01", "2001-01-01"):
        clock.set(day)
        assert (monthly.balance().period, monthly.releases_left(HALF)) == ("2026-12", 1)
    pay(monthly, "d")
    refused(monthly, lambda: pay(monthly, "e"), "in 2026-12. The budget is renewed on 2027-01-01")
    assert spent_by_month(monthly) == {"2026-11": 1, "2026-12": 1}


def test_the_month_is_read_while_the_ledger_is_locked(
    monthly: Ledger, clock: Clock, place: Place
) -> None:
    """Of two at the border, the one who reads its clock in November is written before the other."""
    others: list[threading.Thread] = []
    done: list[str] = []

    def charge_in_december() -> None:
        with Ledger.open(place) as other:
            pay(other, "december", Promise(PureDP(1)), by="ben")
        done.append("december")

    def say() -> str:
        if threading.current_thread() in others:
            return "2026-12-01"
        if not others:
            others.append(threading.Thread(target=charge_in_december))
            others[0].start()
            others[0].join(0.5)
            assert not done, "another one was charged while this one read its clock"
        return "2026-11-30T23:59:59"

    clock.say = say
    no_cap = {"account": "main", "by": "x", "cap": None}
    with monthly._payments.store.transaction(write=True) as tables:
        before = tables.now()
        entry = monthly._payments.add(tables, "allowed", no_cap)
    others[0].join()
    assert before[:7] == entry.time[:7] == "2026-11"
    clock.set("2026-11-30")  # whose clock is behind pays from December, which is spent
    refused(monthly, lambda: pay(monthly, "late"), "is left of .* in 2026-12", BudgetError)
    assert monthly.verify() == 5


def test_processes_at_the_border_overspend_no_month(
    monthly: Ledger, clock: Clock, place: Place
) -> None:
    """Twelve threads, half of them with a clock that is a month behind: each month pays for two."""
    clock.say = lambda: threading.current_thread().name.partition(" ")[0]

    def work(number: int) -> None:
        with Ledger.open(place) as own:
            for each in range(2):
                try:
                    pay(own, f"{number}.{each}")
                except BudgetError:
                    continue

    days = ("2026-11-30", "2026-12-01")
    workers = [
        threading.Thread(target=work, args=(n,), name=f"{days[n % 2]} {n}") for n in range(6)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    clock.set("2026-12-01")
    monthly.verify()
    spent = spent_by_month(monthly)
    assert spent["2026-12"] == 1
    assert spent.get("2026-11", 0) <= 1
    assert monthly.balance().all_time.epsilon == sum(spent.values())


def test_a_copied_ledger_is_not_a_month_more(clock: Clock, tmp_path: Path) -> None:
    """Neither a copy of November's file, nor it written back in its place, pays in December."""
    ledger = Ledger.create(tmp_path / "a", epsilon=1, unit="one record", renew="monthly")
    pay(ledger, "a")
    shutil.copy(tmp_path / "a", tmp_path / "b")
    content = (tmp_path / "a").read_bytes()
    clock.set("2026-12-01")
    with pytest.raises(LedgerError, match="is a copy of a ledger"):
        Ledger.open(tmp_path / "b")
    pay(ledger, "b", Promise(PureDP(1)))
    with (tmp_path / "a").open("r+b") as file:
        file.write(content)
    with pytest.raises(LedgerError, match=r"older content|damaged"):
        Ledger.open(tmp_path / "a").release(HALF, PROFILE, by="ana", key="c")


def test_a_reservation_is_of_its_month(monthly: Ledger, clock: Clock) -> None:
    """The month in which data are read has to pay; canceling gives back to the month before."""
    whole = Promise(PureDP(1))
    monthly.reserve(whole, by="ana", key="r")
    clock.set("2026-12-01")
    pay(monthly, "a", whole)
    refused(
        monthly,
        lambda: pay(monthly, "r", whole),
        "reserved in 2026-11, and the budget of 'main' was renewed since",
    )
    before = monthly.balance()
    monthly.cancel("r")
    after = monthly.balance()
    assert (before.totals, before.all_time.epsilon) == (after.totals, 2)
    assert after.all_time == after.totals
    refused(monthly, lambda: pay(monthly, "r", whole), "renewed on 2027-01-01", BudgetError)
    monthly.verify()
    clock.set("2027-01-01")
    monthly.reserve(whole, by="ana", key="r")
    pay(monthly, "r", whole)
    assert monthly.balance().all_time.epsilon == 2
    (history,) = histories(list(monthly.entries()))
    assert history.months == ["2026-12", "2027-01"]


def test_a_dry_run_says_that_a_reservation_of_a_month_before_pays_no_more(
    tmp_path: Path, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what the command would do, and so does a plan."""
    place, table = tmp_path / "clinic.ledger", tmp_path / "rows.csv"
    table.write_text("word\na\n")
    Ledger.create(place, epsilon=2, unit="one record", renew="monthly").close()
    command = ["anonymize", str(table), "--label", "word", "--each-row-is-one-person"]
    command += ["--epsilon", "1", "--ledger", str(place), "--by", "ana", "--key", "r"]
    assert main([*command, "--reserve"]) == 0
    for month, fits in (("11", True), ("12", False)):
        clock.set(f"2026-{month}-30")
        capsys.readouterr()
        assert main([*command, "--dry-run", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)["ledger"]
        assert said["fits"] is fits
        assert ("set aside already" in said["key"]) is fits
        assert ("would be refused: the key 'r' was reserved in 2026-11" in said["key"]) is not fits
    assert main([*command, "--dry-run"]) == 0
    assert "It fits" not in capsys.readouterr().out
    assert main(command) == 1
    assert (
        "was reserved in 2026-11, and the budget of 'main' was renewed" in capsys.readouterr().err
    )
    with Ledger.open(place) as ledger:
        with pytest.raises(LedgerError, match="was reserved in 2026-11"):
            is_paid(ledger, "r", again=False)
        ledger.cancel("r")
        assert not is_paid(ledger, "r", again=False)


def test_caps_are_renewed_with_the_account(monthly: Ledger, clock: Clock) -> None:
    monthly.allow("ana", epsilon="0.5")
    for month in ("11", "12"):
        clock.set(f"2026-{month}-01")
        pay(monthly, month)
        assert monthly.plan([HALF, HALF], by="ana").paid == 0
        told = f"fit in the cap of 'ana'.* in 2026-{month}. The budget is renewed"
        refused(monthly, lambda: pay(monthly, "more"), told, BudgetError)
    assert monthly.balance(by="ana").all_time.epsilon == 1


def test_an_account_that_is_not_renewed_stays_spent(monthly: Ledger, clock: Clock) -> None:
    """A release that both pay for is refused as soon as the one for all time is spent."""
    monthly.open_account("once", epsilon=1, unit="one record")
    both = ["main", "once"]
    monthly.release(Promise(PureDP(1)), PROFILE, by="ana", key="a", account=both)
    clock.set("2026-12-01")
    assert monthly.balance("once").period == ""
    assert monthly.releases_left(HALF, account="main") == 2
    room = monthly.find_room(HALF, account=both)
    assert (room.releases, str(room)) == (0, "no more releases like this one fit")
    with pytest.raises(BudgetError) as caught:
        monthly.release(HALF, PROFILE, by="ana", key="b", account=both)
    assert "renewed" not in str(caught.value)


def test_the_only_entry_of_a_month_is_no_stream(clock: Clock, tmp_path: Path) -> None:
    """Rule (c) is for a release that ends before the next month: these run on beside others."""
    stream = dh.calibrate(dh.ContinualMechanism, epsilon=1, delta="1e-6", horizon=100)
    session = dh.PayWhatYouGet(epsilon="0.01", delta="1e-9", budget=1900, queries=2)
    whole: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    cases: list[Any] = [("one event", stream, 1), ("one user", session, Fraction("0.01"))]
    for unit, runs_on, most in cases:
        for renew, left in ((None, 1), ("monthly", 0)):
            place, given = tmp_path / f"{unit} {renew}", {**whole, "unit": unit, "renew": renew}
            ledger = Ledger.create(place, **given)
            assert ledger.releases_left(runs_on) == left
            largest = ledger.find_room(runs_on).largest
            assert largest is not None
            assert (largest.number >= most) == (left == 1)
            assert ledger.releases_left(Promise(ApproxDP(**whole, unit=unit))) == 1


def test_one_renewed_account_of_several_makes_a_reservation_old(
    monthly: Ledger, clock: Clock
) -> None:
    """Whichever is named first: each account's own month has to pay."""
    monthly.open_account("once", epsilon=1, unit="one record")
    for number, names in enumerate((["once", "main"], ["main", "once"])):
        clock.set(f"2027-0{2 * number + 1}-31")
        monthly.reserve(HALF, by="ana", key="r", account=names)
        clock.set(f"2027-0{2 * number + 2}-01")
        charge = partial(monthly.release, HALF, PROFILE, by="ana", key="r", account=names)
        refused(monthly, charge, "the budget of 'main' was renewed since")
        monthly.cancel("r")
    monthly.verify()


def test_the_sum_is_said_beside_the_month(monthly: Ledger, clock: Clock) -> None:
    for day in ("2026-11-01", "2027-01-31"):
        clock.set(day)
        pay(monthly, day)
    (history,) = histories(list(monthly.entries()))
    assert history.months == ["2026-11", "2027-01"]
    assert history.find_totals(EVERYBODY).epsilon == 1
    assert history.find_totals(EVERYBODY, "2027-01") == history.totals
    clock.set("2027-02-01")  # nothing was charged in it
    (history,) = histories(list(monthly.entries()))
    assert (history.period, history.totals.entries, len(history.months)) == ("2027-02", 0, 2)


@pytest.mark.parametrize(
    ("budget", "months", "expected"),
    [
        (PureDP("0.5"), 12, PureDP(6)),
        (ApproxDP(1, "1e-6"), 60, ApproxDP(60, "6e-5")),
        (dh.ZCDP("0.1"), 12, dh.ZCDP("1.2")),
        (ApproxZCDP("0.1", "0.01"), 12, ApproxZCDP("1.2", "0.12")),
        (ApproxDP(1, "0.1"), 10, None),
    ],
)
def test_what_months_promise_together(budget: Any, months: int, expected: Guarantee | None) -> None:
    assert over_months(budget, months) == expected


@pytest.mark.parametrize("renew", ["yearly", "Monthly", "", 1, True])
def test_other_renewals_are_refused(renew: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="renew must be 'monthly', or left out"):
        Ledger.create(tmp_path / "a", epsilon=1, unit="one record", renew=renew)
