"""The engines of the bounding suite, and bounding in plain Python to compare them with."""

import hashlib
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tests.support.counting.backends import BACKENDS
from tests.support.counting.spark.sessions import QUICK

Rows = list[tuple[Any, str, int]]  # user, label, count


@dataclass(frozen=True)
class Engine:
    """One way to pass a table."""

    name: str
    make: Callable[[pa.Table, Path], Any]


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
        # Windows over users, each small: code made for a query, compiled well, takes longer.
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": QUICK,
    }
    builder = SparkSession.builder.master("local[2,3]").appName("dphist-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


# Text files hold text only, and are compared apart from the rest where types matter.
ENGINES = [
    *(Engine(b.name, b.make) for b in BACKENDS if b.name not in ("csv.gz", "pandas-nullable")),
    Engine("spark", lambda table, _: spark().createDataFrame(table)),
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


Pair = tuple[Any, Any, str]  # user, label, turn


def hashed(key: str, engine: str, pairs: Iterable[Pair]) -> dict[Pair, int]:
    """The hashes, written down a second time."""
    return (_md5 if engine == "spark" else _mixed)(key, list(dict.fromkeys(pairs)))


def _md5(key: str, pairs: list[Pair]) -> dict[Pair, int]:
    """Of Spark: MD5 of the key, lengths in bytes, values, and turn."""
    found = {}
    for user, label, turn in pairs:
        texts = [str(user).encode(), str(label).encode()]
        lengths = [f"{len(text)}:".encode() for text in texts]
        digest = hashlib.md5(b"".join([key.encode(), *lengths, *texts, turn.encode()]))  # noqa: S324
        found[user, label, turn] = int(digest.hexdigest(), 16)
    return found


def _mixed(key: str, pairs: list[Pair]) -> dict[Pair, int]:
    """Of DuckDB: hashes of values from DuckDB itself, mixed with the key in Python."""
    if not pairs:
        return {}
    hash_texts(text for user, label, _ in pairs for text in (user, label) if isinstance(text, str))
    known = {value: _hash(value) for user, label, _ in pairs for value in (user, label)}
    keys = [int(key[:16], 16), int(key[16:], 16)]
    found = {}
    for user, label, turn in pairs:
        mixed = _murmur(_murmur(known[user] ^ keys[0]) ^ _murmur(known[label] ^ keys[1]))
        found[user, label, turn] = _murmur(mixed ^ int(turn)) if turn else mixed
    return found


_DUCKDB = duckdb.connect()


_HASHES: dict[Any, int] = {}


def _hash(value: Any) -> int:
    """DuckDB's hash of a value."""
    if value not in _HASHES:
        kind = "BIGINT" if isinstance(value, int) else "VARCHAR"
        _HASHES[value] = _DUCKDB.execute(f"SELECT hash(?::{kind})", [value]).fetchall()[0][0]
    return _HASHES[value]


def hash_texts(texts: Iterable[str]) -> None:
    """Have the hashes of many texts ready: one query for all."""
    new = [text for text in dict.fromkeys(texts) if text not in _HASHES]
    if not new:
        return
    found = _DUCKDB.execute("SELECT list_transform(?::VARCHAR[], lambda x: hash(x))", [new])
    _HASHES.update(zip(new, found.fetchall()[0][0], strict=True))


def _murmur(x: int) -> int:
    """DuckDB's hash of a whole number of 64 bits."""
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93 % 2**64
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93 % 2**64
    return x ^ x >> 32


def bounded(
    rows: Iterable[tuple[Any, str, int]],
    max_labels: int | None,
    max_count: int,
    key: str,
    engine: str = "duckdb",
) -> dict[str, int]:
    """Count labels, each user bounded, in plain Python."""
    users: dict[Any, Counter[str]] = defaultdict(Counter)
    for user, label, count in rows:
        users[user][label] += count
    counts: Counter[str] = Counter()
    places = hashed(key, engine, [(u, label, "") for u, own in users.items() for label in own])
    for user, labels in users.items():
        there = [label for label in labels if labels[label]]
        chosen = sorted(there, key=lambda label: places[user, label, ""])
        for label in chosen[:max_labels]:
            counts[label] += min(labels[label], max_count)
    return dict(counts)
