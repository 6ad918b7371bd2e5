"""The description of a data set: a TOML file, read and checked; no data are read."""

import difflib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dphist.errors import DphistError, InputFileError, ParameterError
from dphist.foreign import read_toml
from dphist.parameters import whole_number

if TYPE_CHECKING:
    from dphist.data.axis.axis import Axis
    from dphist.tables.keys import Key, Value

BOUNDS = ("max_labels", "max_count", "max_records", "max_rows", "max_events_per_user")
"""Keys that are largest bounds."""
NULL_USERS = ("refuse", "drop", "separate")
WORDS = ("dataset_name", "record_name", "period", "owner")
"""Keys that are words of pages."""
READING = ("encoding", "decimal", "date_format", "sheet", "table_name", "query")
"""Keys that say how files are read, beside `delimiter` and `wide`; `dphist.Files` has them."""
EACH_ROW = "each_row_is_one_person"
"""The key that stands in place of a column of users."""

_LARGEST = 10**6  # bytes
_TEXTS = (
    *("user", "unit", "ledger", "account", "null_users"),
    *("delimiter", *READING, "tz", *WORDS),
)
_KEYS = ("files", *_TEXTS, EACH_ROW, "wide", *BOUNDS, "keys")
_OF_USERS = ("unit", "null_users", "wide", "max_labels", "max_events_per_user")
_DEFAULTS = {"max_count": 1}  # of bounds that the file leaves out


