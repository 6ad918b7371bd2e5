"""Telling addresses of databases from paths of files: without the ledger, for commands."""

import re
from pathlib import Path

from dphist.errors import ParameterError

_POSTGRES = ("postgresql://", "postgres://")
# A Path has one slash where the address had two. "c:/" and "c:\\" begin a path.
_LOOKS_LIKE_ADDRESS = re.compile(
    r"\s*[a-z][\w+.:-]*://|\s*postgres(ql)?:|.*pass(word|wd)?\s*=|(?![a-z]:[/\\])[^/\\\s]+:.*@",
    re.IGNORECASE | re.DOTALL,
)


def is_address(place: str | Path) -> bool:
    """Whether a place is the address of a database, and not the path of a file.

    Raises
    ------
    ParameterError
        If it looks like an address of another form. It is not shown: it may hold a password.
    """
    text = str(place)
    if isinstance(place, str) and text.startswith(_POSTGRES):
        _check_separators(text)
        return True
    if _LOOKS_LIKE_ADDRESS.match(text):
        raise ParameterError(
            "place", "must be the path of a ledger, or an address that begins with postgresql://"
        )
    return False


def _check_separators(address: str) -> None:
    """Refuse an @, / or ? that may belong to a password.

    PostgreSQL takes what follows the first of them for a host or a database, whose names messages
    show.
    """
    _, _, rest = address.partition("://")
    if rest.count("@") > 1 or "@" in rest[len(re.split("[/?]", rest)[0]) :]:
        raise ParameterError(
            "place",
            "must have @, / and ? in the user, the password or a setting of a postgresql:// "
            "address "
            "written as %40, %2F and %3F",
        )
