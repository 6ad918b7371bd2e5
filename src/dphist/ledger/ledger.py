"""Ledger: budgets that hold across releases, people and years."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from dphist.data.guard import Guarded
from dphist.errors import LedgerError, ParameterError
from dphist.labels import PayWhatYouGet
from dphist.ledger import entries as actions
from dphist.ledger.amounts import Totals
from dphist.ledger.book import (
    EVERYBODY,
    Account,
    Charge,
    MemoryTables,
    account_of,
    admits,
    charge_of,
)
from dphist.ledger.budget import Budget
from dphist.ledger.charging import (
    Price,
    Quote,
    check_budget,
    checked_words,
    is_frozen,
    prices,
)
from dphist.ledger.entries import Entry, digest
from dphist.ledger.session import LedgerSession
from dphist.ledger.stores.about import About
from dphist.ledger.stores.opening import create_store, open_store
from dphist.ledger.stores.store import Store, UnwrittenError
from dphist.ledger.stores.transaction import Signer, Transaction
from dphist.ledger.streams import LedgerStream, open_charged
from dphist.ledger.table import EntryTable
from dphist.ledger.units import DataUnit
from dphist.ledger.verify import verify
from dphist.noise.inversion import Source
from dphist.parameters import Exact
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import as_unit
from dphist.release.release import Release
from dphist.streams import ContinualMechanism

_LOG = logging.getLogger("dphist.ledger")

MAIN = "main"
"""Name of the account that `Ledger.create` opens."""

Accounts = str | Sequence[str] | None

_ATTEMPTS = 5
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Deferred:
    """Data that are opened only after they were paid for.

    Parameters
    ----------
    open : function without parameters that returns the data.
    unit : whom the data will protect, such as "one user"; None where they name no unit.
    records : maximum number of records of one such unit, if bounded.
    """

    open: Callable[[], Any]
    unit: str | None = None
    records: int | None = None


@dataclass(frozen=True, slots=True)
class Amounts:
    """Sums of what was spent, or what is left.

    Attributes
    ----------
    epsilon : sum of the pure releases' epsilons, or what is left for them; None where other
        releases rule a sum of epsilons out, or the account is one of rho.
    rho, delta : sums over all releases, or what is left; of a pure account rho is not counted.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Balance:
    """What was spent of an account, or of a cap in it, and what is left.

    Attributes
    ----------
    account : its name.
    budget : of the account, or the cap.
    totals : sums over the entries.
    """

    account: str
    budget: Budget
    totals: Totals

    @property
    def spent(self) -> Amounts:
        """The sums of what was charged or is reserved."""
        epsilon = None if self.totals.mixed else self.totals.epsilon
        return Amounts(epsilon, self.totals.rho, self.totals.delta)

    @property
    def remaining(self) -> Amounts:
        """What is left: by epsilons alone, as long as all is pure, or by rho and delta."""
        none = Fraction(0)
        epsilon = None
        if self.budget.epsilon is not None and not self.totals.mixed:
            epsilon = max(self.budget.epsilon - self.totals.epsilon, none)
        return Amounts(
            epsilon,
            max(self.budget.most_rho - self.totals.rho, none),
            max(self.budget.delta_of_entries - self.totals.delta, none),
        )

    @property
    def largest_epsilon(self) -> Fraction:
        """The largest epsilon of one more pure release that still fits; 0 if none does."""
        return self.budget.largest_epsilon(self.totals)


@dataclass(frozen=True, slots=True)
class Plan:
    """The price of a list of releases, and how many of them would be paid.

    Attributes
    ----------
    prices : for each release, what it costs each account.
    paid : how many of them fit, from the first on.
    """

    prices: list[list[Price]]
    paid: int

    @property
    def affordable(self) -> bool:
        """Whether all of them fit."""
        return self.paid == len(self.prices)


