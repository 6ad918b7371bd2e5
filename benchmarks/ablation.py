"""What each rule of `AdaptiveScan` is worth: its error without the rule, over that with it.

    python -m benchmarks.ablation

Geometric means over the real profiles and, in brackets, over the made shapes; 50 releases a
cell, on both sides. Above 1 the rule helps.
"""

import math
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pool
from typing import Any

import numpy as np

from benchmarks.data import profiles
from benchmarks.markdown import print_table
from benchmarks.shapes import RUNS, SHAPES, mean_error
from dphist import AdaptiveScan
from dphist.anonymized.adaptive_scan import decoding as scan_decoding
from dphist.anonymized.adaptive_scan import mechanism as scan_mechanism
from dphist.anonymized.adaptive_scan import scan
from dphist.anonymized.adaptive_scan import smoothing as scan_smoothing
from dphist.anonymized.adaptive_scan import widths as scan_widths

EPSILONS = ["4", "1", "0.1", "0.01"]
Patch = tuple[Any, str, Any]


def nowhere(heights: np.ndarray) -> np.ndarray:
    """Say of no block that it is of a kind."""
    return np.full(len(heights), np.nan)


def unsteadied(ends: Any, counts: Any, epsilon: float, roughness: object) -> np.ndarray:
    """Heights of blocks without a look at what is likely of their neighbours."""
    return scan_smoothing.block_heights(ends, counts)


WITHOUT: dict[str, list[Patch]] = {
    "nothing": [],
    "heights smoothed by neighbors": [(scan_decoding, "smoothed_heights", unsteadied)],
    "steps kept when smoothing": [(scan_smoothing, "_STEP", math.inf)],
    "less weight for large noise": [
        (scan_smoothing, "_weighed", lambda noise, off: np.full(len(off), noise))
    ],
    "columns up to where rows are better": [
        (scan, "_CORNER_SLOPE", math.inf),
        (scan, "_CORNER_HEIGHT", 1),
    ],
    "runs of equal blocks": [(scan, "_RUN", 0.0)],
    "stairs detected": [(scan, "clumps", lambda *_: 1.0)],
    "shorter blocks on plateaus": [(scan_widths, "_FLAT", 0.0)],
    "growth by at most half": [(scan_widths, "_GROWTH", 1e9)],
    "limit on looking ahead (5 times as far)": [(scan_widths, "_AHEAD", 0.2)],
    "curves bend": [(scan_widths, "_BEND", 0.0)],
    "bends in blocks": [
        (scan_decoding, "bends", lambda _, heights, edges: (nowhere(heights),) * 2 + (edges,))
    ],
    "steps in blocks": [
        (scan_decoding, "steps", lambda _, heights, *__: np.full((len(heights), 2), np.nan))
    ],
    "rows end where columns do": [(scan_mechanism, "agreeing", lambda *curves: curves)],
    "halves of even counts": [(scan_decoding, "halfway", lambda *_: 0.0)],
    "decoding again": [(scan_decoding, "LARGEST_EPSILON", 0.0)],
    "tail cut at 0.9/ε (half as high)": [(scan_decoding, "_WORTH_KEEPING", 0.45)],
}


@contextmanager
def patched(patches: list[Patch]) -> Iterator[None]:
    """Replace names in modules for a while."""
    before = [(module, name, getattr(module, name)) for module, name, _ in patches]
    for module, name, value in patches:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def errors(task: tuple[str, str]) -> list[float]:
    """Mean errors without a rule, the real profiles first."""
    rule, epsilon = task
    subjects = [*REAL.values(), *(make() for make in SHAPES.values())]
    with patched(WITHOUT[rule]):
        return [mean_error(AdaptiveScan(epsilon=epsilon), profile) for profile in subjects]


def mean_ratio(ones: list[float], others: list[float]) -> float:
    """Geometric mean of ratios."""
    ratios = (math.log(a / b) for a, b in zip(ones, others, strict=True))
    return math.exp(statistics.fmean(ratios))


def main() -> None:
    """Print the table."""
    tasks = [(rule, epsilon) for rule in WITHOUT for epsilon in EPSILONS]
    with Pool() as pool:
        found = dict(zip(tasks, pool.map(errors, tasks, chunksize=1), strict=True))
    rows = []
    for rule in list(WITHOUT)[1:]:
        row = [rule]
        for epsilon in EPSILONS:
            without, full = found[rule, epsilon], found["nothing", epsilon]
            real, made = (
                mean_ratio(without[part], full[part])
                for part in (slice(len(REAL)), slice(len(REAL), None))
            )
            row.append(f"{real:.2f} ({made:.2f})")
        rows.append(row)
    print(f"{RUNS} releases a cell\n")
    print_table(["without", *(f"ε = {e}" for e in EPSILONS)], rows)


REAL = profiles()

if __name__ == "__main__":
    main()
