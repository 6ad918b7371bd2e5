"""dphist plan: a table of what each epsilon would give; no data are read."""

import argparse
import json
from collections.abc import Callable
from typing import Any

from dphist.atomic_files import staged_outputs
from dphist.commands.labels.known_labels import HOLDS_LABELS, known_labels
from dphist.commands.options import (
    CommandParser,
    Commands,
    UsageError,
    add_outputs,
    parts_of,
    whole,
)
from dphist.commands.printing import say
from dphist.commands.publishing import check_paths, outputs_of, say_written
from dphist.commands.user_unit import unit_of
from dphist.planning.make import plan
from dphist.planning.plan import Plan
from dphist.report.plan.text import plan_csv, plan_text

_KINDS = {
    "labels": "which labels are common, and how common",
    "ranges": "how many records lie in any range",
    "anonymized": "how many labels have each count",
    "stream": "running counts of a stream of events",
}
_CALLED = {
    "users": "--expect-users",
    "total": "--expect-total",
    "shape": "--expect-shape",
    "labels": "--known-labels-count",
    "max_events": "--max-events-per-user",
}
_MANY = "; several are compared: 1,10,50"


def add_plan(commands: Commands, summary: str) -> None:
    """Add the command; the list of commands shows the summary."""
    command = commands.add_parser(
        "plan",
        help=summary,
        description=(
            "Compute what a release would cost and be worth for several ε, without data: the "
            "odds of guessing right who is in it, the smallest count that appears, the error."
        ),
        epilog="See 'dphist plan KIND --help'. The guide is docs/planning.md.",
        allow_abbrev=False,
    )
    kinds = command.add_subparsers(required=True, metavar="KIND", parser_class=CommandParser)
    for kind, what in _KINDS.items():
        added = kinds.add_parser(
            kind, help=what, description=f"Plan a release: {what}. No data are read.",
            allow_abbrev=False,
        )  # fmt: skip
        added.set_defaults(run=_plan, kind=kind, called=_CALLED)
        _add_shared(added)
        _ADD[kind](added)
        _add_written(added)


def _add_shared(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilon",
        type=_several(str),
        metavar="E,E,...",
        help="total epsilons to compare (default: 0.1,0.2,0.5,1,2,4)",
    )
    command.add_argument("--unit", metavar="TEXT", help='what is protected, such as "one patient"')
    command.add_argument(
        "--criterion",
        action="append",
        default=[],
        metavar="TEXT",
        help='an acceptance criterion, such as "range error < 0.5 %%" or "at least 50 labels"; '
        "may be given several times, and is saved with --output",
    )


def _add_labels(command: argparse.ArgumentParser) -> None:
    _add_numbers(
        command,
        max_labels=f"labels of a user that are kept (default: 1,3,10,30){_MANY}",
        max_count=f"what a user adds to a label at most (default: 1){_MANY}",
    )
    _add_delta(command)
    command.add_argument(
        "--noise",
        choices=("laplace", "gaussian", "auto"),
        help="law of the noise; auto takes the better one (default: auto)",
    )
    _add_users(command)
    _add_listed(command)


def _add_listed(command: argparse.ArgumentParser) -> None:
    known = command.add_mutually_exclusive_group()
    known.add_argument(
        "--known-labels",
        metavar="FILE",
        help=f"plan for a public list of labels, all of which are released: {HOLDS_LABELS}; "
        "--delta may then be 0",
    )
    known.add_argument(
        "--known-labels-count",
        type=whole,
        metavar="N",
        help="the same, for a list of N labels: the error depends only on their number",
    )
    command.add_argument(
        "--correlated",
        action="store_true",
        help="share a part of the noise between all known labels where that lowers it, as 'dphist "
        "labels --correlated' does",
    )
    command.add_argument(
        "--sums-of",
        type=whole,
        metavar="N",
        help="also state the error of sums of N counts of known labels; with --correlated "
        "it is the smallest for these",
    )


def _add_ranges(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--bins",
        type=_several(whole),
        required=True,
        metavar="N[,N...]",
        help="number of bins; of several axes, that of each",
    )
    command.add_argument(
        "--workload",
        choices=("ranges", "prefix"),
        help="what is asked most, and of what the error is stated: any ranges, or those from the "
        "first bin on (default: ranges)",
    )
    _add_records(command)


def _add_anonymized(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--expect-shape",
        dest="shape",
        metavar="S",
        help="a public guess that the i-th largest count is proportional to 1 / i^S (default: 1)",
    )
    _add_records(command)


