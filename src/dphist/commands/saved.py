"""dphist show, cite and check: a saved release again."""

import argparse
import json
from dataclasses import replace

from dphist.commands.ledger.options import LEDGER, existing, is_file, place_of
from dphist.commands.options import QUIET_OR_JSON, RELEASE, UsageError, outputs
from dphist.commands.presentation import PRESENTATION, check_presentation, unit_option
from dphist.commands.printing import complain, say
from dphist.commands.publishing import check_paths, publish
from dphist.commands.signals import settle
from dphist.document.errata import errata_in_words
from dphist.document.options import Command, Option
from dphist.errors import DphistError
from dphist.planning.check import Verdict, check
from dphist.planning.plan import Plan
from dphist.release.release import Release
from dphist.report.citation import citation


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
    from dphist.commands.ledger.payment import opened_at  # slow to import, and seldom needed

    with opened_at(place, options) as ledger:
        release = ledger.stored(options.key)
    _publish(release, options)


def _publish(release: Release, options: argparse.Namespace) -> None:
    """Write and print the release; say on standard error what a summary would say of its faults."""
    publish(release, options)
    if options.json or options.quiet:
        for text in errata_in_words(release):
            complain(f"dphist: {text}")


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
        Option("key", "the key of the release in the ledger", "KEY"),
        unit_option("; only where the release calls it a user"),
        PRESENTATION,
        *outputs("count,prevalence or label,count or start,stop,count,error or time,label,count"),
    ],
    run=_show,
    defaults={"output": None, "only_shown": True},
)


def _cite(options: argparse.Namespace) -> None:
    say(citation(Release.load(options.file)), end="")
    settle()


CITE = Command(
    text="Print BibTeX entries for a release: this library, and its mechanism's paper.",
    table=[RELEASE],
    run=_cite,
)


MISSED, OPEN = 4, 5
"""Exit codes: a criterion does not hold; all that are decided hold, but not all are decided."""

_SAYS = {True: "holds", False: "does not hold", None: "open"}


class PlanMissedError(DphistError):
    """A release that does not meet its plan, or of which that is open."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def _check(options: argparse.Namespace) -> None:
    plan = Plan.load(options.plan)
    if not plan.criteria:
        raise UsageError(
            f"{options.plan} holds no criteria; make a plan with --criterion before data are read"
        )
    found = check(Release.load(options.file), plan)
    if options.json:
        say(json.dumps({"plan": plan.digest, "criteria": [_shown(each) for each in found]}))
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
    settle()


def _shown(verdict: Verdict) -> dict[str, object]:
    return {"criterion": verdict.criterion.text, "holds": verdict.holds, "said": verdict.said}


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
