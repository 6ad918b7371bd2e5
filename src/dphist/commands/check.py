"""dphist check: whether a release meets the acceptance criteria of a plan."""

import argparse
import json

from dphist.commands.options import QUIET_OR_JSON, RELEASE, UsageError
from dphist.commands.printing import say
from dphist.document.options import Command, Option
from dphist.errors import DphistError
from dphist.planning.make import Verdict, check
from dphist.planning.plan import Plan
from dphist.release.release import Release
from dphist.signals import ignore_signals

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
    ignore_signals()


def _shown(verdict: Verdict) -> dict[str, object]:
    return {"criterion": verdict.criterion.text, "holds": verdict.holds, "said": verdict.said}


COMMAND = Command(
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