def _add_stream(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--horizon", type=whole, required=True, metavar="N", help="events of the stream at most"
    )
    _add_numbers(
        command,
        max_labels=f"labels of an event that are kept (default: 1){_MANY}",
        max_events_per_user=f"events of a user that are kept (default: single events){_MANY}",
    )
    command.add_argument("--readings", type=whole, metavar="N", help="readings at most")
    _add_delta(command)
    _add_users(command)


_ADD: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "labels": _add_labels,
    "ranges": _add_ranges,
    "anonymized": _add_anonymized,
    "stream": _add_stream,
}


def _add_numbers(command: argparse.ArgumentParser, **helps: str) -> None:
    for name, text in helps.items():
        command.add_argument(
            f"--{name.replace('_', '-')}", type=_several(whole), metavar="N,N,...", help=text
        )


def _add_delta(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--delta",
        type=_several(str),
        metavar="D,D,...",
        help="total deltas to compare (default: one that is small for --expect-users, or 1e-6)",
    )


def _add_users(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--expect-users",
        dest="users",
        type=whole,
        metavar="N",
        help="a public guess of the number of users",
    )


def _add_records(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--expect-total",
        dest="total",
        type=whole,
        required=True,
        metavar="N",
        help="a public guess of the number of records",
    )
    _add_numbers(
        command,
        sensitivity=f"records of one unit that are kept (default: 1){_MANY}",
    )


def _add_written(command: argparse.ArgumentParser) -> None:
    command.add_argument("--output", metavar="JSON", help="write the plan here, for 'dphist check'")
    add_outputs(
        command,
        "of the plan",
        spreadsheet_safe=False,
        json="print JSON: the plan itself, or with --output the files that were written",
    )


def _several(read: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Return what reads values with commas between them."""

    def values(text: str) -> list[Any]:
        return [read(part) for part in parts_of(text)]

    return values


_PARAMETERS = (
    *("epsilon", "delta", "max_labels", "max_count", "noise", "users", "bins", "workload"),
    *("shape", "total", "sensitivity", "horizon", "readings", "sums_of"),
)


def _plan(options: argparse.Namespace) -> None:
    check_paths(options, [])
    if options.quiet and not outputs_of(options):
        raise UsageError("--quiet without --output, --table or --report would plan for nobody")
    asked = {name: getattr(options, name, None) for name in _PARAMETERS}
    asked["max_events"] = getattr(options, "max_events_per_user", None)
    if asked["bins"] is not None:
        bins = asked["bins"]
        asked["bins"] = bins[0] if len(bins) == 1 else tuple(bins)
    if getattr(options, "correlated", False):
        asked["correlated"] = True
    asked["labels"] = _listed(options)
    made = plan(
        options.kind,
        unit=None if options.unit is None else unit_of(options.unit),
        criteria=options.criterion,
        **{name: value for name, value in asked.items() if value is not None},
    )
    paths = outputs_of(options)
    with staged_outputs() as staged:
        for kind, path in paths.items():
            staged.write_text(path, _text(kind, made), replace=options.overwrite)
        staged.commit()
    _announce(made, paths, options)


def _listed(options: argparse.Namespace) -> Any:
    """Return the public list of labels, or how many it has; None without one."""
    path = getattr(options, "known_labels", None)
    if path is not None:
        return known_labels(path)
    count = getattr(options, "known_labels_count", None)
    if count is not None and count < 1:
        raise UsageError("--known-labels-count must be at least 1")
    for name in ("correlated", "sums_of"):
        if count is None and getattr(options, name, None):
            raise UsageError(
                f"--{name.replace('_', '-')} needs --known-labels or --known-labels-count: only "
                "listed labels can share noise and be added up"
            )
    return count


def _text(kind: str, made: Plan) -> str:
    if kind == "report":
        from dphist.report.plan.page import plan_html  # draws, which is slow to import

        return plan_html(made)
    return made.to_json() if kind == "release" else plan_csv(made)


def _announce(made: Plan, paths: dict[str, str], options: argparse.Namespace) -> None:
    if options.quiet:
        return
    named = {"plan" if kind == "release" else kind: path for kind, path in paths.items()}
    if options.json:
        told = {"plan": made.digest, "settings": len(made), "wrote": named}
        say(json.dumps(told) if options.output else made.to_json().rstrip())
        return
    say(plan_text(made))
    say_written(named)
    if options.output:
        say(f"The plan's checksum: {made.digest}")
