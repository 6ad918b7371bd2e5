"""Streams are charged in full when a ledger opens them, once for one state (ledger, Lemma 5)."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.errors import BudgetError, LedgerError, ParameterError, StateError
from dphist.ledger import Deferred, Ledger, streams
from dphist.ledger.book import MemoryTables, apply
from dphist.ledger.entries import Entry
from dphist.ledger.streams import last_note, note_state
from dphist.privacy import PrivacyUnit
from tests.support.ledgers import refused

PARAMETERS: dict[str, Any] = {"epsilon": "0.05", "delta": "1e-9", "horizon": 64}
MECHANISM = dh.ContinualMechanism(**PARAMETERS)
USERS = dh.ContinualMechanism(**PARAMETERS, max_events_per_user=2)


@pytest.fixture
def events(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a", epsilon=1, delta="1e-6", unit="one event")


def actions(ledger: Ledger) -> list[str]:
    return [entry.action for entry in ledger.entries()][2:]


def test_a_stream_is_charged_in_full_before_its_first_event(events: Ledger, tmp_path: Path) -> None:
    with events.open_stream(tmp_path / "s", **PARAMETERS, by="ana", key="s") as stream:
        spent = events.spent
        assert spent.rho == MECHANISM.guarantee.rho
        assert spent.delta == Fraction(1, 10**9)
        for _ in range(40):
            stream.update(["x"])
        stream.counts()
        assert events.spent == spent
    assert actions(events) == ["charged", "noted", "noted"]
    assert list(events.entries())[-1].content["commits"] > 40
    events.verify()


def test_a_stream_goes_on_and_costs_nothing_more(events: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with events.open_stream(path, MECHANISM, by="ana", key="s") as stream:
        stream.update(["x"])
    spent = events.spent
    other = Ledger.open(events.place)
    for again in ({}, {"mechanism": MECHANISM}, PARAMETERS):
        with other.open_stream(path, **again, by="ana", key="s") as stream:
            stream.update(["x"])
    assert events.spent == spent
    assert stream.time == 4
    assert actions(events).count("charged") == 1


def test_a_stream_that_does_not_fit_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", epsilon="0.001", delta="1e-6", unit="one event")
    call = lambda: ledger.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s")  # noqa: E731
    refused(ledger, call, "costs", BudgetError)
    assert not (tmp_path / "s").exists()
    call = lambda: ledger.open_stream(tmp_path / "s", by="ana", key="s")  # noqa: E731
    refused(ledger, call, "no entry with the key 's'")
    assert not (tmp_path / "s").exists()


def test_a_key_pays_for_one_state_file(events: Ledger, tmp_path: Path) -> None:
    with events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s"):
        pass
    spent = events.spent
    call = lambda: events.open_stream(tmp_path / "t", MECHANISM, by="ana", key="s")  # noqa: E731
    refused(events, call, "there is no state at .*, and the stream of the key 's' has begun")
    with events.open_stream(tmp_path / "t", MECHANISM, by="ana", key="t"):
        pass
    spent = events.spent
    refused(events, call, "is not the state of the stream that entry 4 notes")
    other = dh.ContinualMechanism(**{**PARAMETERS, "horizon": 65})
    call = lambda: events.open_stream(tmp_path / "s", other, by="ana", key="s")  # noqa: E731
    refused(events, call, "'s' was used for another release")
    assert events.spent == spent


def test_two_who_begin_at_once_get_one_stream(
    events: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second file is begun between the first one's look at the ledger and its note."""
    opened = streams.LedgerStream.open.__func__
    inner = []

    def open_between(cls: Any, path: Any, **options: Any) -> Any:
        if not inner:
            inner.append(path)
            events.open_stream(tmp_path / "t", MECHANISM, by="bob", key="s").close()
        return opened(cls, path, **options)

    monkeypatch.setattr(streams.LedgerStream, "open", classmethod(open_between))  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="pays for another state file"):
        events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s")
    assert actions(events) == ["charged", "noted"]
    events.verify()


