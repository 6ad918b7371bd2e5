"""One transaction on the tables of a ledger, in the SQL that SQLite and PostgreSQL share."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from dphist.errors import LedgerError
from dphist.ledger import entries
from dphist.ledger.amounts import Totals
from dphist.ledger.book import EVERYBODY, Account, Charge, apply
from dphist.ledger.budget import Budget
from dphist.ledger.entries import Entry, canonical
from dphist.ledger.stores.schema import MIGRATIONS, VERSION, Head, Made

_AT_ONCE = 1000
_TEXTS_AT_ONCE = 10


class Rows(Protocol):
    """The answer of a database to a statement."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> Sequence[Any]: ...


class Execute(Protocol):
    """Run a statement whose parameters are question marks."""

    def __call__(self, statement: str, parameters: Sequence[Any] = ()) -> Rows: ...


Signer: TypeAlias = Callable[[str], str]
"""Returns the signature of a hash, in hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class Prefetch:
    """What a transaction is going to ask for, so that a server can answer all of it at once.

    Attributes
    ----------
    key : of the release.
    by : the person who pays (default: nothing is charged).
    accounts : that are charged (default: the only one).
    """

    key: str
    by: str | None = None
    accounts: tuple[str, ...] | None = None

    def questions(self) -> list[tuple[str, Sequence[Any]]]:
        """Return statements; `Transaction.cache_answers` takes their answers in this order."""
        charge: tuple[str, Sequence[Any]] = (f"{_CHARGE} WHERE name = ?", (self.key,))
        if self.by is None:
            return [charge]
        if self.accounts is None:
            # Two rows show that there is more than one account.
            names = "(SELECT name FROM dphist_accounts ORDER BY name LIMIT 2)"
        else:
            names = f"({', '.join('?' * len(self.accounts))})"
        values = self.accounts or ()
        holders = (EVERYBODY, self.by)
        return [
            charge,
            (f"{_ACCOUNTS} WHERE name IN {names}", values),
            (f"{_CAPS} WHERE account IN {names} AND holder = ?", (*values, self.by)),
            (f"{_TOTALS} WHERE account IN {names} AND holder IN (?, ?)", (*values, *holders)),
        ]


class Transaction:
    """The tables within one transaction; `dphist.ledger.book.Tables` says what changes them."""

    def __init__(self, execute: Execute, head: Head) -> None:
        """Take a transaction that has read the head, and locked it if it is to write."""
        self._execute = execute
        self.head = head
        # What was read or written: nobody else changes it meanwhile, and asking again takes time.
        self._accounts: dict[str, Account | None] = {}
        self._all_accounts: list[Account] | None = None
        self._caps: dict[tuple[str, str], Budget | None] = {}
        self._totals: dict[tuple[str, str], dict[str, Totals]] = {}  # by period
        self._charges: dict[str, Charge | None] = {}

    def cache_answers(self, asked: Prefetch, answers: Sequence[Sequence[Any]]) -> None:
        """Keep the answers to the questions of `asked`, so that they are not asked again."""
        keys, *others = answers
        self._charges[asked.key] = _charge(keys[0]) if keys else None
        if asked.by is None:
            return
        accounts, caps, totals = others
        self._accounts.update(dict.fromkeys(asked.accounts or ()))
        self._accounts.update((row[0], _account(row)) for row in accounts)
        if asked.accounts is None and len(accounts) < 2:
            self._all_accounts = [_account(row) for row in accounts]
        for name in self._accounts:
            self._caps[name, asked.by] = None
            self._totals.update({(name, EVERYBODY): {}, (name, asked.by): {}})
        self._caps.update(((row[0], row[1]), _cap(row)) for row in caps)
        for row in totals:
            self._totals[row[0], row[1]][row[2]] = _totals(row)

    def now(self) -> str:
        """Return the time of an entry that is appended now; its month is the one that pays.

        It is read within the transaction, and is never before the last entry's.
        """
        return entries.now(self.head.time)

    def append(self, action: str, content: dict[str, Any], signer: Signer | None = None) -> Entry:
        """Add an entry and what follows from it.

        Parameters
        ----------
        signer : signs the hash of the entry, if entries are signed.

        Raises
        ------
        LedgerError
            If it cannot follow the entries before it; the transaction is then to be rolled back.
        """
        head = self.head
        entry = Entry(head.entries + 1, self.now(), action, content, head.hash)
        hashed = entry.hash
        signature = None if signer is None else signer(hashed)
        apply(entry, self)
        self._execute(
            "INSERT INTO dphist_entries (number, time, action, content, previous, signature) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (entry.number, entry.time, action, canonical(content), entry.previous, signature),
        )
        self._execute(
            "UPDATE dphist_ledger SET entries = ?, head = ?, time = ?",
            (entry.number, hashed, entry.time),
        )
        self.head = replace(head, entries=entry.number, hash=hashed, time=entry.time)
        return entry

    def entry(self, number: int) -> Entry:
        """Return an entry by its number."""
        row = self._execute(f"{_ENTRIES} WHERE number = ?", (number,)).fetchone()
        if row is None:
            raise LedgerError(f"entry {number} is missing; run `dphist ledger verify`")
        return _entry(row)

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the entries with a number above `after`, in order."""
        part = f"{_ENTRIES} WHERE number > ? ORDER BY number LIMIT {_AT_ONCE}"
        while rows := self._execute(part, (after,)).fetchall():
            yield from map(_entry, rows)
            after = rows[-1][0]

    def count(self, table: str) -> int:
        """Return the number of rows of a table, of whatever kind."""
        (number,) = self._execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        return int(number)

    def account(self, name: str) -> Account | None:
        """Return an account, or None."""
        if name not in self._accounts:
            row = self._execute(f"{_ACCOUNTS} WHERE name = ?", (name,)).fetchone()
            self._accounts[name] = None if row is None else _account(row)
        return self._accounts[name]

    def accounts(self) -> list[Account]:
        """Return all accounts, by name."""
        if self._all_accounts is None:
            rows = self._execute(f"{_ACCOUNTS} ORDER BY name").fetchall()
            self._all_accounts = [_account(row) for row in rows]
            self._accounts.update((account.name, account) for account in self._all_accounts)
        return list(self._all_accounts)

    def put_account(self, account: Account) -> None:
        """Write an account, new or in place of the one of its name."""
        self._put(
            "dphist_accounts",
            {"name": account.name},
            {"content": canonical(account.to_content()), "closed": int(account.closed)},
        )
        self._accounts[account.name] = account
        self._all_accounts = None

    def cap(self, account: str, holder: str) -> Budget | None:
        """Return the cap of a person in an account, or None."""
        if (account, holder) not in self._caps:
            row = self._execute(
                f"{_CAPS} WHERE account = ? AND holder = ?", (account, holder)
            ).fetchone()
            self._caps[account, holder] = None if row is None else _cap(row)
        return self._caps[account, holder]

    def caps(self) -> dict[tuple[str, str], Budget]:
        """Return all caps by account and person."""
        rows = self._execute(f"{_CAPS} ORDER BY account, holder").fetchall()
        return {(row[0], row[1]): _cap(row) for row in rows}

    def put_cap(self, account: str, holder: str, cap: Budget | None) -> None:
        """Write a cap, or remove it."""
        self._caps[account, holder] = cap
        if cap is None:
            self._execute(
                "DELETE FROM dphist_caps WHERE account = ? AND holder = ?", (account, holder)
            )
            return
        self._put(
            "dphist_caps",
            {"account": account, "holder": holder},
            {"content": canonical(cap.to_content())},
        )

    def totals(self, account: str, holder: str, period: str) -> Totals:
        """Return the sums of an account, or of one person in it, in a period."""
        if (account, holder) not in self._totals:
            rows = self._execute(
                f"{_TOTALS} WHERE account = ? AND holder = ?", (account, holder)
            ).fetchall()
            self._totals[account, holder] = {row[2]: _totals(row) for row in rows}
        return self._totals[account, holder].get(period, Totals())

    def all_totals(self) -> dict[tuple[str, str, str], Totals]:
        """Return all sums by account, person and period; the person "" stands for everybody."""
        rows = self._execute(f"{_TOTALS} ORDER BY account, holder, period").fetchall()
        return {(row[0], row[1], row[2]): _totals(row) for row in rows}

    def put_totals(self, account: str, holder: str, period: str, totals: Totals) -> None:
        """Write the sums of an account, or of one person in it, in a period."""
        self._totals.setdefault((account, holder), {})[period] = totals
        self._put(
            "dphist_totals",
            {"account": account, "holder": holder, "period": period},
            {
                "entries": totals.entries,
                "mixed": totals.mixed,
                "epsilon": str(totals.epsilon),
                "rho": str(totals.rho),
                "delta": str(totals.delta),
            },
        )

    def charge(self, key: str) -> Charge | None:
        """Return what is known of a key, without the text of its release."""
        if key not in self._charges:
            row = self._execute(f"{_CHARGE} WHERE name = ?", (key,)).fetchone()
            self._charges[key] = None if row is None else _charge(row)
        return self._charges[key]

    def charges(self) -> Iterator[Charge]:
        """Yield what is known of every key, with the text of its release."""
        keys = self._execute("SELECT name FROM dphist_charges ORDER BY entry, name").fetchall()
        for start in range(0, len(keys), _TEXTS_AT_ONCE):
            part = [key for (key,) in keys[start : start + _TEXTS_AT_ONCE]]
            marks = ", ".join("?" * len(part))
            rows = self._execute(f"{_CHARGES} WHERE name IN ({marks}) ORDER BY entry, name", part)
            yield from (_charge(row) for row in rows.fetchall())

    def put_charge(self, charge: Charge) -> None:
        """Write what is known of a key; the text of a release is written by `put_release`."""
        self._charges[charge.key] = charge
        self._put(
            "dphist_charges",
            {"name": charge.key},
            {
                "entry": charge.entry,
                "state": charge.state,
                "fingerprint": charge.fingerprint,
                "sha256": charge.sha256,
                "noted": charge.noted,
            },
        )

    def key_of_state(self, state: str) -> str | None:
        """Return the key whose stream has this state, as its last note says, or None."""
        for name, text in self._execute(_NOTES).fetchall():
            with _readable("a note of a stream"):
                if json.loads(text)["state"] == state:
                    return str(name)
        return None

    def release_text(self, key: str) -> str | None:
        """Return the text of the release stored under a key, or None."""
        row = self._execute(
            "SELECT release_text FROM dphist_charges WHERE name = ?", (key,)
        ).fetchone()
        text = None if row is None else row[0]
        if not isinstance(text, str | None):
            raise LedgerError(
                "a stored release cannot be read: the ledger was edited or is damaged"
            )
        return text

    def put_release(self, key: str, text: str) -> None:
        """Store the text of a finished release."""
        self._execute("UPDATE dphist_charges SET release_text = ? WHERE name = ?", (text, key))

    def migrate(self, tables: Mapping[str, str]) -> None:
        """Bring tables of an older version up to this one; entries stay as they are.

        Parameters
        ----------
        tables : the statements that make them, as `write_tables` of this database returns them.
        """
        for version in range(self.head.version, VERSION):
            for step in MIGRATIONS[version]:
                self._execute(tables[step.table] if isinstance(step, Made) else step)
        self._execute("UPDATE dphist_ledger SET version = ?", (VERSION,))

    def _put(self, table: str, key: dict[str, Any], values: dict[str, Any]) -> None:
        """Write one row, new or in place of the one with its key."""
        columns = [*key, *values]
        marks = ", ".join("?" * len(columns))
        changes = ", ".join(f"{name} = excluded.{name}" for name in values)
        self._execute(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) "  # noqa: S608
            f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}",
            (*key.values(), *values.values()),
        )


