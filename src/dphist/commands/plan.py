"""dphist plan: a table of what each epsilon would give; no data are read."""

import argparse
import json
from collections.abc import Callable
from typing import Any

from dphist.anonymized import AdaptiveScan
from dphist.atomic_files import staged_outputs
from dphist.commands.labels.known_labels import HOLDS_LABELS, known_labels
from dphist.commands.options import UsageError, outputs
from dphist.commands.printing import say
from dphist.commands.publishing import check_paths, outputs_of, say_written
from dphist.commands.user_unit import unit_of
from dphist.document.options import (
    Command,
    Needs,
    OneOf,
    Option,
    Table,
    option_of,
    parts_of,
    whole,
)
from dphist.labels import ThresholdHistogram
from dphist.planning.document import document_of, table_csv
from dphist.planning.make import plan
from dphist.planning.plan import Plan
from dphist.ranges import AdaptiveTree
from dphist.render import text
from dphist.streams import ContinualMechanism

_MANY = "; several are compared: 1,10,50"


def _several(read: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Return what reads values with commas between them."""

    def values(text: str) -> list[Any]:
        return [read(part) for part in parts_of(text)]

    return values


def _bins(text: str) -> int | tuple[int, ...]:
    """Read the number of bins of each axis."""
    one, *others = map(whole, parts_of(text))
    return (one, *others) if others else one


def _compared(mechanism: type, field_name: str, more: str = "", **changes: Any) -> Option:
    """Return the option of a parameter of which several values are compared."""
    read: dict[str, Any] = {"value": "N,N,...", "read": _several(whole)}
    return option_of(mechanism, field_name, f"{_MANY}{more}", **read | changes)


def _guess(name: str, meaning: str, **more: Any) -> Option:
    return Option(name, meaning, "N", whole, typed=f"--expect-{name}", **more)


_SHARED = [
    Option(
        "epsilon",
        "total epsilons to compare (default: 0.1,0.2,0.5,1,2,4)",
        "E,E,...",
        _several(str),
    ),
    Option("unit", 'what is protected, such as "one patient"', "TEXT"),
    Option(
        "criterion",
        'an acceptance criterion, such as "range error < 0.5 %" or "at least 50 labels"; may be '
        "given several times, and is saved with --output",
        "TEXT",
        repeats=True,
        default=[],
        parameter="criteria",
    ),
]
_DELTA = Option(
    "delta",
    "total deltas to compare (default: one that is small for --expect-users, or 1e-6)",
    "D,D,...",
    _several(str),
)
_USERS = _guess("users", "a public guess of the number of users")


def _records(mechanism: type) -> list[Option]:
    total = _guess("total", "a public guess of the number of records", required=True)
    return [total, _compared(mechanism, "sensitivity")]


_WRITTEN = [
    Option("output", "write the plan here, for 'dphist check'", "JSON"),
    *outputs(
        "of the plan",
        safe=False,
        json="print JSON: the plan itself, or with --output the files that were written",
    ),
]
_KINDS: dict[str, tuple[str, Table]] = {
    "labels": (
        "which labels are common, and how common",
        [
            _compared(ThresholdHistogram, "max_labels", " (default: 1,3,10,30)"),
            _compared(ThresholdHistogram, "max_count"),
            _DELTA,
            option_of(
                ThresholdHistogram,
                "noise",
                "; auto takes the better one (default: auto)",
                choices=("laplace", "gaussian", "auto"),
                default=None,
            ),
            _USERS,
            OneOf(
                [
                    Option(
                        "known_labels",
                        "plan for a public list of labels, all of which are released: "
                        f"{HOLDS_LABELS}; --delta may then be 0",
                        "FILE",
                        parameter="labels",
                    ),
                    Option(
                        "known_labels_count",
                        "the same, for a list of N labels: the error depends only on their number",
                        "N",
                        whole,
                        least=1,
                        parameter="labels",
                    ),
                ]
            ),
            option_of(
                ThresholdHistogram,
                "correlated",
                meaning="share a part of the noise between all known labels where that lowers it, "
                "as 'dphist labels --correlated' does",
            ),
            option_of(
                ThresholdHistogram,
                "sums_of",
                "; their error is stated too, and smallest with --correlated",
                default=None,
                rules=[Needs(["labels"], "only listed labels are added up")],
            ),
        ],
    ),
    "ranges": (
        "how many records lie in any range",
        [
            Option(
                "bins",
                "number of bins; of several axes, that of each",
                "N[,N...]",
                _bins,
                required=True,
            ),
            option_of(AdaptiveTree, "workload", "; the error is stated for these"),
            *_records(AdaptiveTree),
        ],
    ),
    "anonymized": (
        "how many labels have each count",
        [
            Option(
                "shape",
                "a public guess of how fast counts fall: the i-th largest is proportional to "
                "1 / i^S (default: 1)",
                "S",
                typed="--expect-shape",
            ),
            *_records(AdaptiveScan),
        ],
    ),
    "stream": (
        "running counts of a stream of events",
        [
            option_of(ContinualMechanism, "horizon", required=True),
            _compared(ContinualMechanism, "max_labels"),
            _compared(
                ContinualMechanism,
                "max_events_per_user",
                " (default: single events)",
                parameter="max_events",
            ),
            option_of(ContinualMechanism, "readings"),
            _DELTA,
            _USERS,
        ],
    ),
}


# Where the plan goes, and what is no parameter of it by itself.
_APART = ("output", "table", "report", "overwrite", "quiet", "json", "unit", "known_labels")


def _plan(options: argparse.Namespace) -> None:
    check_paths(options, [])
    if options.quiet and not outputs_of(options):
        raise UsageError("--quiet without --output, --table or --report would plan for nobody")
    asked = {
        each.parameter or each.name: getattr(options, each.name)
        for each in options.command.options
        if each.is_present(options) and each.name not in _APART
    }
    if getattr(options, "known_labels", None) is not None:
        asked["labels"] = known_labels(options.known_labels)
    unit = None if options.unit is None else unit_of(options.unit)
    made = plan(options.kind, unit=unit, **asked)
    paths = outputs_of(options)
    with staged_outputs() as staged:
        for kind, path in paths.items():
            staged.write_text(path, _text(kind, made), replace=options.overwrite)
        staged.commit()
    _announce(made, paths, options)


def _text(kind: str, made: Plan) -> str:
    if kind == "report":
        from dphist.render.html import page  # draws, which is slow to import

        return page(document_of(made))
    return made.to_json() if kind == "release" else table_csv(made)


def _announce(made: Plan, paths: dict[str, str], options: argparse.Namespace) -> None:
    if options.quiet:
        return
    named = {"plan" if kind == "release" else kind: path for kind, path in paths.items()}
    if options.json:
        told = {"plan": made.digest, "settings": len(made), "wrote": named}
        say(json.dumps(told) if options.output else made.to_json().rstrip())
        return
    say(text.text(document_of(made)), end="")
    say_written(named)
    if options.output:
        say(f"The plan's checksum: {made.digest}")


def _planned(kind: str, what: str, table: Table) -> Command:
    return Command(
        text=f"Plan a release: {what}. No data are read.",
        table=[*_SHARED, *table, *_WRITTEN],
        run=_plan,
        defaults={"kind": kind},
    )


COMMAND = Command(
    text="Compute what a release would cost and be worth for several ε, without data: the odds of "
    "guessing right who is in it, the smallest count that appears, the error.",
    epilog="See 'dphist plan KIND --help'. The guide is docs/planning.md.",
    action="KIND",
    actions={kind: (what, _planned(kind, what, own)) for kind, (what, own) in _KINDS.items()},
)
