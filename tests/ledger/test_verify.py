# ruff: noqa: S608 - statements of tests
"""What was changed in a ledger is noticed, and the first wrong entry is named (ledger, Lemma 9)."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.errors import LedgerError
from dphist.ledger import Ledger
from dphist.ledger.entries import Entry, canonical
from dphist.ledger.stores import transaction
from dphist.ledger.stores.schema import TABLES
from tests.support.ledgers import PROFILE, SCAN, rewritten

STREAM = dh.ContinualMechanism(epsilon="0.001", delta="1e-9", horizon=4, max_events_per_user=1)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with entries of every kind."""
    folder = tmp_path_factory.mktemp("ledger")
    ledger = Ledger.create(folder / "a", epsilon=1, delta="1e-6", unit="one record")  # 1, 2
    ledger.open_account("users", epsilon=1, delta="1e-6", unit="one user", dataset="of 2026")  # 3
    ledger.allow("ana", epsilon="0.5", account="main")  # 4
    ledger.release(SCAN, PROFILE, by="ana", key="first", account="main")  # 5, 6
    ledger.reserve(SCAN, by="bob", key="later", account="main")  # 7
    ledger.cancel("later")  # 8
    ledger.reserve(SCAN, by="bob", key="kept", account="main")  # 9
    stream = ledger.open_stream(folder / "s", STREAM, by="ana", key="s", account="users")
    stream.close()  # 10, 11
    ledger.release(SCAN, PROFILE, by="ana", key="second", account="main")  # 12, 13
    ledger.close_account("users")  # 14
    assert ledger.verify() == 14
    return folder / "a"


@pytest.fixture
def edit(written: Path, tmp_path: Path) -> Callable[..., Ledger]:
    """Return what edits a copy of the ledger and opens it."""

    def run(*statements: str | tuple[str, tuple[Any, ...]]) -> Ledger:
        path = tmp_path / "a"
        shutil.copy(written, path)
        ledger = Ledger.open(path, moved=True)
        connection = sqlite3.connect(path)
        for statement in statements:
            text, parameters = (statement, ()) if isinstance(statement, str) else statement
            assert connection.execute(text, parameters).rowcount != 0, statement
        connection.commit()
        connection.close()
        return ledger

    return run


# Not for `verify`: a key checks signatures, and the store the identity of its file.
UNCHAINED = {("dphist_entries", "signature"), ("dphist_ledger", "identity")}
COLUMNS = [
    (table, part.split()[0])
    for table, made in TABLES.items()
    for part in made.split("(", 1)[1].split(", ")
    if " " in part.removeprefix("PRIMARY KEY ")  # the rest of a key is one word
    and (table, part.split()[0]) not in UNCHAINED
]
OTHERS: dict[str, list[object]] = {
    "TEXT": ["", "{}", "null"],
    "INTEGER": [0, 77, "x"],
    "BIGINT": [0, 77, "x"],
}
MORE: dict[str, list[object]] = {
    "TEXT": ["0", "x", "[]", "\u2028", "9" * 64],
    "INTEGER": [1, 2, -1],
    "BIGINT": [1, 2, -1],
}


def type_of(table: str, column: str) -> str:
    after = TABLES[table].split(f"{column} ", 1)[1]
    return after.split()[0].rstrip(",)")


def likely(kind: str, held: object) -> list[object]:
    return [*OTHERS[kind], None, *slightly(held)]


def further(kind: str, held: object) -> list[object]:
    return MORE[kind]


@pytest.mark.long(every=2)
@pytest.mark.quick("[likely-")
@pytest.mark.parametrize(("table", "column"), COLUMNS)
@pytest.mark.parametrize("changes", [likely, further])
def test_every_column_of_every_row_is_checked(
    changes: Callable[..., list[object]], table: str, column: str, edit: Callable[..., Ledger]
) -> None:
    ledger = edit()
    connection = sqlite3.connect(ledger.place)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = MEMORY")
    rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
    assert rows
    tried = 0
    for rowid, held in rows:
        for value in changes(type_of(table, column), held):
            if value == held and type(value) is type(held):
                continue
            change = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
            try:
                connection.execute(change, (value, rowid))
            except sqlite3.IntegrityError:
                continue
            connection.commit()
            tried += 1
            with pytest.raises(LedgerError):
                Ledger.open(ledger.place).verify()
            connection.execute(change, (held, rowid))
            connection.commit()
    connection.close()
    assert tried
    assert ledger.verify() == 14


