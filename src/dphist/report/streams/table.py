"""All readings of running counts as text, for spreadsheets and other programs."""

from collections.abc import Iterator

from dphist.release.running_counts import RunningCounts

HEADER = "time,label,count\n"
_SPECIAL = frozenset(',"\r\n')


def running_csv(value: RunningCounts) -> str:
    """Return columns time,label,count of all readings; the empty text is written ``""``."""
    return HEADER + "".join(rows_of(value))


def rows_of(value: RunningCounts) -> Iterator[str]:
    """Yield the rows below the header, each with its line ending; a label may hold others."""
    fields = {label: _field(label) for label in value.labels}
    columns = value.to_arrow().to_pydict()
    for time, label, count in zip(*columns.values(), strict=True):
        yield f"{time},{fields[label]},{count}\n"


def _field(label: str) -> str:
    """Write a label; quoted also where it is empty or begins or ends with white space."""
    if label.strip() == label != "" and _SPECIAL.isdisjoint(label):
        return label
    doubled = label.replace('"', '""')
    return f'"{doubled}"'
