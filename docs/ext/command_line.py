"""The reference of the command line, from the parsers of the commands.

A line `<!-- command NAME -->` of a page becomes the section of that command: what it does, how it
is called, and its options.
"""

import argparse
import re
from collections.abc import Iterator
from typing import Any

from dphist.commands.registry import find_commands, make_parser

PLACE = re.compile(r"^<!-- command ([\w-]+) -->$", re.MULTILINE)

OPTION = re.compile(r"(?<![\w-])(--[a-z][\w-]*)")


def section(name: str) -> str:
    """Return the section of a command as Markdown."""
    parser = _choices(make_parser([name]))[name]
    return "\n".join(_described(parser, find_commands()[name][0], 2))


def _described(parser: argparse.ArgumentParser, summary: str, depth: int) -> Iterator[str]:
    """Yield the lines of a command, then those of its subcommands."""
    heading = "#" * depth
    yield f"{heading} {parser.prog}"
    yield ""
    described = (parser.description or "").strip() or f"{summary[0].upper()}{summary[1:]}."
    yield _plain(described)
    yield ""
    yield "```text"
    yield " ".join(parser.format_usage().removeprefix("usage: ").split())
    yield "```"
    yield ""
    for group in parser._action_groups:
        actions = [
            each
            for each in group._group_actions
            if each.help != argparse.SUPPRESS
            and not isinstance(each, argparse._SubParsersAction | argparse._HelpAction)
        ]
        if not actions:
            continue
        yield f"**{(group.title or 'options').capitalize()}.** {_plain(group.description or '')}"
        yield ""
        yield "| option | meaning |"
        yield "|---|---|"
        for action in actions:
            yield f"| {_called(action)} | {_cell(_help(parser, action))} |"
        yield ""
    for name, (command, line) in _subcommands(parser).items():
        yield from _described(command, line or name, depth + 1)
    if parser.epilog:
        yield _plain(parser.epilog)
        yield ""


def _subcommands(
    parser: argparse.ArgumentParser,
) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    """Return the subcommands of a command, each with its line of the help."""
    found: dict[str, tuple[argparse.ArgumentParser, str]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines = {each.dest: each.help or "" for each in action._choices_actions}
            found |= {name: (each, lines.get(name, "")) for name, each in action.choices.items()}
    return found


def _choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return {name: command for name, (command, _) in _subcommands(parser).items()}


def _called(action: argparse.Action) -> str:
    """Return how an option is written, with what it takes."""
    taken = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    taken = " ".join(taken) if isinstance(taken, tuple) else taken
    if not action.option_strings:
        return f"`{taken}`"
    written = ", ".join(f"`{each}`" for each in action.option_strings)
    return written if action.nargs == 0 else f"{written} `{taken.replace('|', '/')}`"


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    formatter = argparse.HelpFormatter(parser.prog)
    return formatter._expand_help(action) if action.help else ""


def _plain(text: str) -> str:
    """Return text of a help as Markdown that shows it as it is, with options as code."""
    return "".join(
        f"`{part}`" if OPTION.fullmatch(part) else re.sub(r"([\\*_<>`\[\]])", r"\\\1", part)
        for part in OPTION.split(text)
    )


def _cell(text: str) -> str:
    return " ".join(_plain(text).replace("|", "\\|").split())


def read(app: Any, name: str, source: list[str]) -> None:
    """Put the sections into a page that Sphinx has read."""
    source[0] = PLACE.sub(lambda found: section(found[1]), source[0])


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
