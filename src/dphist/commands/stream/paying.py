"""A stream that is paid for from a ledger, in full when it is begun."""

import argparse
import contextlib
from collections.abc import Iterator
from typing import Any

from dphist import signals
from dphist.commands.user_unit import user_unit
from dphist.errors import DphistError
from dphist.privacy import PrivacyUnit
from dphist.streams import ContinualHistogram, ContinualMechanism


@contextlib.contextmanager
def open_paid_stream(
    mechanism: ContinualMechanism | None, options: argparse.Namespace, place: str
) -> Iterator[ContinualHistogram]:
    """Begin a stream that is charged in full, or go on with the one that the key paid for."""
    from dphist.commands.ledger.opening import opened_at  # slow to import, and seldom needed

    unit = _unit(options)
    with opened_at(place, options) as ledger:
        signals.set_note(f"'dphist ledger log' says whether the key {options.key!r} was charged")
        try:
            stream = ledger.open_stream(
                options.state, mechanism, moved=options.moved, unit=unit, **_paying(options)
            )
        except DphistError:
            signals.set_note("")
            raise
        signals.set_note("")
        with stream:
            yield stream


def reserve_stream(mechanism: ContinualMechanism, options: argparse.Namespace, place: str) -> None:
    """Set aside what a stream will cost; nothing is read or made."""
    from dphist.commands.ledger.opening import opened_at
    from dphist.commands.ledger.paying import say_reserved
    from dphist.ledger import Deferred

    with opened_at(place, options) as ledger:
        data = Deferred(lambda: None, _unit(options))
        ledger.reserve(mechanism, data=data, **_paying(options))
        say_reserved(ledger, options)


def _paying(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "by": options.by,
        "key": options.key,
        "note": options.note or "",
        "account": options.account,
    }


def _unit(options: argparse.Namespace) -> PrivacyUnit | None:
    """Return what a user is; None where the stream protects events, or the name is left out."""
    return None if options.unit is None else user_unit(options)
