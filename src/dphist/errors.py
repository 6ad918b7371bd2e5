"""The one exception tree, and the words of errors.

Every error a user can see is a `DphistError`. A message names the parameter or column and what is
expected. It never shows a value from the data, because error messages are published without noise
(in logs, tickets, screenshots). Names of files and columns may be anything: what cannot be printed
is escaped, for a terminal would obey it.

Parameters stand in a message as values, and `str(error)` writes them as Python does. Whoever asked
in another language, such as options of the command line, gives `DphistError.format` a function that
writes an `Argument` in it.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, Self, TypeAlias, TypeVar

from dphist.visible import visible

E = TypeVar("E", bound=Exception)


class _Joinable:
    """Words that can be joined to others by ``+``."""

    __slots__ = ()

    def __add__(self, after: "Message") -> "Text":
        return Text((*_parts(self), *_parts(after)))

    def __radd__(self, before: str) -> "Text":
        return Text((before, *_parts(self)))


@dataclass(frozen=True, slots=True)
class Argument(_Joinable):
    """A parameter that a message names, alone or with a value to give it.

    Attributes
    ----------
    name : of the parameter in Python.
    value : what to give it; ``...`` names the parameter alone.

    >>> str("count them with " + Argument("null_users", "drop") + "; see " + Argument("null_users"))
    "count them with null_users='drop'; see null_users"
    """

    name: str
    value: object = ...

    def __str__(self) -> str:
        if self.value is ...:
            return self.name
        shown = repr(self.value) if isinstance(self.value, str) else str(self.value)
        return f"{self.name}={shown}"


@dataclass(frozen=True, slots=True)
class Text(_Joinable):
    """A message in which parameters are values; ``"text " + Argument(name)`` makes one."""

    parts: tuple[str | Argument, ...]

    def __str__(self) -> str:
        return format_message(self, str)


Message: TypeAlias = str | Argument | Text


def _parts(message: "Message | _Joinable") -> tuple[str | Argument, ...]:
    if isinstance(message, Text):
        return message.parts
    return (message if isinstance(message, Argument) else str(message),)


def format_message(message: Message, write: Callable[[Argument], str]) -> str:
    """Return a message as text, with each parameter as `write` writes it."""
    return "".join(write(part) if isinstance(part, Argument) else part for part in _parts(message))


def phrase(template: str, **values: object) -> Text:
    """Return a message whose words in braces are parameters, alone or with the value to give them.

    >>> str(phrase("{count} needs {user} or {null_users}", null_users="drop"))
    "count needs user or null_users='drop'"
    """
    parts: list[str | Argument] = []
    for words, name, _, _ in Formatter().parse(template):
        parts += [words] if name is None else [words, Argument(name, values.get(name, ...))]
    return Text(tuple(parts))


def join_arguments(names: Sequence[str]) -> Message:
    """Return names of parameters with commas between them, and "and" before the last.

    >>> str(join_arguments(["start", "stop", "width"]))
    'start, stop and width'
    """
    joined: Message = Argument(names[0])
    for place, name in enumerate(names[1:], 2):
        joined = joined + (" and " if place == len(names) else ", ") + Argument(name)
    return joined


class DphistError(Exception):
    """Base class of all errors of this library; its message may have several lines."""

    _before: Message = ""
    _after: Message = ""

    def __init__(self, *lines: Message) -> None:
        super().__init__(*lines)

    def __str__(self) -> str:
        return self.format(str)

    def format(self, write: Callable[[Argument], str]) -> str:
        """Return the message with each parameter as `write` writes it.

        >>> error = ParameterError("epsilon", "must be above 0")
        >>> str(error), error.format(lambda argument: f"--{argument.name}")
        ('epsilon must be above 0', '--epsilon must be above 0')
        """
        first, *others = self._lines() or ("",)
        parts = (*_parts(self._before), *_parts(first), *_parts(self._after))
        lines: Sequence[Message] = (Text(parts), *others)
        return "\n".join(visible(format_message(line, write)) for line in lines)

    def __reduce__(self) -> tuple[Any, ...]:
        """Have a copy, also in another process, carry all that this error does."""
        return _rebuild, (type(self), self.args, self.__dict__)

    def within(self, before: Message, after: Message = "") -> Self:
        """Return the same error with words before and after its first line."""
        error = copy.copy(self)
        error._before, error._after = before + self._before, self._after + after
        return error

    def _lines(self) -> Sequence[Message]:
        return self.args


def _rebuild(kind: type[E], arguments: tuple[Any, ...], held: dict[str, Any]) -> E:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(held)
    return error


class ParameterError(DphistError, ValueError):
    """A parameter of a mechanism, guarantee or command is invalid.

    Attributes
    ----------
    parameter : name of the parameter in Python, or a tuple of names.
    fault : what is wrong with it; the message is the parameter and the fault.
    remedy : what to do; empty where the fault says it.
    more : further lines of the message.
    """

    def __init__(
        self,
        parameter: str | tuple[str, ...],
        fault: Message,
        remedy: Message = "",
        more: tuple[Message, ...] = (),
    ) -> None:
        Exception.__init__(self, parameter, fault, remedy, more)
        self.parameter, self.fault, self.remedy, self.more = parameter, fault, remedy, more

    @property
    def line(self) -> Message:
        """Its first line."""
        names = self.parameter if isinstance(self.parameter, tuple) else (self.parameter,)
        said = join_arguments(names) + " " + self.fault
        return said + "; " + self.remedy if self.remedy else said

    def _lines(self) -> Sequence[Message]:
        return (self.line, *self.more)


class UnsupportedError(DphistError, ValueError):
    """An object lacks what it is asked for, or what it needs; no parameter is at fault."""


class DataError(DphistError, ValueError):
    """A record is invalid in itself: a negative count, a null where none is allowed."""


class ColumnError(DataError):
    """A column is missing or has an unsuitable type."""


class BoundsError(DphistError, ValueError):
    """The bounds of the data are larger than those a mechanism protects."""


class InputFileError(DphistError):
    """An input file is missing or unreadable, or its content does not match its extension."""


class OutputFileError(DphistError):
    """An output cannot be written; no file is left half-written."""


class ReleaseFileError(DphistError):
    """A saved release is damaged, edited or written by a later version."""


class StateError(DphistError):
    """The saved state of a stream is in use elsewhere, taken over, copied, damaged or edited."""


class LedgerError(DphistError):
    """A ledger is damaged, in use, of a later version, closed, or asked for what it has not."""


class BudgetError(LedgerError):
    """A release would cost more than an account, or a cap, has left; nothing was charged."""


class HorizonError(DphistError):
    """A stream has reached the number of events, or readings, that its guarantee covers."""


class SizeError(DphistError):
    """A private estimate asks for more noisy counts than memory is meant to hold."""
