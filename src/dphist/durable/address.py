"""Telling addresses of databases from paths of files."""

import re
from pathlib import Path

from dphist.errors import ParameterError

_POSTGRES = ("postgresql://", "postgres://")


def is_address(place: str | Path) -> bool:
    """Whether a place is the address of a database, and not the path of a file.

    Raises
    ------
    ParameterError
        If it looks like an address of another form. It is not shown: it may hold a password.
    """
    text = str(place)
    if isinstance(place, str) and text.startswith(_POSTGRES):
        return True
    # A Path has one slash where the address had two.
    if re.match(r"\s*([A-Za-z][\w+.-]*://|postgres(ql)?:)", text, re.IGNORECASE) or (
        "password=" in text.lower() or re.match(r"[^/\s]+:[^/\s]*@", text)
    ):
        raise ParameterError(
            "the address of a ledger must begin with postgresql:// or be the path of a file"
        )
    return False
