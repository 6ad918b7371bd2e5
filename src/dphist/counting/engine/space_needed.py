"""Estimates of the memory and temporary space that counting a table needs.

The constants were measured by ``python -m benchmarks.space_needed`` on two cores: rows with a user
and a label of about 12 characters each, all different or 10 rows a user. Longer text needs more,
and fewer different labels need less. Nothing here looks at data: the number of rows is a public
guess.
"""

from dataclasses import dataclass

BYTES_PER_ROW = {"label": 100, "label, user": 140, "bins": 0, "bins, user": 85}
"""Memory of each way of counting, in bytes per row, where nothing spills."""

PROCESS = 200 * 10**6
"""Memory of the process apart from that, in bytes; batches of rows included."""

_SPILLED = 0.5  # of the bytes that memory does not hold, those on disk: they are compressed there


@dataclass(frozen=True, slots=True)
class Space:
    """What counting needs, in bytes, about.

    Attributes
    ----------
    memory : of the whole process.
    temporary : in the folder of temporary files.
    """

    memory: int
    temporary: int


def space_needed(way: str, rows: int, limit: int) -> Space:
    """Return what counting a table of this number of rows needs.

    Parameters
    ----------
    way : a key of `BYTES_PER_ROW`.
    rows : a public guess.
    limit : memory that the engine may use before it spills, in bytes.

    >>> space_needed("label, user", 10**6, 2 * 10**9)
    Space(memory=340000000, temporary=0)
    >>> space_needed("label, user", 10**8, 2 * 10**9)
    Space(memory=2200000000, temporary=6000000000)
    """
    held = BYTES_PER_ROW[way] * rows
    return Space(PROCESS + min(held, limit), int(_SPILLED * max(held - limit, 0)))
