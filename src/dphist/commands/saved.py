"""dphist show, cite and check, which load a saved release."""

import argparse
import json
from dataclasses import replace

from dphist.commands.ledger.options import LEDGER, check_exists, find_place, is_file
from dphist.commands.options import QUIET_OR_JSON, RELEASE, UsageError, outputs
from dphist.commands.presentation import PRESENTATION, read_presentation, unit_option
from dphist.commands.printing import complain, say
from dphist.commands.publishing import check_inputs, check_paths, publish
from dphist.document.errata import errata_in_words
from dphist.document.options import Command, Excludes, Option
from dphist.errors import DphistError
from dphist.planning.make import check
from dphist.planning.plan import Plan
from dphist.release.release import Release
from dphist.report import citation
from dphist.signals import ignore_signals

MISSED, OPEN = 4, 5
"""Exit codes: a criterion does not hold; all that are decided hold, but not all are decided."""

_SAYS = {True: "holds", False: "does not hold", None: "open"}


class PlanMissedError(DphistError):
    """A release that does not meet its plan, or of which that is open."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def _show(options: argparse.Namespace) -> None:
    read_presentation(options)
    release = _load_release(options)
    publish(release, options)
    if options.json or options.quiet:  # a summary says it itself
        for text in errata_in_words(release):
            complain(f"dphist: {text}")


def _load_release(options: argparse.Namespace) -> Release:
    """Return the release of a file, or that of a key in a ledger."""
    if options.key is None:
        if options.file is None or options.ledger is not None:
            raise UsageError("name a release: RELEASE alone, or --ledger and --key")
        check_paths(options)
        return Release.load(options.file)
    place = check_exists(find_place(options))
    check_paths(options, [place] if is_file(place) else [])
    from dphist.commands.ledger.payment import open_ledger  # slow to import, and seldom needed

    with open_ledger(options, place) as ledger:
        return ledger.stored(options.key)


def _cite(options: argparse.Namespace) -> None:
    check_inputs([options.file])
    say(citation(Release.load(options.file)), end="")
    ignore_signals()


def _check(options: argparse.Namespace) -> None:
    check_inputs([options.file, options.plan])
    plan = Plan.load(options.plan)
    if not plan.criteria:
        raise UsageError(
            f"{options.plan} holds no criteria; make a plan with --criterion before data are read"
        )
    found = check(Release.load(options.file), plan)
    if options.json:
        criteria = [
            {"criterion": each.criterion.text, "holds": each.holds, "said": each.said}
            for each in found
        ]
        say(json.dumps({"plan": plan.digest, "criteria": criteria}))
    elif not options.quiet:
        say(f"{options.file} against the plan {plan.digest}")
        for each in found:
            say(f"  {_SAYS[each.holds]}: {each.criterion.text} ({each.said})")
    missed = sum(each.holds is False for each in found)
    undecided = sum(each.holds is None for each in found)
    if missed:
        raise PlanMissedError(f"{missed} of {len(found)} criteria do not hold", MISSED)
    if undecided:
        raise PlanMissedError(
            f"{undecided} of {len(found)} criteria are open: a look at the data would cost budget",
            OPEN,
        )
    ignore_signals()


SHOW = Command(
    text="Summarize a saved release, or write its table or report again.",
    table=[
        replace(RELEASE, required=False),
        Option(
            "ledger",
            f"or a ledger that keeps the release (default, with --key: ${LEDGER})",
            "FILE|URL",
            parameter="place",
        ),
        Option(
            "key",
            "the key of the release in the ledger",
            "KEY",
            rules=(Excludes(["file"], "name one release"),),
        ),
        unit_option("; only where the release calls it a user"),
        PRESENTATION,
        *outputs("of the kind, such as label,count,low,high,", below=[]),
    ],
    run=_show,
    defaults={"output": None, "only_shown": True, "place": None},
)
CITE = Command(
    text="Print BibTeX entries for a release: this library, and its mechanism's paper.",
    table=[RELEASE],
    run=_cite,
)
CHECK = Command(
    text="Compare a release with the acceptance criteria that a plan holds. Only known noise and "
    "released values are used, so that checking costs nothing.",
    epilog="Exit codes: 0 if all criteria hold; 4 if one does not; 5 if none fails but some are "
    "open, because only the data could decide them, which would cost budget.",
    table=[
        RELEASE,
        Option("plan", "a plan that 'dphist plan --output' wrote", "JSON", required=True),
        QUIET_OR_JSON,
    ],
    run=_check,
)
