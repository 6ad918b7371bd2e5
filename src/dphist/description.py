"""The description of a data set: a TOML file, read and checked; no data are read."""

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dphist.errors import InputFileError, ParameterError
from dphist.foreign import read_toml
from dphist.parameters import whole_number

BOUNDS = ("max_labels", "max_count", "max_records", "max_rows", "max_events_per_user")
"""Keys that are largest bounds."""
NULL_USERS = ("refuse", "drop", "separate")
WORDS = ("dataset_name", "record_name", "period", "owner")
"""Keys that are words of pages."""

_LARGEST = 10**6  # bytes
_TEXTS = ("user", "unit", "ledger", "account", "null_users", *WORDS)
_KEYS = ("files", *_TEXTS, *BOUNDS)
_DEFAULTS = {"max_count": 1}  # of bounds that the file leaves out


@dataclass(frozen=True, slots=True)
class Description:
    """What a file says of a data set; `dphist.Dataset` and ``--dataset`` use it.

    What is asked for may be stricter than the file, never weaker.

    Attributes
    ----------
    path : of the file.
    facts : its keys and values.
    """

    path: str
    facts: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> "Description":
        """Read and check a file.

        Raises
        ------
        InputFileError
            If the file cannot be read, or is no TOML.
        ParameterError
            If a key is unknown, missing, or has a wrong value.
        """
        facts = _read_facts(Path(path))
        try:
            _check_facts(facts)
        except ParameterError as error:
            raise error.within(f"{path}: ") from None
        return cls(str(path), MappingProxyType(facts))

    @property
    def digest(self) -> str:
        """SHA-256 of the facts, whatever their order and layout in the file; not of any data."""
        facts = json.dumps(dict(self.facts), sort_keys=True)
        return f"sha256:{hashlib.sha256(facts.encode()).hexdigest()}"

    @property
    def files(self) -> list[str]:
        """The paths of the data."""
        files = self.facts["files"]
        return [self._locate(each) for each in ([files] if isinstance(files, str) else files)]

    @property
    def ledger(self) -> str | None:
        """The place of the ledger, if there is one."""
        return self._locate(self.facts["ledger"]) if "ledger" in self.facts else None

    def find_bound(self, name: str) -> int | None:
        """Return the largest value of a bound, if the file says or implies one."""
        most: int | None = self.facts.get(name, _DEFAULTS.get(name))
        return most

    def choose_bound(self, name: str, asked: int | None, called: str = "") -> int:
        """Return the bound that was asked for, if the file allows it, or that of the file.

        Parameters
        ----------
        called : the parameter that errors name (default: `name`).
        """
        most = self.find_bound(name)
        if asked is None:
            if most is None:
                raise ParameterError(name, f"must be given, or stand in {self.path}")
            return most
        whole_number(asked, called or name, 1)
        if most is not None and asked > most:
            where = f"as {self.path} says" if name in self.facts else f"unless {self.path} has it"
            raise ParameterError(called or name, f"must be at most {most}, {where}, and is {asked}")
        return asked

    def choose_null_users(self, asked: str | None) -> str:
        """Return the treatment of rows without a user that was asked for, or that of the file."""
        stated: str = self.facts.get("null_users", "refuse")
        chosen = stated if asked is None else asked
        if chosen != stated and (stated, chosen) != ("separate", "drop"):
            allowed = '"separate" or "drop"' if stated == "separate" else f'"{stated}"'
            raise ParameterError("null_users", f"must be {allowed}, as {self.path} says")
        return chosen

    def _locate(self, place: str) -> str:
        """Return a path from the folder of the description; an address as it is."""
        return place if "://" in place else str(Path(self.path).parent / place)


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError:
        raise InputFileError(f"{path} cannot be read; name a TOML file") from None
    if len(content) > _LARGEST:
        raise InputFileError(f"{path} must be a TOML file of at most 1 MB")
    try:
        return read_toml(content)
    except ValueError as error:
        raise InputFileError(f"{path} must be a TOML file (UTF-8): {error}") from None


def _check_facts(facts: Mapping[str, Any]) -> None:
    for name in facts:
        if name not in _KEYS:
            close = difflib.get_close_matches(name, _KEYS, n=1)
            one = f"did you mean {close[0]}?" if close else f"it may have {', '.join(_KEYS)}"
            raise ParameterError(name, f"is not a key of a data set; {one}")
    for name in ("files", "user"):
        if name not in facts:
            raise ParameterError(name, f'is missing: add {name} = "..."')
    files = facts["files"]
    several = isinstance(files, list) and bool(files)
    if not all(_is_text(each) for each in (files if several else [files])):
        raise ParameterError("files", "must be a path, or a list of paths")
    if "account" in facts and "ledger" not in facts:
        raise ParameterError("account", 'needs a ledger: add ledger = "..."')
    for name in _TEXTS:
        if name in facts and not _is_text(facts[name]):
            raise ParameterError(name, "must be text in quotes")
    for name in BOUNDS:
        if name in facts:
            whole_number(facts[name], name, 1)
    if facts.get("null_users", "refuse") not in NULL_USERS:
        raise ParameterError("null_users", 'must be "refuse", "drop" or "separate"')


def _is_text(value: object) -> bool:
    """Whether a value is text; a number with a point is read as another kind of text."""
    return type(value) is str and value != ""
