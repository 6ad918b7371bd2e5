"""Tables as files that a page offers, each as CSV for spreadsheets."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from math import prod

from dphist.document.blocks import File
from dphist.document.csv_rows import MARK, safe_field, write_csv
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Names
from dphist.tables.whole_numbers import WholeTables
from dphist.tables.words import FILE, WHOLE_FILE

MOST_ROWS = 50_000
"""Rows of all files of a page together; later tables are left out."""
MOST_MADE_UP, MOST_CELLS = 2 * 10**5, 2**14  # records and cells that a page makes whole
_LETTERS = 60  # of a file's name, without what is the same in all of them


def make_files(value: KeyedTables, below: int | None = None) -> dict[Names, list[File]]:
    """Return the files of each table that a page has room for: as released, and in whole numbers.

    They are for spreadsheets: no text is read as a formula (`safe_field`). What is written depends
    on released numbers alone.

    Parameters
    ----------
    below : smaller estimates are left out, and all numbers made whole, which are near them.
    """
    sizes = {names: prod(value.keys[name].size for name in names) for names in value.tables}
    whole = cache(value.to_whole_numbers)
    is_whole = value.total <= MOST_MADE_UP and sum(sizes.values()) <= MOST_CELLS
    is_whole = is_whole and value.step is None and below is None
    found: dict[Names, list[File]] = {}
    left, taken = MOST_ROWS, set[str]()
    for names, size in sizes.items():
        rows = size * (1 + is_whole)
        found[names] = []
        if rows > left:
            continue
        left -= rows
        name = _free(_file_name(names), taken)
        found[names].append(File(f"{name}.csv", FILE, _write_unbiased(value, names, below)))
        if is_whole:
            found[names].append(
                File(f"{name}-whole-numbers.csv", WHOLE_FILE, _write_whole_numbers(whole, names))
            )
    return found


def _write_unbiased(value: KeyedTables, names: Names, below: int | None) -> Callable[[], str]:
    """Return what writes a table as released."""
    return lambda: MARK + write_csv(value.table(*names).to_arrow(), safe_field, below)


def _write_whole_numbers(make: Callable[[], WholeTables], names: Names) -> Callable[[], str]:
    """Return what writes a table in whole numbers, with a heading that says what they are."""

    def write() -> str:
        table = make().table(*names).to_arrow()
        headings = [*table.column_names[:-1], "count_made_whole"]
        return MARK + write_csv(table.rename_columns(headings), safe_field)

    return write


def _file_name(names: Names) -> str:
    """Return the name of a table's file, without an ending.

    >>> _file_name(("region", "sex")), _file_name(("a/b: 1",)), _file_name(())
    ('counts-by-region-and-sex', 'counts-by-a-b-1', 'counts-of-all')
    """
    if not names:
        return "counts-of-all"
    plain = (re.sub(r"[^\w]+", "-", unicodedata.normalize("NFC", name)) for name in names)
    return f"counts-by-{'-and-'.join(name.strip('-') or 'key' for name in plain)[:_LETTERS]}"


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no file has yet, whatever the case of its letters."""
    free, number = name, 1
    while free.casefold() in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free.casefold())
    return free
