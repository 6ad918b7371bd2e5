"""Documents that dphist writes and reads: JSON with a format, its version and a checksum."""

import hashlib
import json
import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import numpy as np

from dphist.arrays import IntArray, NumberArray
from dphist.errors import ReleaseFileError
from dphist.foreign import read_json, read_text

VERSION = installed_version("dphist")


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of the content: it detects accidents, but does not prove authorship."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def with_checksum(content: dict[str, Any]) -> str:
    """Return the text of a document."""
    return json.dumps({**content, "checksum": checksum(content)}) + "\n"


def read_document(path: str | Path, kind: str) -> str:
    """Return the text of the file of a document.

    Raises
    ------
    ReleaseFileError
        If it is missing, cannot be read, or is not UTF-8.
    """
    problem = f"{path} cannot be read as a {kind}; name a file dphist wrote"
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError):  # ValueError of a path that no system has
        raise ReleaseFileError(problem) from None
    try:
        return read_text(content)
    except ValueError as error:
        raise ReleaseFileError(f"{problem}: {error}") from None


def check_format(text: str, name: str, kind: str, version: int) -> dict[str, Any]:
    """Return a document's content if it is of this format, and of no later version.

    Parameters
    ----------
    text : of the document.
    name : of the document, for errors.
    kind : of the document, such as "release"; its format is "dphist release".
    version : the latest that is known.

    Raises
    ------
    ReleaseFileError
        If it is not.
    """
    try:
        content = read_json(text)
    except (json.JSONDecodeError, TypeError, AttributeError):
        content = None
    except ValueError as error:
        raise ReleaseFileError(f"{name} cannot be read as a {kind}: {error}") from None
    if not isinstance(content, dict) or content.get("format") != f"dphist {kind}":
        raise ReleaseFileError(f"{name} is not a dphist {kind}, or it is cut short")
    found = content.get("format_version")
    if isinstance(found, int) and found > version:
        raise ReleaseFileError(
            f"{name} was written by a later version of dphist; install that version to read it"
        )
    return content


def check_document(
    text: str, name: str, kind: str, version: int, remedy: str, *, oldest: int | None = None
) -> dict[str, Any]:
    """Return the content of `with_checksum` if it is complete, unedited and of such a version.

    Parameters
    ----------
    text, name, kind, version : as for `check_format`.
    remedy : what to say after "was changed after it was written; ".
    oldest : version that is read (default: the latest alone).

    Raises
    ------
    ReleaseFileError
        If it is not.
    """
    content = check_format(text, name, kind, version)
    stated = content.pop("checksum", None)
    found, first = content.get("format_version"), version if oldest is None else oldest
    if type(found) is not int or not first <= found <= version or stated != checksum(content):
        raise ReleaseFileError(f"{name} was changed after it was written; {remedy}")
    return content


def unreadable(content: dict[str, Any], name: str, kind: str) -> ReleaseFileError:
    """Return the error for a whole and unedited document whose content is not understood.

    A later version may write what this one does not know, such as a mechanism, without raising
    the version of the format: whoever knows only the rest of the format reads the other files. The
    error then names that version.

    Parameters
    ----------
    content, name, kind : as for `check_format`.
    """
    if is_later(content):
        wanted = ".".join(map(str, _numbers(content.get("library_version"))))
        return ReleaseFileError(
            f"{name} was written by a later version of dphist, {wanted}, and holds what {VERSION} "
            f"does not know; install dphist {wanted} or later to read it"
        )
    return ReleaseFileError(f"{name} is not a valid {kind}; ask its maker for it again")


def is_later(content: dict[str, Any]) -> bool:
    """Whether a later version of dphist wrote a document."""
    return _numbers(content.get("library_version")) > _numbers(VERSION)


def _numbers(version: object) -> tuple[int, ...]:
    """Return major, minor and patch number; nothing if these are not what the text begins with."""
    found = re.match(
        r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", version if isinstance(version, str) else ""
    )
    return () if found is None else tuple(int(number or 0) for number in found.groups())


def read_numbers(content: object) -> NumberArray:
    """Return nested lists of JSON as an array, all whole numbers or all floats, as they are.

    NumPy would make 1 of true, of "1", and of 1.5 where it is asked for whole numbers.

    Raises
    ------
    ValueError, OverflowError
        If they are no such lists, or not in int64.
    """
    if not isinstance(content, list):
        raise ValueError("numbers are in lists")
    kinds = _types_in(content)
    if kinds <= {int}:
        return np.array(content, np.int64)
    if kinds <= {float}:
        return np.array(content, np.float64)
    raise ValueError("numbers are all whole or all not")


def read_whole_numbers(content: object) -> IntArray:
    """Return nested lists of whole numbers as int64: see `read_numbers`."""
    found = read_numbers(content)
    if found.dtype.kind != "i":
        raise ValueError("numbers are whole")
    return found.astype(np.int64, copy=False)


def _types_in(content: list[Any]) -> set[type]:
    found = set(map(type, content))
    if list not in found:
        return found
    return found - {list} | set().union(*map(_types_in, content))
