"""What only a server can do to a ledger: go down, lose a connection, be set up badly."""

import itertools
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import psycopg
import pytest

from dphist.errors import LedgerError, OutputFileError, ParameterError
from dphist.ledger import Deferred, Ledger
from dphist.ledger.stores import connections as module
from dphist.ledger.stores import postgres
from dphist.ledger.stores.store import UnwrittenError
from tests.support.ledger.stores import DATA, STEP, charged, create
from tests.support.postgres import Server

PASSWORD = "swordfish"  # noqa: S105


@pytest.fixture
def place(server: Server) -> str:
    return server.new()


@pytest.mark.verify
def test_a_server_that_is_killed_and_started_again(place: str, server: Server) -> None:
    """Every release that was acknowledged is there; a release under way waits for the server."""
    with create(place) as ledger:
        first = ledger.release(STEP, DATA, by="ana", key="first")

        def crash() -> Any:
            server.kill()
            again.start()
            return DATA

        again = threading.Timer(1, server.start)
        second = ledger.release(STEP, Deferred(crash, records=1), by="ana", key="second")
        again.join()
        assert ledger.stored("first").to_json() == first.to_json()
        assert ledger.stored("second").to_json() == second.to_json()
        assert charged(ledger) == ["first", "second"]
        assert ledger.verify() == 6


def test_what_was_acknowledged_is_on_the_disk(place: str, server: Server) -> None:
    """Also at once: a commit gives up its lock before the sync, but returns after it."""
    with setting(server, "wal_writer_delay", "10s"):  # nothing else syncs meanwhile
        server.kill()
        server.start()  # a process that has slept for long would sync at once
        with create(place) as ledger:
            for number in range(2):
                key = f"k{number}"
                if number % 2:
                    ledger.release(STEP, DATA, by="ana", key=key)
                else:
                    ledger.reserve(STEP, by="ana", key=key)
                server.kill()
                server.start()
                assert ledger.find(key).state == ("finished" if number % 2 else "reserved")
            assert ledger.verify() == 2 + 1 + 2


