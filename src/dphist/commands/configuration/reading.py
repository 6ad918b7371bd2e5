"""Configuration files: TOML with a section for each release."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dphist.commands.options import UsageError
from dphist.commands.registry import releasing
from dphist.foreign import read_toml

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
    content = _bytes_of(path)
    try:
        read = read_toml(content)
    except ValueError as error:
        raise UsageError(f"{path} must be a TOML file (UTF-8): {error}") from None
    defaults = read.pop(DEFAULTS, {})
    if not isinstance(defaults, dict):
        raise UsageError(f"{path}: {DEFAULTS} must be a table: write [{DEFAULTS}]")
    sections = tuple(_section(path, name, held, defaults) for name, held in read.items())
    if not sections:
        raise UsageError(
            f'{path} has no section; give each release one, such as [genes] with command = "labels"'
        )
    return Configuration(path, f"sha256:{hashlib.sha256(content).hexdigest()}", sections)


def _section(path: str, name: str, held: Any, defaults: Mapping[str, Any]) -> Section:
    if not name.isprintable():
        raise UsageError(f"{path}: [{name}] must have a name without control characters")
    if not isinstance(held, dict):
        raise UsageError(
            f"{path}: {name} stands outside of a section; put it under one, or under [{DEFAULTS}]"
        )
    values = dict(held)
    command = values.pop("command", None)
    if command not in releasing():
        raise UsageError(
            f"{path}: [{name}] must have a command, one of {', '.join(releasing())}: command = "
            '"labels"'
        )
    return Section(name, str(command), values, defaults)


def _bytes_of(path: str) -> bytes:
    try:
        content = Path(path).read_bytes()
    except OSError:
        raise UsageError(f"{path} cannot be read; name a TOML file") from None
    if len(content) > _LARGEST:
        raise UsageError(f"{path} must be a TOML file of at most 1 MB")
    return content
