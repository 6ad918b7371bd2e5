"""The names of a table's columns, from its schema: for tables that may be looked at."""

from contextlib import ExitStack
from pathlib import Path

from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.containers import no_table, to_frame
from dphist.counting.reading.file_opener import FileOpener
from dphist.counting.reading.frames import wrap
from dphist.counting.reading.given_files import Files
from dphist.counting.reading.paths import are_files, find_files
from dphist.counting.reading.spark import is_spark


def list_columns(frame: object, delimiter: str | None = None) -> list[str]:
    """Return the names of all columns of what `open_source` opens, in their order.

    Of several files, those of the first: `open_source` refuses others that differ. Of a list of
    dicts, those of the first one. The first line of a text file without a header is a record, so
    that these names must stand in no error.
    """
    given = Files(frame) if are_files(frame) else frame
    if isinstance(given, Files):
        return _list_of_file(given, delimiter)
    if isinstance(frame, list | tuple) and frame and isinstance(frame[0], dict):
        return list(map(str, frame[0]))
    if is_spark(frame):
        return list(frame.columns)  # type: ignore[attr-defined]
    opened = wrap(to_frame(frame, ()), no_table(frame))
    return list(map(str, redact_errors(opened.collect_schema, no_table(frame))))


def _list_of_file(given: Files, delimiter: str | None) -> list[str]:
    files = [(Path(path).absolute(), f"'{path}'") for path in find_files(given.names)[:1]]
    with ExitStack() as stack:
        opener = FileOpener(stack, given, delimiter)
        opener.check(files)
        path, shown, kind = next(opener.unpack(files))
        return opener.list_names(path, kind, shown)
