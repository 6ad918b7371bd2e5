"""Processes that spend one budget and are killed: at every statement, and at any moment.

Whatever is killed, nothing is overspent, no key is charged or drawn twice, no data are looked at
without a charge, every release that somebody got is stored, and the ledger verifies.
"""

import logging
import multiprocessing
import os
import random
import signal
import sqlite3
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.errors import InputFileError, LedgerError
from dphist.ledger import Deferred, Ledger
from dphist.ledger import entries as actions
from dphist.ledger.entries import digest
from dphist.ledger.stores import connections
from dphist.ledger.stores.store import UnwrittenError
from tests.support.postgres import Server, in_memory

Place = str | Path
Child = multiprocessing.process.BaseProcess

# They are copies of a server that did nothing but import this module: a copy of the process that
# runs the tests would lack the threads that other tests have started, and wait for their locks.
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload([__name__])

PATIENCE = 120  # seconds

DATA = dh.Profile.from_counts([8, 8, 3])
STEP = dh.AdaptiveScan(epsilon="1/100")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory: who is killed loses nothing that the system has taken."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as made:
        yield Path(made)


@pytest.fixture
def place(kind: str, folder: Path, request: pytest.FixtureRequest) -> Place:
    if kind == "sqlite":
        return folder / "a.ledger"
    server: Server = request.getfixturevalue("server")
    return server.new()