def slightly(held: object) -> list[object]:
    """Return values close to what is held."""
    if isinstance(held, int):
        return [held + 1]
    if not isinstance(held, str) or not held:
        return []
    changed = [held[:-1], held + " ", " " + held, held.replace("1", "2"), held.replace("9", "8")]
    if held.startswith("{"):
        changed.append(json.dumps(json.loads(held)))  # the same content in another text
        changed.append('{"a":1,' + held[1:])
        changed.append(held[:-1] + ',"by":"eve"}')
    return changed  # type: ignore[return-value]


def test_entries_and_keys_are_read_in_parts(
    edit: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand entries, and ten stored releases, at once; here a few, so that parts end."""
    ledger = edit()
    whole = list(ledger.entries())
    for entries, texts in ((1, 1), (4, 2), (14, 3)):
        monkeypatch.setattr(transaction, "_AT_ONCE", entries)
        monkeypatch.setattr(transaction, "_TEXTS_AT_ONCE", texts)
        assert list(ledger.entries()) == whole
        assert ledger.verify() == 14


@pytest.mark.parametrize("number", range(1, 15))
def test_an_edited_entry_is_named(number: int, edit: Callable[..., Ledger]) -> None:
    """Its content is changed so that it can follow those before it, and costs the same."""
    ledger = edit()
    entry = list(ledger.entries())[number - 1]
    content = {**entry.content, "zz": "added"}
    ledger = edit(
        (
            "UPDATE dphist_entries SET content = ? WHERE number = ?",
            (canonical(content), number),
        )
    )
    with pytest.raises(LedgerError, match=rf"^entry {number} "):
        ledger.verify()


@pytest.mark.parametrize("number", range(1, 15))
def test_a_damaged_entry_is_named(number: int, edit: Callable[..., Ledger]) -> None:
    """Also the first, which says whether entries are signed."""
    damage = f"UPDATE dphist_entries SET content = '{{' WHERE number = {number}"
    ledger = Ledger.open(edit(damage).place)
    with pytest.raises(LedgerError, match=rf"^entry {number} cannot be read"):
        ledger.verify()


@pytest.mark.parametrize("number", range(1, 15))
def test_a_removed_entry_is_named(number: int, edit: Callable[..., Ledger]) -> None:
    ledger = edit(f"DELETE FROM dphist_entries WHERE number = {number}")
    with pytest.raises(LedgerError, match=rf"^entry {number} is missing"):
        ledger.verify()


@pytest.mark.verify
@pytest.mark.parametrize("number", range(1, 14))
def test_a_removed_entry_is_named_also_if_the_others_move_up(
    number: int, edit: Callable[..., Ledger]
) -> None:
    ledger = edit(
        f"DELETE FROM dphist_entries WHERE number = {number}",
        f"UPDATE dphist_entries SET number = -number WHERE number > {number}",
        "UPDATE dphist_entries SET number = -number - 1 WHERE number < 0",
    )
    with pytest.raises(LedgerError, match=rf"^entry {number} "):
        ledger.verify()


@pytest.mark.parametrize("number", [1, 2, 5, 9, 13])
def test_exchanged_entries_are_named(number: int, edit: Callable[..., Ledger]) -> None:
    ledger = edit(
        f"UPDATE dphist_entries SET number = 99 WHERE number = {number}",
        f"UPDATE dphist_entries SET number = {number} WHERE number = {number + 1}",
        f"UPDATE dphist_entries SET number = {number + 1} WHERE number = 99",
    )
    with pytest.raises(LedgerError, match=rf"^entry {number} "):
        ledger.verify()


@pytest.mark.parametrize("number", [1, 6, 14])
def test_a_repeated_entry_is_named(number: int, edit: Callable[..., Ledger]) -> None:
    ledger = edit(
        "INSERT INTO dphist_entries SELECT 15, time, action, content, previous, signature "
        f"FROM dphist_entries WHERE number = {number}"
    )
    with pytest.raises(LedgerError, match=r"^entry 15 "):
        ledger.verify()


def test_an_added_entry_is_named_if_the_head_does_not_know_it(edit: Callable[..., Ledger]) -> None:
    ledger = edit()
    last = list(ledger.entries())[-1]
    content = {"account": "main", "note": ""}
    entry = Entry(15, last.time, "closed", content, last.hash)
    row = (15, entry.time, entry.action, canonical(content), entry.previous)
    ledger = edit(("INSERT INTO dphist_entries VALUES (?, ?, ?, ?, ?, NULL)", row))
    with pytest.raises(LedgerError, match=r"^entry 15 is none that the ledger knows of"):
        ledger.verify()


@pytest.mark.parametrize("table", [name for name in TABLES if name != "dphist_entries"])
def test_rows_that_are_missing_are_noticed(
    table: str, written: Path, edit: Callable[..., Ledger]
) -> None:
    connection = sqlite3.connect(written)
    rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")]
    connection.close()
    for rowid in rows:
        ledger = edit(f"DELETE FROM {table} WHERE rowid = {rowid}")
        with pytest.raises(LedgerError):
            ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO dphist_accounts SELECT 'z', content, 0 FROM dphist_accounts",
        "INSERT INTO dphist_caps SELECT account, 'eve', content FROM dphist_caps",
        "INSERT INTO dphist_totals SELECT account, 'eve', period, 0, 0, 0, 0, 0 "
        "FROM dphist_totals LIMIT 1",
        "INSERT INTO dphist_totals SELECT account, holder, '2026-11', 0, 0, 0, 0, 0 "
        "FROM dphist_totals LIMIT 1",
        "INSERT INTO dphist_charges SELECT 'z', entry, state, fingerprint, sha256, noted, "
        "release_text FROM dphist_charges LIMIT 1",
        "INSERT INTO dphist_charges SELECT NULL, entry, state, fingerprint, sha256, noted, "
        "release_text FROM dphist_charges LIMIT 1",
        "INSERT INTO dphist_entries SELECT 0, time, action, content, previous, signature "
        "FROM dphist_entries LIMIT 1",
        "UPDATE dphist_ledger SET identity = ''",
        "INSERT INTO dphist_ledger SELECT * FROM dphist_ledger",
        "UPDATE dphist_charges SET release_text = '{}' WHERE name = 's'",
        "CREATE TABLE z (a)",
        "CREATE TRIGGER z AFTER UPDATE ON dphist_totals BEGIN DELETE FROM dphist_totals; END",
        "DROP TABLE dphist_caps",
    ],
)
def test_rows_and_tables_that_were_added_are_noticed(
    statement: str, edit: Callable[..., Ledger]
) -> None:
    statement = statement.replace("FROM dphist_accounts", "FROM dphist_accounts LIMIT 1")
    ledger = edit(statement)
    with pytest.raises(LedgerError):
        ledger.verify()


def test_a_release_that_was_exchanged_is_named(edit: Callable[..., Ledger]) -> None:
    ledger = edit(
        "UPDATE dphist_charges SET release_text = (SELECT release_text FROM dphist_charges WHERE "
        "name = 'second') WHERE name = 'first'"
    )
    with pytest.raises(LedgerError, match=r"^entry 5 has a stored release that was changed"):
        ledger.verify()


def test_a_rewritten_chain_must_still_add_up(edit: Callable[..., Ledger]) -> None:
    """Whoever computes all hashes again meets the sums, and the budget."""

    def smaller(entries: list[Entry]) -> list[Entry]:
        text = entries[4].text()
        assert '"epsilon":"0.1"' in text
        content = json.loads(canonical(entries[4].content).replace('"0.1"', '"0.01"'))
        entries[4] = Entry(5, entries[4].time, entries[4].action, content, "")
        return entries

    ledger = edit(*rewritten(edit(), smaller))
    with pytest.raises(LedgerError, match=r"sums of the account 'main'|does not agree"):
        ledger.verify()

    def without(entries: list[Entry]) -> list[Entry]:
        return entries[:11]  # the second release never was

    ledger = edit(*rewritten(edit(), without))
    with pytest.raises(LedgerError):
        ledger.verify()

    def twice(entries: list[Entry]) -> list[Entry]:
        again = Entry(0, entries[0].time, entries[0].action, entries[0].content, "")
        return [*entries[:3], again, *entries[3:]]

    ledger = edit(*rewritten(edit(), twice))
    with pytest.raises(LedgerError, match=r"^entry 4 "):
        ledger.verify()

    def overspent(entries: list[Entry]) -> list[Entry]:
        charged = next(each for each in entries if each.content.get("key") == "second")
        content = json.loads(canonical(charged.content).replace('"0.1"', '"0.9"'))
        entries[11] = Entry(12, charged.time, charged.action, content, "")
        return entries

    ledger = edit(*rewritten(edit(), overspent))
    with pytest.raises(LedgerError, match=r"^entry 12 cannot follow.* costs more than 'main' has"):
        ledger.verify()


def test_an_older_content_of_the_ledger_is_noticed(tmp_path: Path) -> None:
    """Where the file itself says so, or a stream knows a later entry; else it cannot be."""
    path, copy = tmp_path / "a", tmp_path / "copy"
    ledger = Ledger.create(path, epsilon=1, unit="one record")
    shutil.copy(path, copy)
    ledger.release(SCAN, PROFILE, by="ana", key="k")
    path.write_bytes(copy.read_bytes())
    with pytest.raises(LedgerError, match="older content"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="copy of a ledger"):
        Ledger.open(copy)
