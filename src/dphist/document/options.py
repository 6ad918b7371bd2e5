"""Options: what a command takes, typed or in a configuration, as one table.

An option that sets a parameter of a mechanism is made from the metadata of its field: what the
parameter is, its type and choices, and which other parameter it needs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from dphist.parameters import MOST_DIGITS, read_number, read_whole_number

if TYPE_CHECKING:
    from dphist.mechanism import Meaning

_LARGEST = 10**300

HOLDS_LABELS = "a text file with one label per line, or a Parquet file of one column"
"""What a file with a public list holds."""


@dataclass(frozen=True, slots=True)
class Needs:
    """One of `others` must be given too; an error says why."""

    others: Sequence[str]
    why: str


@dataclass(frozen=True, slots=True)
class Excludes:
    """None of `others` may be given too, or not beside this `value`; an error says why."""

    others: Sequence[str]
    why: str
    value: object = ...


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a command.

    Attributes
    ----------
    name : of the parsed value; ``--name`` is what is typed.
    meaning : what it is, as help says it.
    value : how help writes the value; empty for a flag, and for one of `choices`.
    read : makes a value of a text; a ValueError says what is wrong with the text.
    typed : what is typed in place of ``--name``; of an argument without dashes, what help calls it.
    parameter : by which errors name it, if that is not `name`.
    positional : whether it is typed without dashes.
    repeats : whether it may be given several times; the value is then a list.
    many : whether several values may follow it, as words of their own.
    neutral : a value that is as good as none for what it needs and excludes.
    least, most : bounds of a number.
    dry_run : whether it is for a dry run alone; a text says what else there is.
    rules : what it needs, and does not go with.
    collect : an action of argparse that makes the value, where the order of options matters.
    lists : whether it names a file with a public list, which is the value of the parameter.
    """

    name: str
    meaning: str
    value: str = ""
    read: Callable[[str], Any] = str
    choices: Sequence[str] = ()
    default: Any = None
    required: bool = False
    positional: bool = False
    repeats: bool = False
    many: bool = False
    typed: str = ""
    parameter: str = ""
    neutral: object = None
    least: int | None = None
    most: int | None = None
    dry_run: bool | str = False
    rules: Sequence[Needs | Excludes] = ()
    collect: Any = None
    lists: bool = False

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value."""
        return not (self.value or self.choices or self.positional)

    @property
    def written(self) -> str:
        """What is typed, such as ``--max-labels``."""
        return self.typed or f"--{self.name.replace('_', '-')}"

    @property
    def key(self) -> str:
        """What a configuration calls it, such as ``max-labels``."""
        return self.name if self.positional else self.written.lstrip("-")

    def is_present(self, options: Any) -> bool:
        """Return whether it has a value."""
        value = getattr(options, self.name)
        return value is not None and value is not False and value != []

    def is_given(self, options: Any) -> bool:
        """Return whether it has a value, and not one that is as good as none."""
        value = getattr(options, self.name)
        return self.is_present(options) and value != self.default and value != self.neutral


@dataclass(frozen=True, slots=True)
class OneOf:
    """Options of which at most one may be given, or exactly one."""

    options: Sequence[Option]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Options under a title of their own."""

    title: str
    text: str
    options: "Table"


