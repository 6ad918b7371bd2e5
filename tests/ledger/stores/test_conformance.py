"""What a ledger does wherever it is kept: one suite for SQLite and PostgreSQL."""

import gc
import logging
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import dphist as dh
from dphist.errors import BudgetError, InputFileError, LedgerError, ParameterError
from dphist.ledger import Deferred, Ledger
from dphist.ledger import entries as actions
from dphist.ledger.stores import schema
from dphist.ledger.stores.opening import open_store
from tests.support.ledger.stores import DATA, STEP, Place, charged, create, in_child

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


# Creating, opening, refusing


@pytest.mark.verify
def test_a_new_ledger_is_whole(place: Place) -> None:
    with create(place, account="visits", dataset="2026") as ledger:
        assert [entry.action for entry in ledger.entries()] == [actions.OPENED, actions.ACCOUNT]
        assert [account.name for account in ledger.accounts] == ["visits"]
        assert ledger.verify() == 2
    with Ledger.open(place) as again:
        assert again.id == ledger.id
        assert again.verify() == 2


def test_a_second_one_is_not_made_in_its_place(place: Place) -> None:
    with create(place) as ledger:
        with pytest.raises(LedgerError, match=r"open it|exists"):
            create(place)
        assert ledger.verify() == 2


def test_two_who_create_at_once_make_one(place: Place) -> None:
    made: list[Ledger] = []
    refused: list[LedgerError] = []

    def attempt() -> None:
        try:
            made.append(create(place))
        except LedgerError as error:
            refused.append(error)

    in_threads(8, attempt)
    assert (len(made), len(refused)) == (1, 7)
    assert made[0].verify() == 2
    made[0].close()


def test_a_place_without_a_ledger_is_refused(place: Place) -> None:
    with pytest.raises((InputFileError, LedgerError), match=r"there is no ledger at .*create"):
        Ledger.open(place)


def test_what_fails_while_it_is_made_leaves_nothing(place: Place, monkeypatch: Any) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dphist.ledger.stores.transaction.Transaction.put_account", fail)
        with pytest.raises(KeyboardInterrupt):
            create(place)
    with create(place) as ledger:
        assert ledger.verify() == 2
    if isinstance(place, Path):
        assert {path.name for path in place.parent.iterdir()} == {place.name}


def test_a_ledger_of_a_later_version_is_refused(place: Place) -> None:
    with create(place) as ledger:
        change(place, "UPDATE dphist_ledger SET version = 3")
        for use in (ledger.entries, lambda: Ledger.open(place), lambda: ledger.cancel("k")):
            with pytest.raises(LedgerError, match=r"version 3 of .*install a later dphist"):
                use()


def change(place: Place, *statements: str) -> None:
    """Change a ledger's tables behind its back."""
    with open_store(place).transaction(write=True) as tables:
        for statement in statements:
            tables._execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM dphist_ledger",
        "UPDATE dphist_ledger SET format = 'another'",
        "INSERT INTO dphist_ledger SELECT * FROM dphist_ledger",
    ],
)
def test_a_head_that_is_none_is_refused(statement: str, place: Place) -> None:
    with create(place) as ledger:
        change(place, statement)
        with pytest.raises(LedgerError, match="is not a ledger of dphist"):
            ledger.release(STEP, DATA, by="ana", key="k")


def test_a_table_that_was_altered_is_noticed(place: Place) -> None:
    with create(place) as ledger:
        change(place, "ALTER TABLE dphist_totals ADD COLUMN more TEXT")
        with pytest.raises(LedgerError, match=r"altered|edited"):
            ledger.verify()


TO_1 = (
    "ALTER TABLE dphist_totals RENAME TO dphist_totals_of_2",
    "CREATE TABLE dphist_totals (account TEXT NOT NULL, holder TEXT NOT NULL, "
    "entries BIGINT NOT NULL, mixed BIGINT NOT NULL, epsilon TEXT NOT NULL, rho TEXT NOT NULL, "
    "delta TEXT NOT NULL, PRIMARY KEY (account, holder))",
    "INSERT INTO dphist_totals SELECT account, holder, entries, mixed, epsilon, rho, delta "
    "FROM dphist_totals_of_2",
    "DROP TABLE dphist_totals_of_2",
    "UPDATE dphist_ledger SET version = 1",
)
"""What makes a ledger of this version one of version 1, whose budgets were never renewed."""


