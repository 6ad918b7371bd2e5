"""Users by their number of labels, counted in plain Python."""

from collections import Counter, defaultdict
from typing import Any

from dphist.data.cells import make_cells
from tests.support.counting.contribution_engines import Rows

MOST = 6


def in_python(rows: Rows, max_labels: int | None) -> tuple[int, ...]:
    """How many users have how many labels, whatever is dropped of them; of those who have any."""
    held: dict[Any, set[str]] = defaultdict(set)
    for user, label, count in rows:
        if count:
            held[user].add(label)
    found, cells = Counter(map(len, held.values())), make_cells(MOST, max_labels)
    ends = [*cells[1:], 10**9]
    return tuple(
        sum(users for number, users in found.items() if start <= number < end)
        for start, end in zip(cells, ends, strict=True)
    )