class Witness:
    """What workers have seen, in files that outlive them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, name: str, line: str) -> None:
        descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)

    def lines(self, name: str) -> list[str]:
        try:
            return (self._folder / name).read_text().splitlines()
        except FileNotFoundError:
            return []

    def release(self, ledger: Ledger, key: str, by: str = "ana") -> None:
        """Release, and note the look at the data, and the result."""

        def look() -> dh.Profile:
            self.note("looked", key)
            return DATA

        release = ledger.release(STEP, Deferred(look, records=1), by=by, key=key)
        self.note("got", f"{key} {digest(release.to_json())}")

    def check(self, ledger: Ledger, budget: Fraction) -> Counter[str]:
        """Check all that must hold after any crash; return how many keys are in which state."""
        assert self.lines("failed") == []
        ledger.verify()
        entries = list(ledger.entries())
        charges = Counter(e.content["key"] for e in entries if e.action == actions.CHARGED)
        keys = {e.content["key"] for e in entries if "key" in e.content}
        states = {key: ledger.find(key).state for key in keys}
        spending = [key for key, state in states.items() if state != actions.CANCELED]
        looks = Counter(self.lines("looked"))
        assert not charges or max(charges.values()) == 1
        assert not looks or max(looks.values()) == 1
        assert set(looks) <= set(charges)
        assert ledger.spent.epsilon == len(spending) * Fraction(1, 100) <= budget
        for line in self.lines("got"):
            key, _, sha = line.rpartition(" ")
            assert states[key] == actions.FINISHED
            assert digest(ledger.stored(key).to_json()) == sha
        finished = {key for key, state in states.items() if state == actions.FINISHED}
        assert finished <= set(looks)
        return Counter(states.values())


def start_child(work: Callable[..., object], witness: Witness, *arguments: object) -> Child:
    """Start a child of a process that has no threads; an error of the child is noted."""
    child = CHILDREN.Process(target=run_child, args=(work, witness, *arguments))
    child.start()
    return child


def run_child(work: Callable[..., object], witness: Witness, *arguments: object) -> None:
    logging.disable()
    try:
        work(witness, *arguments)
    except BaseException:
        witness.note("failed", repr(traceback.format_exc()))
        raise SystemExit(1) from None


def wait_for(child: Child) -> int:
    """Return the exit code of a child; minus the signal that killed it."""
    child.join(PATIENCE)
    assert child.exitcode is not None, "a child hangs"
    code = child.exitcode
    child.close()
    return code


# At every statement


def die_at(number: int, *, after: bool) -> None:
    """Have this process kill itself at a statement, a round trip, or a note beside the file."""
    passed = 0

    def dying(run: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal passed
            here = passed == number
            passed += 1
            if here and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            found = run(*arguments, **named)
            if here:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return call

    class Dying(sqlite3.Connection):
        execute = dying(sqlite3.Connection.execute)

    connect = sqlite3.connect
    sqlite3.connect = lambda *a, **k: connect(*a, **k, factory=Dying)  # type: ignore[assignment]
    connections.run = dying(connections.run)
    for name in ("setxattr", "removexattr", "link", "unlink", "fsync"):
        if hasattr(os, name):
            setattr(os, name, dying(getattr(os, name)))


def release_and_die(witness: Witness, place: Place, key: str, number: int, after: bool) -> None:
    die_at(number, after=after)
    witness.release(Ledger.open(place), key)


def create(place: Place) -> Ledger:
    return Ledger.create(place, epsilon=1, unit="one record")


def create_and_die(_: Witness, place: Place, number: int, after: bool) -> None:
    die_at(number, after=after)
    create(place)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.quick("[postgres-True]")
def test_a_release_that_is_killed_at_any_statement(after: bool, place: Place, folder: Path) -> None:
    budget = Fraction(100)
    witness = Witness(folder)
    found: Counter[str] = Counter()
    with Ledger.create(place, epsilon=budget, delta=None, unit="one record") as ledger:
        for number in range(1000):
            key = str(number)

            code = wait_for(start_child(release_and_die, witness, place, key, number, after))
            try:
                state = ledger.find(key).state
            except LedgerError:
                state = "new"
            found[state] += 1
            looked = witness.lines("looked").count(key)
            assert looked <= (state != "new")
            if state == actions.CHARGED:
                with pytest.raises(LedgerError, match="has not finished"):
                    witness.release(ledger, key)
                assert witness.lines("looked").count(key) == looked
            else:
                witness.release(ledger, key)
                assert witness.lines("looked").count(key) == 1
            ledger.verify()
            if code == 0:
                break
            assert code == -signal.SIGKILL
        witness.check(ledger, budget)
    assert set(found) == {"new", actions.CHARGED, actions.FINISHED}


@pytest.mark.verify
@pytest.mark.parametrize("after", [False, True])
def test_a_creation_that_is_killed_at_any_statement(
    after: bool, kind: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    witness = Witness(folder)
    made = 0
    for number in range(1000):
        place: Place = folder / f"{number}.ledger"
        if kind == "postgres":
            place = request.getfixturevalue("server").new()

        code = wait_for(start_child(create_and_die, witness, place, number, after))
        try:
            ledger = Ledger.open(place)
            made += 1
        except (LedgerError, InputFileError) as error:
            assert "there is no ledger at" in str(error)  # noqa: PT017
            ledger = create(place)
        assert ledger.verify() == 2
        ledger.close()
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert witness.lines("failed") == []
    assert number >= 2
    assert made >= 1


# At random moments


class Storm:
    """Workers that spend one budget until they are killed, and are replaced then."""

    def __init__(self, place: Place, folder: Path, seed: int) -> None:
        self._place = place
        self._witness = Witness(folder)
        self._chance = random.Random(seed)
        self._workers: list[Child] = []

    def kill(self, kills: int, at_once: int) -> None:
        """Kill a number of workers, some of which run at once."""
        for _ in range(kills):
            while len(self._workers) < at_once:
                seed = self._chance.random()
                self._workers.append(
                    start_child(spend_until_killed, self._witness, self._place, seed)
                )
            time.sleep(self._chance.uniform(0, 0.03))
            self._end(self._chance.randrange(at_once))

    def end(self) -> None:
        """Kill those that are left."""
        while self._workers:
            self._end(0)

    def _end(self, index: int) -> None:
        worker = self._workers.pop(index)
        worker.kill()
        assert wait_for(worker) in (-signal.SIGKILL, 1)


def open_when_there(place: Place) -> Ledger:
    """Open the ledger, once its server is there."""
    while True:
        try:
            return Ledger.open(place)
        except UnwrittenError:
            time.sleep(0.1)


def spend_until_killed(witness: Witness, place: Place, seed: float) -> None:
    """Release under keys that others use too; reserve and cancel some."""
    chance = random.Random(seed)
    with open_when_there(place) as ledger:
        while True:
            key = f"k{chance.randrange(2000)}"
            by = chance.choice(["ana", "bo"])
            try:
                if chance.random() < 0.2:
                    ledger.reserve(STEP, by=by, key=key)
                if chance.random() < 0.2:
                    ledger.cancel(key)
                witness.release(ledger, key, by)
            except LedgerError:
                witness.note("refused", key)


@pytest.mark.verify
@pytest.mark.parametrize("size", ["few", "many"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_workers_that_are_killed_at_any_moment(
    kind: str, size: str, place: Place, folder: Path, request: pytest.FixtureRequest
) -> None:
    """400 kills of a file's users, up to 50 at once, and 90 of a database's."""
    phases = {
        ("sqlite", "few"): [(20, 2), (20, 8)],
        ("sqlite", "many"): [(100, 2), (150, 8), (150, 50)],
        ("postgres", "few"): [(30, 4)],
        ("postgres", "many"): [(20, 2), (30, 8), (40, 30)],
    }[kind, size]
    budget = Fraction(4 if size == "many" else 1, 1)
    with Ledger.create(place, epsilon=budget, unit="one record") as ledger:
        ledger.allow("bo", epsilon=budget / 3)
        storm = Storm(place, folder, seed=len(phases))
        try:
            for kills, at_once in phases:
                storm.kill(kills, at_once)
                if kind == "postgres":
                    server: Server = request.getfixturevalue("server")
                    server.kill()
                    server.start()
                ledger.verify()
        finally:
            storm.end()
        found = Witness(folder).check(ledger, budget)
        assert found[actions.FINISHED] >= 5
        if size == "many":
            assert found[actions.CHARGED] >= 5  # killed between the charge and the end
            assert len(Witness(folder).lines("refused")) >= 5
        assert ledger.balance("main", "bo").spent.epsilon <= budget / 3
