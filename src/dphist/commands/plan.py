"""dphist plan: a table of what each epsilon would give; no data are read."""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dphist.commands.described import with_dataset
from dphist.commands.options import UsageError, outputs
from dphist.commands.presentation import read_unit
from dphist.commands.printing import say
from dphist.commands.publishing import check_paths, list_outputs, say_written
from dphist.commands.records import read_known_labels
from dphist.document.options import Command, Option, Table
from dphist.document.planning import Planning, several
from dphist.errors import phrase
from dphist.files import stage_outputs
from dphist.planning.declared import list_examples, list_planned_kinds
from dphist.planning.document import make_document, table_csv
from dphist.planning.make import plan
from dphist.planning.plan import Plan
from dphist.release.kind_names import OLD_NAMES
from dphist.render.text import text

_SHARED = [
    Option(
        "epsilon", "total epsilons to compare (default: 0.1,0.2,0.5,1,2,4)", "E,E,...", several(str)
    ),
    Option("unit", 'what is protected, such as "one patient"', "TEXT"),
]
_WRITTEN = [
    Option("output", "write the plan here, for 'dphist check'", "JSON"),
    *outputs(
        "of the plan",
        safe=False,
        what="plan",
        forms=False,
        json="print JSON: the plan itself, or with --output the files that were written",
    ),
]
# Where the plan goes, and what is no parameter of it by itself.
_APART = ("output", "table", "report", "overwrite", "quiet", "json", "unit", "dataset_file")


def _plan(options: argparse.Namespace) -> None:
    check_paths(options, [])
    paths = list_outputs(options)
    if options.quiet and not paths:
        nobody = "{quiet} without {output}, {table} or {report} would plan for nobody"
        raise UsageError(phrase(nobody))
    asked = {
        each.parameter or each.name: _read_value(each, options)
        for each in options.command.options
        if each.is_present(options) and each.name not in _APART
    }
    unit = None if options.unit is None else read_unit(options.unit)
    made = plan(options.kind, unit=unit, **asked)
    made = replace(made, description=getattr(options, "described", None))
    with stage_outputs() as staged:
        for kind, path in paths.items():
            staged.write(path, _format_plan(kind, made), replace=options.overwrite)
        staged.commit()
    named = {"plan" if kind == "release" else kind: path for kind, path in paths.items()}
    if options.json:
        told = {"plan": made.digest, "settings": len(made), "wrote": named}
        say(json.dumps(told) if options.output else made.to_json().rstrip())
    elif not options.quiet:
        say(text(make_document(made)), end="")
        say_written(named)
        if options.output:
            say(f"The plan's checksum: {made.digest}")


def _read_value(option: Option, options: argparse.Namespace) -> Any:
    value = getattr(options, option.name)
    return read_known_labels(value) if option.lists else value


def _format_plan(kind: str, made: Plan) -> str:
    if kind == "report":
        from dphist.render.html import page  # draws, which is slow to import

        return page(make_document(made))
    return made.to_json() if kind == "release" else table_csv(made)


def _criterion(kind: str) -> Option:
    such = " or ".join(f'"{example}"' for example in list_examples(kind))
    return Option(
        "criterion",
        f"an acceptance criterion, such as {such}; may be given several times, and is saved with "
        "--output",
        "TEXT",
        repeats=True,
        default=[],
        parameter="criteria",
    )


def _action(kind: str, planning: Planning, options: Callable[[], Table]) -> Command:
    return with_dataset(
        Command(
            text=f"Plan a release: {planning.question}. No data are read.",
            table=[*_SHARED, _criterion(kind), *options(), *_WRITTEN],
            run=_plan,
            defaults={"kind": kind},
        )
    )


def command() -> Command:
    """Return the command, with an action for each kind that can be planned."""
    return Command(
        text="Compute what a release would cost and be worth for several ε, without data: the odds "
        "of guessing right who is in it, the smallest count that appears, the error.",
        epilog="See 'dphist plan KIND --help'. The guide is docs/guides/planning.md.",
        action="KIND",
        actions={
            kind: (planning.question, _action(kind, planning, planning.options))
            for kind, planning in list_planned_kinds().items()
            if planning.options is not None
        },
        old_names=OLD_NAMES,
    )
