"""Ledger: charges, keys, refusals, and what it says of them."""

import logging
import pickle
import sys
import threading
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.errors import BudgetError, DphistError, InputFileError, LedgerError, ParameterError
from dphist.ledger import Deferred, Ledger
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PureDP
from dphist.release import release as saved
from tests.support.ledgers import PROFILE, SCAN, Promise, actions, refused


@pytest.fixture
def ledger(any_ledger: Ledger) -> Ledger:
    return any_ledger


def test_a_release_is_charged_made_and_kept(ledger: Ledger) -> None:
    release = ledger.release(SCAN, PROFILE, by="ana", key="first", note="a test")
    assert release.provenance["ledger"] == f"clinic.ledger ({ledger.id})".replace(".ledger", "")
    assert (release.provenance["account"], release.provenance["entry"]) == ("main", "3")
    assert release.guarantee == PureDP("0.1")
    assert actions(ledger) == ["charged", "finished"]
    assert ledger.spent.epsilon == Fraction(1, 10)
    assert ledger.remaining.epsilon == Fraction(9, 10)
    assert ledger.balance().largest_epsilon == Fraction(9, 10)
    charged = list(ledger.entries())[2].content
    assert (charged["by"], charged["key"], charged["note"]) == ("ana", "first", "a test")
    assert ledger.find("first").state == "finished"
    assert ledger.stored("first") == release
    assert ledger.verify() == 4


def test_the_same_key_returns_the_first_release_and_never_draws(
    ledger: Ledger, place: str | Path
) -> None:
    first = ledger.release(SCAN, PROFILE, by="ana", key="first")

    def opened() -> object:
        raise AssertionError("data were opened again")

    again = ledger.release(SCAN, Deferred(opened), by="bob", key="first")
    assert again == first
    assert ledger.spent.epsilon == Fraction(1, 10)
    other = Ledger.open(place)
    assert other.release(SCAN, PROFILE, by="ana", key="first") == first
    assert actions(ledger) == ["charged", "finished"]


