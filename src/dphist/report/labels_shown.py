"""Released labels as text: exact for tables, safe for terminals and pages."""

import pyarrow as pa
import pyarrow.compute as pc
from rich.cells import cell_len, set_cell_size

from dphist.release.label_table import LabelTable

EMPTY = '""'  # shown for the empty text


def label_texts(value: LabelTable) -> list[str | None]:
    """Return every label as text, None for a missing one; bytes as hexadecimal digits."""
    labels = value.to_arrow()["label"]
    kind = labels.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [None if label is None else label.hex() for label in labels.to_pylist()]
    if pa.types.is_string(kind):
        return list(labels.to_pylist())
    return list(pc.cast(labels, pa.string()).to_pylist())


def harmless(label: str, length: int) -> str:
    """Return a label of limited length that cannot control a terminal or a page.

    >>> harmless("a\\x1b[2Jb", 20), harmless("abcdef", 4), harmless("", 4)
    ('a\\\\x1b[2Jb', 'abc…', '""')
    """
    seen = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in label[: length + 1]
    )
    if not seen:
        return EMPTY
    return seen if len(seen) <= length and len(label) <= length else seen[: length - 1] + "…"


def in_columns(text: str, columns: int) -> str:
    """Pad or cut a text to a number of columns of a terminal."""
    if cell_len(text) > columns:
        return set_cell_size(text, columns - 1) + "…"
    return set_cell_size(text, columns)
