"""Ledger: budgets that hold across releases, people and years."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, Self

from dphist.data.guard import Guarded
from dphist.errors import LedgerError
from dphist.labels import PayWhatYouGet
from dphist.ledger import accounts, balance, releasing, streams
from dphist.ledger import entries as actions
from dphist.ledger.balance import (
    Amounts,
    Balance,
    Held,
    Plan,
    Room,
    join_held,
    list_held,
    plan_releases,
)
from dphist.ledger.book import Account, Charge, find_charge
from dphist.ledger.budget import Budget
from dphist.ledger.charging import check_words
from dphist.ledger.deferred import Deferred
from dphist.ledger.payments import LOG, Accounts, Order, Payments, check_signer, signer_from
from dphist.ledger.session import LedgerSession, open_session
from dphist.ledger.stores.opening import create_store, open_store
from dphist.ledger.stores.store import Store
from dphist.ledger.stores.transaction import Signer
from dphist.ledger.table import EntryTable
from dphist.ledger.verify import verify
from dphist.noise.inversion import Source
from dphist.parameters import Exact
from dphist.privacy import PrivacyUnit
from dphist.release.presentation import Presentation
from dphist.release.release import Release
from dphist.shown import show_by
from dphist.streams.mechanism import ContinualMechanism, read_mechanism


class Ledger:
    """Accounts of privacy budget, charged before data are read, for releases of any mechanism.

    Guarantee
    ---------
    All that is released through an account is together (epsilon, delta)-DP, or what else the
    account was opened with, for its privacy unit: also if each release, its mechanism and its cost
    are chosen after seeing all earlier ones (docs/understand/proofs/ledger.md). The charge is
    durable before the first look at the data. Not covered: releases that do not go through the
    ledger, data that are in the account of another ledger as well, and whoever edits the ledger
    (SECURITY.md). Of an account that is renewed monthly, this holds for what each month charges,
    for whoever has not seen results of other months, nor had releases chosen by them; what months
    promise adds up (Lemma 11 there).

    Use `create` or `open`. A Ledger may be used from several threads and by forked processes.
    """

    def __init__(self, store: Store, signer: Signer | None = None) -> None:
        """Take a store; use `create` or `open`."""
        self._payments = Payments(store, signer)

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
        account: str = "main",
        dataset: str = "",
        renew: str | None = None,
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
        renew : "monthly" renews the budget in each calendar month (UTC). The promise is then one
            per month, and adds up: after 12 months it is 12 times as much (default: never).
        name : of the ledger, for releases and pages (default: the name of the file or database).
        signing_key : file of a private key (PEM, Ed25519) that signs the entries.

        Raises
        ------
        LedgerError
            If there is a ledger already, or the file lies on a network file system.
        """
        budget = Budget(epsilon=epsilon, delta=delta, rho=rho, delta_of_entries=delta_of_entries)
        opened = accounts.make_account(account, budget, unit, dataset, renew, "account")
        if name is not None:
            check_words(name, "name")
        signer = signer_from(signing_key)
        begin = partial(accounts.begin, account=opened, signer=signer)
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
        signer = signer_from(signing_key)
        check = partial(check_signer, signer=signer)
        return cls(open_store(place, moved=moved, check=check), signer)

    @property
    def id(self) -> str:
        """Random digits that no other ledger has."""
        return self._payments.id

    @property
    def name(self) -> str:
        """What the maker of the ledger called it."""
        return self._payments.name

    @property
    def place(self) -> str:
        """Where the ledger is kept; without a password."""
        return self._payments.store.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up connections. Accounts stay open: see `close_account`. May be called again."""
        self._payments.store.close()

    def release(
        self,
        mechanism: Any,
        data: Any,
        *,
        by: str,
        key: str,
        note: str = "",
        account: Accounts = None,
        presentation: Presentation | None = None,
        configuration: str | None = None,
        description: str | None = None,
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
        presentation : the words in which the release is shown. Those of the first release with a
            key are kept.
        configuration, description : hash of the file that asked for the release, and
            `Dataset.digest` of the data, for its provenance. Those of the first release with a key
            are kept.
        source : `source(n)` returns n random bytes. For tests only: the release says so.

        Returns
        -------
        Release; its provenance names ledger, account and entry.

        Raises
        ------
        BudgetError
            If it costs more than is left; nothing is charged.
        BoundsError
            If the data have larger bounds than the mechanism protects; nothing is charged, unless
            they are `Deferred`.
        LedgerError
            If the release protects another unit than the account, or the key was used for
            something else, or for a release that did not finish.
        """
        order, words = Order(by, key, note, account), (presentation, configuration, description)
        return releasing.charge_release(self._payments, mechanism, data, order, *words, source)

    def parallel(
        self,
        mechanism: Any,
        data: Mapping[str, Any],
        *,
        by: str,
        key: str,
        note: str = "",
        account: Accounts = None,
        source: Source | None = None,
    ) -> dict[str, Release]:
        """Charge releases of groups that share no user once, and then make all of them.

        Parameters
        ----------
        mechanism : for all groups; or a dictionary with one for each.
        data : the data of each group, by its value: ``{"Bern": bern, "Uri": uri}``. **You assert
            that no user is in two of them**; this is not looked up, and the releases say so.
        by, key, note, account, source : as for `release`. The key stands for all groups.

        Returns
        -------
        dict of the release of each group, in the order of `data`; the stored ones where the key
        was used for the same groups before.

        Raises
        ------
        BudgetError, BoundsError, LedgerError
            As for `release`; also if an account protects several units together. If one release
            fails after the charge, none is returned, and the charge stays.
        ParameterError
            If two groups have one value, or the same data.

        Notes
        -----
        All groups together cost the maximum of what they cost: of their epsilons, rhos and deltas
        (docs/understand/proofs/ledger.md, Lemma 10). A user who is in two groups loses the sum.
        """
        order = Order(by, key, note, account)
        return releasing.charge_groups(self._payments, mechanism, data, order, source)

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
        deferred, order = Deferred.of(data, self.id), Order(by, key, note, account)
        self._payments.charge(mechanism, deferred, order, action=actions.RESERVED)

    def cancel(self, key: str) -> None:
        """Give back what was reserved. A charge cannot be canceled: it may have looked at data."""
        self._payments.append(actions.CANCELED, {"key": check_words(key, "key")})
        LOG.info("%s: the reservation %r was canceled", self.name, key)

    def can_afford(
        self, mechanism: Any, *, by: str | None = None, account: Accounts = None, data: Any = None
    ) -> bool:
        """Whether `release` would be paid now; nothing is charged."""
        return self.plan([mechanism], by=by, account=account, data=data).affordable

    def releases_left(
        self, mechanism: Any, data: Any = None, *, by: str | None = None, account: Accounts = None
    ) -> int:
        """Return how many releases of a mechanism would be paid from now on, one after the other.

        Of a budget that is renewed monthly: how many in this month.

        Parameters
        ----------
        mechanism : or a list of those that are released together each time, as a look and what
            follows from it.
        data : as for `plan`, for their unit alone (default: the unit is that of the account).
        by, account : as for `plan`; with `by`, a cap of theirs holds as well.
        """
        return balance.count_room(self._list_held(mechanism, data, by, account)).releases

    def find_room(
        self, mechanism: Any, *, by: str | None = None, account: Accounts = None, data: Any = None
    ) -> Room:
        """Return that number, and the largest budget of one more release of this kind.

        The latter is found by trying budgets, to about a percent, which may take a second. It is
        not found for a list.
        """
        held = self._list_held(mechanism, data, by, account)
        if isinstance(mechanism, list):
            return balance.count_room(held)
        return balance.find_room(held, mechanism, Deferred.of(data, self.id).protected)

    def _list_held(
        self, mechanism: Any, data: Any, by: str | None, account: Accounts
    ) -> list[Held]:
        together = mechanism if isinstance(mechanism, list) else [mechanism]
        each = data if isinstance(data, list) else [data] * len(together)
        units = [Deferred.of(one, self.id).protected for one in each]
        with self._payments.reading() as tables:
            names = self._payments.names(tables, account)
            parts = [
                list_held(tables, names, one, unit, by)
                for one, unit in zip(together, units, strict=True)
            ]
        return [join_held(of_one) for of_one in zip(*parts, strict=True)]

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
        data : for their unit alone: they are not read. A list has those of each release in turn.
        """
        each = data if isinstance(data, list) else [data] * len(mechanisms)
        units = [Deferred.of(one, self.id).protected for one in each]
        with self._payments.reading() as tables:
            names = self._payments.names(tables, account)
            return plan_releases(tables, names, list(zip(mechanisms, units, strict=True)), by)

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
        unit: str | PrivacyUnit | None = None,
        moved: bool = False,
        **parameters: Any,
    ) -> streams.LedgerStream:
        """Begin a stream that is charged in full, or continue one that was charged by this key.

        Parameters
        ----------
        path : the state file, as for `ContinualHistogram.open`.
        mechanism, **parameters : of the stream; omit both to continue.
        unit : what a user of the stream is, such as "one patient" (default: "one user").
        moved : the state file is a copy of its last content, and the original is gone for good.

        Notes
        -----
        The stream may run beside other releases: docs/understand/proofs/ledger.md, Lemma 5. The
        ledger notes how many commits the state file had, so that an older copy of it is noticed.
        """
        order, asked = Order(by, key, note, account), read_mechanism(mechanism, parameters)
        return streams.open_stream(self._payments, path, asked, order, unit, moved=moved)

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
        deferred, order = Deferred.of(data, self.id), Order(by, key, note, account)
        return open_session(self._payments, mechanism, deferred, order)

    @property
    def accounts(self) -> list[Account]:
        """All accounts, by name."""
        with self._payments.reading() as tables:
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
            check_words(by, "by")
        with self._payments.reading() as tables:
            return balance.find_balance(tables, self._payments.one(tables, account), by)

    def find(self, key: str) -> Charge:
        """Return what is known of a key; LedgerError if nothing is."""
        check_words(key, "key")
        with self._payments.reading() as tables:
            return find_charge(tables, key)

    def check_reservation(self, key: str) -> None:
        """Refuse a key that is reserved and pays no more, as its month is over; LedgerError."""
        releasing.check_reservation(self._payments, key)

    def stored(self, key: str) -> Release:
        """Return the release that was stored under a key; those of groups: `stored_groups`."""
        return releasing.read_release(self._payments, key)

    def stored_groups(self, key: str) -> dict[str, Release]:
        """Return the releases of groups that were stored under a key; empty if it has one alone."""
        return releasing.read_groups(self._payments, key)

    def entries(self) -> EntryTable:
        """Return all entries, as a table."""
        with self._payments.reading() as tables:
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
        self._payments.store.check()
        with self._payments.reading() as tables:
            return verify(tables, public_key)

    def __reduce__(self) -> NoReturn:
        raise LedgerError("a ledger cannot be pickled; open it again where it is needed")

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
        renew: str | None = None,
    ) -> None:
        """Add an account, of another data set or another unit; parameters as for `create`.

        New data with a unit of their own, such as one patient's records of November, get an account
        of their own.
        """
        budget = Budget(epsilon=epsilon, delta=delta, rho=rho, delta_of_entries=delta_of_entries)
        opened = accounts.make_account(name, budget, unit, dataset, renew, "name")
        self._payments.append(actions.ACCOUNT, opened.to_content())

    def close_account(self, name: str, note: str = "") -> None:
        """Close an account for good: nothing more can be charged to it."""
        accounts.close(self._payments, name, note)

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
        accounts.set_cap(self._payments, by, epsilon, rho, delta, account)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: budgets, what is left, the last releases."""
        return str(show_by("html_of", self))
