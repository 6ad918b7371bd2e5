"""The page, summary and chart of a ledger: right, escaped, alone, and the same from its entries."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.ledger.entries import Entry
from dphist.ledger.history import histories
from dphist.report.ledger.chart import lines_of
from dphist.report.ledger.page import ledger_html
from dphist.report.ledger.rows import payment_rows, person_rows
from dphist.report.ledger.summary import ledger_json, ledger_text
from tests.report.test_html import Page

EVIL = "</td><script>alert('x')</script> & \"q\""


class Costs:
    """A mechanism that says what it costs, and releases nothing of interest."""

    def __init__(self, guarantee: object) -> None:
        self.guarantee = guarantee

    def release(self, profile: dh.Profile) -> dh.Release:
        return dh.AdaptiveScan(epsilon=1).release(profile)


def pay(ledger: dh.Ledger, guarantee: object, key: str, **paying: str) -> None:
    said: dict[str, Any] = {"by": "ana", "note": "", **paying}
    ledger.release(Costs(guarantee), dh.Profile.from_counts([3]), key=key, **said)


def pure(epsilon: object) -> dh.PureDP:
    return dh.PureDP(epsilon, unit="patient")  # type: ignore[arg-type]


@pytest.fixture
def ledger(tmp_path: Path) -> dh.Ledger:
    place = tmp_path / "clinic.ledger"
    return dh.Ledger.create(place, epsilon=2, delta="1e-6", unit="one patient", dataset="wards")


def test_the_words_of_users_are_escaped_everywhere(tmp_path: Path) -> None:
    ledger = dh.Ledger.create(
        tmp_path / "a.ledger", epsilon=2, unit=EVIL, name=EVIL, account=EVIL, dataset=EVIL
    )
    ledger.allow(EVIL, epsilon=1)
    pay(ledger, dh.PureDP("0.1", unit=EVIL), EVIL, by=EVIL, note=EVIL)
    ledger.reserve(Costs(dh.PureDP("0.1", unit=EVIL)), by=EVIL, key="r", note=EVIL)
    source = ledger_html(ledger)
    page = Page(source)
    assert "script" not in page.tags
    assert "<script" not in source
    assert page.text.count("alert(") >= 8
    assert all(each.startswith("#") for each in page.references)
    assert len(set(page.ids)) == len(page.ids)


@pytest.mark.verify
def test_the_page_loads_nothing_and_says_what_was_spent(ledger: dh.Ledger) -> None:
    ledger.allow("ben", epsilon="0.5")
    for number in range(3):
        pay(ledger, pure("0.25"), f"k{number}", by="ana" if number else "ben", note=f"n{number}")
    page = Page(ledger_html(ledger))
    assert "Budget ε = 2, δ = 1e-6 in all, for one patient" in page.text.replace("\u00a0", " ")
    assert "3 releases ε = 0.75" in page.text.replace("\u00a0", " ")
    assert "ε = 1.25 at most, for one more pure release" in page.text.replace("\u00a0", " ")
    assert "(2, 1e-6)-differential privacy together, for one patient" in page.text
    for words in ("k0", "n2", "ben", "wards", ledger.id):
        assert words in page.text
    assert all(each.startswith("#") for each in page.references)
    assert ledger_html(ledger) == ledger_html(dh.Ledger.open(ledger.place))


def test_the_chart_falls_by_each_rule(ledger: dh.Ledger) -> None:
    pay(ledger, pure("0.2"), "a")
    pay(ledger, dh.ApproxZCDP("0.01", "1e-7", unit="patient"), "b")
    (history,) = histories(ledger.entries())
    lines = lines_of(history)
    assert lines["ε"] == [(2, 100.0), (3, 90.0)]  # void once an entry states none
    assert lines["δ"] == [(2, 100.0), (3, 100.0), (5, 80.0)]
    assert [entry for entry, _ in lines["ρ"]] == [2, 3, 5]
    left = ledger.remaining.rho / ledger.balance().budget.most_rho
    assert lines["ρ"][-1][1] == pytest.approx(100 * float(left), rel=1e-12)


def test_a_long_chart_keeps_its_last_point(tmp_path: Path) -> None:
    ledger = dh.Ledger.create(tmp_path / "a.ledger", epsilon=2, unit="one patient")
    for number in range(5):
        ledger.reserve(Costs(pure("0.1")), by="a", key=str(number))
    (history,) = histories(ledger.entries())
    history.steps = history.steps * 100
    (line,) = lines_of(history).values()
    assert len(line) <= 301
    assert line[-1] == (7, 75.0)


def test_a_reservation_is_used_or_canceled_once(ledger: dh.Ledger) -> None:
    for key in ("used", "canceled", "kept"):
        ledger.reserve(Costs(pure("0.25")), by="ana", key=key)
    ledger.cancel("canceled")
    pay(ledger, pure("0.25"), "used")
    pay(ledger, pure("0.5"), "canceled", by="ben")
    (history,) = histories(ledger.entries())
    found = [(row.key, row.by, row.state) for row in payment_rows(history, 10)]
    assert found == [
        ("canceled", "ben", ""),
        ("kept", "ana", "reserved"),
        ("canceled", "ana", "canceled, costs nothing"),
        ("used", "ana", ""),
    ]
    assert history.totals == ledger.balance().totals
    assert history.totals.epsilon == 1
    assert {row.name: row.releases for row in person_rows(history)} == {"ana": 2, "ben": 1}
    assert [step.totals.epsilon for step in history.steps] == [
        Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1, 2), 1,
    ]  # fmt: skip


def test_history_agrees_with_the_ledger(ledger: dh.Ledger) -> None:
    ledger.open_account("nov", rho="0.5", unit="one patient")
    ledger.allow("ben", rho="0.1", account="nov")
    ledger.release(
        Costs(pure("0.1")), dh.Profile.from_counts([3]), by="ben", key="both",
        account=["main", "nov"],
    )  # fmt: skip
    ledger.close_account("main")
    for history in histories(ledger.entries()):
        name = history.account.name
        assert history.totals == ledger.balance(name).totals
        assert [row.key for row in payment_rows(history, 5)] == ["both"]
        assert history.account in ledger.accounts
    assert "It is closed." in ledger_text(ledger)
    shown = ledger_json(ledger)["accounts"]
    assert [(each["name"], each["closed"]) for each in shown] == [("main", True), ("nov", False)]
    assert "Account main (closed)" in Page(ledger_html(ledger)).text


def test_older_payments_are_counted_where_they_are_left_out(ledger, monkeypatch) -> None:
    monkeypatch.setattr("dphist.report.ledger.page._MOST_ROWS", 2)
    for number in range(5):
        pay(ledger, pure("0.125"), f"key{number}")
    text = Page(ledger_html(ledger)).text
    assert "3 older payments" in text
    assert ("key2" in text, "key3" in text) == (False, True)


def test_entries_that_cannot_follow_each_other_are_not_shown(ledger: dh.Ledger) -> None:
    pay(ledger, pure("0.5"), "a")
    held = list(ledger.entries())
    with pytest.raises(dh.LedgerError, match="entry 3 cannot follow"):
        histories([held[0], held[1], Entry(3, held[2].time, "finished", {"key": "b"}, "")])
    with pytest.raises(dh.LedgerError, match="verify"):
        histories(held[2:])


@pytest.mark.verify
def test_a_release_without_a_ledger_says_nothing_of_one() -> None:
    release = dh.AdaptiveScan(epsilon=1).release(dh.Profile.from_counts([3]))
    from dphist.report import report_html
    from dphist.report.kinds import json_of
    from dphist.report.summary import summary_text

    assert "ledger" not in report_html(release).lower()
    assert "Ledger" not in summary_text(release)
    assert not {"ledger", "entry", "account"} & set(json_of(release))


@pytest.mark.verify
def test_ledger_account_and_entry_are_escaped_in_a_release(tmp_path: Path) -> None:
    from dphist.report import report_html
    from dphist.report.summary import summary_text

    ledger = dh.Ledger.create(
        tmp_path / "a.ledger", epsilon=1, unit="one record", name=EVIL, account=EVIL
    )
    data = dh.Profile.from_counts([3, 4])
    release = ledger.release(dh.AdaptiveScan(epsilon="0.1"), data, by="a", key="k")
    page = Page(report_html(release))
    assert "script" not in page.tags
    assert "alert(" in page.text
    assert "alert(" in summary_text(release)
