"""Configuration files: TOML with a section for each release, which stands for a command line."""

import argparse
import datetime
import difflib
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dphist.commands.described import fill_in, write_keys
from dphist.commands.options import UsageError
from dphist.commands.parsing import Parser, add_table
from dphist.commands.printing import as_keys, as_options
from dphist.commands.registry import (
    CONFIGURATION,
    find_command,
    list_releasing,
    parse_command_line,
)
from dphist.document.options import Command, OneOf, Option, alternatives
from dphist.foreign import WrittenNumber, read_toml

DEFAULTS = "defaults"
"""The table whose keys hold for all sections, where their commands have such options."""

_LARGEST = 10**6  # bytes


@dataclass(frozen=True, slots=True)
class Section:
    """One release that a configuration asks for.

    Attributes
    ----------
    name : of the section.
    command : that makes the release.
    values, defaults : what the section itself and the table of defaults say, by option.
    """

    name: str
    command: str
    values: Mapping[str, Any]
    defaults: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration file.

    Attributes
    ----------
    path : of the file.
    digest : SHA-256 of its bytes, as ``sha256sum`` prints it, after "sha256:".
    sections : in the order of the file.
    """

    path: str
    digest: str
    sections: tuple[Section, ...]

    def section(self, name: str | None, command: str) -> Section:
        """Return a section by name, or the only one of a command."""
        if name is None:
            found = [each for each in self.sections if each.command == command]
            what = f"of the command {command}"
        else:
            found = [each for each in self.sections if each.name == name]
            what = f"named {name}"
        if len(found) > 1:
            raise UsageError(f"{self.path} has several sections {what}: name one with --section")
        if not found or found[0].command != command:
            there = ", ".join(f"[{each.name}] ({each.command})" for each in self.sections)
            raise UsageError(
                f"{self.path} has no section {what} for 'dphist {command}'; it has {there}"
            )
        return found[0]


def read_configuration(path: str) -> Configuration:
    """Read a configuration file.

    Raises
    ------
    UsageError
        If it is missing, no TOML, or a section names no command.
    """
    try:
        content = Path(path).read_bytes()
    except OSError:
        raise UsageError(f"{path} cannot be read; name a TOML file") from None
    if len(content) > _LARGEST:
        raise UsageError(f"{path} must be a TOML file of at most 1 MB")
    try:
        read = read_toml(content)
    except ValueError as error:
        raise UsageError(f"{path} must be a TOML file (UTF-8): {error}") from None
    defaults = read.pop(DEFAULTS, {})
    if not isinstance(defaults, dict):
        raise UsageError(f"{path}: {DEFAULTS} must be a table: write [{DEFAULTS}]")
    sections = tuple(_make_section(path, name, held, defaults) for name, held in read.items())
    if not sections:
        raise UsageError(
            f'{path} has no section; give each release one, such as [genes] with command = "labels"'
        )
    return Configuration(path, f"sha256:{hashlib.sha256(content).hexdigest()}", sections)


def _make_section(path: str, name: str, held: Any, defaults: Mapping[str, Any]) -> Section:
    if not name.isprintable():
        raise UsageError(f"{path}: [{name}] must have a name without control characters")
    if not isinstance(held, dict):
        raise UsageError(
            f"{path}: {name} stands outside of a section; put it under one, or under [{DEFAULTS}]"
        )
    values = dict(held)
    command = values.pop("command", None)
    if command not in list_releasing():
        one = f"must have a command, one of {', '.join(list_releasing())}"
        raise UsageError(f'{path}: [{name}] {one}: command = "labels"')
    return Section(name, str(command), values, defaults)


_FLAGS = [Option(name, "") for name in ("dry_run", "overwrite", "quiet", "json")]
_OF_THE_RUN = (*(each.key for each in _FLAGS), "config", "section", "help")


def read_command_line(given: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line, whether they are typed or in a configuration file.

    Raises
    ------
    UsageError
    """
    configured = read_configured(given)
    if configured is not None:
        return configured
    options = parse_command_line(given)
    fill_in(options, as_options)
    options.write = write_keys(options, as_options(options.command.name_options(options)))
    return options


def read_configured(given: Sequence[str]) -> argparse.Namespace | None:
    """Return the options that ``--config`` names; None without it.

    Raises
    ------
    UsageError
        If the file cannot be read, or options stand beside ``--config``.
    """
    named = any(word == "--config" or word.startswith("--config=") for word in given)
    if not named or given[0] not in list_releasing():
        return None
    name, *words = given
    parser = Parser(prog=f"dphist {name}", allow_abbrev=False, add_help=False)
    config, of_file = CONFIGURATION
    dry_run, overwrite, *one = _FLAGS
    add_table(parser, [replace(config, required=True), of_file, dry_run, overwrite, OneOf(one)])
    asked, others = parser.parse_known_args(words)
    if others:
        raise UsageError(
            f"{others[0]} does not go with --config, which holds the whole command; only "
            f"--section, {', '.join(each.written for each in _FLAGS)} do"
        )
    found = read_configuration(asked.config)
    check_defaults(found)
    return read_section(found, found.section(asked.section, name), asked)


