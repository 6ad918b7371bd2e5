"""What the commands' options share."""

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from dphist.commands.wording import option_names
from dphist.errors import DphistError
from dphist.foreign import read_json
from dphist.parameters import MOST_DIGITS, number_of_text, whole_of_text

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_LARGEST = 10**300
_NEGATIVE = re.compile(r"-([0-9.]|inf)")


class UsageError(DphistError):
    """The command was typed wrongly; the message says how, and a second line where to read on."""


class Parser(argparse.ArgumentParser):
    """A parser that raises where argparse would print and leave."""

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError."""
        raise UsageError(message, f"See '{self.prog} --help'.")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, once no option is given twice: argparse would take the last one."""
        self._refuse_repeated_options(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def _refuse_repeated_options(self, words: Sequence[str]) -> None:
        given = set()
        for word in words:
            if word == "--":
                return
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            action = None if " " in word[:3] else self._option_string_actions.get(name)
            if action in given:
                self.error(f"{name} was given twice: leave one of them out")
            takes_one = action is not None and action.nargs != 0
            if takes_one and not isinstance(action, argparse._AppendAction):
                given.add(action)

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        """Print help or the version; argparse would drop an error, such as of a full disk."""
        if file is not None:  # None where the caller closed standard output
            file.write(message)
            if sys.stdout is not None:
                sys.stdout.flush()


class CommandParser(Parser):
    """The parser of one command, which refuses an option that it does not know before all else.

    argparse would first miss what was misspelled, and leave the rest to the parser of all commands,
    which can name no other option.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; a command with actions, such as `ledger`, leaves what follows to them.

        What is found also has the options by the parameters that errors name, as ``names``. A
        command whose option is called otherwise than the parameter has this among its defaults, as
        ``called``.
        """
        if self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._refuse_unknown_options(sys.argv[1:] if args is None else args)
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        found.names = option_names(self) | getattr(found, "called", {})
        return found, rest

    def _refuse_unknown_options(self, words: Sequence[str]) -> None:
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                return
            if not name.startswith("--") or " " in word or name in self._option_string_actions:
                continue
            close = difflib.get_close_matches(name, self._option_string_actions, n=3)
            swapped = [each for each in close if sorted(each) == sorted(name)]
            meant = [f"; did you mean {each}?" for each in swapped + close]
            self.error(f"there is no option {name}{meant[0] if meant else ''}")


def parts_of(text: str) -> list[str]:
    """Return values with commas between them, each perhaps with spaces around it.

    >>> parts_of(" 0.1, 1 ,1/2")
    ['0.1', '1', '1/2']
    """
    return [part.strip(" ") for part in text.split(",")]


Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"


def whole(text: str) -> int:
    """Read a whole number."""
    number = whole_of_text(text)
    if number is None:
        longest = f" of at most {MOST_DIGITS} digits" if len(text) > MOST_DIGITS else ""
        raise argparse.ArgumentTypeError(f"must be a whole number{longest}")
    return number


def decimal(text: str) -> float:
    """Read a number."""
    number = number_of_text(text)
    if number is None or not abs(number) <= _LARGEST:
        raise argparse.ArgumentTypeError("must be a number, such as 1 or 0.5")
    return float(number)


def named_value(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE of --set; a value that is no JSON is text.

    >>> named_value("max_labels=3"), named_value("noise=laplace")
    (('max_labels', 3), ('noise', 'laplace'))
    """
    name, found, value = text.partition("=")
    if not found or not name.isidentifier():
        raise UsageError("--set must be NAME=VALUE, such as max_labels=3")
    try:
        return name, read_json(value) if value == value.strip() else value
    except ValueError:
        return name, value


def add_file(command: argparse.ArgumentParser) -> None:
    """Add the data, and the option that says what separates the fields of a text file."""
    command.add_argument("file", metavar="FILE", help="the data; a dry run does not open it")
    add_delimiter(command)


def add_delimiter(command: argparse.ArgumentParser) -> None:
    """Add the option that says what separates the fields of a text file."""
    command.add_argument(
        "--delimiter",
        metavar="C",
        type=lambda text: "\t" if text in ("tab", "\\t") else text,
        help="separator of the fields of a text FILE: one character, or the word tab "
        "(default: a comma, or a tab in .tsv)",
    )


def add_dry_run(
    command: argparse.ArgumentParser, states: str, expect: str, guess: str, *, output: str = ""
) -> None:
    """Add the options of a dry run, and where the release is written.

    Parameters
    ----------
    states : what a dry run prints.
    expect : the option of a public guess, and what is guessed.
    output : what is released, beyond a release.
    """
    command.add_argument(
        "--dry-run", action="store_true", help=f"only print {states}; read no data"
    )
    command.add_argument(expect, type=whole, metavar="N", help=f"a public guess of {guess}")
    command.add_argument(
        "--output",
        metavar="JSON",
        help=f"write the release {output}here; without it, or a ledger, the release is not kept",
    )


def add_outputs(
    command: argparse.ArgumentParser,
    columns: str,
    *,
    overwrite: str = "",
    spreadsheet_safe: bool = True,
    json: str = "print JSON: the release itself, or with --output the files that were written",
) -> None:
    """Add the options that say what is written and printed."""
    command.add_argument("--table", metavar="CSV", help=f"write columns {columns} here")
    if spreadsheet_safe:
        add_spreadsheet_safe(command, "in --table")
    command.add_argument(
        "--report", metavar="HTML", help="write a page that explains the release here"
    )
    command.add_argument(
        "--overwrite",
        action="store_true",
        help=f"replace outputs that exist already (default: refuse){overwrite}",
    )
    how = command.add_mutually_exclusive_group()
    how.add_argument("--quiet", action="store_true", help="print nothing but errors")
    how.add_argument("--json", action="store_true", help=json)


def add_spreadsheet_safe(command: argparse.ArgumentParser, where: str) -> None:
    """Add the option that keeps a spreadsheet from running or changing text."""
    command.add_argument(
        "--spreadsheet-safe",
        action="store_true",
        help=f"write text {where} so that a spreadsheet runs none as a formula and changes none: "
        "quoted, with an apostrophe ahead unless it begins with a letter and has no digit",
    )


# Options of which a value may begin with a minus sign.
EDGE_OPTIONS = ("--edges", "--start", "--stop")


def with_negative_values(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Join options with values such as ``-inf,0,5``, which argparse would take for options.

    >>> with_negative_values(["ranges", "--edges", "-5,0", "--json"], ["--edges"])
    ['ranges', '--edges=-5,0', '--json']
    """
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in options and _NEGATIVE.match(argument):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined
