"""Real streams: events of one label each, in the order of time."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import folder

COLUMNS = {
    "flights3m": ("origin", "destination"),
    "nycflights13": ("tailnum", "carrier", "dest"),
    "seattle_pets": ("animal_name",),
}


@dataclass(frozen=True)
class RealStream:
    """One column of a file of events."""

    file: Path
    column: str

    @property
    def name(self) -> str:
        """File and column."""
        return f"{self.file.stem}, {self.column}"

    def events(self) -> pa.Table:
        """Read the events, a row each, in a column `label`; a row without one is an event."""
        values = pq.read_table(self.file, columns=[self.column])[self.column]
        return pa.table({"label": values.cast(pa.large_string())})


def real_streams() -> list[RealStream]:
    """Return those that are there; none, where there is no folder."""
    place = folder("streams")
    if place is None:
        return []
    files = {name: place / f"{name}.parquet" for name in COLUMNS}
    return [
        RealStream(file, column)
        for name, file in files.items()
        if file.exists()
        for column in COLUMNS[name]
    ]


def true_counts(events: pa.Table) -> dict[str, int]:
    """Return the number of events of each label."""
    counted = events["label"].drop_null().value_counts().to_pylist()
    return {item["values"]: item["counts"] for item in counted}
