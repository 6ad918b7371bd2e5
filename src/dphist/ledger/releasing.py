"""Releases that a ledger charges before their data are opened, and those that it has stored."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dphist.errors import LedgerError, ParameterError
from dphist.ledger.book import check_not_renewed, find_charge
from dphist.ledger.charging import check_words
from dphist.ledger.deferred import Deferred
from dphist.ledger.entries import RESERVED, Entry
from dphist.ledger.groups import Groups, read_texts
from dphist.ledger.payments import LOG, Order, Payments
from dphist.ledger.units import check_bounds
from dphist.noise.inversion import Source
from dphist.release.presentation import Presentation
from dphist.release.release import Release
from dphist.release.stated import check_unit_word


def charge_release(
    payments: Payments,
    mechanism: Any,
    data: Any,
    order: Order,
    presentation: Presentation | None,
    configuration: str | None,
    description: str | None,
    source: Source | None,
) -> Release:
    """Charge what a release costs, durably, and then make it; see `Ledger.release`."""
    if not callable(getattr(mechanism, "release", None)):
        raise ParameterError(
            "mechanism",
            "must have a method release; sessions and streams are opened with ledger.session "
            "and ledger.open_stream",
        )
    deferred = Deferred.of(data, payments.id)
    if not isinstance(data, Deferred):
        check_bounds(mechanism, deferred.open())
    if presentation is not None and presentation.unit is not None:  # before it is charged
        unit, data_unit = mechanism.guarantee.unit, deferred.protected.unit
        named = unit if data_unit is None else unit.named(data_unit)
        check_unit_word(presentation.unit, named)
    stored, entry = payments.charge(mechanism, deferred, order)
    if stored is not None:
        return _parse_release(stored, order.key)
    assert entry is not None  # noqa: S101
    with _stays_charged(payments, entry):
        release = _run_mechanism(mechanism, deferred.opened(payments.id), source)
        if presentation is not None:
            words = replace(presentation, date=release.presentation.date)
            release = replace(release, presentation=words)
        release = release.configured(configuration, description=description)
        return payments.finish(release, order.key, entry)


def charge_groups(
    payments: Payments,
    mechanism: Any,
    data: Mapping[str, Any],
    order: Order,
    source: Source | None,
) -> dict[str, Release]:
    """Charge releases of groups once, and then make all of them; see `Ledger.parallel`."""
    groups = Groups.declare(mechanism, data, payments.id)
    about = Deferred(lambda: None, about=groups.about)
    stored, entry = payments.charge(groups, about, order)
    if stored is not None:
        texts = read_texts(stored) or {}
        return {name: _parse_release(texts[name], order.key) for name in groups.names}
    assert entry is not None  # noqa: S101
    with _stays_charged(payments, entry):
        made = {
            each.name: _run_mechanism(each.mechanism, each.data.opened(payments.id), source)
            for each in groups.parts
        }
        return payments.finish_groups(made, order.key, entry)


@contextmanager
def _stays_charged(payments: Payments, entry: Entry) -> Iterator[None]:
    """Have whatever is raised say that an entry was charged."""
    try:
        yield
    except BaseException as error:
        LOG.warning("%s: entry %d was charged, and its release failed", payments.name, entry.number)
        error.add_note(
            f"The release was charged (entry {entry.number} of {payments.name}) and stays charged."
        )
        raise


def _run_mechanism(mechanism: Any, data: Any, source: Source | None) -> Release:
    release = mechanism.release(data) if source is None else mechanism.release(data, source=source)
    if not isinstance(release, Release):
        raise ParameterError("mechanism", "must have a release that returns a dphist.Release")
    return release


def check_reservation(payments: Payments, key: str) -> None:
    """Refuse a key that is reserved and pays no more; see `Ledger.check_reservation`."""
    check_words(key, "key")
    with payments.reading() as tables:
        charge = find_charge(tables, key)
        if charge.state == RESERVED:
            check_not_renewed(tables, charge, tables.now())


def read_release(payments: Payments, key: str) -> Release:
    """Return the release that was stored under a key; see `Ledger.stored`."""
    text = _read_text(payments, key)
    if read_texts(text) is not None:
        raise LedgerError(f"the key {key!r} has releases of groups; see `stored_groups`")
    return _parse_release(text, key)


def read_groups(payments: Payments, key: str) -> dict[str, Release]:
    """Return the releases of groups that were stored under a key; see `Ledger.stored_groups`."""
    texts = read_texts(_read_text(payments, key)) or {}
    return {name: _parse_release(text, key) for name, text in texts.items()}


def _read_text(payments: Payments, key: str) -> str:
    check_words(key, "key")
    with payments.reading() as tables:
        charge = find_charge(tables, key)
        text = tables.release_text(key)
    if text is None:
        raise LedgerError(f"the key {key!r} is {charge.state}, and no release is stored")
    return text


def _parse_release(text: str, key: str) -> Release:
    return Release.from_json(text, name=f"the release of the key {key!r}")
