"""dphist ledger verify: recompute everything."""

import argparse
import json

from dphist.commands.ledger.opening import opened
from dphist.commands.ledger.options import add_place
from dphist.commands.printing import say


def add(command: argparse.ArgumentParser) -> None:
    """Add options and what the action does."""
    command.epilog = (
        "The hash chain, sums, caps, keys and stored releases are recomputed from the entries. The "
        "exit code is 1 if something is wrong, and the message names the first wrong entry. An "
        "older copy of a whole ledger is not wrong in itself: compare the number of entries, and "
        "the last hash, with a copy that you trust."
    )
    command.set_defaults(run=_verify)
    add_place(command)
    command.add_argument(
        "--public-key", metavar="PEM", help="public key (Ed25519) that all entries are signed for"
    )
    command.add_argument(
        "--moved",
        action="store_true",
        help="accept a file that was copied here; its original must never be used again",
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def _verify(options: argparse.Namespace) -> None:
    with opened(options, moved=options.moved) as ledger:
        entries = ledger.verify(options.public_key)
        last = list(ledger.entries())[entries - 1]
    signed = options.public_key is not None
    if options.json:
        found = {"ledger": ledger.name, "id": ledger.id, "entries": entries, "hash": last.hash}
        say(json.dumps({**found, "signed": signed}))
        return
    signatures = ", signatures included" if signed else " (signatures were not checked)"
    say(f"Everything is right{signatures}: {entries:,} {'entry' if entries == 1 else 'entries'}.")
    say(f"The last is of {last.time} with the hash {last.hash}.")
