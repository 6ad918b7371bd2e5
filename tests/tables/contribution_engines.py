"""The engines of the bounding suite, and bounding in plain Python to compare them with."""

import hashlib
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from .backends import BACKENDS

Rows = list[tuple[Any, str, int]]  # user, label, count


@dataclass(frozen=True)
class Engine:
    """One way to pass a table; `order` says how the engine compares the bytes of a hash."""

    name: str
    make: Callable[[pa.Table, Path], Any]
    order: Literal["little", "big"] = "little"


@cache
def spark() -> Any:
    """Spark in this machine, two tasks at a time, each tried three times."""
    # Neither the name of this machine nor the Python found first in the path is relied on.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
        # Windows over users, each small: code made for every query takes longer than they.
        "spark.sql.codegen.wholeStage": "false",
    }
    builder = SparkSession.builder.master("local[2,3]").appName("dphist-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


# Text files hold text only, and are compared apart from the rest where types matter.
ENGINES = [
    *(Engine(b.name, b.make) for b in BACKENDS if b.name not in ("csv.gz", "pandas-nullable")),
    Engine("spark", lambda table, _: spark().createDataFrame(table), "big"),
]
TYPED = [engine for engine in ENGINES if engine.name not in ("csv", "pandas")]


def table_of(rows: Rows, user_type: pa.DataType | None = None) -> pa.Table:
    """Return rows as a table of columns who, term, n."""
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = (user_type or pa.string(), pa.string(), pa.int64())
    return pa.table(
        {
            name: pa.array(values, kind)
            for name, values, kind in zip(("who", "term", "n"), columns, types, strict=True)
        }
    )


def hashed(key: str, order: Literal["little", "big"], *values: str, turn: str = "") -> int:
    """The hash, written down a second time."""
    texts = [value.encode() for value in values]
    lengths = [f"{len(text)}:".encode() for text in texts]
    digest = hashlib.md5(b"".join([key.encode(), *lengths, *texts, turn.encode()]))  # noqa: S324
    return int.from_bytes(digest.digest(), order)


def bounded(
    rows: Iterable[tuple[Any, str, int]],
    max_labels: int | None,
    max_count: int,
    key: str,
    order: Literal["little", "big"] = "little",
) -> dict[str, int]:
    """Count labels, each user bounded, in plain Python."""
    users: dict[Any, Counter[str]] = defaultdict(Counter)
    for user, label, count in rows:
        users[user][label] += count
    counts: Counter[str] = Counter()
    for user, labels in users.items():
        there = sorted((label for label in labels if labels[label]), key=str.encode)
        chosen = sorted(there, key=lambda label: hashed(key, order, str(user), label))
        for label in chosen[:max_labels]:
            counts[label] += min(labels[label], max_count)
    return dict(counts)
