"""Wide tables: one row a person and a column of counts for each label, melted to one row a cell.

The names of the columns are public, so the label of a cell depends on no value. A cell is read, or
refused, by itself, and one without a value is a count of 0, which adds no record. So a record still
becomes the same number of rows, whatever it holds. These are rows of one person, so the rows must
have users: open to callers that bound users, and that take no row for a person of its own.
"""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import Use, Wanted, check_type, count_column
from dphist.counting.reading.file_format import OpenedFile
from dphist.counting.reading.given_files import Files
from dphist.errors import Argument, ColumnError, ParameterError


def check_melting(given: Files, users: bool) -> None:
    """Refuse wide rows of which each cell would be a person.

    Raises
    ------
    ParameterError
    """
    if given.wide and not users:
        raise ParameterError(
            "wide",
            "needs a column of users, and " + Argument("null_users") + " other than "
            "'separate', in labels or tables: melt other tables yourself, and count the result",
        )


def find_cells(given: Files, wanted: Sequence[Wanted]) -> list[Wanted]:
    """Return the columns of a wide table that have to be read for the `wanted` ones.

    Raises
    ------
    ParameterError
        If the label or the count is not wanted as such, or a column is wanted for itself, too.
    """
    given.check_columns([column.name for column in wanted])
    uses = {column.name: column.use for column in wanted}
    if uses[given.wide_label] is not Use.KEY or uses[given.wide_count] is not Use.COUNT:
        raise ParameterError("wide", "makes a column of labels, as text, and one of counts")
    kept = [each for each in wanted if each.name not in (given.wide_label, given.wide_count)]
    return [*kept, *_cells(given)]


def melt(opened: OpenedFile, given: Files, wanted: Sequence[Wanted]) -> OpenedFile:
    """Return an opened file of `find_cells` with one row for each cell.

    Raises
    ------
    ColumnError
        If a cell's column is not of whole numbers, or the file has a column of a new one's name.
    """
    for name in (given.wide_label, given.wide_count):
        if name in opened.names:
            raise ColumnError(
                f"there is a column {name!r} already, which would be that of the melted columns: "
                "rename one of them"
            )
    cells = _cells(given)
    for cell in cells:
        check_type(opened.kinds[cell.role], cell)
    labels = ", ".join("'" + name.replace("'", "''") + "'" for name in given.wide)
    counts = ", ".join(f"coalesce(CAST({cell.role} AS BIGINT), 0)" for cell in cells)
    made = {
        given.wide_label: (f"unnest([{labels}])", pa.string()),
        given.wide_count: (f"unnest([{counts}])", pa.int64()),
    }
    kinds, chosen = {}, []
    for column in wanted:
        known = column.role, opened.kinds.get(column.role)
        value, kinds[column.role] = made.get(column.name, known)
        chosen.append(f"{value} AS {column.role}")
    return replace(
        opened,
        relation=redact_errors(lambda: opened.projected, opened.failure),
        projection=", ".join(chosen),
        kinds=kinds,
        rows_each=len(cells),
    )


def _cells(given: Files) -> list[Wanted]:
    return [count_column(f"cell_{place}", name, "wide") for place, name in enumerate(given.wide)]
