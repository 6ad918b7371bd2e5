"""What is printed: lines that cannot control a terminal, and parameters as errors write them."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping

from dphist.errors import Argument
from dphist.visible import visible_lines


def say(text: object = "", *, end: str = "\n", flush: bool = False) -> None:
    """Print a text on standard output."""
    print(visible_lines(str(text)), end=end, flush=flush)


def complain(text: object, *, flush: bool = False) -> None:
    """Print a text on standard error."""
    print(visible_lines(str(text)), file=sys.stderr, flush=flush)


def as_options(options: Mapping[str, str]) -> Callable[[Argument], str]:
    """Return what writes parameters as options of a command, and others as Python does.

    Parameters
    ----------
    options : by names of parameters, such as ``--null-users`` by ``null_users``.

    >>> write = as_options({"null_users": "--null-users", "directed": "--directed"})
    >>> write(Argument("null_users", "drop")), write(Argument("null_users"))
    ('--null-users drop', '--null-users')
    >>> write(Argument("directed", True)), write(Argument("directed", False))
    ('--directed', 'no --directed')
    >>> write(Argument("method", "binary"))
    "method='binary'"
    """

    def write(argument: Argument) -> str:
        option = options.get(argument.name)
        if option is None:
            return str(argument)
        if argument.value is ... or argument.value is True:
            return option
        return (
            f"no {option}"
            if argument.value is False
            else f"{option} {_format_value(argument.value)}"
        )

    return write


def as_keys(options: Mapping[str, str]) -> Callable[[Argument], str]:
    """Return what writes parameters as keys of a section of a configuration.

    >>> write = as_keys({"null_users": "--null-users", "epsilon": "--epsilon"})
    >>> write(Argument("null_users", "drop")), write(Argument("epsilon"))
    ('null-users = "drop"', 'epsilon')
    """

    def write(argument: Argument) -> str:
        option = options.get(argument.name)
        if option is None:
            return str(argument)
        key = option.removeprefix("--") if option.startswith("--") else argument.name
        return key if argument.value is ... else f"{key} = {_toml(argument.value)}"

    return write


def _format_value(value: object) -> str:
    """Write a value as a shell takes it; a tab, which no terminal shows, by name."""
    return "tab" if value == "\t" else shlex.quote("none" if value is None else str(value))


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return json.dumps("none" if value is None else str(value), ensure_ascii=False)
