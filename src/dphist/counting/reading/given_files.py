"""Files that a caller gives, with what their content does not say of how it is read."""

import codecs
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

from dphist.counting.reading.file_format import Container, FileFormat, find_format, is_archive
from dphist.counting.reading.paths import FileNames, find_files
from dphist.counting.reading.written_values import WrittenValues
from dphist.errors import Argument, ParameterError

UTF_8 = "utf-8"
# Encodings in which the bytes of one record do not change how another is read. In UTF-16 or UTF-32,
# a byte too many shifts all that follow until another one does, and records between are lost.
_ENCODINGS = frozenset(
    {
        *(UTF_8, "ascii"),
        *(f"iso8859-{number}" for number in range(1, 17) if number != 12),
        *(f"cp{number}" for number in (437, 850, 852, 855, 858, 866, 874, 932, 949, 950)),
        *(f"cp{number}" for number in range(1250, 1259)),
        *("koi8-r", "koi8-u", "mac-roman", "shift_jis", "euc_jp", "euc_kr", "gbk", "big5"),
    }
)
_TAKEN_BY = {
    **dict.fromkeys(("encoding", "decimal", "date_format"), Container.TEXT),
    "sheet": Container.SPREADSHEET,
    "table_name": Container.SQLITE,
    "query": Container.SQLITE,
}
_CALLED = {
    Container.TEXT: "text files",
    Container.SPREADSHEET: "spreadsheets",
    Container.SQLITE: "SQLite files",
}


@dataclass(frozen=True, slots=True)
class Files:
    """Files to be read as one table, with what their content does not say of it.

    Pass it in place of the name of a file, as ``dh.Files("visits.xlsx", sheet="2026")``. Making it
    reads nothing.

    Attributes
    ----------
    names : str, path, or sequence of them
        One file, several, a folder or a pattern.
    sheet : str, optional
        Sheet of a spreadsheet; needed if there are several.
    table_name, query : str, optional
        Table or view of an SQLite file, needed if there are several; or a SELECT over them.
    encoding : str
        Encoding of text files.
    decimal : str
        The character before the decimals of values to bin or sum in text files: "." or ",".
    date_format : str, optional
        How dates to bin are written in text files, such as "%d.%m.%Y"; dates in ISO 8601 are read,
        too.
    wide : sequence of str
        Columns of counts, if each row is of a user and has a column for each label. They are
        melted: the names become a column of labels, as text, and the numbers one of counts; a
        missing number is 0. For labels and tables, with a column of users.
    wide_label, wide_count : str
        Names of these two columns, by which they are asked for.

    Raises
    ------
    ParameterError
        If a value is not allowed, or both `table_name` and `query` are given.

    >>> Files("visits.csv", encoding="latin-1").encoding
    'iso8859-1'
    """

    names: FileNames
    sheet: str | None = None
    table_name: str | None = None
    query: str | None = None
    encoding: str = UTF_8
    decimal: str = "."
    date_format: str | None = None
    wide: Sequence[str] = ()
    wide_label: str = "label"
    wide_count: str = "count"

    def __post_init__(self) -> None:
        for name in ("sheet", "table_name", "query"):
            value = getattr(self, name)
            if not (value is None or (isinstance(value, str) and value)):
                raise ParameterError(name, "must be text, of at least one character")
        if self.table_name is not None and self.query is not None:
            raise ParameterError("query", "must be left out with " + Argument("table_name"))
        object.__setattr__(self, "encoding", find_encoding(self.encoding))
        _ = self.written
        self._check_wide()

    @property
    def written(self) -> WrittenValues:
        """How values of text files are written."""
        return WrittenValues(self.decimal, self.date_format)

    def _check_wide(self) -> None:
        if isinstance(self.wide, str) or not isinstance(self.wide, Sequence):
            raise ParameterError("wide", "must be a list of names of columns")
        object.__setattr__(self, "wide", tuple(self.wide))
        names = (*self.wide, self.wide_label, self.wide_count)
        if not all(isinstance(name, str) and name for name in names):
            raise ParameterError("wide", "must be names of columns, as text")
        if len({*names}) < len(names):
            raise ParameterError(
                "wide", "must name each column once, and none as the melted label or count"
            )

    def check_columns(self, wanted: Collection[str]) -> None:
        """Refuse names of columns that wide rows do not have; no file is opened.

        Raises
        ------
        ParameterError
        """
        if not self.wide:
            return
        for name in (self.wide_label, self.wide_count):
            if name not in wanted:
                raise ParameterError("wide", f"makes a column {name!r}, which must be asked for")
        if not set(self.wide).isdisjoint(wanted):
            raise ParameterError("wide", "must not name a column that is asked for by itself")

    def check_names(self, delimiter: str | None) -> None:
        """Refuse names of no known format, and what does not apply to their format.

        Archives are not opened.

        Raises
        ------
        ParameterError, InputFileError
        """
        for name in find_files(self.names):
            path = Path(name)
            if not is_archive(path):
                self.find_format(path.name, f"'{name}'", delimiter)

    def find_format(self, name: str, shown: str, delimiter: str | None) -> FileFormat:
        """Return the format of a file by its name, to which all that was given applies.

        Raises
        ------
        ParameterError, InputFileError
        """
        found = find_format(name, shown, delimiter)
        for each in fields(self):
            taken_by = _TAKEN_BY.get(each.name, found.container)
            if getattr(self, each.name) != each.default and found.container is not taken_by:
                fault = f"applies to {_CALLED[taken_by]} only, not to {shown}"
                raise ParameterError(each.name, fault)
        return found


def find_encoding(name: object) -> str:
    """Return the name that Python has for an encoding.

    Raises
    ------
    ParameterError
        If it is unknown, or one record could change how others are read in it.
    """
    found = None
    if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_. -]{1,40}", name):
        with suppress(LookupError):
            found = codecs.lookup(name).name
    if found not in _ENCODINGS:
        raise ParameterError(
            "encoding",
            "must be a usual one by name, such as utf-8, latin-1 or cp1252",
            "save files in UTF-16, UTF-32 or others as UTF-8",
        )
    return str(found)
