"""The commands by name, each imported when it is called, and the parser of a command line."""

import argparse
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points, version

from dphist.commands.options import EDGE_OPTIONS, CommandParser, Parser, with_negative_values
from dphist.errors import DphistError

ENTRY_POINTS = "dphist.commands"
"""The group of entry points that are mappings like that of `find_commands`."""

# Each command with its line of the help, its module, and what adds it to a parser. A module is
# imported when its command is called: the mechanisms take most of the time to start.
_OWN = {
    "anonymize": ("release how many labels have each count", "anonymize", "add_anonymize"),
    "ranges": ("release how many records lie in any range", "ranges", "add_ranges"),
    "labels": ("release common labels with their counts", "labels.command", "add_labels"),
    "top": ("release the most common labels, ranked", "labels.top", "add_top"),
    "stream": ("release running counts of a stream of events", "stream.command", "add_stream"),
    "run": ("make all releases of a configuration file", "configuration.command", "add_run"),
    "plan": ("what a release would cost and be worth", "plan.command", "add_plan"),
    "check": ("compare a release with a plan's criteria", "check", "add_check"),
    "ledger": ("keep one budget for all releases of a data set", "ledger.command", "add_ledger"),
    "properties": (
        "estimate entropy, the number of labels and more",
        "properties",
        "add_properties",
    ),
    "show": ("summarize a saved release", "show", "add_show"),
    "cite": ("what to cite for a release, as BibTeX", "cite", "add_cite"),
}


RELEASING = ("anonymize", "ranges", "labels", "top", "stream")
"""Commands that make a release: a configuration may hold these."""


@cache
def find_commands() -> Mapping[str, tuple[str, str, str]]:
    """Return the commands by name: the line of the help, the module, and what adds it to a parser.

    Those that entry points name follow those of the core, and replace none.

    Raises
    ------
    DphistError
        If the commands of a package cannot be imported.
    """
    found = {
        name: (said, f"dphist.commands.{module}", add) for name, (said, module, add) in _OWN.items()
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


def parsed(given: Sequence[str]) -> argparse.Namespace:
    """Parse a command line.

    Raises
    ------
    UsageError
        If it is wrong.
    """
    return parser_of(given).parse_args(with_negative_values(given, EDGE_OPTIONS))


def parser_of(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of these arguments: of the other commands it knows the names alone."""
    parser = Parser(
        prog="dphist",
        description="Release histograms with differential privacy.",
        epilog="'dphist COMMAND --help' has the options of a command. The first five commands make "
        "releases; with --dry-run they state cost and error, and read no data.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dphist {version('dphist')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=CommandParser)
    known = find_commands()
    chosen = next((word for word in given if word in known), None)
    for name, (summary, module, add) in known.items():
        if name == chosen:
            getattr(import_module(module), add)(commands, summary)
        else:
            commands.add_parser(name, help=summary)
    if chosen in RELEASING:
        _add_configuration(commands.choices[chosen])
    return parser


def _add_configuration(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "configuration",
        "A TOML file that holds all options; only --section, --dry-run, --overwrite, --quiet and "
        "--json go with it. 'dphist run' makes all releases of such a file.",
    )
    group.add_argument("--config", metavar="TOML", help="read the options from this file")
    group.add_argument("--section", metavar="NAME", help="the section of the file (default: the "
                       "only one of this command)")  # fmt: skip