class Ledger:
    """Accounts of privacy budget, charged before data are read, for releases of any mechanism.

    Guarantee
    ---------
    All that is released through an account is together (epsilon, delta)-DP, or what else the
    account was opened with, for its privacy unit: also if each release, its mechanism and its cost
    are chosen after seeing all earlier ones (docs/proofs/ledger.md). The charge is durable before
    the first look at the data. Not covered: releases that do not go through the ledger, data that
    are in the account of another ledger as well, and whoever edits the ledger (SECURITY.md).

    Use `create` or `open`. A Ledger may be used from several threads and by forked processes.
    """

    def __init__(self, store: Store, signer: Signer | None = None) -> None:
        """Take a store; use `create` or `open`."""
        self._store = store
        self._signer = signer
        self._seen = MemoryTables()  # accounts of earlier charges: never trusted, see `_quoted`
        self._quote: tuple[Any, Any, Quote | None] = None, None, None
        with self._reading() as tables:
            self._id = tables.head.id
            self._name = tables.head.name

    @classmethod
    def create(
        cls,
        place: str | Path,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        delta_of_entries: Exact | None = None,
        unit: PrivacyUnit | str,
        account: str = MAIN,
        dataset: str = "",
        name: str | None = None,
        signing_key: str | Path | None = None,
    ) -> "Ledger":
        """Make a ledger with one account; `open_account` adds others.

        Parameters
        ----------
        place : path of a new file on a local disk, or a ``postgresql://`` address.
        epsilon, delta, rho, delta_of_entries : the budget. An epsilon alone is a pure account, with
            a delta an (epsilon, delta) account; a rho alone is a zCDP account, with a delta a
            delta-approximate one. `delta_of_entries` is the part of delta for the releases' own
            deltas (default: half).
        unit : whom the account protects, such as "one patient".
        account, dataset : name of the account, and what the data are, in your words.
        name : of the ledger, for releases and pages (default: the name of the file or database).
        signing_key : file of a private key (PEM, Ed25519) that signs the entries.

        Raises
        ------
        LedgerError
            If there is a ledger already, or the file lies on a network file system.
        """
        budget = Budget(epsilon=epsilon, delta=delta, rho=rho, delta_of_entries=delta_of_entries)
        opened = Account(
            checked_words(account, "account"),
            as_unit(unit),
            budget,
            checked_words(dataset, "dataset", empty=True),
        )
        if name is not None:
            checked_words(name, "name")
        signer = _signer(signing_key)

        def begin(tables: Transaction) -> None:
            head = tables.head
            begun = {"id": head.id, "name": head.name, "library": head.library}
            tables.append(actions.OPENED, begun, signer)
            tables.append(actions.ACCOUNT, opened.to_content(), signer)

        return cls(create_store(place, name, begin), signer)

    @classmethod
    def open(
        cls, place: str | Path, *, moved: bool = False, signing_key: str | Path | None = None
    ) -> "Ledger":
        """Open a ledger.

        Parameters
        ----------
        place : path of its file, or its ``postgresql://`` address.
        moved : the file is a copy of the last content, and the original is gone for good.
        signing_key : file of a private key that signs new entries.

        Raises
        ------
        InputFileError
            If there is no such file.
        LedgerError
            If it is no ledger, of a later version, damaged, a copy, or an older content.
        """
        return cls(open_store(place, moved=moved), _signer(signing_key))

    @property
    def id(self) -> str:
        """Random digits that no other ledger has."""
        return self._id

    @property
    def name(self) -> str:
        """What the maker of the ledger called it."""
        return self._name

    @property
    def place(self) -> str:
        """Where the ledger is kept; without a password."""
        return self._store.name

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up connections. Accounts stay open: see `close_account`. May be called again."""
        self._store.close()

    # Accounts

    def open_account(
        self,
        name: str,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        delta_of_entries: Exact | None = None,
        unit: PrivacyUnit | str,
        dataset: str = "",
    ) -> None:
        """Add an account, of another data set or another unit; parameters as for `create`.

        A budget is never renewed: new data whose unit is their own, such as one patient's records
        of November, get an account of their own.
        """
        budget = Budget(epsilon=epsilon, delta=delta, rho=rho, delta_of_entries=delta_of_entries)
        account = Account(
            checked_words(name, "name"),
            as_unit(unit),
            budget,
            checked_words(dataset, "dataset", empty=True),
        )
        self._append(actions.ACCOUNT, account.to_content())

    def close_account(self, name: str, note: str = "") -> None:
        """Close an account for good: nothing more can be charged to it."""
        content = {
            "account": checked_words(name, "name"),
            "note": checked_words(note, "note", empty=True),
        }
        self._append(actions.CLOSED, content)

    def allow(
        self,
        by: str,
        *,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        delta: Exact | None = None,
        account: str | None = None,
    ) -> None:
        """Set a cap for a person or team below the account's total, in place of an earlier one.

        Parameters
        ----------
        by : the name that their releases are charged by. Names are not checked: a ledger does not
            know who calls it.
        epsilon, rho, delta : the cap, in the terms of the account; delta is the account's unless
            given. Without any, the cap is removed.
        """
        holder = checked_words(by, "by")

        def set_cap(tables: Transaction) -> None:
            name = self._one(tables, account)
            budget = account_of(tables, name).budget
            cap = None
            if epsilon is not None or rho is not None:
                if (budget.epsilon is None) != (epsilon is None):
                    term = "rho" if budget.epsilon is None else "epsilon"
                    raise ParameterError(f"a cap of the account {name!r} must be given as {term}")
                cap = Budget(
                    epsilon=epsilon, rho=rho, delta=budget.delta if delta is None else delta
                ).to_content()
            content = {"account": name, "by": holder, "cap": cap}
            tables.append(actions.ALLOWED, content, self._signer)

        self._write(set_cap)

    @property
    def accounts(self) -> list[Account]:
        """All accounts, by name."""
        with self._reading() as tables:
            return tables.accounts()

    @property
    def spent(self) -> Amounts:
        """What was spent of the only account; see `balance` for several."""
        return self.balance().spent

    @property
    def remaining(self) -> Amounts:
        """What is left of the only account; see `balance` for several."""
        return self.balance().remaining

    def balance(self, account: str | None = None, by: str | None = None) -> Balance:
        """Return what an account, or the cap of a person in it, has left and has spent."""
        if by is not None:
            checked_words(by, "by")
        with self._reading() as tables:
            name = self._one(tables, account)
            budget: Budget | None = account_of(tables, name).budget
            if by is not None:
                budget = tables.cap(name, by)
                if budget is None:
                    raise LedgerError(f"{by!r} has no cap in the account {name!r}; see `allow`")
            assert budget is not None  # noqa: S101
            return Balance(name, budget, tables.totals(name, by or EVERYBODY))

    # Paying

    def release(
        self,
        mechanism: Any,
        data: Any,
        *,
        by: str,
        key: str,
        note: str = "",
        account: Accounts = None,
        source: Source | None = None,
    ) -> Release:
        """Charge what a release costs, durably, and then make it.

        Parameters
        ----------
        mechanism : any `dphist.Mechanism`; it needs no knowledge of ledgers.
        data : what the mechanism's `release` takes, guarded by this ledger or not; or `Deferred`.
        by : the person or team that pays; a cap of theirs holds as well.
        key : a name for this release, chosen by you. The same key with the same mechanism returns
            the stored release and costs nothing; it never draws again.
        note : the purpose, in your words.
        account : the account to charge, or several, all or none (default: the only one).
        source : `source(n)` returns n random bytes. For tests only: the release says so.

        Returns
        -------
        Release, whose provenance names ledger, account and entry.

        Raises
        ------
        BudgetError
            If it costs more than is left; nothing is charged.
        LedgerError
            If the release protects another unit than the account, or the key was used for
            something else, or for a release that did not finish.
        """
        if not callable(getattr(mechanism, "release", None)):
            raise ParameterError(
                "mechanism must have a method release; sessions and streams are opened with "
                "ledger.session and ledger.open_stream"
            )
        deferred = _deferred(self, data)
        stored, entry = self._charge(mechanism, deferred, by, key, note, account)
        if stored is not None:
            return Release.from_json(stored, name=f"the release of the key {key!r}")
        assert entry is not None  # noqa: S101
        try:
            opened = deferred.open()
            if isinstance(opened, Guarded):
                opened = opened.open_for(self.id)
            _check_same(DataUnit.of(opened), deferred, data)
            release = _released(mechanism, opened, source)
            return self._finish(release, key, entry)
        except BaseException as error:
            _LOG.warning(
                "%s: entry %d was charged, and its release failed", self.name, entry.number
            )
            error.add_note(
                f"The release was charged (entry {entry.number} of {self.name}) and stays charged."
            )
            raise

    def reserve(
        self,
        mechanism: Any,
        *,
        by: str,
        key: str,
        note: str = "",
        account: Accounts = None,
        data: Any = None,
    ) -> None:
        """Set aside what a release will cost; `release` with the same key uses it.

        Parameters
        ----------
        data : as for `release`, for their unit alone: they are not read.
        """
        deferred = _deferred(self, data)
        self._charge(mechanism, deferred, by, key, note, account, action=actions.RESERVED)

    def cancel(self, key: str) -> None:
        """Give back what was reserved. A charge cannot be canceled: it may have looked at data."""
        self._append(actions.CANCELED, {"key": checked_words(key, "key")})
        _LOG.info("%s: the reservation %r was canceled", self.name, key)

    def can_afford(
        self, mechanism: Any, *, by: str | None = None, account: Accounts = None, data: Any = None
    ) -> bool:
        """Whether `release` would be paid now; nothing is charged."""
        return self.plan([mechanism], by=by, account=account, data=data).affordable

    def plan(
        self,
        mechanisms: Sequence[Any],
        *,
        by: str | None = None,
        account: Accounts = None,
        data: Any = None,
    ) -> Plan:
        """Return the price of a list of releases, one after the other; nothing is charged.

        Parameters
        ----------
        data : for their unit alone: they are not read.
        """
        unit = _unit_of(_deferred(self, data))
        after: dict[tuple[str, str], Totals] = {}
        priced: list[list[Price]] = []
        paid = 0
        with self._reading() as tables:
            names = self._names(tables, account)
            for mechanism in mechanisms:
                priced.append(prices(tables, names, mechanism, unit))
                fits = [
                    _would_fit(tables, price, holder, after)
                    for price in priced[-1]
                    for holder in dict.fromkeys((EVERYBODY, by or EVERYBODY))
                ]
                if all(fits) and paid == len(priced) - 1:
                    paid += 1
        return Plan(priced, paid)

    def guard(self, data: Any) -> Guarded:
        """Return data that only this ledger releases; mechanisms refuse them.

        Parameters
        ----------
        data : LabelCounts, Profile, BinnedCounts, or what else a mechanism takes.
        """
        if isinstance(data, Guarded):
            data = data.open_for(self.id)
        return Guarded(data, self.id, self.place)

    def open_stream(
        self,
        path: str | Path,
        mechanism: ContinualMechanism | None = None,
        *,
        by: str,
        key: str,
        note: str = "",
        account: Accounts = None,
        unit: str | None = None,
        **parameters: Any,
    ) -> LedgerStream:
        """Begin a stream that is charged in full, or continue one that was charged by this key.

        Parameters
        ----------
        path : the state file, as for `ContinualHistogram.open`.
        mechanism, **parameters : of the stream; omit both to continue.
        unit : what a user of the stream is, such as "one patient" (default: "one user").

        Notes
        -----
        The stream may run beside other releases: docs/proofs/ledger.md, Lemma 5. The ledger notes
        how many commits the state file had, so that an older copy of it is noticed.
        """
        if parameters and mechanism is not None:
            raise ParameterError("mechanism must be left out where its parameters are given")
        if parameters:
            mechanism = ContinualMechanism(**parameters)
        if unit is not None and mechanism is not None and mechanism.max_events_per_user is None:
            raise ParameterError(
                "unit needs max_events_per_user: without it the stream protects single events, "
                "of which one may have any number"
            )
        if mechanism is None:
            self.find(key)  # says that it was never charged
        else:
            data = Deferred(lambda: None, unit)
            self._charge(mechanism, data, by, key, note, account, again=True)
        return open_charged(self, path, mechanism, key)

    def note_state(self, key: str, state: str, commits: int) -> None:
        """Note how many commits the state file of a stream has; `LedgerStream` calls this."""
        self._append(actions.NOTED, {"key": key, "state": state, "commits": commits})

    def last_note(self, key: str) -> Entry | None:
        """Return the last entry that notes the state of a stream, or None."""
        with self._reading() as tables:
            number = charge_of(tables, key).noted
            return None if number is None else tables.entry(number)

    def session(
        self,
        mechanism: PayWhatYouGet,
        data: Any = None,
        *,
        by: str,
        key: str,
        note: str = "",
        account: Accounts = None,
    ) -> LedgerSession:
        """Charge a whole session of pay what you get, and open it. A key opens one session.

        Parameters
        ----------
        data : a table as those that will be asked, for its unit alone: it is not read.
        """
        if not isinstance(mechanism, PayWhatYouGet):
            raise ParameterError("mechanism must be a dphist.PayWhatYouGet")
        if (
            mechanism.remaining != mechanism.budget
            or mechanism.remaining_queries != mechanism.queries
        ):
            raise ParameterError("mechanism must be a session that has answered no query yet")
        _, entry = self._charge(mechanism, _deferred(self, data), by, key, note, account)
        assert entry is not None  # noqa: S101 - a session is never stored
        paid = entry.content["costs"]

        def check_paid(counts: Any) -> None:
            with self._reading() as tables:
                names = [part["account"] for part in paid]
                asked = prices(tables, names, mechanism, DataUnit.of(counts))
            if [price.to_content() for price in asked] != paid:
                raise LedgerError(
                    "the table does not protect the unit, or has not the bound, that was paid for; "
                    "open a session with data of this kind"
                )

        return LedgerSession(mechanism, self.id, check_paid)

    # Reading

    def find(self, key: str) -> Charge:
        """Return what is known of a key; LedgerError if nothing is."""
        checked_words(key, "key")
        with self._reading() as tables:
            return charge_of(tables, key)

    def stored(self, key: str) -> Release:
        """Return the release that was stored under a key."""
        checked_words(key, "key")
        with self._reading() as tables:
            charge = charge_of(tables, key)
            text = tables.release_text(key)
        if text is None:
            raise LedgerError(f"the key {key!r} is {charge.state}, and no release is stored")
        return Release.from_json(text, name=f"the release of the key {key!r}")

    def entries(self) -> EntryTable:
        """Return all entries, as a table."""
        with self._reading() as tables:
            return EntryTable(list(tables.entries()))

    def verify(self, public_key: str | Path | None = None) -> int:
        """Recompute chain, sums and stored releases; return the number of entries.

        Parameters
        ----------
        public_key : file of the public key (PEM) that all entries must be signed for.

        Raises
        ------
        LedgerError
            If something is wrong: it names the first wrong entry.
        """
        self._store.check()
        with self._reading() as tables:
            return verify(tables, public_key)

    # What the above share

    def _charge(
        self,
        mechanism: Any,
        data: Deferred,
        by: str,
        key: str,
        note: str,
        account: Accounts,
        *,
        action: str = actions.CHARGED,
        again: bool = False,
    ) -> tuple[str | None, Entry | None]:
        """Charge or reserve; return the stored text of a finished release, or the new entry.

        Parameters
        ----------
        again : whether a key that was charged and is not finished may be used on: of a stream.
        """
        checked_words(by, "by")
        checked_words(key, "key")
        checked_words(note, "note", empty=True)

        unit = _unit_of(data)
        ready = self._quoted(mechanism, unit, account)

        def pay(tables: Transaction) -> tuple[str | None, Entry | None]:
            names = self._names(tables, account)
            accounts = [account_of(tables, name) for name in names]
            self._seen.accounts.update(zip(names, accounts, strict=True))
            quote = ready
            if quote is None or quote.accounts != accounts:
                quote = Quote.of(tables, names, mechanism, unit)
            known = tables.charge(key)
            if known is not None and known.state != actions.CANCELED:
                if known.fingerprint != quote.fingerprint:
                    raise LedgerError(
                        f"the key {key!r} was used for another release (entry {known.entry}); "
                        "choose another key"
                    )
                if action == actions.RESERVED:
                    raise LedgerError(f"the key {key!r} is {known.state}; choose another key")
                text = tables.release_text(key) if known.state == actions.FINISHED else None
                if text is not None:
                    return text, None
                if again and known.state == actions.CHARGED:
                    return None, tables.entry(known.entry)
                if known.state != actions.RESERVED:
                    raise _unfinished(known)
            else:
                check_budget(tables, quote.priced, by, mechanism)
            content = {
                "key": key,
                "by": by,
                "note": note,
                "mechanism": quote.mechanism,
                "fingerprint": quote.fingerprint,
                "costs": quote.costs,
            }
            entry = tables.append(action, content, self._signer)
            return None, entry

        stored, entry = self._write(pay, About(key, by, _named(account)))
        if entry is not None:
            _LOG.info("%s: entry %d %s for %r by %r", self.name, entry.number, action, key, by)
        return stored, entry

    def _quoted(self, mechanism: Any, unit: DataUnit, account: Accounts) -> Quote | None:
        """Return a quote from the accounts as they were seen last, without the ledger's lock."""
        names = _named(account) or tuple(self._seen.accounts)
        if account is None and len(names) != 1:
            return None
        last, asked, quote = self._quote
        if last is mechanism and asked == (unit, names) and is_frozen(mechanism):
            return quote  # `pay` compares its accounts with those of the ledger
        try:
            quote = Quote.of(self._seen, names, mechanism, unit)
        except Exception:  # it comes again, from the accounts as they are
            return None
        self._quote = mechanism, (unit, names), quote
        return quote

    def _finish(self, release: Release, key: str, entry: Entry) -> Release:
        """Store a release, and return it with the entry that paid for it."""
        accounts = ", ".join(part["account"] for part in entry.content["costs"])
        said = {
            "ledger": f"{self.name} ({self.id})",
            "account": accounts,
            "entry": str(entry.number),
        }
        release = replace(release, provenance={**release.provenance, **said})
        try:
            text = release.to_json()
        except Exception:
            text = None
        sha = None if text is None else digest(text)

        def store(tables: Transaction) -> None:
            tables.append(actions.FINISHED, {"key": key, "sha256": sha}, self._signer)
            if text is not None:
                tables.put_release(key, text)

        self._write(store, About(key))
        _LOG.info("%s: entry %d is finished", self.name, entry.number)
        return release

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        with self._store.transaction(write=False) as tables:
            yield tables

    def _append(self, action: str, content: dict[str, Any]) -> None:
        """Add one entry, durably."""
        self._write(lambda tables: tables.append(action, content, self._signer))

    def _write(
        self, change: Callable[[Transaction], _Result], about: About | None = None
    ) -> _Result:
        """Make a change in one transaction; again, if nothing was written for a passing reason."""
        attempts = 1
        while True:
            try:
                with self._store.transaction(write=True, about=about) as tables:
                    return change(tables)
            except UnwrittenError as error:
                if attempts == _ATTEMPTS:
                    raise
                attempts += 1
                _LOG.info("%s: tried again: %s", self.name, error)
            except LedgerError as error:
                _LOG.warning("%s: refused: %s", self.name, error)
                raise

    def _one(self, tables: Transaction, account: str | None) -> str:
        names = self._names(tables, account)
        if len(names) != 1:
            raise ParameterError("account must name one account")
        return names[0]

    def _names(self, tables: Transaction, account: Accounts) -> list[str]:
        """Return the accounts that are meant; the only open one by default."""
        if account is None:
            known = [each.name for each in tables.accounts()]
            if len(known) != 1:
                raise ParameterError("account must be given: the ledger has several, or none")
            return known
        names = _named(account) or ()
        for name in names:
            account_of(tables, name)
        return list(names)

    def __reduce__(self) -> NoReturn:
        raise LedgerError("a ledger cannot be pickled; open it again where it is needed")


