"""Paying from a ledger for a look at how many records users have, and for the release after it."""

import argparse
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dphist.commands.ledger.options import Protected
from dphist.commands.ledger.payment import open_ledger, quote_price, release_paid
from dphist.commands.users_look import UsersLook, with_key_of_users
from dphist.errors import BudgetError, LedgerError
from dphist.ledger import Deferred, Ledger, entries
from dphist.ledger.balance import Plan
from dphist.release.release import Release

_KEPT = (
    "the ledger keeps how many users have how many records: the same command with the same key "
    "goes on, and is charged for the counts alone"
)


def quote_both(
    ledger: Ledger,
    look: UsersLook,
    mechanism: Any,
    options: argparse.Namespace,
    protected: Protected,
) -> tuple[list[str], dict[str, Any]]:
    """Return what a release costs that a look precedes, in lines and for programs.

    Raises
    ------
    LedgerError
        If the key of the release was used without the look.
    """
    first, second = (protected[0], 1), protected
    plan, new = _plan_new(ledger, look, mechanism, options, protected)
    said, shown = quote_price(ledger, look.mechanism, with_key_of_users(options), first)
    own, own_shown = quote_price(ledger, look.price(mechanism), options, second)
    fits = "fit" if plan.affordable else "do not fit"
    lines = ["First, how many users have how many records:", *said, "Then the counts:", *own]
    lines += [f"Both releases {fits} together."] if new == 2 else []
    shown["ledger"]["fits"] = own_shown["ledger"]["fits"] = plan.affordable
    return lines, {**own_shown, "ledger_of_users": shown["ledger"]}


def release_both_paid(
    mechanism: Any,
    options: argparse.Namespace,
    place: str,
    data: Deferred,
    look: UsersLook,
    open_data: Callable[[Callable[..., Any]], Any],
) -> tuple[Release, bool, list[str]]:
    """Charge and release how many users have how many records, then the counts, as `release_paid`.

    Nothing is charged if both do not fit. The first charge stands if the second release fails.

    Parameters
    ----------
    data : of the counts with the largest bound that there may be.
    open_data : calls what reads the data, and shows progress.
    """
    own = with_key_of_users(options)
    with open_ledger(options, place) as ledger:
        if not _is_known(ledger, own.key):
            protected = data.protected.unit, data.records
            plan, _ = _plan_new(ledger, look, mechanism, options, protected)
            if not plan.affordable:
                quoted, _ = quote_both(ledger, look, mechanism, options, protected)
                raise BudgetError(" ".join([*quoted, "Nothing was charged"]))
    first = replace(data, open=lambda: open_data(look.read), records=1)
    users, _, said = release_paid(look.mechanism, own, place, first, alone=False, kept=_KEPT)
    chosen = look.follow(users, mechanism)
    bound = chosen.sensitivity

    def read() -> Any:
        return open_data(lambda progress: look.count(progress, bound))

    second = replace(data, open=read, records=bound)
    try:
        release, charged, also = release_paid(chosen, options, place, second, alone=False)
    except BudgetError as error:  # somebody else was charged meanwhile
        raise BudgetError(f"{error} for the counts; the key {own.key!r} stays charged") from None
    if charged:
        also.insert(1, _tell_room(look, mechanism, options, place, data))
    return release.with_users(users), charged, [*said[:1], *also]


def _tell_room(
    look: UsersLook, mechanism: Any, options: argparse.Namespace, place: str, data: Deferred
) -> str:
    """Say how many more such pairs of releases fit, whichever bound each of them finds."""
    protected = [(data.protected.unit, 1), (data.protected.unit, data.records)]
    with open_ledger(options, place) as ledger:
        room = ledger.find_room(
            [look.mechanism, look.price(mechanism)],
            by=options.by,
            account=options.account,
            data=[Deferred(lambda: None, *each) for each in protected],
        )
    return f"From now on, {room}."


def _plan_new(
    ledger: Ledger,
    look: UsersLook,
    mechanism: Any,
    options: argparse.Namespace,
    protected: Protected,
) -> tuple[Plan, int]:
    """Return what those releases cost together that their keys have not paid, and how many."""
    key, own = options.key, with_key_of_users(options).key
    if _is_known(ledger, key) and not _is_known(ledger, own):
        raise LedgerError(
            f"the key {key!r} was used for a release without a look at how many records users "
            "have; choose another key. Nothing was charged"
        )
    both = [
        (own, look.mechanism, (protected[0], 1)),
        (key, look.price(mechanism), protected),
    ]
    new = [(asked, of) for name, asked, of in both if not _is_known(ledger, name)]
    plan = ledger.plan(
        [asked for asked, _ in new],
        by=options.by,
        account=options.account,
        data=[Deferred(lambda: None, *of) for _, of in new],
    )
    return plan, len(new)


def _is_known(ledger: Ledger, key: str | None) -> bool:
    """Whether a key was used."""
    if key is None:
        return False
    with contextlib.suppress(LedgerError):
        return ledger.find(key).state != entries.CANCELED
    return False
