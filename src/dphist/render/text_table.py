"""Tables of plain text in aligned columns, for a terminal."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

WIDTH = 78
GAP = "   "


def left(texts: Sequence[str], width: int | None = None) -> list[str]:
    """Pad a column on the right, to the given number of cells or to its widest text.

    >>> left(["a", "bcd"]), left(["a", "bcd"], 2)
    (['a  ', 'bcd'], ['a ', 'b…'])
    """
    widest = max(map(len, texts), default=0) if width is None else width
    if width is None:
        return [text.ljust(widest) for text in texts]
    return [in_columns(text, width) for text in texts]


def right(texts: Sequence[str], width: int = 0) -> list[str]:
    """Pad a column of numbers on the left to its widest text, or to `width` if that is more.

    >>> right(["1", "100"])
    ['  1', '100']
    """
    widest = max([width, *map(len, texts)])
    return [text.rjust(widest) for text in texts]


def beside(*columns: Sequence[str], gap: str = GAP, width: int | None = WIDTH) -> list[str]:
    """Return the lines of a table of padded columns, indented and cut to the terminal's width.

    Parameters
    ----------
    width : the number of columns that are left; None for all.

    >>> beside(["a", "b"], right(["1", "100"]))
    ['  a     1', '  b   100']
    """
    return [f"  {gap.join(cells)}"[:width].rstrip() for cells in zip(*columns, strict=True)]


def left_out(rows: int) -> list[str]:
    """Return the line that says how many rows a table leaves out; nothing if none."""
    return [f"  ... {rows:,} more rows ..."] if rows else []


def in_columns(text: str, columns: int) -> str:
    """Pad or cut a text to a number of columns of a terminal."""
    if cell_len(text) > columns:
        return set_cell_size(text, columns - 1) + "…"
    return set_cell_size(text, columns)
