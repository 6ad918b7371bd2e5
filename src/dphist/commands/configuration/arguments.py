"""A section of a configuration as the arguments of its command."""

import argparse
import datetime
import difflib
from collections.abc import Sequence
from typing import Any

from dphist.commands.configuration.reading import Section
from dphist.commands.options import UsageError
from dphist.commands.registry import parser_of

_FILE = "file"
_OF_THE_RUN = ("dry-run", "overwrite", "quiet", "json", "config", "section", "help")
_FOR_DRY_RUNS = "expect-"


def arguments_of(path: str, section: Section, *, dry_run: bool) -> list[str]:
    """Return the arguments that a section stands for.

    Any long option of the command may be given by its name, FILE as `file`. Public guesses for a
    dry run, such as `expect-users`, are left out of the run itself.

    Raises
    ------
    UsageError
        If a key is none of the command's options, or its value is none that an option takes.
    """
    where = f"{path}: [{section.name}]"
    known = _options_of(section.command)
    given: dict[str, tuple[str, Any]] = {}
    for key, value in section.defaults.items():
        if _plain(key) in known:
            given[_plain(key)] = key, value
    for key, value in section.values.items():
        name = _plain(key)
        if name in _OF_THE_RUN:
            raise UsageError(f"{where} must not have {key}: give --{name} when you run it")
        if name not in known:
            raise UsageError(f"{where} has the unknown key {key!r}; {_remedy(name, known)}")
        if name in given and name in map(_plain, section.values) and given[name][0] != key:
            twice = [each for each in section.values if _plain(each) == name]
            if len(twice) > 1:
                raise UsageError(f"{where} has {name} twice: leave one of them out")
        given[name] = key, value
    arguments: list[str] = []
    files: list[str] = []
    for name, (key, value) in given.items():
        if name.startswith(_FOR_DRY_RUNS) and not dry_run:
            continue
        if name == _FILE:
            files = ["--", _text(where, key, value)]
        else:
            arguments += _typed(where, key, value, known[name])
    return [section.command, *arguments, *files]


def check_defaults(path: str, sections: Sequence[Section]) -> None:
    """Refuse a default that no section's command has."""
    for key in sections[0].defaults if sections else ():
        names = {name for each in sections for name in _options_of(each.command)}
        if _plain(key) not in names or _plain(key) in _OF_THE_RUN:
            raise UsageError(
                f"{path}: [defaults] has the unknown key {key!r}; {_remedy(_plain(key), names)}"
            )


def _options_of(command: str) -> dict[str, argparse.Action]:
    """Return the options of a command by their long name, and FILE."""
    parser = parser_of([command])
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    found: dict[str, argparse.Action] = {}
    for action in commands.choices[command]._actions:
        for option in action.option_strings or ([_FILE] if action.dest == _FILE else []):
            name = option.lstrip("-")
            if option.startswith("--") or len(action.option_strings) < 2:
                found[name] = action
    return found


def _typed(where: str, key: str, value: Any, action: argparse.Action) -> list[str]:
    """Return an option as it would be typed."""
    option = action.option_strings[-1]
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{where} must have {key} = true or false: it takes no value")
        return [option] if value else []
    if isinstance(value, bool):
        raise UsageError(f"{where} must have a value for {key}, in quotes or as a number")
    several = isinstance(action, argparse._AppendAction)
    if isinstance(value, list) and several and any(isinstance(v, str | list) for v in value):
        texts = [_text(where, key, each) for each in value]
    else:
        texts = [_text(where, key, value)]
    if len(option) == 2:
        return [part for text in texts for part in (option, text)]
    return [f"{option}={text}" for text in texts]


def _text(where: str, key: str, value: Any) -> str:
    """Return a value as it would be typed; of a list of numbers, these with commas between."""
    if isinstance(value, list) and value and not any(isinstance(v, list | dict) for v in value):
        return ",".join(_text(where, key, each) for each in value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UsageError(f"{where} must have a text, a number or a list of these for {key}")
    return str(value)


def _plain(key: str) -> str:
    return key.replace("_", "-")


def _remedy(name: str, known: Any) -> str:
    names = sorted(each for each in known if each not in _OF_THE_RUN)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"it may have {', '.join(names)}"
