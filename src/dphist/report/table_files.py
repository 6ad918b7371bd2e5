"""A released table in the format of a file's name: CSV, SDMX-CSV, .xlsx or Parquet."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from dphist.document.kind import find_kind
from dphist.errors import UnsupportedError, phrase
from dphist.release.mechanism_json import describe, describe_guarantee
from dphist.release.release import SUPPLIED, Release
from dphist.render.spreadsheet import check_installed, write_workbook
from dphist.report import check_below, make_json, make_release_document, table_csv
from dphist.report.sdmx import check_structure, write_sdmx
from dphist.sentence import fill

_FORMS = (".sdmx.csv", ".xlsx", ".parquet")
_MAY_HIDE = (".csv", ".xlsx")  # others hold numbers alone in the column count
KEY = b"dphist"
"""Of the metadata of a Parquet file's schema that say what is guaranteed, as JSON."""


def find_form(path: str | Path) -> str:
    """Return the ending that says how a table is written: of those below, or else ".csv".

    >>> find_form("a/B.SDMX.csv"), find_form("t.xlsx"), find_form("t.txt")
    ('.sdmx.csv', '.xlsx', '.csv')
    """
    name = Path(path).name.casefold()
    return next((form for form in _FORMS if name.endswith(form)), ".csv")


def check_form(path: str | Path, show_below: int | None = None) -> str:
    """Return the form of a table, refused if it cannot be written: before data are read.

    Raises
    ------
    UnsupportedError
        If small estimates are to be left out of a form that cannot say so.
    """
    form = find_form(path)
    if form == ".xlsx":
        check_installed()
    if show_below is not None and form not in _MAY_HIDE:
        endings = " or ".join(_MAY_HIDE)
        raise UnsupportedError(phrase("{show_below} needs a {table} whose name ends in " + endings))
    return form


def table_file(
    release: Release,
    form: str,
    *,
    spreadsheet_safe: bool = False,
    structure: str | None = None,
    show_below: int | None = None,
) -> str | bytes:
    """Return what a file with a table holds.

    Parameters
    ----------
    form : ending, as `find_form` returns it.
    spreadsheet_safe : of CSV, as for `table_csv`.
    structure : of SDMX-CSV, the dataflow, ``AGENCY:ID(VERSION)`` (default: ``DPHIST:`` and the
        kind).
    show_below : of CSV and .xlsx, as for `table_csv`.
    """
    if form == ".csv":
        return table_csv(release, spreadsheet_safe=spreadsheet_safe, show_below=show_below)
    kind = find_kind(release)
    if form == ".xlsx":
        below = None if show_below is None else check_below(release, show_below)
        return write_workbook(make_release_document(release, below), kind.table(release), below)
    if form == ".parquet":
        return _write_parquet(kind.table(release), release)
    named = f"DPHIST:{kind.name.upper()}(1.0.0)" if structure is None else structure
    document = make_release_document(release)
    said = {
        "GUARANTEE": fill(document.headline, document.slots),
        "PRIVACY_UNIT": fill(str(release.guarantee.unit), document.slots),
    }
    return write_sdmx(kind.table(release), check_structure(named), said)


def _write_parquet(table: pa.Table, release: Release) -> bytes:
    """Return a table as Parquet, with what is guaranteed in the metadata of its schema."""
    from pyarrow import parquet  # slow to import

    file = io.BytesIO()
    said = json.dumps(describe_release(release), ensure_ascii=False).encode()
    parquet.write_table(table.replace_schema_metadata({KEY: said}), file)
    return file.getvalue()


def describe_release(release: Release) -> dict[str, Any]:
    """Return what a release states beside its numbers, as in its file, and in words."""
    document = make_release_document(release)
    found: dict[str, Any] = {
        "library_version": release.version,
        "kind": find_kind(release).name,
        "title": fill(document.title, document.slots),
        "said": fill(document.lead, document.slots),
        "guarantee": describe_guarantee(release.guarantee),
        "unit": release.guarantee.unit.to_content(),
        "mechanism": describe(release.mechanism),
        "stated": {name: str(value) for name, value in release.provenance.items()},
        "provenance": release.presentation.to_content(),
        "facts": make_json(release),
    }
    return found | ({"random_bits": SUPPLIED} if release.for_tests else {})