@dataclass(frozen=True, slots=True)
class Description:
    """What a file says of a data set; `dphist.Dataset` and ``--dataset`` use it.

    What is asked for may be stricter than the file, never weaker.

    Attributes
    ----------
    path : of the file.
    facts : its keys and values.
    keys : the public values, or bins, of columns, by their names.
    """

    path: str
    facts: Mapping[str, Any] = field(repr=False)
    keys: Mapping[str, "Key"] = field(repr=False, default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> "Description":
        """Read and check a file, and the files with public values that it names.

        Raises
        ------
        InputFileError
            If a file cannot be read, or is no TOML.
        ParameterError
            If a key is unknown, missing, or has a wrong value.
        """
        facts = _read_facts(Path(path))
        try:
            _check_facts(facts)
            _check_reading(facts)
            described = cls(str(path), MappingProxyType(facts))
            _check_lists(described)
            keys = _read_keys(facts, Path(path).parent)
        except (ParameterError, InputFileError) as error:
            raise error.within(f"{path}: ") from None
        return replace(described, keys=MappingProxyType(keys))

    @property
    def digest(self) -> str:
        """SHA-256 of the facts, whatever their order and layout in the file; not of any data.

        Of public values that stand in a file of their own, it covers these.
        """
        said = dict(self.facts)
        if self.keys:
            said["keys"] = {name: key.to_content() for name, key in self.keys.items()}
        facts = json.dumps(said, sort_keys=True)
        return f"sha256:{hashlib.sha256(facts.encode()).hexdigest()}"

    @property
    def files(self) -> list[str]:
        """The paths of the data."""
        files = self.facts["files"]
        return [self._locate(each) for each in ([files] if isinstance(files, str) else files)]

    @property
    def lists(self) -> list[str]:
        """The paths of the files with public values."""
        keys = self.facts.get("keys", {})
        given = keys.values() if isinstance(keys, Mapping) else ()  # others are refused
        texts = [each for each in given if isinstance(each, str)]
        return [self._locate(each[1:]) for each in texts if each.startswith("@")]

    @property
    def is_text(self) -> bool:
        """Whether all files are text files by their names, so that all labels are text."""
        from dphist.counting.reading.file_format import Container, find_format
        from dphist.counting.reading.paths import find_files

        try:
            found = [find_format(Path(each).name, each) for each in find_files(self.files)]
        except DphistError:  # is named when the data are read
            return False
        return all(each.container is Container.TEXT for each in found)

    @property
    def reading(self) -> dict[str, Any]:
        """How the files are read, as `dphist.Files` takes it; `wide` and `delimiter` apart."""
        return {name: self.facts[name] for name in READING if name in self.facts}

    @property
    def has_no_users(self) -> bool:
        """Whether each row is one person, and no column has users."""
        return EACH_ROW in self.facts

    @property
    def ledger(self) -> str | None:
        """The place of the ledger, if there is one."""
        return self._locate(self.facts["ledger"]) if "ledger" in self.facts else None

    def find_bound(self, name: str) -> int | None:
        """Return the largest value of a bound, if the file says or implies one."""
        most: int | None = self.facts.get(name, 1 if self.has_no_users else _DEFAULTS.get(name))
        return most

    def choose_key(self, name: str, asked: "Key | None", called: str = "keys") -> "Key":
        """Return the values of a column that were asked for, if the file has no others.

        A list of the file may have "other" beside it, and is changed in no other way. A part of
        it, or another order, would be no stricter: it could be chosen by a look at the data.

        Parameters
        ----------
        asked : a key as the caller wrote it; None for that of the file.
        called : the parameter that errors name.
        """
        from dphist.tables.keys import Keys  # imports numpy, which `dphist --help` does without

        held = self.keys.get(name)
        if asked is None:
            if held is None:
                raise ParameterError(called, f"must list values of {name!r}: {self.path} does not")
            return held
        if held is None:
            return asked
        plain = Keys((replace(asked, other=False),))
        if not plain.same_cells(Keys((held,))):
            fault = f"must be what {self.path} lists of {name!r}: no more, no less, in that order"
            raise ParameterError(called, fault, f"give {name} alone")
        return asked

    def list_labels(self, name: str, *, as_text: bool) -> "tuple[Value, ...] | None":
        """Return the values of a column as labels; None if it has none, empty if it has bins.

        Parameters
        ----------
        as_text : whether the labels are read as text, so that whole numbers are their digits.
        """
        key = self.keys.get(name)
        if key is None:
            return None
        numbers = as_text and all(type(each) is int for each in key.values)
        return tuple(map(str, key.values)) if numbers else key.values

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
            if self.has_no_users and name in _OF_USERS:
                where = f"as each row of {self.path} is one person"
            raise ParameterError(called or name, f"must be at most {most}, {where}, and is {asked}")
        return asked

    def choose_axis(self, name: str, asked: "Axis | None") -> "Axis":
        """Return the bins of a column: as `choose_key` does, of a key that has bins."""
        from dphist.tables.keys import Key

        held = self.keys.get(name)
        if held is None and asked is None:
            raise ParameterError("bins", f"must be given for {name!r}: {self.path} has none")
        if held is not None and held.axis is None:
            fault = f"must be left out: {self.path} lists values of {name!r}, and no bins"
            raise ParameterError("bins", fault, "count it by these values")
        edges = None if asked is None else Key(name, axis=replace(asked, name=name))
        axis = self.choose_key(name, edges, "bins").axis
        assert axis is not None  # noqa: S101
        return axis

    def check_leaves(self, name: str, leaves: Sequence[str]) -> None:
        """Refuse leaves of regions that are not the values that the file lists of a column."""
        held = self.keys.get(name)
        if held is not None and [*leaves] != [*map(str, held.labels)]:
            fault = f"must have the leaves that {self.path} lists of {name!r}, in that order"
            raise ParameterError("regions", fault)

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
    if "files" not in facts:
        raise ParameterError("files", 'is missing: add files = "..."')
    if facts.get(EACH_ROW, True) is not True:
        raise ParameterError(EACH_ROW, "must be true, or be left out")
    if "user" not in facts and EACH_ROW not in facts:
        alone = f"; or, if nobody has two rows, {EACH_ROW} = true"
        raise ParameterError("user", f'is missing: add user = "..."{alone}')
    for name in ("user", *_OF_USERS) if EACH_ROW in facts else ():
        if name in facts:
            raise ParameterError(name, f"must be left out with {EACH_ROW}: no column has users")
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


def _check_reading(facts: Mapping[str, Any]) -> None:
    """Check how files are read, and the time zone; no file is opened."""
    from dphist.counting.reading.given_files import Files  # import much, as in `choose_key`
    from dphist.data.axis.zones import zone_named

    names = {name: facts[name] for name in (*READING, "wide") if name in facts}
    Files(facts["files"], **names)
    if len(facts.get("delimiter", ",")) != 1:
        raise ParameterError("delimiter", 'must be one character, such as ";" or "\\t"')
    if "tz" in facts:
        zone_named(facts["tz"])


def _check_lists(said: Description) -> None:
    """Refuse a public list that is a file of the data, by their places: no data are read."""
    from dphist.counting.reading.paths import find_files  # imports much, as in `choose_key`

    for listed in said.lists:
        for name in said.files:
            try:
                files = find_files(name)
            except InputFileError:  # is named when the data are read
                files = [name]
            if any(_is_same_file(listed, each) for each in files):
                fault = f"must be listed by a public file: {listed} is of the data"
                raise ParameterError("keys", fault, "write a list that is made without them")


def _is_same_file(one: str, other: str) -> bool:
    """Whether two paths lead to one file, also by links."""
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


def _read_keys(facts: Mapping[str, Any], folder: Path) -> "dict[str, Key]":
    from dphist.tables.written_keys import read_described_key

    given = facts.get("keys", {})
    if not isinstance(given, Mapping):
        raise ParameterError("keys", "must be a table: write [keys], and a column a line")
    zone = facts.get("tz")
    return {name: read_described_key(name, value, folder, zone) for name, value in given.items()}
