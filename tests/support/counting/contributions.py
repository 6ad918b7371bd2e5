"""Random tables of users and labels, and the laws of what is kept of them."""

import itertools
import random
from collections import Counter
from typing import Any

import pyarrow as pa
from scipy.stats import chi2

from dphist.data.label_counts import LabelCounts
from tests.support.counting.contribution_engines import Engine, Rows, hashed

KEYS = ["00" * 16, "5eed" * 4 + "c0de" * 4]


def count(frame: Any, key: str | None = None, **options: Any) -> LabelCounts:
    source = None if key is None else (lambda n: bytes.fromhex(key)[:n])
    named = {"label": "term", "user": "who", "source": source, **options}
    return LabelCounts.from_table(frame, **named)


def as_dict(counts: LabelCounts) -> dict[Any, int]:
    table = counts.filter_batches(lambda batch: batch)
    assert table.schema.names == ["label", "count"]
    assert table.schema.field("count").type == pa.int64()
    labels = table["label"].to_pylist()
    assert len(set(labels)) == len(labels)
    return dict(zip(labels, table["count"].to_pylist(), strict=True))


def some_rows(seed: int, rows: int = 60) -> Rows:
    draw = random.Random(seed)
    labels = ["", "a", "A", " a", "é", "e\u0301", 'q"q', "x,\ty", "1:1", "😀", "'", "null"]
    users = ["u", "v", "1", "11", "1:", "ü", ""]
    return [(draw.choice(users), draw.choice(labels), draw.randrange(4)) for _ in range(rows)]


def p_value(observed: Counter[Any], cells: int, total: int) -> float:
    """P-value of equally likely cells."""
    expected = total / cells
    assert expected >= 5
    seen = sum((n - expected) ** 2 / expected for n in observed.values())
    return float(chi2.sf(seen + (cells - len(observed)) * expected, cells - 1))


def laws(choices: list[tuple[str, ...]]) -> list[float]:
    """P-values: each pair of four labels is equally likely, whatever the user before chose."""
    pairs = list(zip(choices[::2], choices[1::2], strict=True))
    return [
        p_value(Counter(choices), 6, len(choices)),
        p_value(Counter(pairs), 36, len(pairs)),
    ]


USERS = 3000
FOUR = [(f"u{user}", f"{user}-{letter}", 1) for user in range(USERS) for letter in "abcd"]


def choices_of(counts: dict[str, int]) -> list[tuple[str, ...]]:
    kept: list[list[str]] = [[] for _ in range(USERS)]
    for label in sorted(counts):
        user, letter = label.split("-")
        kept[int(user)].append(letter)
    return [tuple(letters) for letters in kept]


def worlds() -> list[tuple[Rows, Rows]]:
    """Small tables as (rows of others, rows of one user), all over three labels.

    Each is a world: its users and labels occur in no other, so all are bounded in one call.
    """
    found = []
    entries = [(letter, n) for letter in "abc" for n in (1, 2)]
    others = [
        rows
        for size in (0, 1, 3)
        for rows in itertools.combinations_with_replacement(entries, size)
    ]
    mine = [rows for size in (1, 3) for rows in itertools.combinations(entries, size)]
    for world, (theirs, own) in enumerate(itertools.product(others, mine)):
        found.append(
            (
                [(f"{world}:z", f"{world}:{label}", n) for label, n in theirs],
                [(f"{world}:m", f"{world}:{label}", n) for label, n in own],
            )
        )
    return found


WORLDS = worlds()
WITHOUT = [row for theirs, _ in WORLDS for row in theirs]
WITH = [row for theirs, own in WORLDS for row in own + theirs]


def most_changed(without: dict[str, int], with_user: dict[str, int]) -> tuple[int, int]:
    """Return the labels that change in a world at most, and by how much a label does."""
    labels: Counter[str] = Counter()
    largest = 0
    for label in without.keys() | with_user.keys():
        change = abs(with_user.get(label, 0) - without.get(label, 0))
        if change:
            labels[label.split(":")[0]] += 1
            largest = max(largest, change)
    return max(labels.values(), default=0), largest


def falls(without: dict[str, int], with_user: dict[str, int]) -> bool:
    """Whether a count is smaller with the user, which correlated noise could not protect."""
    return any(with_user.get(label, 0) < number for label, number in without.items())


BOUNDS = [(1, 1), (2, 1), (1, 2), (2, 3)]


def kept_of_labels(rows: Rows, most: int, key: str, engine: Engine) -> Counter[str]:
    """Count labels, each user cut by the hashes."""
    users: dict[str, list[tuple[int, str]]] = {}
    turns: Counter[tuple[str, str]] = Counter()
    records = []
    for user, label, _ in rows:
        turns[user, label] += 1
        records.append((user, label, str(turns[user, label])))
    for (user, label, _), place in hashed(key, engine.name, records).items():
        users.setdefault(user, []).append((place, label))
    return Counter(label for own in users.values() for _, label in sorted(own)[:most])


def kept_records(rows: Rows, most: int, key: str, engine: Engine) -> tuple[list[int], list[int]]:
    kept = kept_of_labels(rows, most, key, engine)
    found = sorted(Counter(kept.values()).items())
    return [n for n, _ in found], [n for _, n in found]
