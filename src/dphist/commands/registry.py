"""The commands by name, each imported when it is called, and the parser of a command line."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points, version
from typing import TYPE_CHECKING

from dphist.commands.described import DATASET, with_dataset, without_said
from dphist.commands.options import EDGE_OPTIONS, with_negative_values
from dphist.commands.parsing import CommandParser, Parser, add_command
from dphist.document.options import Command, Group, Option
from dphist.errors import DphistError
from dphist.release.kind_names import kinds_of_others

if TYPE_CHECKING:
    from dphist.document.kind import Kind, Releasing

ENTRY_POINTS = "dphist.commands"
"""The group of entry points that are mappings like that of `find_commands`."""

_KIND = "KIND"
# Each command with its line of the help, its module, and the name that the command has there, or a
# function that returns it if it depends on what kinds are registered; or the kind that declares it.
# A module is imported when its command is called: the mechanisms take most of the time to start.
_OWN = {
    "anonymize": ("release how many labels have each count", "anonymize", "COMMAND"),
    "ranges": ("release how many records lie in any range", "ranges", "COMMAND"),
    "labels": ("release common labels with their counts", "labels", "LABELS"),
    "top": ("release the most common labels, ranked", "labels", "TOP"),
    "tables": ("release counts by several keys that add up", "tables", _KIND),
    "groups": ("release quantiles and counts of each group", "groups", _KIND),
    "stream": ("release running counts of a stream of events", "stream.command", "COMMAND"),
    "run": ("make all releases of a configuration file", "run", "COMMAND"),
    "plan": ("what a release would cost and be worth", "plan", "command"),
    "form": ("a page that asks, shows errors and writes a command", "form.command", "COMMAND"),
    "check": ("compare a release with a plan's criteria", "saved", "CHECK"),
    "ledger": ("keep one budget for all releases of a data set", "ledger.command", "COMMAND"),
    "dataset": ("check the description of a data set", "dataset", "COMMAND"),
    "properties": ("estimate entropy, the number of labels and more", "properties", "COMMAND"),
    "add-noise": ("the same counts with more noise, for another audience", "add_noise", "COMMAND"),
    "diff": ("what changed between two releases", "diff", "COMMAND"),
    "show": ("summarize a saved release", "saved", "SHOW"),
    "cite": ("what to cite for a release, as BibTeX", "saved", "CITE"),
}

RELEASING = ("anonymize", "ranges", "labels", "top", "tables", "groups", "stream")
"""Commands of dphist that make a release."""

CONFIGURATION = (
    Option("config", "read the options from this file", "TOML"),
    Option("section", "the section of the file (default: the only one of this command)", "NAME"),
)
_CONFIGURATION = Group(
    "configuration",
    "A TOML file that holds all options; only --section, --dry-run, --overwrite, --quiet and "
    "--json go with it. 'dphist run' makes all releases of such a file.",
    CONFIGURATION,
)


@cache
def find_commands() -> Mapping[str, tuple[str, str, str]]:
    """Return the commands by name: the line of the help, the module, and its name there.

    Those that entry points name follow those of the core, and replace none.

    Raises
    ------
    DphistError
        If the commands of a package cannot be imported.
    """
    found = {
        name: (
            said,
            f"dphist.{module}.kind" if held == _KIND else f"dphist.commands.{module}",
            held,
        )
        for name, (said, module, held) in _OWN.items()
    }
    for point in entry_points(group=ENTRY_POINTS):
        try:
            found = {**found, **point.load(), **found}
        except Exception as error:
            package = point.dist.name if point.dist else point.module
            raise DphistError(
                f"the commands of the package {package} cannot be imported "
                f"({type(error).__name__}); install it again"
            ) from None
    return found


def _find_commands_of_kinds() -> dict[str, tuple["Kind", "Releasing"]]:
    """Return the commands that kinds of others declare, by name; they replace none."""
    declared = {
        name: (kind, said) for kind in kinds_of_others() for name, said in kind.commands.items()
    }
    return {name: held for name, held in declared.items() if name not in find_commands()}


def list_releasing() -> tuple[str, ...]:
    """Return the commands that make a release, of all kinds: a configuration may hold these."""
    return (*RELEASING, *_find_commands_of_kinds())


def find_command(name: str) -> Command:
    """Return a command by its name; one that releases also takes a description or configuration."""
    if name in find_commands():
        _, module, held = find_commands()[name]
        found: Command | Kind | Callable[[], Command] = getattr(import_module(module), held)
    else:
        found, _ = _find_commands_of_kinds()[name]
    if isinstance(found, Command):
        command = found
    elif callable(found):
        command = found()
    else:
        from dphist.commands.records import make_kind_command  # imports what makes releases

        command = make_kind_command(found, found.commands[name])
    if name not in list_releasing():
        return command
    if {"user", "unit", "ledger"} <= {each.name for each in command.options}:
        command = with_dataset(command)
    return replace(command, table=[*command.table, _CONFIGURATION])


def parse_command_line(given: Sequence[str]) -> argparse.Namespace:
    """Parse a command line.

    Raises
    ------
    UsageError
        If it is wrong.
    """
    return make_parser(given).parse_args(with_negative_values(given, EDGE_OPTIONS))


def make_parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of these arguments: of the other commands it knows the names alone."""
    parser = Parser(
        prog="dphist",
        description="Release histograms with differential privacy.",
        epilog="'dphist COMMAND --help' has the options of a command. The first seven commands "
        "make releases; with --dry-run they state cost and error, and read no data.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dphist {version('dphist')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=CommandParser)
    known = {name: said.summary for name, (_, said) in _find_commands_of_kinds().items()}
    known = {name: summary for name, (summary, _, _) in find_commands().items()} | known
    chosen = next((word for word in given if word in known), None)
    described = any(word.partition("=")[0] == DATASET.written for word in given)
    for name, summary in known.items():
        if name == chosen:
            command = find_command(name)
            add_command(commands, name, summary, without_said(command) if described else command)
        else:
            commands.add_parser(name, help=summary)
    return parser