def test_an_older_version_is_brought_up(place: Place, monkeypatch: Any) -> None:
    """All of it or nothing; it keeps its sums, and is never renewed."""
    with create(place) as ledger:
        ledger.allow("ana", epsilon="1/2")
        ledger.release(STEP, DATA, by="ana", key="k")
        balances = ledger.balance("main", "ana"), ledger.balance()
        change(place, *TO_1)
    (whole,) = schema.MIGRATIONS.values()
    monkeypatch.setitem(schema.MIGRATIONS, 1, (*whole, "INSERT INTO no_table VALUES (1)"))
    for _ in range(2):
        with pytest.raises(LedgerError):
            Ledger.open(place)
    monkeypatch.setitem(schema.MIGRATIONS, 1, whole)
    for _ in range(2):
        with Ledger.open(place) as ledger:
            assert (ledger.balance("main", "ana"), ledger.balance()) == balances
            assert [account.renew for account in ledger.accounts] == [""]
            assert ledger.verify() == 5
    monkeypatch.delitem(schema.MIGRATIONS, 1)
    with Ledger.open(place) as ledger:
        ledger.release(STEP, DATA, by="ana", key="l")
        assert ledger.verify() == 7
        change(place, "UPDATE dphist_ledger SET version = 1")
    with pytest.raises(LedgerError, match="is not a ledger of dphist"):
        Ledger.open(place)


# Committing and rolling back


def test_what_is_refused_leaves_nothing(place: Place) -> None:
    with create(place) as ledger:
        before = list(ledger.entries())
        with pytest.raises(BudgetError):
            ledger.release(dh.AdaptiveScan(epsilon=9), DATA, by="ana", key="k")
        with pytest.raises(LedgerError):
            ledger.find("k")
        assert list(ledger.entries()) == before
        assert ledger.spent.epsilon == 0


@pytest.mark.verify
@pytest.mark.parametrize("error", [KeyboardInterrupt, LedgerError, MemoryError])
def test_a_transaction_that_fails_is_rolled_back(error: type[BaseException], place: Place) -> None:
    with create(place) as ledger:
        store = open_store(place)
        with pytest.raises(error), store.transaction(write=True) as tables:
            content = {"account": "main", "note": ""}
            tables.append(actions.CLOSED, content)
            assert tables.account("main").closed
            raise error
        store.close()
        assert not ledger.accounts[0].closed
        ledger.release(STEP, DATA, by="ana", key="k")
        assert ledger.verify() == 4


def test_data_are_opened_after_the_charge_was_committed(place: Place) -> None:
    with create(place) as ledger, Ledger.open(place) as other:
        seen = []

        def data() -> dh.Profile:
            seen.append((other.find("k").state, other.spent.epsilon))
            return DATA

        ledger.release(STEP, Deferred(data, records=1), by="ana", key="k")
        assert seen == [(actions.CHARGED, Fraction(1, 100))]


def test_a_failed_release_stays_charged_and_is_not_drawn_again(place: Place) -> None:
    with create(place) as ledger:

        def fail() -> None:
            raise RuntimeError("no data")

        with pytest.raises(RuntimeError):
            ledger.release(STEP, Deferred(fail), by="ana", key="k")
        with pytest.raises(LedgerError, match="has not finished"):
            ledger.release(STEP, DATA, by="ana", key="k")
        assert ledger.spent.epsilon == Fraction(1, 100)


def test_the_same_key_returns_the_stored_release(place: Place) -> None:
    with create(place) as ledger:
        first = ledger.release(STEP, DATA, by="ana", key="k")
        with Ledger.open(place) as other:
            again = other.release(STEP, DATA, by="bo", key="k")
        assert again.to_json() == first.to_json()
        with pytest.raises(LedgerError, match="was used for another release"):
            ledger.release(dh.AdaptiveScan(epsilon="1/50"), DATA, by="ana", key="k")
        assert charged(ledger) == ["k"]


@pytest.mark.verify
def test_names_are_kept_as_they_were_written(place: Place) -> None:
    """Those that look alike differ; the longest fit; no SQL is in them."""
    longest = "".join(chr(0x20000 + 61 * place) for place in range(200))
    names = ["a", "A", "ä", "a\u0308", "%s", "?", "'; DROP TABLE dphist_entries; --", longest]
    with create(place) as ledger:
        for name in names:
            ledger.open_account(name, epsilon=1, unit="one record")
            ledger.allow(name, epsilon="1/2", account=name)
            ledger.release(STEP, DATA, by=name, key=name, note=longest * 5, account=name)
        assert [account.name for account in ledger.accounts] == sorted(
            [*names, "main"], key=str.encode
        )
        assert charged(ledger) == names
        assert ledger.verify() == 2 + 4 * len(names)
        with pytest.raises(ParameterError, match=r"key must be .* at most 200 characters"):
            ledger.reserve(STEP, by="ana", key=longest + "a")


