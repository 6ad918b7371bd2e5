"""Ledger: budgets that hold across releases, people and years."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dphist.data.guard import Guarded
from dphist.errors import Argument, LedgerError, ParameterError
from dphist.labels import PayWhatYouGet
from dphist.ledger import entries as actions
from dphist.ledger.accounts import LedgerAccounts
from dphist.ledger.amounts import Totals
from dphist.ledger.balance import Plan, would_fit
from dphist.ledger.book import EVERYBODY, Account
from dphist.ledger.budget import Budget
from dphist.ledger.charging import Price, checked_words, prices
from dphist.ledger.deferred import Deferred
from dphist.ledger.payments import LOG, Accounts, check_signer
from dphist.ledger.session import LedgerSession
from dphist.ledger.stores.opening import create_store, open_store
from dphist.ledger.stores.transaction import Signer, Transaction
from dphist.ledger.streams import LedgerStream, open_charged
from dphist.ledger.units import check_bounds, is_unchanged
from dphist.noise.inversion import Source
from dphist.parameters import Exact
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import as_unit
from dphist.release.presentation import Presentation
from dphist.release.release import Release, check_unit_word
from dphist.shown import shown_by
from dphist.streams import ContinualMechanism

MAIN = "main"
"""Name of the account that `Ledger.create` opens."""


class Ledger(LedgerAccounts):
    """Accounts of privacy budget, charged before data are read, for releases of any mechanism.

    Guarantee
    ---------
    All that is released through an account is together (epsilon, delta)-DP, or what else the
    account was opened with, for its privacy unit: also if each release, its mechanism and its cost
    are chosen after seeing all earlier ones (docs/understand/proofs/ledger.md). The charge is
    durable before the first look at the data. Not covered: releases that do not go through the
    ledger, data that are in the account of another ledger as well, and whoever edits the ledger
    (SECURITY.md).

    Use `create` or `open`. A Ledger may be used from several threads and by forked processes.
    """

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
        signer = _signer(signing_key)
        check = partial(check_signer, signer=signer)
        return cls(open_store(place, moved=moved, check=check), signer)

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
        configuration : hash of the file that asked for the release, for its provenance. That of
            the first release with a key is kept.
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
        if not callable(getattr(mechanism, "release", None)):
            raise ParameterError(
                "mechanism",
                "must have a method release; sessions and streams are opened with ledger.session "
                "and ledger.open_stream",
            )
        deferred = Deferred.of(data, self.id)
        if not isinstance(data, Deferred):
            check_bounds(mechanism, deferred.open())
        if presentation is not None and presentation.unit is not None:  # before it is charged
            unit, data_unit = mechanism.guarantee.unit, deferred.protected.unit
            named = unit if data_unit is None else unit.named(data_unit)
            check_unit_word(presentation.unit, named)
        stored, entry = self._payments.charge(mechanism, deferred, by, key, note, account)
        if stored is not None:
            return Release.from_json(stored, name=f"the release of the key {key!r}")
        assert entry is not None  # noqa: S101
        try:
            release = _released(mechanism, deferred.opened(self.id), source)
            if presentation is not None:
                words = replace(presentation, date=release.presentation.date)
                release = replace(release, presentation=words)
            if configuration is not None:
                release = release.configured(configuration)
            return self._payments.finish(release, key, entry)
        except BaseException as error:
            LOG.warning("%s: entry %d was charged, and its release failed", self.name, entry.number)
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
        deferred = Deferred.of(data, self.id)
        self._payments.charge(mechanism, deferred, by, key, note, account, action=actions.RESERVED)

    def cancel(self, key: str) -> None:
        """Give back what was reserved. A charge cannot be canceled: it may have looked at data."""
        self._payments.append(actions.CANCELED, {"key": checked_words(key, "key")})
        LOG.info("%s: the reservation %r was canceled", self.name, key)

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
        data : for their unit alone: they are not read. A list has those of each release in turn.
        """
        each = data if isinstance(data, list) else [data] * len(mechanisms)
        units = [Deferred.of(one, self.id).protected for one in each]
        after: dict[tuple[str, str], Totals] = {}
        priced: list[list[Price]] = []
        paid, ends = 0, None
        with self._payments.reading() as tables:
            names = self._payments.names(tables, account)
            for mechanism, unit in zip(mechanisms, units, strict=True):
                priced.append(prices(tables, names, mechanism, unit))
                found = [
                    would_fit(tables, price, holder, after)
                    for price in priced[-1]
                    for holder in dict.fromkeys((EVERYBODY, by or EVERYBODY))
                ]
                if ends is None and any(ended for _, ended in found):
                    ends = len(priced) - 1
                if all(fits for fits, _ in found) and paid == len(priced) - 1:
                    paid += 1
        return Plan(priced, paid, ends)

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
    ) -> LedgerStream:
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
        if parameters and mechanism is not None:
            raise ParameterError("mechanism", "must be left out where its parameters are given")
        if parameters:
            mechanism = ContinualMechanism(**parameters)
        if unit is not None and mechanism is not None and mechanism.max_events_per_user is None:
            raise ParameterError(
                "unit",
                "needs "
                + Argument("max_events_per_user")
                + ": without it the stream protects single events, of which one may have any "
                "number",
            )
        if os.path.lexists(path) and not self._has_paid(key):
            raise LedgerError(
                f"there is a state at {path}, and the key {key!r} has paid for none: continue the "
                "stream with the key that began it, or name a path without a file"
            )
        if mechanism is None:
            self.find(key)  # says that it was never charged
        else:
            data = Deferred(lambda: None, unit)
            self._check_one_step(mechanism, data, account)
            self._payments.charge(mechanism, data, by, key, note, account, again=True)
        return open_charged(self._payments, path, mechanism, key, moved=moved)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: budgets, what is left, the last releases."""
        return str(shown_by("html_of", self))

    def _has_paid(self, key: str) -> bool:
        """Whether a key was charged; a reservation does not pay for a state that is there."""
        checked_words(key, "key")
        with self._payments.reading() as tables:
            charge = tables.charge(key)
            return charge is not None and charge.state == actions.CHARGED

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
            raise ParameterError("mechanism", "must be a dphist.PayWhatYouGet")
        if (
            mechanism.remaining != mechanism.budget
            or mechanism.remaining_queries != mechanism.queries
        ):
            raise ParameterError("mechanism", "must be a session that has answered no query yet")
        self._check_one_step(mechanism, data, account)
        _, entry = self._payments.charge(
            mechanism, Deferred.of(data, self.id), by, key, note, account
        )
        assert entry is not None  # noqa: S101 - a session is never stored
        return LedgerSession(mechanism, self._payments, entry)

    def _check_one_step(self, mechanism: Any, data: Any, account: Accounts) -> None:
        """Refuse group privacy for what runs beside other releases: Lemma 5 is for one step."""
        for price in self.plan([mechanism], account=account, data=data).prices[0]:
            if not is_unchanged(price.guarantee, mechanism.guarantee):
                raise LedgerError(
                    f"the account {price.account.name!r} protects {price.account.unit}, and a "
                    f"stream or session protects {mechanism.guarantee.unit}: several of them "
                    "together are not covered; use an account for that unit"
                )


def _released(mechanism: Any, data: Any, source: Source | None) -> Release:
    release = mechanism.release(data) if source is None else mechanism.release(data, source=source)
    if not isinstance(release, Release):
        raise ParameterError("mechanism", "must have a release that returns a dphist.Release")
    return release


def _signer(path: str | Path | None) -> Signer | None:
    if path is None:
        return None
    from dphist.ledger.signing import signer_of  # needs the extra `sign`

    return signer_of(path)
