"""One file of those that are one table: its format, its copy if it needs one, and its columns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb

from dphist.counting.engine.private_duckdb import open_private_connection, out_of_room
from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import Wanted
from dphist.counting.reading.encodings import copy_as_utf8
from dphist.counting.reading.fields import COPY_FORMAT, GivenRows, write_copy
from dphist.counting.reading.file_format import Container, FileFormat, OpenedFile, is_archive
from dphist.counting.reading.given_files import UTF_8, Files
from dphist.counting.reading.json_lines import read_json_lines
from dphist.counting.reading.parquet_files import open_parquet_file
from dphist.counting.reading.private_files import PrivateFiles, unpack_archive
from dphist.counting.reading.spreadsheets import read_spreadsheet
from dphist.counting.reading.sqlite_files import read_sqlite
from dphist.counting.reading.text_files import open_text_file
from dphist.errors import ColumnError, DphistError, InputFileError


class FileOpener:
    """Opens files on one private connection, with one folder for their copies.

    Attributes
    ----------
    connection : the private DuckDB, closed together with `stack`.
    """

    def __init__(self, stack: ExitStack, given: Files, delimiter: str | None) -> None:
        self._given, self._delimiter = given, delimiter
        self._private = PrivateFiles(stack)
        self._stack = stack

    def check(self, files: Sequence[tuple[Path, str]]) -> None:
        """Refuse names of no known format, and what cannot be read, before any file is opened."""
        self._given.check_names(self._delimiter)
        for path, shown in files:
            check_regular(path, shown)
        self.connection = open_private_connection(self._stack, large=True)

    def unpack(self, files: Sequence[tuple[Path, str]]) -> Iterator[tuple[Path, str, FileFormat]]:
        """Yield where each file is, what errors call it, and its format; archives are unpacked."""
        for path, shown in files:
            if is_archive(path):
                yield from self._unpack_archive(path, shown)
            else:
                yield path, shown, self._find_format(path.name, shown)

    def open(
        self, path: Path, kind: FileFormat, wanted: Sequence[Wanted], shown: str, *, several: bool
    ) -> OpenedFile:
        """Open a file, or a copy of it as UTF-8 text; with several files, each error names its own.

        Raises
        ------
        InputFileError, ColumnError, ParameterError
        """
        if kind.container is Container.TEXT:
            return self._open_text(path, kind, wanted, shown)
        try:
            if kind.container is Container.PARQUET:
                return open_parquet_file(self.connection, path, wanted, shown)
            return self._open_copy(path, kind, wanted, shown)
        except ColumnError as error:
            raised = error.within(f"{shown}: " if several else "")
        raise raised

    def list_names(self, path: Path, kind: FileFormat, shown: str) -> list[str]:
        """Return the names of all columns of a file, in their order."""
        if kind.container in (Container.TEXT, Container.PARQUET):
            return self.open(path, kind, (), shown, several=False).names
        rows = redact_errors(
            lambda: self._read_rows(path, kind, (), shown),
            _make_copy_error(kind, shown),
            out_of_room(f"reading {shown}"),
        )
        return list(rows.names)

    def _find_format(self, name: str, shown: str) -> FileFormat:
        return self._given.find_format(name, shown, self._delimiter)

    def _unpack_archive(self, path: Path, shown: str) -> Iterator[tuple[Path, str, FileFormat]]:
        broken = InputFileError(f"{shown} must be a zip archive: it is damaged, or is none")
        full = out_of_room(f"unpacking {shown}")
        members = unpack_archive(path, self._private, shown)
        while (found := redact_errors(lambda: next(members, None), broken, full)) is not None:
            each = f"'{found[1]}' in {shown}"
            yield found[0], each, self._find_format(found[1], each)

    def _open_text(
        self, path: Path, kind: FileFormat, wanted: Sequence[Wanted], shown: str
    ) -> OpenedFile:
        encoding = self._given.encoding
        if encoding != UTF_8:
            target = self._private.make_path()
            broken = InputFileError(f"{shown} cannot be read to its end: it is damaged")
            redact_errors(
                lambda: copy_as_utf8(path, kind.compression, encoding, target, shown),
                broken,
                out_of_room(f"reading {shown}"),
            )
            path, kind = target, replace(kind, compression=None)
        return open_text_file(self.connection, path, kind, wanted, shown, self._given.written)

    def _open_copy(
        self, path: Path, kind: FileFormat, wanted: Sequence[Wanted], shown: str
    ) -> OpenedFile:
        """Open what is no text file, as a text file with the wanted columns."""
        broken = _make_copy_error(kind, shown)
        rows = partial(self._read_rows, path, kind, wanted, shown)
        return open_rows(self.connection, self._private, rows, wanted, shown, broken)

    def _read_rows(
        self, path: Path, kind: FileFormat, wanted: Sequence[Wanted], shown: str
    ) -> GivenRows:
        given = self._given
        if kind.container is Container.JSON_LINES:
            return read_json_lines(path, kind, wanted, shown)
        if kind.container is Container.SPREADSHEET:
            return read_spreadsheet(path, given.sheet, wanted, shown)
        return read_sqlite(path, given.table_name, given.query, wanted, shown)


def _make_copy_error(kind: FileFormat, shown: str) -> InputFileError:
    return InputFileError(
        f"{shown} must be {kind.container.value}: it cannot be read as one to its end"
    )


def open_rows(
    connection: duckdb.DuckDBPyConnection,
    private: PrivateFiles,
    read: Callable[[], GivenRows],
    wanted: Sequence[Wanted],
    shown: str,
    broken: DphistError,
) -> OpenedFile:
    """Open rows that are no text file, as one; raise `broken` if they cannot be read."""
    target = private.make_path()

    def copy() -> GivenRows:
        rows = read()
        write_copy(target, rows, wanted, shown)
        return rows

    rows = redact_errors(copy, broken, out_of_room(f"reading {shown}"))
    opened = open_text_file(connection, target, COPY_FORMAT, wanted, shown)
    return replace(opened, names=list(rows.names))


def check_regular(path: Path, shown: str) -> None:
    """Refuse anything but a readable file, in Python: DuckDB's errors differ between versions."""
    problem = f"{shown} cannot be read"
    try:
        if path.is_dir():
            problem = f"{shown} is a folder: name the files in it"
        elif not path.exists():
            problem = f"{shown} does not exist"
        elif not path.is_file():
            problem = f"{shown} must be a regular file"
        else:
            with path.open("rb"):
                return
    except PermissionError:
        problem = f"{shown} cannot be read: its permissions forbid it"
    except (OSError, ValueError):
        pass
    raise InputFileError(problem)
