"""All readings of running counts as CSV."""

from collections.abc import Iterator

from dphist.document.csv_field import Field, csv_field
from dphist.release.running_counts import RunningCounts

HEADER = "time,label,count\n"


def streams_csv(value: RunningCounts, field: Field = csv_field) -> str:
    """Return columns time,label,count of all readings; the empty text is written ``""``."""
    return HEADER + "".join(rows_of(value, field))


def rows_of(value: RunningCounts, field: Field = csv_field) -> Iterator[str]:
    """Yield the rows below the header, each with its line ending; a label may hold others."""
    pairs = zip(value.labels, value.label_texts, strict=True)
    fields = {label: field(text) for label, text in pairs}
    columns = value.to_arrow().to_pydict()
    for time, label, count in zip(*columns.values(), strict=True):
        yield f"{time},{fields[label]},{count}\n"