def _would_fit(
    tables: Transaction, price: Price, holder: str, after: dict[tuple[str, str], Totals]
) -> bool:
    """Whether a price fits after those before it in a plan, which `after` adds up."""
    name = price.account.name
    budget = price.account.budget if holder == EVERYBODY else tables.cap(name, holder)
    totals = after.get((name, holder)) or tables.totals(name, holder)
    after[name, holder] = totals.plus(price.cost)
    fits = budget is None or admits(price.account, budget, totals, price.cost)
    return fits and not price.account.closed


def _named(account: Accounts) -> tuple[str, ...] | None:
    """Return the accounts that a caller names; None for the only one."""
    if account is None:
        return None
    names = tuple(account) if isinstance(account, list | tuple) else (account,)
    for name in names:
        checked_words(name, "account")
    if not names or len(set(names)) != len(names):
        raise ParameterError("account must name each account once")
    return names


def _deferred(ledger: Ledger, data: Any) -> Deferred:
    """Return data as something to open later, with the unit that they name."""
    if isinstance(data, Deferred):
        return data
    held = data.open_for(ledger.id) if isinstance(data, Guarded) else data
    unit = DataUnit.of(held)
    return Deferred(lambda: held, unit.name, unit.records)


def _unit_of(data: Deferred) -> DataUnit:
    return DataUnit(data.unit, data.records)


