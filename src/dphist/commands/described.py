"""--dataset: a description of the data in place of FILE, the users, their bounds and the ledger."""

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from dphist.commands.described_keys import set_keys
from dphist.commands.options import UsageError
from dphist.description import BOUNDS, EACH_ROW, READING, WORDS, Description
from dphist.document.options import Command, Excludes, Group, Needs, Option
from dphist.errors import Argument, DphistError, Message, ParameterError, phrase

DATASET = Option("dataset_file", "the description of the data", "TOML", typed="--dataset")
_SAID = {"file": "files", "user": "user", "unit": "unit", "place": "ledger", "ledger": "ledger"}
"""Options that only the description gives, by name, with its keys."""
_OF_THE_FILE = (*_SAID.values(), "delimiter", *READING, "wide", "account", "null_users", EACH_ROW)
"""Keys that no option stands for beside a description, unless it says so."""
_BOUNDS = {**{name: name for name in BOUNDS}, "sensitivity": "max_records"}
"""Options that are bounded by a key of the description, by name."""
_OF_AMOUNTS = ("max_count", "max_records", "max_rows")
"""Those that bound a row without users, if it stands for several records."""


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
    has_column = any(each.name == "column" for each in command.options)
    said = (*_SAID, "account", *(["bins"] if has_column else []))
    lifted = [each.name for each in command.options if each.required and each.name in said]
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


def write_keys(
    options: argparse.Namespace, write: Callable[[Argument], str]
) -> Callable[[Argument], str]:
    """Return what writes as keys of the description what is no option beside it; `write` others."""
    path = getattr(options, "dataset_file", None)
    if not path:
        return write
    allowed = getattr(options, "may_be_given", ())

    def write_described(argument: Argument) -> str:
        key = _SAID.get(argument.name, argument.name)
        if key not in _OF_THE_FILE or key in allowed:
            return write(argument)
        if argument.value is ...:
            return f"{key} in {path}"
        value = json.dumps(argument.value, ensure_ascii=False, default=str)
        return f"{key} = {value} in {path}"

    return write_described


def _fill_in(options: argparse.Namespace) -> None:
    path: str = options.dataset_file
    if not path.endswith(".toml"):
        other = "; the name of the data, for pages, is {dataset_name}"
        named = "dataset_name" in {each.name for each in options.command.options}
        text = "{dataset_file} must name a TOML file, NAME.toml" + (other if named else "")
        raise UsageError(phrase(text))
    try:
        said = Description.read(path)
    except DphistError as error:  # it is about keys of the file, not about options
        raise UsageError(str(error)) from None
    known = {each.name: each for each in options.command.options}
    for name, key in _SAID.items():
        if name in known and known[name].is_present(options):
            key = EACH_ROW if said.has_no_users and key in ("user", "unit") else key
            raise UsageError(_name(name) + f" must be left out: {path} says {key}")
    values = {"file": [Path(each) for each in said.files], "ledger": said.ledger}
    values |= {"user": said.facts.get("user"), "unit": said.facts.get("unit")}
    for name in known.keys() & values.keys():
        setattr(options, name, values[name])
    if "file" in known:
        _set_reading(options, said, known)
    if said.has_no_users:
        _set_rows(options, said, known)
    _set_account(options, said, known.get("account"))
    for name in WORDS:
        if name in known and not known[name].is_present(options):
            setattr(options, name, said.facts.get(name))
    options.may_be_given = _list_free(said)
    options.described, options.largest, options.filled = said.digest, {}, set()
    options.described_lists = said.lists
    for name in known.keys() & _BOUNDS.keys():
        _set_bound(options, said, name)
    set_keys(options, said, known)
    if "user" in known and not said.has_no_users:  # rows of users are read
        _set_null_users(options, said)
    for name in getattr(options, "lifted", ()):
        if not known[name].is_present(options):
            raise ParameterError(name, f"must stand in {path}", f'add {name} = "..."')


def _set_reading(
    options: argparse.Namespace, said: Description, known: Mapping[str, Option]
) -> None:
    """Set how files are read, which is the file's to say: a query could make other users."""
    for name in ("delimiter", *READING):
        if name in known and known[name].is_present(options):
            text = f" must be left out: how files are read stands in {said.path}"
            raise UsageError(Argument(name) + text)
        setattr(options, name, said.facts.get(name))
    if "wide" not in said.facts:
        return
    if "wide" not in known:
        raise UsageError(f"{said.path} says wide: this command does not take such files")
    if known["wide"].is_present(options):
        raise UsageError(Argument("wide") + f" must be left out: {said.path} says it")
    options.wide = said.facts["wide"]


def _list_free(said: Description) -> list[str]:
    """Return the keys of a description that an option may stand for: the file leaves them open."""
    free = [name for name in ("wide", "account") if name not in said.facts]
    free += [] if said.has_no_users else [EACH_ROW]
    return [*free, *(["null_users"] if said.facts.get("null_users") == "separate" else [])]


def _set_rows(options: argparse.Namespace, said: Description, known: Mapping[str, Option]) -> None:
    """Have each row protected, and refuse what protects less than a row."""
    if "unit" in getattr(options, "lifted", ()):  # of an account
        options.unit = "one record"
    if "user" not in known:
        return
    if EACH_ROW not in known:
        raise UsageError(f"{said.path} says {EACH_ROW}: this command needs a column of users")
    setattr(options, EACH_ROW, True)
    if "label" in known and options.label is None:
        raise UsageError(
            phrase("{label} is needed, the column of labels: ") + f"{said.path} says {EACH_ROW}"
        )
    bounds = [known[name] for name in known.keys() & _BOUNDS.keys()]
    needs = [rule for each in bounds for rule in each.rules if isinstance(rule, Needs)]
    if _has_amounts(options) and not any("count" in rule.others for rule in needs):
        text = f" must be left out: {said.path} says {EACH_ROW}, and here it is one record of a row"
        raise UsageError(Argument("count") + text + " that would be protected")


def _has_amounts(options: argparse.Namespace) -> bool:
    """Whether a row stands for several records, or for its weight."""
    return any(getattr(options, name, None) is not None for name in ("count", "weight"))


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
    reads = hasattr(options, "user")
    if name == "sensitivity" and reads:  # users are bounded, and nothing else
        return
    if said.has_no_users and name in _OF_AMOUNTS and reads and not _has_amounts(options):
        return  # each row is one record
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
