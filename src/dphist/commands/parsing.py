"""Command lines read against the tables of the commands."""

import argparse
import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dphist.commands.options import UsageError
from dphist.document.options import Command, Excludes, Group, Option, Table
from dphist.errors import Argument, Message, ParameterError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


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
        if file is not None:  # None if the caller closed standard output
            file.write(message)
            if sys.stdout is not None:
                sys.stdout.flush()


class CommandParser(Parser):
    """The parser of one command, which refuses an option that it does not know before all else.

    argparse would first miss what was misspelled, and leave the rest to the parser of all commands,
    which can name no other option.
    """

    command: Command

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; a command with actions, such as `ledger`, leaves what follows to them.

        What is found also has the command, as ``command``.
        """
        if self.command.actions:
            words = [self.command.old_names.get(word, word) for word in args[:1]] + args[1:]
            return super().parse_known_args(words, namespace)
        self._refuse_unknown_options(sys.argv[1:] if args is None else args)
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        found.command = self.command
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
            begun = [each for each in self._option_string_actions if each.startswith(name)]
            meant = [f"; did you mean {each}?" for each in swapped + begun + close]
            self.error(f"there is no option {name}{meant[0] if meant else ''}")


def add_command(commands: Any, name: str, summary: str, command: Command) -> None:
    """Add the parser of a command to those of all; the list of commands shows the summary."""
    parser = commands.add_parser(
        name, help=summary, description=command.text, epilog=command.epilog, allow_abbrev=False
    )
    parser.command = command
    parser.set_defaults(**command.defaults)
    add_table(parser, command.table)
    if command.actions:
        actions = parser.add_subparsers(
            required=True, metavar=command.action, parser_class=CommandParser
        )
        for below, (line, action) in command.actions.items():
            add_command(actions, below, line, action)


def add_table(parser: Any, table: Table) -> None:
    """Add the options of a table to a parser."""
    for each in table:
        if isinstance(each, Option):
            _add_option(parser, each)
        elif isinstance(each, Group):
            add_table(parser.add_argument_group(each.title, each.text or None), each.options)
        else:
            add_table(parser.add_mutually_exclusive_group(required=each.required), each.options)


def _add_option(parser: Any, option: Option) -> None:
    how: dict[str, Any] = {"help": option.meaning.replace("%", "%%")}  # argparse would fill it in
    if option.is_flag:
        parser.add_argument(option.written, dest=option.name, action="store_true", **how)
        return
    how |= {"type": _make_reader(option.read), "default": option.default}
    if option.choices:
        how["choices"] = option.choices
    if option.many:
        how["nargs"] = "+"
    if option.positional:
        several = None if option.required else "?"
        if option.repeats:
            several = "+" if option.required else "*"
        parser.add_argument(option.name, metavar=option.typed, nargs=several, **how)
        return
    how["action"] = option.collect or ("append" if option.repeats else "store")
    how |= {"dest": option.name, "required": option.required, "metavar": option.value or None}
    parser.add_argument(option.written, **how)


def _make_reader(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return what reads a text, and says what is wrong with it as argparse asks for it."""

    def value(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return value


def check_options(options: argparse.Namespace) -> None:
    """Refuse numbers out of range, and options that lack others or do not go together.

    Raises
    ------
    ParameterError
    UsageError
    """
    table = options.command.options
    known: dict[str, list[Option]] = {}
    for each in table:
        for name in {each.name, each.parameter}:
            known.setdefault(name, []).append(each)
    for each in table:
        value = getattr(options, each.name)
        if isinstance(value, int) and not isinstance(value, bool):
            _check_number(each, value)
    for each in table:
        if each.is_given(options):
            _check_rules(each, options, known)


def _check_number(option: Option, number: int) -> None:
    name = option.parameter or option.name
    if option.least is not None and number < option.least:
        raise ParameterError(name, f"must be at least {option.least}")
    if option.most is not None and number > option.most:
        raise ParameterError(name, f"must be at most {option.most:,}")


def _check_rules(
    option: Option, options: argparse.Namespace, known: Mapping[str, Sequence[Option]]
) -> None:
    name = Argument(option.name)
    if option.dry_run and not options.dry_run:
        other = "" if option.dry_run is True else f"; {option.dry_run}"
        raise UsageError(name + " is for --dry-run" + other)
    for rule in option.rules:
        others = [each for other in rule.others for each in known[other]]
        present = [each for each in others if each.is_present(options)]
        if isinstance(rule, Excludes):
            if present and rule.value in (..., getattr(options, option.name)):
                said = Argument(option.name, rule.value) + " does not go with "
                raise UsageError(said + Argument(present[0].name) + f": {rule.why}")
        elif not present:
            needed: Message = name + " needs " + Argument(others[0].name)
            for each in others[1:]:
                needed = needed + " or " + Argument(each.name)
            raise UsageError(needed + f": {rule.why}")
