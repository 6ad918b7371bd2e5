"""dphist show: a saved release again."""

import argparse
from dataclasses import replace

from dphist.commands.ledger.options import LEDGER, existing, is_file, place_of
from dphist.commands.options import RELEASE, UsageError, outputs
from dphist.commands.presenting import PRESENTATION, check_presentation, unit_option
from dphist.commands.printing import complain
from dphist.commands.publishing import check_paths, publish
from dphist.document.errata import errata_in_words
from dphist.document.options import Command, Option
from dphist.release.release import Release


def _show(options: argparse.Namespace) -> None:
    check_presentation(options)
    if options.key is None:
        if options.file is None or options.ledger is not None:
            raise UsageError("name a release: RELEASE alone, or --ledger and --key")
        check_paths(options)
        _publish(Release.load(options.file), options)
        return
    if options.file is not None:
        raise UsageError("RELEASE and --key do not go together: leave one of them out")
    place = existing(place_of(argparse.Namespace(**{**vars(options), "place": None})))
    check_paths(options, [place] if is_file(place) else [])
    from dphist.commands.ledger.opening import opened_at  # slow to import, and seldom needed

    with opened_at(place, options) as ledger:
        release = ledger.stored(options.key)
    _publish(release, options)


def _publish(release: Release, options: argparse.Namespace) -> None:
    """Write and print the release; say on standard error what a summary would say of its faults."""
    publish(release, options)
    if options.json or options.quiet:
        for text in errata_in_words(release):
            complain(f"dphist: {text}")


COMMAND = Command(
    text="Summarize a saved release, or write its table or report again.",
    table=[
        replace(RELEASE, required=False),
        Option(
            "ledger",
            f"or a ledger that keeps the release (default, with --key: ${LEDGER})",
            "FILE|URL",
            parameter="place",
        ),
        Option("key", "the key of the release in the ledger", "KEY"),
        unit_option("; only where the release calls it a user"),
        PRESENTATION,
        *outputs("count,prevalence or label,count or start,stop,count,error or time,label,count"),
    ],
    run=_show,
    defaults={"output": None, "only_shown": True},
)
