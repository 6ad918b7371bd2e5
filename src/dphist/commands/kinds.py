"""Commands that kinds declare: what all of them share is added here."""

import argparse
from dataclasses import replace
from functools import partial

from dphist.commands.ledger.options import PAYMENT
from dphist.commands.options import FILE, dry_run, guess, outputs
from dphist.commands.presenting import PRESENTATION, check_presentation, presentation_of
from dphist.commands.publishing import Protected, release_file
from dphist.commands.records import say_dry_run
from dphist.commands.resources import RESOURCES
from dphist.document.kind import Kind, Releasing
from dphist.document.options import Command


def command_of_kind(kind: Kind, said: Releasing) -> Command:
    """Return a command that a kind declares."""
    records = guess("expect_total", "the number of records, for the expected error of a dry run")
    return Command(
        text=said.text,
        epilog=said.epilog,
        table=[
            FILE,
            *said.options,
            *dry_run("guarantee and error", records),
            RESOURCES,
            PRESENTATION,
            PAYMENT,
            *outputs(said.columns),
        ],
        run=partial(_release, kind, said),
    )


def _release(kind: Kind, said: Releasing, options: argparse.Namespace) -> None:
    check_presentation(options)
    mechanism, data = said.mechanism(options), said.data(options)
    protected = Protected(data.unit, said.records(options))
    if not options.dry_run:
        release_file(mechanism, options, lambda _progress: said.read(options), protected)
        return
    guesses = () if options.expect_total is None else (options.expect_total,)
    known = replace(data, presentation=presentation_of(options), guesses=guesses)
    say_dry_run(kind.document(mechanism, known, None), mechanism, options, protected)
