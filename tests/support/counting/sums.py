"""What several tests share."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import dphist as dh

STEPS = [Fraction(text) for text in ("0.01", "1", "1/3", "0.25", "7", "0.000001", "1000")]


def odd_floats(step: Fraction, draw: random.Random) -> list[float | None]:
    """Values that are halfway, near it, tiny, huge, missing, infinite."""
    halfway = [draw.randint(-1000, 1000) * float(step) / 2 for _ in range(300)]
    sizes = [draw.uniform(-1, 1) * 2.0 ** draw.randint(-1074, 1020) for _ in range(300)]
    decimals = [round(draw.uniform(-100, 100), 3) for _ in range(300)]
    near = [math.nextafter(value, value + draw.choice((-1, 1))) for value in halfway]
    return [*halfway, *sizes, *decimals, *near, 0.0, -0.0, None, math.nan, math.inf, -math.inf]


def sum_by_hand(rows: Sequence[Any], clamp: dh.Clamp, max_count: int) -> dict[Any, list[int]]:
    """Counts and centered sums: a user's total of a label is clamped; a null user's row is."""
    center = clamp.center(counts_users=max_count == 1)
    totals: dict[Any, list[int]] = {}
    for place, (who, label, count, value) in enumerate(rows):
        held = totals.setdefault((who if who is not None else ("row", place), label), [0, 0])
        held[0] += count
        held[1] += round(Fraction(value) / clamp.step)
    found: dict[Any, list[int]] = {}
    for (_, label), (count, steps) in totals.items():
        if count:
            held = found.setdefault(label, [0, 0])
            held[0] += min(count, max_count)
            held[1] += min(max(steps, clamp.least), clamp.most) - center
    return found


def read(counts: dh.LabelCounts, labels: Sequence[Any]) -> dict[Any, list[int]]:
    columns = [counts.counts_of(labels), *counts.sums_of(labels)]
    found = dict(zip(labels, map(list, zip(*columns, strict=True)), strict=True))
    return {label: numbers for label, numbers in found.items() if numbers[0]}