def _check_same(opened: DataUnit, deferred: Deferred, data: Any) -> None:
    """Refuse opened data that protect somebody else than was paid for; both are no data."""
    if isinstance(data, Deferred) and opened != _unit_of(deferred):
        raise LedgerError(
            "the data that were opened do not protect the unit, or have not the bound, that was "
            "paid for; the charge stays. Give Deferred the unit and records of the data"
        )


def _released(mechanism: Any, data: Any, source: Source | None) -> Release:
    release = mechanism.release(data) if source is None else mechanism.release(data, source=source)
    if not isinstance(release, Release):
        raise ParameterError("mechanism.release must return a dphist.Release")
    return release


def _unfinished(charge: Charge) -> LedgerError:
    if charge.state == actions.FINISHED:
        return LedgerError(
            f"the key {charge.key!r} was released (entry {charge.entry}), but is not stored in the "
            "ledger; use the file it was written to, or choose another key, which costs again"
        )
    return LedgerError(
        f"the key {charge.key!r} was charged (entry {charge.entry}) and has not finished: it is "
        "running, or failed. What it drew may have been seen, so it is not drawn again; if it "
        "failed, choose another key, which costs again"
    )


def _signer(path: str | Path | None) -> Signer | None:
    if path is None:
        return None
    from dphist.ledger.signing import signer_of  # needs the extra `sign`

    return signer_of(path)
