"""dphist form: a page on which a release is described, and which writes its command."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from dphist.commands.form.asked import Asked, Choice
from dphist.commands.form.numbers import read_numbers
from dphist.commands.form.questions import ASKED, OUTPUTS, SIZES, TABLE_OF_FILE, TABLE_OF_STREAM
from dphist.commands.options import OVERWRITE, QUIET
from dphist.commands.presentation import PRESENTATION
from dphist.commands.publishing import check_outputs, say_written
from dphist.commands.registry import find_command
from dphist.document.options import Command, Option
from dphist.files import stage_outputs
from dphist.planning.declared import GUESSED_RIGHT, find_columns, find_planning
from dphist.privacy.delta_worth import MENTIONED
from dphist.release.release import VERSION
from dphist.render.form import form_page


def _form(options: argparse.Namespace) -> None:
    check_outputs([options.output], overwrite=options.overwrite)
    with stage_outputs() as staged:
        staged.write(options.output, make_form(), replace=options.overwrite)
        staged.commit()
    if not options.quiet:
        say_written({"form": options.output})


def make_form() -> str:
    """Return the page as HTML."""
    words = _meanings(find_command(ASKED[0].command))
    presented = [each for each in PRESENTATION.options if isinstance(each, Option)]
    return form_page(
        kinds=[_describe(asked) for asked in ASKED],
        numbers=read_numbers(),
        guess=GUESSED_RIGHT.meaning,
        sizes=SIZES,
        epsilons=next(each for each in ASKED[0].choices if each.asks == "epsilon").values,
        outputs=OUTPUTS,
        unit=words["unit"],
        words=[(each.key, each.meaning) for each in presented],
        version=VERSION,
    )


def _describe(asked: Asked) -> dict[str, Any]:
    """Return what the page is told of one kind."""
    command = find_command(asked.command)
    meanings, columns = _meanings(command), find_columns(asked.kind)
    bound = asked.choice("bound")
    others = [each for each in asked.choices if each.asks in ("delta", "other")]
    shown = [columns[name] for name in (asked.appears, asked.error) if name]
    reads_file = any(each.positional for each in command.options)
    return {
        "name": asked.kind,
        "command": asked.command,
        "question": find_planning(asked.kind).question,
        "example": asked.example,
        "reads_file": reads_file,
        "typed": [
            {**asdict(each), "meaning": each.meaning or meanings[each.option]}
            for each in asked.typed
        ],
        "keys": asked.keys and asdict(asked.keys),
        "table": TABLE_OF_FILE if reads_file else TABLE_OF_STREAM,
        "bound": bound and _question(asked, bound, meanings),
        "others": [_question(asked, each, meanings) for each in others],
        "filed": [each.parameter for each in asked.choices],
        "fixed": asked.fixed,
        "shown": [asked.said.get(each.name, (each.title, each.meaning)) for each in shown],
        "appears": bool(asked.appears),
        "sized": asked.choice("size") is not None,
        "error_of": asked.error_of,
        "law": asked.law,
        "made_up": asked.made_up,
        "bar": asked.bar,
        "shares": asked.shares,
        "quantiles": asked.quantiles,
    }


def _question(asked: Asked, choice: Choice, meanings: Mapping[str, str]) -> dict[str, Any]:
    """Return a choice with its words: its own, those of the plan's column, or of the option."""
    column = find_columns(asked.kind).get(choice.parameter)
    labels = {each: f"{int(each):,}" if each.isdigit() else each for each in choice.values}
    if choice.asks == "delta":
        labels = {
            value: f"{value}, for up to {int(MENTIONED / Fraction(value)):,} {{many}}"
            for value in choice.values
        }
    return {
        "parameter": choice.parameter,
        "option": choice.option,
        "within": choice.within,
        "title": choice.title or (column.title if column else ""),
        "meaning": choice.meaning or (column.meaning if column else meanings[choice.option]),
        "values": labels,
        "usual": choice.usual,
    }


def _meanings(command: Command) -> dict[str, str]:
    return {each.key: each.meaning for each in command.options}


COMMAND = Command(
    text="Write a page, one file without addresses of others, on which a release is described by "
    "choosing: it shows what will be seen, and writes the command and the configuration. No data "
    "are read.",
    epilog="Open the page in a browser; it sends nothing anywhere. The guide is "
    "docs/guides/form.md.",
    table=[
        Option("output", "write the page here", "HTML", required=True),
        OVERWRITE,
        QUIET,
    ],
    run=_form,
)