def test_a_release_that_an_earlier_version_stored_is_the_same(
    ledger: Ledger, place: str | Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(saved, "_KINDS", {"anonymized histogram": dh.AnonymizedHistogram})
        first = ledger.release(SCAN, PROFILE, by="ana", key="first")
        assert '"kind":"anonymized histogram"' in first.to_json().replace(": ", ":")
    assert ledger.release(SCAN, PROFILE, by="ana", key="first") == first
    assert Ledger.open(place).verify() == 4
    assert actions(ledger) == ["charged", "finished"]


def test_a_key_is_for_one_release(ledger: Ledger) -> None:
    ledger.release(SCAN, PROFILE, by="ana", key="first")
    for mechanism in (dh.AdaptiveScan(epsilon="0.2"), dh.RankSplit(epsilon="0.1")):

        def call(mechanism=mechanism):
            return ledger.release(mechanism, PROFILE, by="ana", key="first")

        message = (
            r"'first' was used for another release, or for other data .entry 3.; choose another"
        )
        refused(ledger, call, message)


def test_what_did_not_finish_stays_charged_and_is_not_drawn_again(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    failing = Promise(fails=True)
    with pytest.raises(RuntimeError, match="failed") as caught:
        ledger.release(failing, PROFILE, by="ana", key="first")
    assert "stays charged" in "".join(caught.value.__notes__)
    assert "entry 3 was charged, and its release failed" in caplog.text
    assert ledger.spent.epsilon == Fraction(1, 10)
    assert ledger.find("first").state == "charged"

    def call():
        return ledger.release(failing, PROFILE, by="ana", key="first")

    refused(ledger, call, "has not finished.*choose another key, which costs again")
    with pytest.raises(LedgerError, match="no release is stored"):
        ledger.stored("first")


def test_a_failure_of_any_kind_stays_charged(ledger: Ledger) -> None:
    def interrupted() -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.release(SCAN, Deferred(interrupted), by="ana", key="first")
    assert ledger.spent.epsilon == Fraction(1, 10)

    class Other(Promise):
        def release(self, data: Any) -> Any:
            return "no release"

    with pytest.raises(ParameterError, match="that returns a"):
        ledger.release(Other(), PROFILE, by="ana", key="second")
    assert ledger.spent.epsilon == Fraction(2, 10)


def test_the_charge_is_there_before_the_data_are_opened(ledger: Ledger, place: str | Path) -> None:
    seen: list[object] = []

    def opened() -> dh.Profile:
        other = Ledger.open(place)
        seen.append((other.spent.epsilon, other.find("first").state, len(other.entries())))
        return PROFILE

    ledger.release(SCAN, Deferred(opened, records=1), by="ana", key="first")
    assert seen == [(Fraction(1, 10), "charged", 3)]


def test_what_does_not_fit_is_refused_and_says_what_would(ledger: Ledger) -> None:
    ledger.release(SCAN, PROFILE, by="ana", key="first")
    large = dh.AdaptiveScan(epsilon="0.95")
    seen: list[object] = []
    data = Deferred(lambda: seen.append(1), records=1)
    refused(
        ledger,
        lambda: ledger.release(large, data, by="ana", key="second"),
        r"no more releases like this one fit in the account 'main': the largest epsilon that fits "
        r"is 0\.9\. It costs 0\.95-differential privacy .* epsilon=0\.9 or rho=.* is left of "
        r"epsilon=1, delta=1e-6\. Nothing was charged",
        BudgetError,
    )
    assert not seen
    ledger.release(dh.AdaptiveScan(epsilon="0.9"), PROFILE, by="ana", key="second")
    refused(
        ledger,
        lambda: ledger.release(SCAN, PROFILE, by="ana", key="third"),
        "no epsilon fits",
        BudgetError,
    )
    with pytest.raises(LedgerError, match="no entry with the key 'third'"):
        ledger.find("third")


def test_calibrated_mechanisms_hear_the_largest_target_that_fits(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", epsilon=1, delta="1e-5", unit="user")

    def make(epsilon):
        return dh.calibrate(dh.ThresholdHistogram, epsilon=epsilon, delta="1e-6", max_labels=2)

    with pytest.raises(BudgetError, match="the largest epsilon that fits is") as caught:
        ledger.release(make(2), None, by="ana", key="k")
    largest = str(caught.value).split("fits is ")[1].split(". It costs")[0]
    assert Fraction("0.9") < Fraction(largest) <= 1
    assert ledger.can_afford(make(largest))
    room = ledger.find_room(make("0.3"))
    assert room.releases == ledger.releases_left(make("0.3")) >= 3
    assert room.largest is not None
    assert room.largest.name == "epsilon"
    assert Fraction("0.95") < room.largest.number <= 1
    for number in range(room.releases):
        ledger.reserve(make("0.3"), by="ana", key=f"{number}")
        assert ledger.releases_left(make("0.3")) == room.releases - number - 1
    assert not ledger.can_afford(make("0.3"))


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1}, {"rho": "0.1"}, {"epsilon": 1, "delta": "1e-5"}]
)
def test_releases_that_are_made_together_fit_as_often_as_is_said(
    tmp_path: Path, budget: dict[str, Any]
) -> None:
    ledger = Ledger.create(tmp_path / "a", **budget, unit="record")
    both = [dh.LeafCounts(epsilon=each, bins=4) for each in ("0.02", "0.11")]
    left = ledger.releases_left(both)
    assert left <= ledger.releases_left(both[1])
    for number in range(left):
        assert ledger.plan(both).affordable
        for place, each in enumerate(both):
            ledger.reserve(each, by="ana", key=f"{number}, {place}")
        assert ledger.releases_left(both) == left - number - 1
    assert not ledger.plan(both).affordable
    assert ledger.find_room(both).largest is None


@pytest.mark.verify
@pytest.mark.parametrize(
    "guarantee",
    [PureDP("0.1"), ZCDP("0.001"), ApproxDP("0.1", "1e-9"), ApproxZCDP("0.001", "1e-9")],
    ids=str,
)
def test_a_mechanism_that_only_satisfies_the_protocol(ledger: Ledger, guarantee: Guarantee) -> None:
    release = ledger.release(Promise(guarantee), PROFILE, by="ana", key="own")
    assert release.guarantee == guarantee
    assert ledger.spent.delta == getattr(guarantee, "delta", 0)
    assert (ledger.spent.epsilon is None) == isinstance(guarantee, ZCDP | ApproxZCDP)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("mechanism", "match"),
    [
        (object(), "mechanism must have a method release"),
        (dh.PayWhatYouGet(epsilon=1, delta="1e-9"), "ledger.session"),
        (dh.ContinualMechanism(epsilon=1, delta="1e-9", horizon=4), "ledger.open_stream"),
        (type("Bare", (), {"release": lambda self, data: None})(), "must have a guarantee"),
    ],
)
def test_what_cannot_release_is_refused_before_it_is_charged(
    ledger: Ledger, mechanism: Any, match: str
) -> None:
    def call():
        return ledger.release(mechanism, PROFILE, by="ana", key="k")

    refused(ledger, call, match, ParameterError)


