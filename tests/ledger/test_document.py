"""The document of a ledger: right, escaped, alone, and the same from its entries."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.document.blocks import PAGE, Table
from dphist.ledger.charts import make_lines
from dphist.ledger.document import make_document
from dphist.ledger.entries import Entry
from dphist.ledger.history import histories
from dphist.ledger.words import state_text
from dphist.render.html import page
from dphist.render.text import content, text
from tests.support.ledger.told import EVIL, MADE, Costs, pay, pure
from tests.support.report.html import Page


def page_of(ledger: dh.Ledger) -> str:
    return page(make_document(ledger))


def table_of(ledger: dh.Ledger, name: str) -> dict[str, list[str]]:
    """Return the cells of a table of the document, by column."""
    (section,) = (each for each in make_document(ledger).sections if each.name == name)
    (table,) = (block for block in section.list_blocks(PAGE) if isinstance(block, Table))
    return {column.name: list(column.cells) for column in table.columns}


@pytest.fixture
def ledger(tmp_path: Path) -> dh.Ledger:
    place = tmp_path / "clinic.ledger"
    return dh.Ledger.create(place, epsilon=2, delta="1e-6", unit="one patient", dataset="wards")


def test_the_words_of_users_are_escaped_everywhere(tmp_path: Path) -> None:
    source = page_of(MADE["odd words"](tmp_path / "a.ledger"))
    found = Page(source)
    assert "script" not in found.tags
    assert "<script" not in source
    assert found.text.count("alert(") >= 8
    assert all(each.startswith("#") for each in found.references)
    assert len(set(found.ids)) == len(found.ids)


@pytest.mark.verify
def test_the_page_loads_nothing_and_says_what_was_spent(ledger: dh.Ledger) -> None:
    ledger.allow("ben", epsilon="0.5")
    for number in range(3):
        pay(ledger, pure("0.25"), f"k{number}", by="ana" if number else "ben", note=f"n{number}")
    found = Page(page_of(ledger))
    said = found.text.replace("\u00a0", " ")
    assert "Protects one patient" in said
    assert "Budget ε = 2, δ = 1e-6 in all" in said
    assert "Spent ε = 0.75, ρ = 0.0932648, by 3 releases" in said
    assert "ε = 1.25 left at most, for one more pure release" in said
    assert "(2, 1e-6)-differential privacy together, for one patient" in said
    for words in ("k0", "n2", "ben", "wards", ledger.id):
        assert words in said
    assert all(each.startswith("#") for each in found.references)
    assert page_of(ledger) == page_of(dh.Ledger.open(ledger.place))


def test_the_chart_falls_by_each_rule(ledger: dh.Ledger) -> None:
    pay(ledger, pure("0.2"), "a")
    pay(ledger, dh.ApproxZCDP("0.01", "1e-7", unit="patient"), "b")
    (history,) = histories(ledger.entries())
    lines = make_lines(history)
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
    (line,) = make_lines(history).values()
    assert len(line) <= 301
    assert line[-1] == (7, 75.0)


def test_a_reservation_is_used_or_canceled_once(ledger: dh.Ledger) -> None:
    for key in ("used", "canceled", "kept"):
        ledger.reserve(Costs(pure("0.25")), by="ana", key=key)
    ledger.cancel("canceled")
    pay(ledger, pure("0.25"), "used")
    pay(ledger, pure("0.5"), "canceled", by="ben")
    (history,) = histories(ledger.entries())
    found = [(each.key, each.by, state_text(each)) for each in history.payments]
    assert found == [
        ("used", "ana", ""),
        ("canceled", "ana", "canceled, costs nothing"),
        ("kept", "ana", "reserved"),
        ("canceled", "ben", ""),
    ]
    assert table_of(ledger, "payments")["Release"] == [key for key, _, _ in reversed(found)]
    assert history.totals == ledger.balance().totals
    assert history.totals.epsilon == 1
    people = table_of(ledger, "people")
    assert (people["By"], people["Releases"]) == (["ana", "ben"], ["2", "1"])
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
        assert [each.key for each in history.payments] == ["both"]
        assert history.account in ledger.accounts
    assert "main (closed)" in text(make_document(ledger))
    shown = content(make_document(ledger))["accounts"]
    assert [(each["name"], each["closed"]) for each in shown] == [("main", True), ("nov", False)]
    assert "Account main (closed)" in Page(page_of(ledger)).text


def test_older_payments_are_counted_where_they_are_left_out(ledger, monkeypatch) -> None:
    monkeypatch.setattr("dphist.ledger.document._MOST_ROWS", 2)
    for number in range(5):
        pay(ledger, pure("0.125"), f"key{number}")
    said = Page(page_of(ledger)).text
    assert "3 older payments" in said
    assert ("key2" in said, "key3" in said) == (False, True)


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
    from dphist.report import make_json, report_html, summary_text

    assert "ledger" not in report_html(release).lower()
    assert "Ledger" not in summary_text(release)
    assert not {"ledger", "entry", "account"} & set(make_json(release))


@pytest.mark.verify
def test_ledger_account_and_entry_are_escaped_in_a_release(tmp_path: Path) -> None:
    from dphist.report import report_html, summary_text

    ledger = dh.Ledger.create(
        tmp_path / "a.ledger", epsilon=1, unit="one record", name=EVIL, account=EVIL
    )
    data = dh.Profile.from_counts([3, 4])
    release = ledger.release(dh.AdaptiveScan(epsilon="0.1"), data, by="a", key="k")
    found = Page(report_html(release))
    assert "script" not in found.tags
    assert "alert(" in found.text
    assert "alert(" in summary_text(release)


@pytest.mark.parametrize("kind", ["labels", "records", "renewed"])
def test_the_largest_of_the_last_kind_is_what_a_charge_says(kind: str, tmp_path: Path) -> None:
    """It is found from the stored release alone: mechanism, calibration and bounds."""
    renew = "monthly" if kind == "renewed" else None
    ledger = dh.Ledger.create(
        tmp_path / "a", epsilon=2, delta="1e-6", unit="one patient", renew=renew
    )
    rows = {"who": [0, 0, 1, 2], "what": list("abab"), "age": [1, 9, 5, 5]}
    bounds: dict[str, Any] = {"user": "who", "unit": "one patient"}
    data: Any = dh.LabelCounts.from_table(rows, label="what", max_labels=2, **bounds)
    made: Any = dh.calibrate(dh.ThresholdHistogram, epsilon="1/2", delta="1e-7", max_labels=2)
    if kind == "records":
        data = dh.bin_counts(rows, column="age", edges=[0, 5, 10], max_records=3, **bounds)
        made = dh.LeafCounts(epsilon="0.1", bins=2, sensitivity=3)
    ledger.release(made, data, by="ana", key="k")
    room = ledger.find_room(made, data=data)
    assert room.largest is not None
    number = str(room.largest).replace("epsilon=", "ε = ")
    said = " ".join(text(make_document(ledger)).split())
    now = f", in {ledger.balance().period}" if renew else ""
    like = f"{room.releases} more releases like the last one, k{now}"
    assert f"{like}; the largest of this kind that fits has {number}" in said


def test_of_a_release_that_is_not_stored_no_largest_is_said(ledger: dh.Ledger) -> None:
    profile = dh.Profile.from_counts([3], unit="one patient")
    ledger.reserve(dh.AdaptiveScan(epsilon="1/2"), by="ana", key="r", data=profile)
    said = " ".join(text(make_document(ledger)).split())
    assert "more releases like the last one, r" in said
    assert "of this kind" not in said