def test_a_commit_that_was_not_synced_is_synced_again(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found, and synced by another session; if that fails too, nothing is returned."""
    run = module.run
    failing = 0

    def unsynced(connection: Any, statements: Any) -> Any:
        nonlocal failing
        if ("COMMIT", ()) in statements and failing:
            failing -= 1
            statements = [*statements[:-1], ("SELECT 1 / 0", ())]
        return run(connection, statements)

    with create(place) as ledger:
        monkeypatch.setattr(module, "run", unsynced)
        failing = 1
        ledger.release(STEP, DATA, by="ana", key="k")
        assert failing == 0
        assert ledger.verify() == 4
        failing = 2
        with pytest.raises(LedgerError, match=r"whether it was is not known.*same key"):
            ledger.reserve(STEP, by="ana", key="l")
        assert failing == 0
        assert ledger.find("l").state == "reserved"
        assert ledger.verify() == 5


@pytest.mark.verify
def test_a_server_that_does_not_come_back_is_said(
    place: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "PATIENCE", 0.3)
    with create(place) as ledger:
        server.kill()
        try:
            with pytest.raises(LedgerError, match=r"has not answered .* nothing was written"):
                ledger.release(STEP, DATA, by="ana", key="k")
        finally:
            server.start()
        assert charged(ledger) == []
        ledger.release(STEP, DATA, by="ana", key="k")
        assert ledger.verify() == 4


# A connection that is lost at each of the moments of a transaction


def cut(server: Server, connection: Any) -> None:
    """End the session of a connection on the server, as an administrator may."""
    server.run(f"SELECT pg_terminate_backend({connection.info.backend_pid}, 5000)")


def name_of(statements: Any) -> str:
    """Return COMMIT for a round trip that commits, and else its last statement."""
    texts = [text for text, _ in statements]
    return "COMMIT" if "COMMIT" in texts else str(texts[-1])


def cut_at(
    number: int, server: Server, monkeypatch: pytest.MonkeyPatch, *, after: bool
) -> list[str]:
    """Cut the connection once, before or after a round trip of the ledger; return what it asked."""
    trips = itertools.count()
    cuts: list[str] = []
    run = module.run

    def cutting(connection: Any, statements: Any) -> Any:
        if next(trips) != number:
            return run(connection, statements)
        cuts.append(name_of(statements))
        if not after:
            cut(server, connection)
            return run(connection, statements)
        run(connection, statements)  # it has been done; its answer is lost
        cut(server, connection)
        connection.pgconn.finish()
        raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(module, "run", cutting)
    return cuts


def trips(place: str, monkeypatch: pytest.MonkeyPatch, *, used: bool = False) -> list[str]:
    """Return what each round trip of one release does, as `name_of` says it.

    Parameters
    ----------
    used : whether the ledger is one that this process has charged before.
    """
    found: list[str] = []
    run = module.run

    def noting(connection: Any, statements: Any) -> Any:
        found.append(name_of(statements))
        return run(connection, statements)

    with create(place) as ledger, monkeypatch.context() as patch:
        if used:
            ledger.reserve(STEP, by="ana", key="before")
        patch.setattr(module, "run", noting)
        ledger.release(STEP, DATA, by="ana", key="k")
    return found


@pytest.mark.parametrize("after", [False, True])
def test_a_connection_lost_at_any_round_trip_costs_nothing(
    after: bool, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release comes, and is charged once: also where the answer to COMMIT is lost."""
    asked = trips(server.new(), monkeypatch)
    assert [each for each in asked if each == "COMMIT"] == ["COMMIT"] * 2
    for number in range(len(asked)):
        with create(server.new()) as ledger, monkeypatch.context() as patch:
            cuts = cut_at(number, server, patch, after=after)
            release = ledger.release(STEP, DATA, by="ana", key="k")
            assert cuts == [asked[number]]
            assert ledger.stored("k").to_json() == release.to_json()
            assert ledger.spent.epsilon == Fraction(1, 100)
            assert ledger.verify() == 4


def test_a_charge_takes_two_round_trips(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """One to lock and ask, one to write and commit; so does finishing."""
    first, *_ = asked = trips(server.new(), monkeypatch, used=True)
    assert "FROM dphist_totals" in first
    assert asked[1::2] == ["COMMIT"] * 2
    assert len(asked) == 4


@pytest.mark.verify
def test_a_commit_whose_outcome_stays_unknown_is_said(
    place: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "PATIENCE", 0.3)
    with create(place) as ledger, monkeypatch.context() as patch:
        run = module.run

        def killing(connection: Any, statements: Any) -> Any:
            if name_of(statements) == "COMMIT":
                server.kill()
            return run(connection, statements)

        patch.setattr(module, "run", killing)
        try:
            with pytest.raises(LedgerError, match=r"whether it was is not known.*same key"):
                ledger.release(STEP, DATA, by="ana", key="k")
        finally:
            server.start()
    with Ledger.open(place) as ledger:
        assert ledger.verify() == 2
        ledger.release(STEP, DATA, by="ana", key="k")


def test_a_rolled_back_transaction_is_run_again(
    place: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a deadlock or a serialization failure, which others can cause."""
    states = iter(["40001", "40P01", "25P03"])
    run = module.run

    def failing(connection: Any, statements: Any) -> Any:
        if any("INSERT INTO dphist_entries" in statement for statement, _ in statements):
            state = next(states, None)
            if state is not None:
                raised = f"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{state}'; END $$"
                return run(connection, [(raised, ())])
        return run(connection, statements)

    with create(place) as ledger:
        monkeypatch.setattr(module, "run", failing)
        with caplog.at_level(logging.INFO, "dphist.ledger"):
            ledger.release(STEP, DATA, by="ana", key="k")
        assert sum("tried again" in record.getMessage() for record in caplog.records) == 3
        assert next(states, None) is None
        assert charged(ledger) == ["k"]
        assert ledger.verify() == 4


def test_a_transaction_that_always_fails_is_given_up(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(place) as ledger:

        def fail(*_: object) -> None:
            raise UnwrittenError("nothing was written")

        monkeypatch.setattr("dphist.ledger.stores.transaction.Transaction.put_charge", fail)
        with pytest.raises(UnwrittenError):
            ledger.release(STEP, DATA, by="ana", key="k")
    with Ledger.open(place) as ledger:
        assert ledger.verify() == 2


def test_an_error_that_was_swallowed_is_no_commit(place: str) -> None:
    """The server rolls back on COMMIT without an error."""
    with create(place) as ledger, pytest.raises(LedgerError, match="nothing was written"):  # noqa: SIM117
        with ledger._payments.store.transaction(write=True) as tables:
            tables.put_account(ledger.accounts[0])
            with pytest.raises(psycopg.Error):
                tables._execute("SELECT 1 / 0").fetchall()


def test_a_commit_that_the_server_refuses_says_why(place: str) -> None:
    """It is no lost connection, and is not tried again."""
    full = (
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$",
        "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON dphist_entries "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION full_disk()",
    )
    with create(place) as ledger:
        with psycopg.connect(place) as connection:
            for statement in full:
                connection.execute(statement.encode())
        with pytest.raises(OutputFileError, match="no room left, and nothing was written"):
            ledger.release(STEP, DATA, by="ana", key="k")
        assert charged(ledger) == []


@pytest.mark.verify
def test_who_waits_for_the_lock_too_long_is_told(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = server.new()
    monkeypatch.setattr(module, "PATIENCE", 1)
    with create(place) as ledger, Ledger.open(place) as other:
        refused = pytest.raises(LedgerError, match=r"in use by others .* nothing was written")
        with ledger._payments.store.transaction(write=True), refused:
            other.release(STEP, DATA, by="ana", key="k")
        other.release(STEP, DATA, by="ana", key="k")


def test_connections_are_used_again_and_given_up(place: str) -> None:
    with create(place) as ledger:
        held = ledger._payments.store._connections._idle
        for number in range(5):
            ledger.reserve(STEP, by="ana", key=str(number))
        assert len(held) == 1
        (kept,) = held
        ledger.close()
        assert kept.closed
        assert held == []
        assert ledger.verify() == 7
    assert held == []


# What a round trip sends and brings back


@pytest.mark.parametrize("quoting", ["on", "off"])
def test_names_in_a_round_trip_are_never_read_as_sql(quoting: str, server: Server) -> None:
    """Values travel within the message: also if backslashes escape, as servers once had it."""
    place = server.new(f"standard_conforming_strings={quoting}", "escape_string_warning=off")
    names = [
        "?",
        "%s",
        "%",
        "a\\",
        "'; DROP TABLE dphist_entries; --",
        "\\'; COMMIT; --",
        "$1",
        ";",
    ]
    with create(place) as ledger:
        for name in names:
            ledger.release(STEP, DATA, by=name, key=name, note=name)
            assert ledger.find(name).state == "finished"
        assert charged(ledger) == names
        assert ledger.verify() == 2 + 2 * len(names)


def test_statements_of_a_round_trip_are_answered_in_order(server: Server) -> None:
    """What comes after one that fails is not run."""
    with module.Connections(server.new()).lend() as connection:
        made, first, second, none = module.run(
            connection,
            [
                ("CREATE TABLE one (number BIGINT, word TEXT)", ()),
                ("INSERT INTO one VALUES (?, ?), (?, ?) RETURNING number", (7, "a", -8, None)),
                ("SELECT word, number FROM one WHERE number < ?", (7,)),
                ("SELECT word FROM one WHERE word = ?", ("b",)),
            ],
        )
        assert (made.status, made.rows) == ("CREATE TABLE", [])
        assert (first.status, first.rows) == ("INSERT 0 2", [(7,), (-8,)])
        assert second.rows == [(None, -8)]
        assert (none.status, none.rows) == ("SELECT 0", [])
        with pytest.raises(psycopg.errors.DivisionByZero):
            module.run(
                connection,
                [("BEGIN", ()), ("DELETE FROM one", ()), ("SELECT 1 / 0", ()), ("COMMIT", ())],
            )
        module.run(connection, [("ROLLBACK", ())])
        (left,) = module.run(connection, [("SELECT count(*) FROM one", ())])
        assert left.rows == [(2,)]


# How the server is set up


def test_commits_are_synced_whatever_the_session_says(server: Server) -> None:
    place = server.new("synchronous_commit=off")
    asked = "SELECT current_setting('synchronous_commit')"
    with create(place) as ledger:
        ledger.reserve(STEP, by="ana", key="k")
        with ledger._payments.store.transaction(write=False) as tables:
            assert tables._execute(asked).fetchone() == ("on",)
        with ledger._payments.store.transaction(write=True) as tables:  # its commit is synced later
            assert tables._execute(asked).fetchone() == ("off",)


@contextmanager
def setting(server: Server, name: str, value: str) -> Iterator[None]:
    server.run(f"ALTER SYSTEM SET {name} = '{value}'")
    server.run("SELECT pg_reload_conf()")
    try:
        while server.run(f"SHOW {name}") != [(value,)]:  # as a new session sees it
            time.sleep(0.01)
        yield
    finally:
        server.run(f"ALTER SYSTEM RESET {name}")
        server.run("SELECT pg_reload_conf()")


def test_a_server_without_syncing_is_refused(place: str, server: Server) -> None:
    with create(place) as ledger:
        other = server.new()
        with setting(server, "fsync", "off"):
            for use in (
                lambda: ledger.release(STEP, DATA, by="ana", key="k"),
                lambda: create(other),
            ):
                with pytest.raises(LedgerError, match="does not sync what it commits"):
                    use()
            assert Ledger.open(place).verify() == 2
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger.open(other)


def test_a_session_that_is_read_only_can_look_alone(place: str) -> None:
    create(place).close()
    with Ledger.open(f"{place}%20-cdefault_transaction_read_only%3Don") as ledger:
        assert ledger.verify() == 2
        ledger.release(STEP, DATA, by="ana", key="k")  # the ledger asks for read and write


def test_a_user_without_rights_is_told_which(place: str, server: Server) -> None:
    create(place).close()
    schema = place.rpartition("%3D")[2]
    server.run(f"CREATE ROLE reader_{schema} LOGIN")
    server.run(f"GRANT USAGE ON SCHEMA {schema} TO reader_{schema}")
    address = place.replace("postgres:@", f"reader_{schema}@")
    assert address != place
    with pytest.raises(LedgerError, match="may not do this; grant SELECT"):
        Ledger.open(address)
    server.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader_{schema}")
    with Ledger.open(address) as ledger:
        assert ledger.verify() == 2
        with pytest.raises(LedgerError, match="may not do this; grant SELECT"):
            ledger.release(STEP, DATA, by="ana", key="k")
    server.run(f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO reader_{schema}")
    with Ledger.open(address) as ledger:
        ledger.release(STEP, DATA, by="ana", key="k")
        assert ledger.verify() == 4


def test_an_encoding_that_cannot_hold_every_name_is_refused(server: Server) -> None:
    server.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    address = server.address.replace("/postgres?", "/latin?")
    with pytest.raises(LedgerError, match=r"encoding .* must be UTF8"):
        create(address)


def test_each_schema_has_a_ledger_of_its_own(server: Server) -> None:
    places = [server.new(), server.new()]
    made = [create(place) for place in places]
    made[0].release(STEP, DATA, by="ana", key="k")
    assert [ledger.verify() for ledger in made] == [4, 2]
    assert made[0].id != made[1].id
    for ledger in made:
        ledger.close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE RULE nothing AS ON UPDATE TO dphist_totals DO INSTEAD NOTHING",
        "ALTER TABLE dphist_totals ENABLE ROW LEVEL SECURITY",
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
        "CREATE TRIGGER no BEFORE UPDATE ON dphist_totals FOR EACH ROW EXECUTE FUNCTION no()",
        "ALTER TABLE dphist_totals DROP CONSTRAINT dphist_totals_pkey",
        "ALTER TABLE dphist_totals ALTER mixed TYPE int",
        "ALTER TABLE dphist_totals ALTER mixed DROP NOT NULL",
        "ALTER TABLE dphist_totals SET UNLOGGED",
        "CREATE TABLE child () INHERITS (dphist_entries)",
    ],
)
@pytest.mark.quick(every=3)
def test_tables_that_were_altered_are_noticed(statement: str, place: str, server: Server) -> None:
    with create(place) as ledger:
        server.run(statement, place)
        with pytest.raises(
            LedgerError, match=r"altered|have triggers, rules, row security or children, or are not"
        ):
            ledger.verify()


# Addresses


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ana:{PASSWORD}@localhost:1/clinic",
        f"postgres://ana@localhost:1/clinic?password={PASSWORD}",
        f"postgresql://ana:{PASSWORD}@host with blanks/clinic",
        f"postgresql://ana:{PASSWORD}@localhost/clinic?no_such_setting=1",
        f"postgresql://ana:{PASSWORD}@localhost:port/clinic",
        f"postgresql://ana:{PASSWORD}@[::1/clinic",
        f"postgresql://ana:{PASSWORD}\ud800@localhost/clinic",
    ],
)
def test_no_message_shows_a_password(address: str, caplog: pytest.LogCaptureFixture) -> None:
    for use in (Ledger.open, create):
        with pytest.raises((LedgerError, ParameterError)) as error:
            use(address)
        assert PASSWORD not in str(error.value)
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__
    assert PASSWORD not in caplog.text


def test_the_name_of_a_ledger_is_its_address_without_the_password(place: str) -> None:
    with create(place.replace("postgres:@", f"postgres:{PASSWORD}@")) as ledger:
        assert ledger.place.startswith("postgresql://postgres@/postgres?host=/")
        assert PASSWORD not in repr(ledger)
        assert ledger.name == "postgres"
    shown = module.Connections(f"postgresql://an%40a:{PASSWORD}@db.example:5433/clinic")
    assert shown.name == "postgresql://an%40a@db.example:5433/clinic"


def test_moved_is_for_files(place: str) -> None:
    with pytest.raises(ParameterError, match="moved is for ledgers in files"):
        Ledger.open(place, moved=True)


def test_psycopg_is_asked_for_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dphist.ledger.stores.postgres", None)
    with pytest.raises(LedgerError, match=r"pip install 'dphist\[postgres\]'"):
        Ledger.open("postgresql://localhost/clinic")
