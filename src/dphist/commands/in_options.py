"""Errors of the library, which name parameters, in the words of the command line.

The library says `null_users="drop"` and `epsilon must be above 0`; a user of the command line typed
`--null-users` and `--epsilon`. What is in quotes otherwise, the names of columns and files, stays.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_BEFORE = r"(?:raise|lower|give|shorten|lengthen|leave out)"


def in_options(message: str, options: Mapping[str, str], typed: Collection[str] = ()) -> str:
    """Return a message with the parameters that are options of a command written as these.

    Parameters
    ----------
    options : options by the names of parameters, such as ``--null-users`` by ``null_users``.
    typed : what was typed as values, names of files and columns perhaps: these stay as they are,
        and so does whatever else has a slash in it.

    >>> known = options_of(["null_users", "epsilon", "delta", "delimiter", "column"])
    >>> in_options('count them with null_users="drop"; see null_users', known)
    'count them with --null-users drop; see --null-users'
    >>> in_options("epsilon and delta are too small; raise epsilon", known)
    '--epsilon and --delta are too small; raise --epsilon'
    >>> in_options("column 'delta=1' must be of one epsilon: give delimiter=';'", known)
    "column 'delta=1' must be of one epsilon: give --delimiter ';'"
    """
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    if not names:
        return message
    name = rf"(?<![\w.-])(?:{names})(?![\w=(-])(?! ['\"])"
    kept = [re.escape(value) for value in sorted(typed, key=len, reverse=True) if value]
    untouched = "|".join([*(rf"(?<!\w){value}(?!\w)" for value in kept), r"\S*/\S*"])
    pattern = re.compile(
        rf"(?P<typed>{untouched})"
        rf"|(?<![\w.-])(?P<key>{names})=(?P<value>{_QUOTED}|[\w./-]*[\w/-])"
        rf"|(?P<quoted>{_QUOTED})"
        rf"|(?P<first>^{name}(?:(?:,| and|, and| or|, or) {name})*)"
        rf"|(?P<verb>\b{_BEFORE} )(?P<after>{name})"
        rf"|(?P<long>{name})",
    )
    return pattern.sub(lambda found: _as_option(found, name, options), message)


def options_of(parameters: Iterable[str]) -> dict[str, str]:
    """Return the options that are called as the parameters."""
    return {name: f"--{name.replace('_', '-')}" for name in parameters}


def _as_option(found: "re.Match[str]", name: str, options: Mapping[str, str]) -> str:
    parts = found.groupdict()
    if parts["key"]:
        value = parts["value"]
        bare = value[1:-1] if value[0] in "'\"" else value
        return f"{options[parts['key']]} {_typed(bare)}"
    if parts["typed"] or parts["quoted"]:
        return found[0]
    if parts["first"]:
        return re.sub(name, lambda each: options[each[0]], parts["first"])
    if parts["after"]:
        return f"{parts['verb']}{options[parts['after']]}"
    # A word without an underscore may be English.
    return options[parts["long"]] if "_" in parts["long"] else parts["long"]


def _typed(value: str) -> str:
    """Write a value as a shell takes it; a tab, which Python shows as two characters, by name."""
    return "tab" if value in ("\\t", "\t") else shlex.quote(value)