def test_a_release_that_is_not_saved_leaves_its_key_finished(ledger: Ledger) -> None:
    """A class that is not registered has releases that no file holds."""
    first = replace(SCAN.release(PROFILE), mechanism=Promise())  # type: ignore[arg-type]

    class Unsaved(Promise):
        def release(self, data: Any) -> dh.Release:
            return first

    ledger.release(Unsaved(), PROFILE, by="ana", key="k")
    assert ledger.find("k").state == "finished"
    assert ledger.find("k").sha256 is None

    def call():
        return ledger.release(Unsaved(), PROFILE, by="ana", key="k")

    refused(ledger, call, "is not stored in the ledger; use the file")


def test_a_ledger_of_another_name_or_place(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    made = Ledger.create(path, rho=1, unit="user", name="the clinic's", account="all", dataset="x")
    assert (made.name, made.place) == ("the clinic's", str(path))
    assert Ledger.open(path).id == made.id
    assert made.accounts[0].dataset == "x"
    with pytest.raises(LedgerError, match="exists"):
        Ledger.create(path, rho=1, unit="user")
    with pytest.raises(InputFileError, match="there is no ledger"):
        Ledger.open(tmp_path / "b.ledger")
    with pytest.raises(ParameterError):
        Ledger.create(tmp_path / "c.ledger", epsilon=0, unit="user")
    assert not (tmp_path / "c.ledger").exists()
    with pytest.raises(LedgerError, match="cannot be pickled"):
        pickle.dumps(made)
    with made:
        pass
    made.close()


def test_entries_are_a_table(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.open_account("b", epsilon=1, unit="record")
    ledger.release(SCAN, PROFILE, by="ana", key="k", account=["main", "b"], note="=HYPERLINK()")
    table = ledger.entries()
    rows = table.to_arrow().to_pylist()
    assert [row["action"] for row in rows] == [
        *("opened", "account", "account", "charged", "charged", "finished")
    ]
    assert [row["account"] for row in rows[3:5]] == ["main", "b"]
    assert rows[3]["epsilon"] == 0.1
    assert rows[3]["mechanism"] == "AdaptiveScan"
    assert rows[3]["guarantee"] == "0.1-differential privacy (pure)"
    assert (rows[3]["by"], rows[3]["key"], rows[3]["note"]) == ("ana", "k", "=HYPERLINK()")
    budgets = [row["budget"] for row in rows[:4]]
    assert budgets == [None, "epsilon=1, delta=0.000001", "epsilon=1", None]
    assert table.to_pandas().shape == table.to_polars().shape == (6, 13)
    assert repr(table) == "EntryTable(5 entries)"
    assert len(table) == 5
    for package, call in (("pandas", table.to_pandas), ("polars", table.to_polars)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(DphistError, match=f"pip install {package}"):
            call()


def test_a_clock_that_steps_back_keeps_the_order(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.reserve(SCAN, by="ana", key="k")
    last = list(ledger.entries())[-1].time

    class Earlier:
        @staticmethod
        def now(_: object) -> Any:
            from datetime import UTC, datetime

            return datetime(1999, 1, 1, tzinfo=UTC)

    monkeypatch.setattr("dphist.ledger.entries.datetime", Earlier)
    ledger.cancel("k")
    assert list(ledger.entries())[-1].time == last
    ledger.verify()


@pytest.mark.quick("[postgres]")
def test_threads_share_a_ledger(ledger: Ledger) -> None:
    """Twenty threads, each with two keys that others have too: ten fit, and each is drawn once."""
    drawn: list[int] = []
    errors: list[Exception] = []

    @dataclass(frozen=True)
    class Counting(Promise):
        def release(self, data: Any) -> dh.Release:
            drawn.append(1)
            time.sleep(0.001)
            return super().release(data)

    def run(number: int) -> None:
        for key in (number % 15, number % 7):
            try:
                ledger.release(Counting(), PROFILE, by="ana", key=str(key))
            except LedgerError as error:
                errors.append(error)

    threads = [threading.Thread(target=run, args=[number]) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 10
    assert ledger.spent.epsilon == 1
    assert any(isinstance(error, BudgetError) for error in errors)
    assert actions(ledger).count("charged") == actions(ledger).count("finished") == 10
    ledger.verify()


def test_the_log_records_charge_refusal_and_finish(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dphist.ledger")
    ledger.release(SCAN, PROFILE, by="ana", key="k")
    with pytest.raises(BudgetError):
        ledger.release(dh.AdaptiveScan(epsilon=2), PROFILE, by="ana", key="l")
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "clinic: entry 3 charged for 'k' by 'ana'"
    assert said[1] == "clinic: entry 3 is finished"
    assert said[2].startswith("clinic: refused: no more releases like this one fit")
    assert {record.name for record in caplog.records} == {"dphist.ledger"}
