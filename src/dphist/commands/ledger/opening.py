"""Opening a ledger for a command."""

import argparse
import contextlib
import logging
from collections.abc import Iterator

from dphist.commands.ledger.options import existing, place_of, signing_key_of
from dphist.ledger import Ledger


@contextlib.contextmanager
def opened(options: argparse.Namespace, *, moved: bool = False) -> Iterator[Ledger]:
    """Open the ledger that a command is about."""
    with opened_at(existing(place_of(options)), options, moved=moved) as ledger:
        yield ledger


@contextlib.contextmanager
def opened_at(place: str, options: argparse.Namespace, *, moved: bool = False) -> Iterator[Ledger]:
    """Open the ledger at a place."""
    keep_records_silent()
    signing_key = signing_key_of(options) if hasattr(options, "signing_key") else None
    with Ledger.open(place, moved=moved, signing_key=signing_key) as ledger:
        yield ledger


def keep_records_silent() -> None:
    """Have records of the ledger not printed beside our messages; handlers of others get them."""
    log = logging.getLogger("dphist.ledger")
    if not any(isinstance(handler, logging.NullHandler) for handler in log.handlers):
        log.addHandler(logging.NullHandler())
