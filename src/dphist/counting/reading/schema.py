"""The columns of files, by their header or footer alone: no row is read."""

from collections.abc import Sequence
from pathlib import Path

from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import check_type, find_position, key_column
from dphist.counting.reading.file_format import ARCHIVE, Container
from dphist.counting.reading.file_opener import check_regular
from dphist.counting.reading.given_files import Files
from dphist.counting.reading.parquet_files import no_parquet_file, read_footer
from dphist.counting.reading.paths import find_files
from dphist.counting.reading.text_files import read_header
from dphist.errors import ColumnError


def read_schemas(
    given: Files, user: str | None, needed: Sequence[str] = (), delimiter: str | None = None
) -> dict[str, list[tuple[str, str]] | None]:
    """Return the columns of each file with their types, once those needed are found among them.

    Of a spreadsheet, JSON lines, SQLite or an archive it is None: there, rows would be read.

    Parameters
    ----------
    given : the files, with how they are read.
    user : the column of users, of a type that these may have; None without one.
    needed : further columns.
    delimiter : of text files.

    Raises
    ------
    ParameterError, InputFileError, ColumnError
        Also if a file has other columns than the first one.
    """
    given.check_names(delimiter)
    found: dict[str, list[tuple[str, str]] | None] = {}
    for name in find_files(given.names):
        check_regular(Path(name), f"'{name}'")
        found[name] = _read_columns(Path(name), given, user, needed, delimiter)
    known = [(name, sorted(each)) for name, each in found.items() if each is not None]
    for name, columns in known:
        if columns != known[0][1]:
            raise ColumnError(
                f"'{name}' must have the same columns as '{known[0][0]}', of the same types, in "
                "any order"
            )
    return found


def _read_columns(
    path: Path, given: Files, user: str | None, needed: Sequence[str], delimiter: str | None
) -> list[tuple[str, str]] | None:
    shown = f"'{path}'"
    if path.suffix.lower() == ARCHIVE:
        return None
    kind = given.find_format(path.name, shown, delimiter)
    if kind.container is Container.TEXT:
        columns = [(name, "text") for name in read_header(path, kind, shown, given.encoding).fields]
    elif kind.container is Container.PARQUET:
        schema = redact_errors(lambda: read_footer(path), no_parquet_file(shown))[0]
        columns = [(each.name, str(each.type)) for each in schema]
    else:
        return None
    try:
        names = [name for name, _ in columns]
        for name in needed:
            find_position(name, names)
        if user is not None:
            place = find_position(user, names)
            if kind.container is Container.PARQUET:
                check_type(schema.field(place).type, key_column("who", user, "user"))
    except ColumnError as error:
        raised = error.within(f"{shown}: ")
    else:
        return columns
    raise raised
