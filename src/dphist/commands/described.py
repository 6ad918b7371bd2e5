"""--dataset: a description of the data in place of FILE, the users, their bounds and the ledger."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from dphist.commands.options import UsageError
from dphist.description import BOUNDS, WORDS, Description
from dphist.document.options import Command, Excludes, Group, Option
from dphist.errors import Argument, DphistError, Message, ParameterError, phrase

DATASET = Option("dataset_file", "the description of the data", "TOML", typed="--dataset")
_SAID = {"file": "files", "user": "user", "unit": "unit", "place": "ledger", "ledger": "ledger"}
"""Options that only the description gives, by name, with its keys."""
_BOUNDS = {**{name: name for name in BOUNDS}, "sensitivity": "max_records"}
"""Options that are bounded by a key of the description, by name."""


def with_dataset(command: Command) -> Command:
    """Return a command that also takes a description."""
    known = {each.name: each for each in command.options}
    names = {"file": "FILE", "user": "--user", "unit": "--unit", "ledger": "--ledger"}
    names |= {"place": "LEDGER"}
    *said, last = [names[name] for name in names if name in known]
    text = f"A TOML file that says {', '.join(said)}{' and ' if said else ''}{last}: "
    text += f"{'they are' if said else 'it is'} then not given."
    if known.keys() & {*_BOUNDS}:
        text += " Its largest bounds hold where their options are left out, which may only be "
        text += "stricter."
    group = Group("data described once", f"{text} The guide is docs/guides/dataset.md.", [DATASET])
    return replace(command, table=[*command.table, group])


def without_said(command: Command) -> Command:
    """Return a command, and its actions, that require nothing that a description has."""
    actions = {name: (line, without_said(each)) for name, (line, each) in command.actions.items()}
    if DATASET not in command.options:
        return replace(command, actions=actions)
    lifted = [o.name for o in command.options if o.required and o.name in (*_SAID, "account")]
    table = [
        replace(each, required=False) if isinstance(each, Option) and each.name in lifted else each
        for each in command.table
    ]
    return replace(command, table=table, defaults={**command.defaults, "lifted": lifted})


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
    if DATASET not in options.command.options or options.dataset_file is None:
        return
    try:
        _fill_in(options)
    except DphistError as error:
        write = writes(options.command.name_options(options))
        raise UsageError(error.format(write)) from None


def _fill_in(options: argparse.Namespace) -> None:
    path: str = options.dataset_file
    if not path.endswith(".toml"):
        other = "; the name of the data, for pages, is {dataset_name}"
        named = "dataset_name" in {each.name for each in options.command.options}
        text = "{dataset_file} must name a TOML file, NAME.toml" + (other if named else "")
        raise UsageError(phrase(text))
    said = Description.read(path)
    known = {each.name: each for each in options.command.options}
    for name, key in _SAID.items():
        if name in known and known[name].is_present(options):
            raise UsageError(_name(name) + f" must be left out: {path} says {key}")
    values = {"file": [Path(each) for each in said.files], "ledger": said.ledger}
    values |= {"user": said.facts["user"], "unit": said.facts.get("unit")}
    for name in known.keys() & values.keys():
        setattr(options, name, values[name])
    _set_account(options, said, known.get("account"))
    for name in WORDS:
        if name in known and not known[name].is_present(options):
            setattr(options, name, said.facts.get(name))
    options.described, options.largest, options.filled = said.digest, {}, set()
    for name in known.keys() & _BOUNDS.keys():
        _set_bound(options, said, name)
    if "user" in known:  # rows of users are read
        _set_null_users(options, said)
    for name in getattr(options, "lifted", ()):
        if not known[name].is_present(options):
            raise ParameterError(name, f"must stand in {path}", f'add {name} = "..."')


def _set_account(options: argparse.Namespace, said: Description, account: Option | None) -> None:
    """Set the account, if the description has one."""
    if account is None or "account" not in said.facts:
        return
    if account.is_present(options):
        raise UsageError(Argument("account") + f" must be left out: {said.path} says it")
    name = said.facts["account"]
    options.account = [name] if account.repeats else name


def _set_bound(options: argparse.Namespace, said: Description, name: str) -> None:
    """Set a bound; one that neither the file nor the caller has is left to the command."""
    key, asked = _BOUNDS[name], getattr(options, name)
    if name == "sensitivity" and hasattr(options, "user"):  # users are bounded, and nothing else
        return
    if key in said.facts:
        options.largest[name] = said.facts[key]
    for each in asked if isinstance(asked, list) else [asked]:
        if isinstance(each, str) and key in said.facts:  # a number that is found may be above it
            most = f"must be a number of at most {said.facts[key]}, as {said.path} says"
            raise ParameterError(name, most)
        if isinstance(each, int):
            said.choose_bound(key, each, name)
    of_events = name == "max_labels" and hasattr(options, "max_events_per_user")
    if asked is None and said.find_bound(key) is not None and not of_events:
        bound = 1 if _is_one(options, name) else said.find_bound(key)
        setattr(options, name, bound)
        options.filled.add(name)


def _is_one(options: argparse.Namespace, name: str) -> bool:
    """Whether an option that is given takes no other bound than 1."""
    known = {each.name: each for each in options.command.options}
    if known[name].neutral != 1:
        return False
    rules = [rule for rule in known[name].rules if isinstance(rule, Excludes) and rule.value is ...]
    return any(known[other].is_present(options) for rule in rules for other in rule.others)


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
    return {"file": "FILE", "place": "LEDGER"}.get(name) or Argument(name)