Table: TypeAlias = "Sequence[Option | OneOf | Group]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What a command is and takes.

    Attributes
    ----------
    run : does it, with the parsed options; a command with `actions` leaves that to them.
    actions : what follows the name of the command, each with its line of the help.
    old_names : of actions, by what earlier versions called them.
    action : what help calls one of these.
    defaults : values that no option sets.
    called : further parameters that errors name, by what is typed for them.
    """

    text: str
    epilog: str | None = None
    table: Table = ()
    run: Callable[[Any], None] | None = None
    actions: Mapping[str, "tuple[str, Command]"] = field(default_factory=dict)
    old_names: Mapping[str, str] = field(default_factory=dict)
    action: str = "ACTION"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)

    @property
    def options(self) -> list[Option]:
        """All options, in the order of the table."""
        return [*_options(self.table)]

    def name_options(self, given: Any) -> dict[str, str]:
        """Return what is typed for each value, also by the parameters that errors name.

        Of several options of one parameter, it is the one that was given, or else the first.
        """
        options = self.options[::-1]
        options.sort(key=lambda each: each.is_present(given))
        named = {each.parameter: each.written for each in options if each.parameter}
        return {each.name: each.written for each in options} | named | {**self.called}


def _options(table: Table) -> Iterator[Option]:
    for each in table:
        if isinstance(each, Option):
            yield each
        else:
            yield from _options(each.options)


def alternatives(table: Table) -> Iterator[OneOf]:
    """Yield the options of a table of which at most one may be given."""
    for each in table:
        if isinstance(each, OneOf):
            yield each
        elif isinstance(each, Group):
            yield from alternatives(each.options)


def make_options(
    mechanism: type, *, but: Sequence[str] = (), **changes: Mapping[str, Any]
) -> list[Option]:
    """Return the options that set the parameters of a mechanism, `but` some, in their order.

    Parameters
    ----------
    changes : by parameter, how the command changes its option: see `make_option`.
    """
    names = [name for name in _read_meanings(mechanism) if name not in but]
    return [make_option(mechanism, name, **changes.get(name, {})) for name in names]


NULL_USERS = Option(
    "null_users",
    "rows without a user: refuse them, drop them, or keep each as a separate user (default: "
    "refuse)",
    choices=("refuse", "drop", "separate"),
    rules=(Needs(["user"], "the column of users"),),
)


def make_option(mechanism: type, field_name: str, more: str = "", **changes: Any) -> Option:
    """Return the option that sets a parameter of a mechanism, as its metadata describe it.

    Parameters
    ----------
    more : what the command adds to the meaning.
    changes : attributes of the option that are otherwise for this command.

    >>> from dphist.labels import ThresholdHistogram
    >>> made = make_option(ThresholdHistogram, "sums_of")
    >>> made.written, made.meaning, made.read("3")
    ('--sums-of', 'labels in the sums that are to have a small error (default: 1)', 3)
    """
    known = _read_meanings(mechanism)[field_name]
    said = known["meaning"].removesuffix(".")
    default = changes.get("default", find_default(mechanism, field_name))
    stated = "" if default in (None, False) else f" (default: {default})"
    typed = {
        "name": field_name,
        "meaning": f"{said[0].lower()}{said[1:]}{more}{stated}",
        "parameter": field_name,
        "rules": tuple(Needs([other], why) for other, why in known.get("needs", ())),
    }
    return Option(**typed | _find_reader(mechanism, field_name) | changes)


def find_default(mechanism: type, parameter: str) -> Any:
    """Return the default of a parameter; None if it has none."""
    found = signature(mechanism).parameters[parameter].default
    return None if found is Parameter.empty else found


def _find_reader(mechanism: type, parameter: str) -> dict[str, Any]:
    """Return how a value of the parameter is written, from the type of its field."""
    kind = get_type_hints(mechanism)[parameter]
    if get_origin(kind) in (Union, UnionType):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    if kind is bool:
        return {}
    symbol = _read_meanings(mechanism)[parameter].get("symbol", "N")
    return {"value": symbol, "read": whole if kind is int else str}


def _read_meanings(mechanism: type) -> "dict[str, Meaning]":
    from dphist.mechanism import read_meanings  # imports numpy, which `dphist --help` does without

    return read_meanings(mechanism)


def read_given(options: Any, table: Sequence[Option], mechanism: type) -> dict[str, Any]:
    """Return the parameters of a mechanism that were given, by their names."""
    known = _read_meanings(mechanism)
    return {
        each.parameter: getattr(options, each.name)
        for each in table
        if each.parameter in known and each.is_present(options)
    }


def whole(text: str) -> int:
    """Read a whole number."""
    number = read_whole_number(text)
    if number is None:
        longest = f" of at most {MOST_DIGITS} digits" if len(text) > MOST_DIGITS else ""
        raise ValueError(f"must be a whole number{longest}")
    return number


def decimal(text: str) -> float:
    """Read a number."""
    number = read_number(text)
    if number is None or not abs(number) <= _LARGEST:
        raise ValueError("must be a number, such as 1 or 0.5")
    return float(number)


def split_parts(text: str) -> list[str]:
    """Return values with commas between them, each perhaps with spaces around it.

    >>> split_parts(" 0.1, 1 ,1/2")
    ['0.1', '1', '1/2']
    """
    return [part.strip(" ") for part in text.split(",")]
