"""The entries of a ledger as a table, and as files."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dphist.document.csv_rows import csv_field, safe_field
from dphist.ledger.entries import Entry
from dphist.release.tabular import pandas_frame, polars_frame

_SCHEMA = pa.schema(
    [
        ("entry", pa.int64()),
        ("time", pa.string()),
        ("action", pa.string()),
        ("key", pa.string()),
        ("by", pa.string()),
        ("account", pa.string()),
        ("mechanism", pa.string()),
        ("epsilon", pa.float64()),
        ("rho", pa.float64()),
        ("delta", pa.float64()),
        ("guarantee", pa.string()),
        ("budget", pa.string()),
        ("note", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, repr=False)
class EntryTable:
    """The entries of a ledger, the oldest first.

    A release that several accounts paid for has a row for each. The numbers are rounded to floats;
    `list(table)` has the entries with exact numbers.
    """

    held: list[Entry]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)

    def __repr__(self) -> str:
        return f"EntryTable({len(self)} entries)"

    def to_arrow(self) -> pa.Table:
        """Return columns entry, time, action, key, by, account, mechanism, costs, budget and note.

        `budget` is that of an account, or a cap; "none" where a cap was removed.
        """
        rows = [row for entry in self.held for row in list_rows(entry)]
        return pa.Table.from_pylist(rows, schema=_SCHEMA)

    def to_pandas(self) -> Any:
        """Return the table as a pandas dataframe; pandas must be installed."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the table as a Polars dataframe; Polars must be installed."""
        return polars_frame(self.to_arrow())


def list_rows(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield a row for each account that an entry charges, or one row."""
    content = entry.content
    row = {
        "entry": entry.number,
        "time": entry.time,
        "action": entry.action,
        "key": content.get("key"),
        "by": content.get("by"),
        "account": content.get("account") or content.get("name"),
        "mechanism": content.get("mechanism", {}).get("name"),
        "budget": _budget(content),
        "note": content.get("note") or content.get("dataset"),
    }
    parts = content.get("costs")
    if not parts:
        yield row
        return
    for part in parts:
        cost = {name: _number(part["cost"][name]) for name in ("epsilon", "rho", "delta")}
        yield {**row, "account": part["account"], "guarantee": part["guarantee"], **cost}


def _budget(content: Mapping[str, Any]) -> str | None:
    """Return what an entry allows, in words."""
    allowed = content.get("budget", content.get("cap"))
    if allowed is None:
        return "none" if "cap" in content else None
    numbers = [(name, allowed[name]) for name in ("epsilon", "rho", "delta")]
    renewed = ", renewed monthly" if content.get("renew") else ""
    return (
        ", ".join(f"{name}={text}" for name, text in numbers if text not in (None, "0")) + renewed
    )


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def to_json(entries: Sequence[Entry]) -> list[dict[str, Any]]:
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


def to_csv(entries: Sequence[Entry], *, spreadsheet_safe: bool = False) -> str:
    """Return entries as CSV, a row for each account that an entry charges.

    Parameters
    ----------
    spreadsheet_safe : write text as `dphist.document.csv_rows.safe_field` does.
    """
    table = EntryTable(list(entries)).to_arrow()
    write = safe_field if spreadsheet_safe else csv_field
    lines = [",".join(table.column_names)]
    for row in table.to_pylist():
        fields = (str(v) if isinstance(v, int | float) else write(v) for v in row.values())
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"


def to_file(entries: Sequence[Entry], ending: str, *, spreadsheet_safe: bool = False) -> bytes:
    """Return the content of a file of entries whose name has an ending of `ENDINGS`."""
    if ending == ".json":
        return (json.dumps(to_json(entries), indent=1) + "\n").encode()
    if ending == ".csv":
        text = to_csv(entries, spreadsheet_safe=spreadsheet_safe)
        return text.encode("utf-8-sig" if spreadsheet_safe else "utf-8")
    import pyarrow.parquet as pq  # needed only here

    file = io.BytesIO()
    pq.write_table(EntryTable(list(entries)).to_arrow(), file)
    return file.getvalue()


ENDINGS = (".csv", ".json", ".parquet")
"""Endings of names of files that entries can be written to."""