@pytest.mark.verify
@pytest.mark.parametrize("name", ["a\0b", "\ud800", "", 5])
def test_names_that_no_ledger_has_are_refused_by_ours(name: Any, place: Place) -> None:
    """NUL and halves of characters are no text for a database."""
    with create(place) as ledger:
        for use in (
            lambda: ledger.find(name),
            lambda: ledger.stored(name),
            lambda: ledger.cancel(name),
            lambda: ledger.close_account(name),
            lambda: ledger.balance("main", name),
            lambda: ledger.balance(name),
            lambda: ledger.reserve(STEP, by="ana", key=name),
            lambda: ledger.reserve(STEP, by=name, key="k"),
            lambda: ledger.reserve(STEP, by="ana", key="k", account=[name]),
        ):
            with pytest.raises(ParameterError, match=r"must (be one line|not be empty|name)"):
                use()
        assert ledger.verify() == 2


@pytest.mark.verify
def test_both_stores_hold_the_same(new_place: Callable[[], Place], tmp_path: Path) -> None:
    """The entries, but for times and identifiers, are those of a ledger in a file."""

    def year(place: Place) -> tuple[Any, ...]:
        with create(place, name="clinic") as ledger:
            ledger.open_account("staff", rho="1/2", delta="1e-7", unit="one record")
            ledger.allow("ana", epsilon="1/2", account="main")
            ledger.reserve(STEP, by="ana", key="a", account="main")
            ledger.reserve(STEP, by="ana", key="b", account="main")
            ledger.cancel("a")
            ledger.release(
                STEP, DATA, by="ana", key="b", account="main", source=Random(1).randbytes
            )
            ledger.release(
                STEP, DATA, by="bo", key="c", account=["main", "staff"], source=Random(1).randbytes
            )
            ledger.close_account("staff")
            told = [
                (e.number, e.action, {k: v for k, v in e.content.items() if k not in _OWN})
                for e in ledger.entries()
            ]
            sums = [ledger.balance(name).spent for name in ("main", "staff")]
            return told, sums, ledger.balance("main", "ana"), ledger.accounts, ledger.verify()

    assert year(new_place()) == year(tmp_path / "other.ledger")


_OWN = ("id", "sha256")


@pytest.mark.quick(every=2)
def test_a_release_of_many_megabytes_is_kept(place: Place) -> None:
    """More than what fits into the buffers between a client and a server."""
    text = "ä" * 8_000_000
    with create(place) as ledger:
        ledger.release(STEP, DATA, by="ana", key="k")
        with ledger._payments.store.transaction(write=True) as tables:
            tables.put_release("k", text)
        with ledger._payments.store.transaction(write=False) as tables:
            assert tables.release_text("k") == text
        with pytest.raises(LedgerError, match="stored release that was changed"):
            ledger.verify()


# Others at the same time


def in_threads(number: int, work: Callable[[], object]) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.quick(every=2)
def test_threads_of_one_ledger_overspend_nothing(place: Place) -> None:
    """The budget is for 20 of the 40 that are asked for; half of the keys are asked for twice."""
    with create(place, epsilon="1/5", delta=None) as ledger:
        keys = iter([f"k{number // 2}" for number in range(80)])
        turn = threading.Lock()
        results: list[tuple[str, str]] = []
        refused: Counter[type] = Counter()

        def work() -> None:
            while True:
                with turn:
                    key = next(keys, None)
                if key is None:
                    return
                try:
                    release = ledger.release(STEP, DATA, by="ana", key=key)
                    results.append((key, release.to_json()))
                except LedgerError as error:
                    refused[type(error)] += 1

        in_threads(8, work)
        assert len(charged(ledger)) == len(set(charged(ledger))) == 20
        assert len(set(results)) == len(dict(results)) == 20
        assert len(results) + refused.total() == 80
        assert ledger.spent.epsilon == Fraction(1, 5)
        assert ledger.verify() == 2 + 2 * 20


