"""Rows of users between edges, cut and counted in plain Python, to compare the engines with."""

import bisect
import datetime
import random
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.counting.binning.slots import Grid
from dphist.counting.binning.users import bin_rows_bounded
from tests.support.counting.contribution_engines import hashed

KEYS = ["00" * 16, "5eed" * 4 + "c0de" * 4]
EDGES = [0, 2, 4, 10]
GRID = Grid(("x",), (np.array(EDGES),), (None,))

UserRows = list[tuple[Any, int | None]]  # user, value


def table_of(rows: UserRows, user_type: pa.DataType | None = None) -> pa.Table:
    """Return rows as a table of columns who, x."""
    users, values = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [])
    kind = user_type or pa.string()
    return pa.table({"who": pa.array(users, kind), "x": pa.array(values, pa.int64())})


def some_rows(seed: int, rows: int = 90) -> UserRows:
    """Rows of users with awkward names, a third of them in no bin."""
    draw = random.Random(seed)
    users = ["u", "U", "v", "1", "11", "1:", "ü", "", " u", "null"]
    values = [-3, -1, 0, 1, 2, 3, 5, 10, 99, None]
    return [(draw.choice(users), draw.choice(values)) for _ in range(rows)]


def slot_of(value: int | None) -> int:
    """Below, three bins, above, null."""
    return len(EDGES) + 1 if value is None else bisect.bisect_right(EDGES, value)


def kept_in_python(rows: UserRows, most: int, key: str, engine: str = "duckdb") -> list[int]:
    """Count slots, each user cut by the hashes."""
    turns: Counter[tuple[Any, int]] = Counter()
    records = []
    for user, value in rows:
        turns[user, slot_of(value)] += 1
        records.append((user, slot_of(value), str(turns[user, slot_of(value)])))
    users: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for (user, slot, _), place in hashed(key, engine, records).items():
        users[user].append((place, slot))
    kept = Counter(slot for own in users.values() for _, slot in sorted(own)[:most])
    return [kept[slot] for slot in range(len(EDGES) + 2)]


def kept(frame: Any, most: int, key: str | None = KEYS[0], user: str = "who") -> list[int]:
    """Count slots with the library."""
    found = bin_rows_bounded(frame, GRID, user=user, max_records=most, key=key)
    counts: list[int] = found.tolist()
    return counts


DAY = datetime.date(2026, 1, 1)
USERS: dict[str, tuple[list[Any], pa.DataType]] = {
    "text": (["u", "U", "ü", "", " u", "1"], pa.string()),
    "bytes": ([b"u", b"U", b"\xff", b"", b"\0", b"1"], pa.binary()),
    "close integers": ([-3, -2, -1, 0, 1, 2], pa.int8()),
    "far integers": ([-(2**63), 2**63 - 1, 0, -1, 10**12, 1], pa.int64()),
    "large integers": ([2**64 - 1, 2**63, 2**63 - 1, 0, 1, 2**40], pa.uint64()),
    "large, close integers": ([2**64 - 1 - n for n in range(6)], pa.uint64()),
    "truth": ([True, False], pa.bool_()),
    "days": ([DAY + datetime.timedelta(n) for n in range(6)], pa.date32()),
    "moments": ([2**60 + n for n in range(6)], pa.timestamp("ns", "UTC")),
    "decimals": ([Decimal(n) / 100 for n in range(-3, 3)], pa.decimal128(9, 2)),
}
