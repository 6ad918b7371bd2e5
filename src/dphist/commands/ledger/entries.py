"""Entries as `dphist ledger log` prints them and `export` writes them."""

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dphist.document.csv_field import Field, csv_field, safe_field
from dphist.ledger.entries import Entry
from dphist.ledger.table import EntryTable
from dphist.render.text import beside, left, right
from dphist.visible import harmless

_LONGEST = 200


def entries_json(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return entries with all that is hashed, the hash and the signature."""
    return [
        {
            "number": entry.number,
            "time": entry.time,
            "action": entry.action,
            "content": dict(entry.content),
            "previous": entry.previous,
            "hash": entry.hash,
            "signature": entry.signature,
        }
        for entry in entries
    ]


def entries_csv(entries: Sequence[Entry], *, spreadsheet_safe: bool = False) -> str:
    """Return entries as CSV, a row for each account that an entry charges.

    Parameters
    ----------
    spreadsheet_safe : write text as `dphist.document.csv_field.safe_field` does.
    """
    table = EntryTable(list(entries)).to_arrow()
    file = io.StringIO()
    file.write(",".join(table.column_names) + "\n")
    field = safe_field if spreadsheet_safe else csv_field
    for row in table.to_pylist():
        file.write(",".join(_fields(row.values(), field)) + "\n")
    return file.getvalue()


def _fields(row: Iterable[Any], field: Field) -> Iterator[str]:
    for value in row:
        yield str(value) if isinstance(value, int | float) else field(value)


def entries_parquet(entries: Sequence[Entry]) -> bytes:
    """Return entries as a Parquet file, a row for each account that an entry charges."""
    import pyarrow.parquet as pq  # needed only here

    file = io.BytesIO()
    pq.write_table(EntryTable(list(entries)).to_arrow(), file)
    return file.getvalue()


def entries_text(entries: Sequence[Entry]) -> str:
    """Return entries as a table for a terminal."""
    rows = EntryTable(list(entries)).to_arrow().to_pylist()
    shown = [[_time(row), row["action"], _cost(row)] for row in rows]
    columns = [
        right(["entry", *(f"{row['entry']:,}" for row in rows)]),
        left(["time (UTC)", *(row[0] for row in shown)]),
        left(["action", *(row[1] for row in shown)]),
        left(["cost", *(row[2] for row in shown)]),
        left(["about", *(_about(row) for row in rows)], 200),
    ]
    return "\n".join(beside(*columns, gap="  ", width=None)) + "\n"


def _time(row: dict[str, Any]) -> str:
    return harmless(row["time"][:16].replace("T", " "), _LONGEST)


def _cost(row: dict[str, Any]) -> str:
    names = [("epsilon", row["epsilon"]), ("rho", row["rho"]), ("delta", row["delta"])]
    if row["epsilon"] is not None:
        names.pop(1)
    return " ".join(f"{name}={value:g}" for name, value in names if value)


def _about(row: dict[str, Any]) -> str:
    names = ("key", "by", "account", "budget", "mechanism", "note")
    named = {"budget": "cap"} if row["action"] == "allowed" else {}
    said = [
        f"{named.get(name, name)}={harmless(row[name], _LONGEST)}" for name in names if row[name]
    ]
    return "  ".join(said)