_CHARGE = "SELECT name, entry, state, fingerprint, sha256, noted FROM dphist_charges"
_CHARGES = "SELECT name, entry, state, fingerprint, sha256, noted, release_text FROM dphist_charges"
_NOTES = (
    "SELECT c.name, e.content FROM dphist_charges c JOIN dphist_entries e ON e.number = c.noted "
    "WHERE c.noted IS NOT NULL"
)
_ACCOUNTS = "SELECT name, content, closed FROM dphist_accounts"
_CAPS = "SELECT account, holder, content FROM dphist_caps"
_TOTALS = "SELECT account, holder, period, entries, mixed, epsilon, rho, delta FROM dphist_totals"
_ENTRIES = "SELECT number, time, action, content, previous, signature FROM dphist_entries"


def _entry(row: Sequence[Any]) -> Entry:
    number, time, action, text, previous, signature = row
    try:
        content = json.loads(text)
        # Another text of the same content would have the same hash.
        whole = isinstance(content, dict) and canonical(content) == text
    except (TypeError, ValueError, RecursionError):
        whole = False
    are_texts = all(isinstance(each, str) for each in (time, action, previous, signature or ""))
    if not (whole and isinstance(number, int) and are_texts):
        raise LedgerError(f"entry {number} cannot be read: it was edited")
    return Entry(number, time, action, content, previous, signature)


