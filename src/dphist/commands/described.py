"""--dataset: a description of the data in place of FILE, the users, their bounds and the ledger."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from dphist.commands.options import FILE, UsageError
from dphist.description import BOUNDS, WORDS, Description
from dphist.document.options import Command, Group, Option
from dphist.errors import Argument, DphistError, Message, ParameterError, phrase

DATASET = Option(
    "description",
    "the description of the data; its largest bounds and null_users hold where the options of that "
    "name are left out",
    "TOML",
    typed="--dataset",
)
_GROUP = Group(
    "data described once",
    "A TOML file that says FILE, --user, --unit and --ledger, which are then not given. Options "
    "given beside it may only be stricter. The guide is docs/guides/dataset.md.",
    [DATASET],
)
_SAID = {"file": "files", "user": "user", "unit": "unit", "ledger": "ledger"}
"""Options that only the description gives, by name, with its keys."""


def with_dataset(command: Command) -> Command:
    """Return a command that also takes a description, if it reads data of users."""
    if not {*_SAID} <= {each.name for each in command.options}:
        return command
    return replace(command, table=[*command.table, _GROUP])


def without_file(command: Command) -> Command:
    """Return a command that does not require FILE: a description has it."""
    lifted = replace(FILE, required=False)
    return replace(command, table=[lifted if each is FILE else each for each in command.table])


def fill_in(
    options: argparse.Namespace,
    writes: Callable[[Mapping[str, str]], Callable[[Argument], str]],
) -> None:
    """Set the options that the description says, if one is named; no data are read.

    Parameters
    ----------
    writes : returns what writes parameters as options, by their names.

    Raises
    ------
    UsageError
        If it is wrong, says what an option says too, or allows less than an option asks for.
    """
    if DATASET not in options.command.options or options.description is None:
        return
    try:
        _fill_in(options)
    except DphistError as error:
        write = writes(options.command.name_options(options))
        raise UsageError(error.format(write)) from None


def _fill_in(options: argparse.Namespace) -> None:
    path: str = options.description
    if not path.endswith(".toml"):
        other = "; the name of the data, for pages, is {dataset}"
        raise UsageError(phrase("{description} must name a TOML file, NAME.toml" + other))
    said = Description.read(path)
    known = {each.name: each for each in options.command.options}
    for name, key in _SAID.items():
        if known[name].is_present(options):
            raise UsageError(_name(name) + f" must be left out: {path} says {key}")
    options.file = [Path(each) for each in said.files]
    options.user, options.unit = said.facts["user"], said.facts.get("unit")
    options.ledger = said.ledger
    if "account" in said.facts:
        if known["account"].is_present(options):
            raise UsageError(Argument("account") + f" must be left out: {path} says it")
        options.account = [said.facts["account"]]
    for key in WORDS:
        name = "dataset" if key == "dataset_name" else key
        if not known[name].is_present(options):
            setattr(options, name, said.facts.get(key))
    for name in known.keys() & BOUNDS:
        setattr(options, name, _choose_bound(said, name, getattr(options, name)))
    _set_null_users(options, said)
    options.described = said.digest


def _choose_bound(said: Description, name: str, asked: int | str | None) -> int | str | None:
    """Return a bound; one that neither the file nor the caller has is left to the command."""
    if name not in said.facts and not isinstance(asked, int):
        return asked
    if isinstance(asked, str):  # a number that is found may be above that of the file
        most = said.choose_bound(name, None)
        raise ParameterError(name, f"must be a number of at most {most}, as {said.path} says")
    return said.choose_bound(name, asked)


def _set_null_users(options: argparse.Namespace, said: Description) -> None:
    chosen = said.choose_null_users(getattr(options, "null_users", None))
    if chosen == "refuse":  # as all commands do
        return
    if not hasattr(options, "null_users"):
        raise UsageError(
            f'{said.path} says null_users = "{chosen}": this command refuses such rows'
        )
    options.null_users = chosen


def _name(name: str) -> Message:
    return "FILE" if name == "file" else Argument(name)