def read_section(
    found: Configuration, section: Section, asked: argparse.Namespace
) -> argparse.Namespace:
    """Return the options of a section as if they had been typed.

    A key is the long name of an option, FILE is `file`. Public guesses for a dry run, such as
    `expect-users`, are left out of the run itself.

    Parameters
    ----------
    asked : of the run: whether it is a dry run, overwrites, is quiet or prints JSON.

    Raises
    ------
    UsageError
        If a key is none of the command's options, its value is none that the option takes, or one
        is missing.
    """
    command = find_command(section.command)
    known = _map_keys(command)
    options = argparse.Namespace(command=command, configuration=found.digest, config=found.path)
    for each in command.options:
        if each.name != "config":
            setattr(options, each.name, False if each.is_flag else each.default)
    for each in _FLAGS:
        setattr(options, each.name, getattr(asked, each.name))
    try:
        for name, (key, value) in _merge(section, known).items():
            if asked.dry_run or not known[name].dry_run:
                setattr(options, known[name].name, _read(key, value, known[name]))
        fill_in(options, as_keys)
        _check_complete(command, options)
    except UsageError as error:
        raise error.within(f"{found.path}: [{section.name}] ") from None
    options.write = write_keys(options, as_keys(command.name_options(options)))
    return options


def check_defaults(found: Configuration) -> None:
    """Refuse a default that no section's command has."""
    names = {name for each in found.sections for name in _map_keys(find_command(each.command))}
    for key in found.sections[0].defaults:
        if _plain(key) not in names:
            raise UsageError(
                f"{found.path}: [defaults] has the unknown key {key!r}; "
                f"{_remedy(_plain(key), names)}"
            )


def _map_keys(command: Command) -> dict[str, Option]:
    return {each.key: each for each in command.options if each.key not in _OF_THE_RUN}


def _merge(section: Section, known: Mapping[str, Option]) -> dict[str, tuple[str, Any]]:
    """Return the values of a section and its defaults, each with its key as it was written."""
    defaults = _group_by_name(section.defaults, " in [defaults]")
    own = _group_by_name(section.values)
    for name, (key, _) in own.items():
        if name in _OF_THE_RUN:
            raise UsageError(f"must not have {key}: give --{name} when you run it")
        if name not in known:
            raise UsageError(f"has the unknown key {key!r}; {_remedy(name, known)}")
    return {name: held for name, held in defaults.items() if name in known} | own


def _group_by_name(values: Mapping[str, Any], where: str = "") -> dict[str, tuple[str, Any]]:
    """Return keys with their values by the names of options."""
    named: dict[str, tuple[str, Any]] = {}
    for key, value in values.items():
        if _plain(key) in named:
            raise UsageError(f"has {_plain(key)} twice{where}: leave one of them out")
        named[_plain(key)] = key, value
    return named


def _read(key: str, value: Any, option: Option) -> Any:
    """Return the value of an option."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"must have {key} = true or false: it takes no value")
        return value
    if isinstance(value, bool):
        raise UsageError(f"must have a value for {key}, in quotes or as a number")
    several = isinstance(value, list) and not all(map(_is_number, value))
    if several and not option.repeats:
        raise UsageError(f"must have one value for {key}")
    texts = [_write(key, each) for each in (value if several else [value])]
    try:
        values = [option.read(text) for text in texts]
    except ValueError as error:
        raise UsageError(f"has a wrong {option.key}: it {error}") from None
    if option.choices and values[0] not in option.choices:
        one = f"must be one of {', '.join(option.choices)}"
        raise UsageError(f"has a wrong {option.key}: it {one}")
    return values if option.repeats else values[0]


def _is_number(value: Any) -> bool:
    """Whether a value is a number or a time, of which a list is one value."""
    moments = datetime.datetime | datetime.date | datetime.time
    return isinstance(value, int | WrittenNumber | moments) and not isinstance(value, bool)


def _write(key: str, value: Any) -> str:
    """Return a value as it would be typed; of a list of numbers, these with commas between."""
    if isinstance(value, list) and value and all(map(_is_number, value)):
        return ",".join(_write(key, each) for each in value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UsageError(f"must have a text, a number or a list of these for {key}")
    return str(value)


def _check_complete(command: Command, options: argparse.Namespace) -> None:
    """Refuse a section without a required option, or with two of which one may be given."""
    missing = [o.key for o in command.options if o.required and not o.is_present(options)]
    if missing:
        raise UsageError(f"must have {' and '.join(missing)}")
    for one_of in alternatives(command.table):
        held = [each for each in one_of.options if each.key not in _OF_THE_RUN]
        given = [each.key for each in held if each.is_present(options)]
        if len(given) > 1:
            raise UsageError(f"must not have both {' and '.join(given)}")
        if one_of.required and not given:
            raise UsageError(f"must have {' or '.join(each.key for each in held)}")


def _plain(key: str) -> str:
    return key.replace("_", "-")


def _remedy(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"it may have {', '.join(sorted(known))}"