@pytest.mark.verify
def test_a_forked_process_uses_the_same_ledger(place: Place) -> None:
    """Neither disturbs the other, also when one of them ends."""
    with create(place) as ledger:
        ledger.release(STEP, DATA, by="ana", key="before")

        def work() -> None:
            ledger.release(STEP, DATA, by="bo", key="child")
            assert ledger.release(STEP, DATA, by="bo", key="before")
            ledger.close()
            gc.collect()

        for _ in range(2):
            assert in_child(work) == 0
            assert ledger.verify()
        ledger.release(STEP, DATA, by="ana", key="after")
        assert charged(ledger) == ["before", "child", "after"]
        assert ledger.verify() == 8


@pytest.mark.verify
def test_a_child_forked_by_another_thread_holds_nothing(place: Place) -> None:
    """Neither while its parent lives, nor when it has died."""
    ended, end = os.pipe()
    with create(place) as ledger, Ledger.open(place) as other:
        store = ledger._payments.store
        with store.transaction(write=True) as tables:
            children = []

            def fork() -> None:
                child = os.fork()
                if child == 0:
                    os.close(end)
                    os.read(ended, 1)
                    os._exit(0)
                children.append(child)

            in_threads(1, fork)
            tables.append(actions.CLOSED, {"account": "main", "note": ""})
        assert other.accounts[0].closed
        other.open_account("more", epsilon=1, unit="one record")
        assert ledger.verify() == 4
        os.close(end)
        for child in children:
            os.waitpid(child, 0)
    os.close(ended)


def test_who_is_killed_in_a_transaction_leaves_nothing_of_it(place: Place) -> None:
    with create(place) as ledger:
        ledger.release(STEP, DATA, by="ana", key="before")

        def work() -> None:
            with ledger._payments.store.transaction(write=True) as tables:
                tables.append(actions.CLOSED, {"account": "main", "note": ""})
                tables.accounts()  # so that it has been sent
                os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(work) == -signal.SIGKILL
        assert not ledger.accounts[0].closed
        ledger.release(STEP, DATA, by="ana", key="after")
        assert ledger.verify() == 6


def _spend(place: Place, worker: int, started: Any, told: Any) -> None:
    logging.disable()
    with Ledger.open(place) as ledger:
        started.wait()
        outcome: Counter[str] = Counter()
        for number in range(8):
            try:
                ledger.release(STEP, DATA, by=f"w{worker}", key=f"w{worker} {number}")
                outcome["released"] += 1
            except BudgetError:
                outcome["refused"] += 1
            except Exception as error:
                outcome[str(error)] += 1
        told.put(outcome)


def test_processes_overspend_nothing(place: Place) -> None:
    """The budget is for 20 of the 48 that six processes ask for."""
    context = multiprocessing.get_context("fork")
    with create(place, epsilon="1/5", delta=None) as ledger:
        started, told = context.Barrier(6), context.SimpleQueue()
        workers = [
            context.Process(target=_spend, args=(place, number, started, told))
            for number in range(6)
        ]
        for worker in workers:
            worker.start()
        outcome = sum((told.get() for _ in workers), Counter())
        for worker in workers:
            worker.join()
        assert outcome == {"released": 20, "refused": 28}
        assert ledger.spent.epsilon == Fraction(1, 5)
        assert ledger.verify() == 2 + 2 * 20


@pytest.mark.verify
def test_a_reader_beside_a_writer_sees_whole_transactions(place: Place) -> None:
    with create(place) as ledger, Ledger.open(place) as other:
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                other.verify()

        def write() -> None:
            try:
                for number in range(15):
                    ledger.release(STEP, DATA, by="ana", key=str(number))
            finally:
                done.set()

        works = iter([read, write])
        in_threads(2, lambda: next(works)())
        assert other.verify() == 32


def test_a_clock_that_steps_back_repeats_the_last_time(place: Place, monkeypatch: Any) -> None:
    with create(place) as ledger:
        ledger.release(STEP, DATA, by="ana", key="a")
        last = list(ledger.entries())[-1].time

        class Earlier(actions.datetime):  # type: ignore[misc, name-defined]
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return cls(2001, 1, 1, tzinfo=tz)

        monkeypatch.setattr("dphist.ledger.entries.datetime", Earlier)
        ledger.release(STEP, DATA, by="ana", key="b")
        assert [entry.time for entry in ledger.entries()][-2:] == [last, last]
        assert ledger.verify() == 6


def test_a_ledger_can_be_used_after_close(place: Place) -> None:
    ledger = create(place)
    ledger.close()
    ledger.close()
    assert ledger.verify() == 2
    ledger.close()
