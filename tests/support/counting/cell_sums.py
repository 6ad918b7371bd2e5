"""What several tests share."""

import random
from typing import Any

import dphist as dh

KEYS: dict[str, Any] = {"sex": ["f", "m"], "age": dh.Axis.regular(0, 90, 30)}
SUMS = {"spent": dh.Clamp(-2, 10, "0.25"), "hours": dh.Clamp(0, 24, 1)}


def make_rows(number: int) -> dict[str, list[Any]]:
    draw = random.Random(number)
    return {
        "sex": [draw.choice("fm") for _ in range(number)],
        "age": [draw.randrange(90) for _ in range(number)],
        "spent": [round(draw.uniform(-9, 19), 3) for _ in range(number)],
        "hours": [draw.randint(-3, 30) for _ in range(number)],
        "who": [draw.randrange(number) for _ in range(number)],
    }


def numbers_of(counts: dh.KeyedCounts) -> dict[int, list[int]]:
    numbers = zip(counts.counts.tolist(), *(each.tolist() for each in counts.totals), strict=True)
    return dict(zip(counts.cells.tolist(), map(list, numbers), strict=True))
