"""dphist form: a page on which a release is described, and which writes its command."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from dphist.commands.form.numbers import read_numbers
from dphist.commands.form.questions import (
    ASKED,
    MAX_VALUES_OF_ONE,
    MAX_VALUES_OF_TWO,
    SIZES,
    Asked,
    Choice,
)
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
        meanings={name: words[name] for name in ("unit", "output", "report", "user")},
        words=[(each.key, each.meaning) for each in presented],
        version=VERSION,
    )


def _describe(asked: Asked) -> dict[str, Any]:
    """Return what the page is told of one kind."""
    meanings, columns = _meanings(find_command(asked.command)), find_columns(asked.kind)
    bound = asked.choice("bound")
    others = [each for each in asked.choices if each.asks in ("delta", "other")]
    shown = [columns[name] for name in (asked.appears, asked.error) if name]
    return {
        "name": asked.kind,
        "command": asked.command,
        "question": find_planning(asked.kind).question,
        "typed": [
            {**asdict(each), "meaning": each.meaning or meanings[each.option]}
            for each in asked.typed
        ],
        "keys": [MAX_VALUES_OF_ONE, MAX_VALUES_OF_TWO] if asked.keys else [],
        "table": meanings["table"],
        "bound": bound and _question(asked, bound, meanings),
        "others": [_question(asked, each, meanings) for each in others],
        "filed": [each.parameter for each in asked.choices],
        "shown": [(column.title, column.meaning) for column in shown],
        "appears": bool(asked.appears),
        "sized": asked.choice("size") is not None,
        "error_of": asked.error_of,
        "law": asked.law,
        "bar": asked.bar,
        "shares": asked.shares,
    }


def _question(asked: Asked, choice: Choice, meanings: Mapping[str, str]) -> dict[str, Any]:
    """Return a choice with its words: of the plan's column, its own, or of the option."""
    column = find_columns(asked.kind).get(choice.parameter)
    labels = {value: value for value in choice.values}
    if choice.asks == "delta":
        labels = {
            value: f"{value}, for up to {int(MENTIONED / Fraction(value)):,} {{many}}"
            for value in choice.values
        }
    return {
        "parameter": choice.parameter,
        "option": choice.option,
        "title": column.title if column else choice.title,
        "meaning": column.meaning if column else choice.meaning or meanings[choice.option],
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
