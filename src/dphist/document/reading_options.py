"""The options of commands that say how FILE is read, where its content does not."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dphist.document.options import Excludes, Group, Needs, Option, Table, split_parts
from dphist.errors import Argument, ParameterError

if TYPE_CHECKING:
    from dphist.counting.reading.given_files import Files


def _separator(text: str) -> str:
    return "\t" if text in ("tab", "\\t") else text


DELIMITER = Option(
    "delimiter",
    "separator of the fields of a text FILE: one character, or the word tab (default: a comma, or "
    "a tab in .tsv)",
    "C",
    _separator,
)
_SAID = (
    Option(
        "encoding", "encoding of a text FILE, such as latin-1 or cp1252 (default: utf-8)", "NAME"
    ),
    Option(
        "decimal",
        "character before the decimals of numbers to bin or sum in a text FILE (default: .)",
        "C",
    ),
    Option(
        "date_format",
        "how dates to bin are written in a text FILE, such as %d.%m.%Y (default: ISO 8601)",
        "FORMAT",
    ),
    Option("sheet", "sheet of a spreadsheet, needed if it has several", "NAME"),
    Option("table_name", "table or view of an SQLite FILE, needed if it has several", "NAME"),
    Option(
        "query",
        "a SELECT of SQLite, whose rows are read in place of a table",
        "SQL",
        rules=(Excludes(["table_name"], "it names its tables"),),
    ),
)
READING: Table = (
    DELIMITER,
    Group("how FILE is read", "Nothing of this is guessed from its content.", _SAID),
)
"""All that there is to say, of any table."""

WIDE = Option(
    "wide",
    "columns of counts, if FILE has a row per user and a column for each label: their names become "
    "the labels, in a column label, and the numbers a column count; empty is 0",
    "COLUMN,COLUMN,...",
    split_parts,
    rules=(Needs(["user"], "whose columns they are"),),
)
"""For kinds of labels, whose command calls `name_wide_columns`."""


def name_wide_columns(options: Any, columns: Sequence[str]) -> None:
    """Set the column of counts of a wide table, if no other name of it is given, and check `WIDE`.

    Parameters
    ----------
    columns : that are asked for besides those of users and counts.

    Raises
    ------
    ParameterError
    """
    if options.wide is None:
        return
    if options.null_users == "separate":
        raise ParameterError(
            "null_users",
            "must not be 'separate' with " + Argument("wide") + ": a row is many records",
        )
    options.count = options.count or "count"
    get_files(options).check_columns([*columns, options.user, options.count])


def get_files(options: Any) -> "Files":
    """Return FILE with how it is read, as the parsed options say; no file is opened.

    Raises
    ------
    ParameterError
        If the options are wrong in themselves.
    """
    from dphist.counting.reading.given_files import (
        Files,
    )  # imports pyarrow, which help does without

    said = {each.name: getattr(options, each.name, None) for each in (*_SAID, WIDE)}
    if said["wide"] is not None:
        said |= {"wide_label": getattr(options, "label", None), "wide_count": options.count}
    given = {name: value for name, value in said.items() if value is not None}
    return Files(options.file, **given)