def test_a_charge_whose_stream_never_began_begins_it(
    events: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(streams.LedgerStream, "open", fails)
        with pytest.raises(OSError, match="no space"):
            events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s")
    spent = events.spent
    with events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s") as stream:
        stream.update(["x"])
    assert events.spent == spent


def test_users_are_those_of_the_account(tmp_path: Path) -> None:
    """A state whose users were named otherwise would state a guarantee for others."""
    ledger = Ledger.create(tmp_path / "a", epsilon=5, delta="1e-6", unit="one patient")
    paid: dict[str, Any] = {"by": "ana", "key": "s"}
    with ledger.open_stream(tmp_path / "s", USERS, **paid, unit="one patient") as stream:
        with pytest.raises(ParameterError, match="must be that of the account that paid"):
            stream.name_users("visit", "one visit")
        assert stream.named_users is None
    with dh.ContinualHistogram.open(tmp_path / "s") as stream:
        stream.name_users("visit", "one visit")
    for unit in (None, "one patient"):
        with pytest.raises(LedgerError, match="were named 'one visit', and the account"):
            ledger.open_stream(tmp_path / "s", **paid, unit=unit)


def test_a_state_with_events_that_no_entry_notes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its users may be others: a charge whose stream never began does not vouch for them."""
    ledger = Ledger.create(tmp_path / "a", epsilon=5, delta="1e-6", unit="one patient")
    paid: dict[str, Any] = {"by": "ana", "key": "s", "unit": "one patient"}
    with monkeypatch.context() as patched:
        patched.setattr(streams.LedgerStream, "open", lambda *_, **__: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            ledger.open_stream(tmp_path / "s", USERS, **paid)
    with dh.ContinualHistogram.open(tmp_path / "s", mechanism=USERS) as stream:
        stream.update(["x"], user="visit 1")
    with pytest.raises(LedgerError, match="is not the state of a stream that the key 's' began"):
        ledger.open_stream(tmp_path / "s", **paid)
    with ledger.open_stream(tmp_path / "t", USERS, **paid) as paid_stream:
        paid_stream.update(["x"], user="patient 1")


def test_a_missing_state_is_not_begun_anew(events: Ledger, tmp_path: Path) -> None:
    events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s").close()
    (tmp_path / "s").unlink()
    call = lambda: events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s")  # noqa: E731
    refused(events, call, "there is no state at .* restore its state file")
    assert not (tmp_path / "s").exists()


def test_an_older_copy_of_a_state_is_noticed(events: Ledger, tmp_path: Path) -> None:
    """Also where the caller says that the copy was moved, which the file alone must believe."""
    path, copy = tmp_path / "s", tmp_path / "copy"
    with events.open_stream(path, MECHANISM, by="ana", key="s") as stream:
        stream.update(["x"])
    copy.write_bytes(path.read_bytes())
    with events.open_stream(path, by="ana", key="s") as stream:
        stream.update(["x"])
        stream.counts()
    path.unlink()
    copy.rename(path)
    dh.ContinualHistogram.open(path, moved=True).close()
    call = lambda: events.open_stream(path, by="ana", key="s")  # noqa: E731
    refused(events, call, "holds an older content than entry 7 of the ledger")


def test_a_stream_is_open_once(events: Ledger, tmp_path: Path) -> None:
    with (
        events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s"),
        pytest.raises(StateError),
    ):
        events.open_stream(tmp_path / "s", by="ana", key="s")


def test_notes_of_another_state_or_fewer_commits_are_refused(
    events: Ledger, tmp_path: Path
) -> None:
    events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s").close()
    last = last_note(events._payments, "s")
    assert last is not None
    state, commits = last.content["state"], last.content["commits"]
    refused(
        events, lambda: note_state(events._payments, "s", "0" * 32, commits), "another state file"
    )
    refused(
        events, lambda: note_state(events._payments, "s", state, commits - 1), "is older than entry"
    )
    refused(
        events, lambda: note_state(events._payments, "t", state, commits), "no entry with the key"
    )
    note_state(events._payments, "s", state, commits + 1)


@pytest.mark.parametrize("who", ["user", "patient"])
def test_a_stream_of_users_costs_an_account_of_users(who: str, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", epsilon=2, delta="1e-6", unit=f"one {who}")
    unit = None if who == "user" else "one patient"
    with ledger.open_stream(tmp_path / "s", USERS, by="ana", key="s", unit=unit) as stream:
        stream.update(["x"], user="1")
    assert ledger.spent.rho == USERS.guarantee.rho == 4 * MECHANISM.guarantee.rho


def test_single_events_are_not_patients(tmp_path: Path) -> None:
    """A stream without a bound for users protects events, whatever its users are called."""
    ledger = Ledger.create(tmp_path / "a", epsilon=1, delta="1e-6", unit="one patient")
    path = tmp_path / "s"
    call = lambda: ledger.open_stream(path, MECHANISM, by="a", key="s")  # noqa: E731
    refused(ledger, call, "'main' protects one patient")
    call = lambda: ledger.open_stream(  # noqa: E731
        path, MECHANISM, by="a", key="s", unit="one patient"
    )
    refused(ledger, call, "unit needs max_events_per_user", ParameterError)
    assert not path.exists()


def test_a_group_of_events_is_refused(tmp_path: Path) -> None:
    """Lemma 5 is for one step of neighbors; group privacy beside other releases is not proved."""
    five = PrivacyUnit("event", 5)
    ledger = Ledger.create(tmp_path / "a", epsilon=9, delta="1e-6", unit=five)
    with pytest.raises(LedgerError, match="several of them together are not covered"):
        ledger.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s")
    assert ledger.spent.rho == 0
    assert not (tmp_path / "s").exists()


def test_a_key_runs_no_stream_that_it_did_not_pay_for(events: Ledger, tmp_path: Path) -> None:
    """A release, a session or a cheaper stream with an unfinished key pays for no other stream."""
    large = dh.ContinualMechanism(**{**PARAMETERS, "epsilon": 5})
    dh.ContinualHistogram.open(tmp_path / "large", mechanism=large).close()

    def fail() -> None:
        raise RuntimeError("no data")

    scan = dh.AdaptiveScan(epsilon="0.01")
    data = Deferred(fail, "one event", 1)
    with pytest.raises(RuntimeError):
        events.release(scan, data, by="ana", key="cheap")
    events.open_stream(tmp_path / "small", MECHANISM, by="ana", key="small").close()
    (tmp_path / "small").unlink()
    before = len(events.entries())
    for key in ("cheap", "small"):
        with pytest.raises(LedgerError, match=r"did not pay for this stream|has begun"):
            events.open_stream(tmp_path / "large", by="ana", key=key)
    with pytest.raises(LedgerError, match="did not pay for a stream"):
        note_state(events._payments, "cheap", "0" * 32, 1)
    assert len(events.entries()) == before


def test_a_new_key_does_not_pay_again_for_a_state(events: Ledger, tmp_path: Path) -> None:
    events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s1").close()
    with pytest.raises(LedgerError, match="with the key that began it"):
        events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s2")
    events.reserve(MECHANISM, by="ana", key="s3")
    with pytest.raises(LedgerError, match="with the key that began it"):
        events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s3")
    events.cancel("s3")
    assert events.spent.rho == MECHANISM.guarantee.rho


def test_a_charge_without_a_stream_adopts_no_other_key_s(
    events: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key was charged and its stream never began; the state of another key is not its own."""
    events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s1").close()
    noted = last_note(events._payments, "s1")
    assert noted is not None
    state, commits = noted.content["state"], noted.content["commits"]

    def fails(*_: object, **__: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(streams.LedgerStream, "open", fails)
        with pytest.raises(OSError, match="no space"):
            events.open_stream(tmp_path / "t", MECHANISM, by="ana", key="s2")
    of_another = "is that of the key 's1'"
    call = lambda: events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s2")  # noqa: E731
    refused(events, call, of_another)
    refused(events, lambda: note_state(events._payments, "s2", state, commits), of_another)
    planted = {"key": "s2", "state": state, "commits": commits}
    tables = MemoryTables()
    with pytest.raises(LedgerError, match=of_another):
        for entry in [*events.entries(), Entry(6, "", "noted", planted, "")]:
            apply(entry, tables)
            tables.entries.append(entry)
    assert len(tables.entries) == 5
    events.open_stream(tmp_path / "t", MECHANISM, by="ana", key="s2").close()
    events.open_stream(tmp_path / "s", MECHANISM, by="ana", key="s1").close()
    events.verify()
