"""The options of commands that say how FILE is read, where its content does not."""

from typing import TYPE_CHECKING, Any

from dphist.document.options import Excludes, Group, Option, Table

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
        "encoding", "encoding of a text FILE, such as latin-1 or utf-16 (default: utf-8)", "NAME"
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
"""All that there is to say."""


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

    said = {each.name: getattr(options, each.name, None) for each in _SAID}
    given = {name: value for name, value in said.items() if value is not None}
    return Files(options.file, **given)
