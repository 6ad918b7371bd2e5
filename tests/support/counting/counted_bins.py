"""Rows that each are several records, cut and counted in plain Python, to compare engines with."""

import random
from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa

from dphist.counting.binning.users import bin_rows_bounded
from tests.support.counting.binned_users import EDGES, GRID, slot_of
from tests.support.counting.contribution_engines import hashed

CountedRows = list[tuple[Any, int | None, int]]  # user, value, number of records
LARGEST = 2**62 - 1


def counted_table(rows: CountedRows) -> pa.Table:
    """Return rows as a table of columns who, x, n."""
    users, values, counts = (list(c) for c in zip(*rows, strict=True)) if rows else ([], [], [])
    kinds = pa.string(), pa.int64(), pa.int64()
    columns = zip(("who", "x", "n"), (users, values, counts), kinds, strict=True)
    return pa.table({name: pa.array(column, kind) for name, column, kind in columns})


def some_counted_rows(seed: int, rows: int = 90) -> CountedRows:
    """Rows of users with awkward names, of no record up to many."""
    draw = random.Random(seed)
    users = ["u", "U", "v", "1", "11", "1:", "ü", "", " u", "null"]
    values = [-3, -1, 0, 1, 2, 3, 5, 10, 99, None]
    counts = [0, 1, 1, 2, 7, 1000, 2**40, LARGEST]
    return [(draw.choice(users), draw.choice(values), draw.choice(counts)) for _ in range(rows)]


def shared_in_python(rows: CountedRows, most: int, key: str, engine: str = "duckdb") -> list[int]:
    """Count slots, each user bounded to an even share of their records."""
    users: dict[Any, Counter[int]] = defaultdict(Counter)
    for user, value, count in rows:
        users[user][slot_of(value)] += count
    found: Counter[int] = Counter()
    for user, own in users.items():
        there = [slot for slot in own if own[slot]]
        places = hashed(key, engine, [(user, slot, "") for slot in (*there, -1)])
        total = min(sum(min(own[slot], LARGEST) for slot in there), LARGEST)
        kept = min(total, most)
        spun = places[user, -1, ""] >> (68 if engine == "spark" else 0)
        reached = 0
        for slot in sorted(there, key=lambda slot: places[user, slot, ""]):
            before = (min(reached, LARGEST) * kept + spun % total) // total
            reached += min(own[slot], LARGEST)
            found[slot] += (min(reached, LARGEST) * kept + spun % total) // total - before
    return [found[slot] for slot in range(len(EDGES) + 2)]


def shared(frame: Any, most: int | None, key: str | None, user: str | None = "who") -> list[int]:
    """Count slots with the library."""
    found = bin_rows_bounded(frame, GRID, user=user, count="n", max_records=most, key=key)
    counts: list[int] = found.tolist()
    return counts