def _account(row: Sequence[Any]) -> Account:
    with _readable("the table of accounts"):
        return _read_account(*row)


@lru_cache(maxsize=256)  # an account is read for every charge, and changes only when it is closed
def _read_account(name: Any, text: Any, closed: Any) -> Account:
    """Return the account in a row; ValueError and others if it is not one that a ledger writes."""
    found = Account.from_content(json.loads(text), {0: False, 1: True}[closed])
    _check_text(canonical(found.to_content()), text)
    _check_text(found.name, name)
    return found


def _cap(row: Sequence[Any]) -> Budget:
    account, _, text = row
    with _readable(f"a cap in {account!r}"):
        found = Budget.from_content(json.loads(text))
        _check_text(canonical(found.to_content()), text)
        return found


def _totals(row: Sequence[Any]) -> Totals:
    account, _, _, entries_, mixed, *sums = row
    with _readable(f"a sum of {account!r}"):
        return Totals(int(entries_), int(mixed), *map(_sum, sums))


def _sum(text: Any) -> Fraction:
    """Return a sum as it is written; ValueError for another text of the same number."""
    above, _, below = str(text).partition("/")
    found = Fraction(int(above), int(below or 1))
    _check_text(str(found), text)
    return found


def _charge(row: Sequence[Any]) -> Charge:
    with _readable("the table of keys"):
        found = Charge(*row)
        if not (isinstance(found.entry, int) and isinstance(found.noted, int | None)):
            raise ValueError
        if not isinstance(found.release, str | None):
            raise ValueError
        return found


def _check_text(ours: str, held: object) -> None:
    """Refuse another text of the same content; ValueError."""
    if ours != held:
        raise ValueError


@contextmanager
def _readable(what: str) -> Iterator[None]:
    """Refuse what a ledger does not write, without showing it."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
        raise LedgerError(f"{what} cannot be read: the ledger was edited or is damaged") from None
