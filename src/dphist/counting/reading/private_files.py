"""Private copies of files, also of those in archives: they go with the table that is read."""

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from dphist.counting.engine.private_duckdb import make_folder, out_of_room
from dphist.counting.reading.file_format import ARCHIVE
from dphist.counting.reading.paths import IGNORED
from dphist.errors import InputFileError

_ENCRYPTED = 0x1
_BYTES_AT_ONCE = 2**20


class PrivateFiles:
    """Names of new files, in a folder that is made for the first of them and removed in the end."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._folder: Path | None = None
        self._number = 0

    def make_path(self) -> Path:
        """Return the path of a file that is not there yet."""
        if self._folder is None:
            self._folder = Path(make_folder(self._stack))
        self._number += 1
        return self._folder / f"copy-{self._number}"


def unpack_archive(path: Path, private: PrivateFiles, shown: str) -> Iterator[tuple[Path, str]]:
    """Yield each file in an archive: where it is now, and its name.

    Names decide nothing but the format: no file is written under its own. What systems add to
    archives is left out: folders, and files whose names, or those of a folder, begin with a dot or
    an underscore.

    Raises
    ------
    InputFileError
        If the archive has no files, two of one name, an encrypted one, or an archive.
    DataError
        If there is not enough room.
    zipfile.BadZipFile
        If it is damaged, or no archive; every file has a checksum.
    """
    with zipfile.ZipFile(path) as archive:
        members = [each for each in archive.infolist() if _is_given(each)]
        names = [each.filename for each in members]
        if not members:
            raise InputFileError(f"{shown} has no files")
        if len(set(names)) < len(names):
            raise InputFileError(f"{shown} has two files of one name: pack it again")
        if any(each.flag_bits & _ENCRYPTED for each in members):
            raise InputFileError(f"{shown} is encrypted: unpack it first")
        if any(name.lower().endswith(ARCHIVE) for name in names):
            raise InputFileError(f"{shown} holds another archive: unpack it first")
        size, room = sum(each.file_size for each in members), None
        for member in members:
            target = private.make_path()
            if room is None:
                room = shutil.disk_usage(target.parent).free
                if size > room:
                    raise out_of_room(f"unpacking {shown}")
            with archive.open(member) as packed, target.open("xb") as file:
                shutil.copyfileobj(packed, file, _BYTES_AT_ONCE)
            yield target, member.filename


def _is_given(member: zipfile.ZipInfo) -> bool:
    parts = [part for part in PurePosixPath(member.filename).parts if part != ".."]
    return not (member.is_dir() or any(part.startswith(IGNORED) for part in parts))
