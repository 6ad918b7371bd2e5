"""A released table as SDMX-CSV 2.0, which statistics offices load into their registers.

A row is an observation: structure, dimensions, OBS_VALUE, its status, and attributes. The format is
that of https://github.com/sdmx-twg/sdmx-csv, version 2.0.0.
"""

import re
import unicodedata
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from dphist.document.csv_rows import csv_field, write_column, write_csv
from dphist.errors import ParameterError

_STRUCTURE = re.compile(r"[A-Za-z][\w.-]*:[\w@$-]+\(\d+(\.\d+)*\)", re.ASCII)
_VALUES = ("count", "prevalence")  # which of the columns is the observation: the last of these
_ESTIMATED = "E"  # of the code list CL_OBS_STATUS: noise was added
_RESERVED = ("STRUCTURE", "STRUCTURE_ID", "ACTION", "OBS_VALUE", "OBS_STATUS")
_ALL, _OTHER, _NO_TEXT = "_T", "_O", "_U"


def check_structure(text: str) -> str:
    """Refuse what names no structure.

    >>> check_structure("ESTAT:NA_MAIN(1.6.0)")
    'ESTAT:NA_MAIN(1.6.0)'
    """
    if not isinstance(text, str) or not _STRUCTURE.fullmatch(text):
        raise ParameterError(
            "structure", "must be AGENCY:ID(VERSION) of a dataflow, such as ESTAT:NA_MAIN(1.6.0)"
        )
    return text


def write_sdmx(table: pa.Table, structure: str, said: Mapping[str, str]) -> str:
    """Return a table as SDMX-CSV: columns ahead of the count are dimensions, others attributes.

    Parameters
    ----------
    structure : the dataflow, as `check_structure` takes it.
    said : attributes that are the same for each observation.
    """
    names = table.column_names
    value = max((names.index(each) for each in _VALUES if each in names), default=len(names))
    columns: dict[str, pa.Array] = {}
    rows, places = _tell_apart(table, names[:value])
    for name, each in zip(names[:value], places, strict=True):
        if each is not places[0] or name != "table":
            columns[_name_component(name, columns)] = each
    ids = {"STRUCTURE": "dataflow", "STRUCTURE_ID": structure, "ACTION": "M"}
    made = {name: pa.repeat(text, len(rows)) for name, text in ids.items()} | columns
    if value < len(names):
        made["OBS_VALUE"] = _to_text(names[value], rows[names[value]])
        made["OBS_STATUS"] = pa.repeat(_ESTIMATED, len(rows))
    for name in names[value + 1 :]:
        made[_name_component(name, made)] = _to_text(name, rows[name])
    made |= {name: pa.repeat(text, len(rows)) for name, text in said.items()}
    return write_csv(pa.table(made), csv_field)


def _tell_apart(table: pa.Table, names: list[str]) -> tuple[pa.Table, list[pa.Array]]:
    """Return the rows that are observations, and the columns of their dimensions as texts.

    Of several tables, a key that one does not have stands for all of its values, and a null in one
    that it has for the others. Elsewhere a row with a null says that labels are missing.
    """
    if names[:1] != ["table"]:
        for name in names:
            table = table.filter(pc.is_valid(table[name]))
        return table, [_to_codes(name, table[name], _OTHER) for name in names]
    parts = [table.filter(pc.equal(table["table"], name)) for name in pc.unique(table["table"])]
    columns = []
    for name in names:
        held = [part[name] for part in parts]
        nulls = [_ALL if each.null_count == len(each) else _OTHER for each in held]
        codes = [_to_codes(name, *each) for each in zip(held, nulls, strict=True)]
        columns.append(pa.concat_arrays(codes))
    return pa.concat_tables(parts), columns


def _to_codes(name: str, column: pa.ChunkedArray, null: str) -> pa.Array:
    """Return values as texts of which none is one of the codes above or empty.

    >>> _to_codes("a", pa.chunked_array([["x", "", "_T", None]]), "_T").to_pylist()
    ['x', '_U', '__T', '_T']
    """

    def write(text: str | None) -> str:
        return f"_{text}" if text and text[0] == "_" else text or _NO_TEXT

    texts = write_column(name, column, write)
    known = column.is_valid().to_pylist()
    return pa.array([text if ok else null for text, ok in zip(texts, known, strict=True)])


def _to_text(name: str, column: pa.ChunkedArray) -> pa.Array:
    """Return numbers as CSV has them; an unknown one is null."""
    return pa.array([text or None for text in write_column(name, column, str)], pa.string())


def _name_component(name: str, taken: dict[str, pa.Array]) -> str:
    """Return an identifier of SDMX for a column, which no other has.

    >>> _name_component("Alter (Jahre)", {}), _name_component("région", {"REGION": None})
    ('ALTER_JAHRE', 'REGION_2')
    """
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"\W+", "_", letters).strip("_").upper() or "KEY"
    plain = plain if plain[0].isalpha() else f"K_{plain}"
    free, number = plain, 1
    while free in taken or free in _RESERVED:
        number += 1
        free = f"{plain}_{number}"
    return free
