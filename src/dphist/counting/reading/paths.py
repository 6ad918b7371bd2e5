"""Which files are read as one table: one, several, all of a folder, or those that match a pattern.

Names alone decide, never the content of a file. A file of this very name is that file, whatever
characters its name has; otherwise a folder stands for the files in it, and a name with ``*``, ``?``
or ``[`` for the files that match.
"""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from dphist.counting.reading.file_format import ENDINGS
from dphist.errors import InputFileError

FilePath: TypeAlias = "str | os.PathLike[str]"
FileNames: TypeAlias = "FilePath | Sequence[FilePath]"

IGNORED = (".", "_")  # how names begin that engines write beside their files, such as _SUCCESS


def are_files(frame: object) -> TypeGuard[FileNames]:
    """Whether this names files.

    A list of other text may be the data themselves, which no error must show.
    """
    if isinstance(frame, list | tuple):
        return len(frame) > 0 and all(map(_is_name, frame))
    return isinstance(frame, str | os.PathLike)


def _is_name(each: object) -> bool:
    if not isinstance(each, str):
        return isinstance(each, os.PathLike)
    return each.lower().endswith(ENDINGS) or ("\0" not in each and os.path.lexists(each))


def name_files(given: FileNames) -> str:
    """Return what an error calls the files together.

    >>> name_files("a.csv"), name_files(["a.csv"]), name_files(["a.csv", "b.csv", "c.csv"])
    ("'a.csv'", "'a.csv'", "'a.csv' and 2 more files")
    """
    names = [given] if isinstance(given, str | os.PathLike) else list(given)
    more = f" and {len(names) - 1} more file{'s'[: len(names) > 2]}" if len(names) > 1 else ""
    return f"'{os.fspath(names[0])}'{more}"


def find_files(given: FileNames) -> list[str]:
    """Return the files that are named, each once, in the order of the names.

    Raises
    ------
    InputFileError
        If there is none, a folder has folders, or a file is named twice, so that its rows would
        count twice.
    """
    names = [given] if isinstance(given, str | os.PathLike) else given
    found = [file for name in names for file in _list_files(os.fspath(name))]
    seen = set[Any]()
    for file in found if len(found) > 1 else ():
        identity = _identity(file)
        if identity in seen:
            raise InputFileError(f"'{file}' is named twice: its rows would count twice")
        seen.add(identity)
    return found


def _list_files(name: str) -> Iterable[str]:
    try:
        path = Path(name)
        if name and path.is_dir():
            return _files_in(path, name)
        if not glob.has_magic(name) or path.exists():
            return [name]
        matching = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - takes any pattern
        if not path.name.startswith(IGNORED):
            matching = [each for each in matching if not Path(each).name.startswith(IGNORED)]
    except (OSError, ValueError):
        return [name]  # whoever opens it says what is wrong
    if not matching:
        raise InputFileError(f"no file matches '{name}'")
    return matching


def _files_in(folder: Path, name: str) -> Iterator[str]:
    is_empty = True
    for path in sorted(folder.iterdir()):
        if path.name.startswith(IGNORED):
            continue
        if path.is_dir():
            raise InputFileError(
                f"'{name}' holds another folder, '{path.name}': name the files by a pattern, such "
                f"as '{name.rstrip('/')}/**/*.parquet'"
            )
        is_empty = False
        yield str(path)
    if is_empty:
        raise InputFileError(f"'{name}' is a folder without files")


def _identity(file: str) -> Any:
    """Return what two names of one file have in common."""
    try:
        known = Path(file).stat()
    except (OSError, ValueError):
        return file
    return known.st_dev, known.st_ino
