"""What each rule of `AdaptiveScan` is worth: its error without the rule, over that with it.

    python -m benchmarks.ablation [--runs N] [--jobs N] [--output FOLDER]

Geometric means over the real profiles and, in brackets, over the made shapes; 50 releases a
cell by default, with the same random numbers on both sides. Above 1 the rule helps. A finished
column of a rule is kept in `errors.jsonl` of the output folder, so a killed run continues where it
was; delete that file to measure anew after the code changed.
"""

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.data import ROOT, profiles
from benchmarks.markdown import print_table
from benchmarks.shapes import RUNS, SHAPES
from dphist import AdaptiveScan, Profile
from dphist.anonymized.adaptive_scan import blocks as scan_blocks
from dphist.anonymized.adaptive_scan import decoding as scan_decoding
from dphist.anonymized.adaptive_scan import mechanism as scan_mechanism
from dphist.anonymized.adaptive_scan import scan
from dphist.anonymized.adaptive_scan import trend as scan_trend

EPSILONS = ["4", "1", "0.1", "0.01"]
OUTPUT = ROOT / "benchmarks" / "out" / "ablation"
Patch = tuple[Any, str, Any]


def nowhere(heights: np.ndarray) -> np.ndarray:
    """Say of no block that it is of a kind."""
    return np.full(len(heights), np.nan)


def unsteadied(ends: Any, counts: Any, epsilon: float, roughness: object) -> np.ndarray:
    """Heights of blocks without a look at what is likely of their neighbors."""
    return scan_blocks.block_heights(ends, counts)


WITHOUT: dict[str, list[Patch]] = {
    "nothing": [],
    "heights smoothed by neighbors": [(scan_decoding, "smooth_heights", unsteadied)],
    "steps kept when smoothing": [(scan_blocks, "_STEP", math.inf)],
    "less weight for large noise": [
        (scan_blocks, "_weigh_counts", lambda noise, off: np.full(len(off), noise))
    ],
    "columns up to where rows are better": [
        (scan, "_CORNER_SLOPE", math.inf),
        (scan, "_CORNER_HEIGHT", 1),
    ],
    "runs of equal blocks": [(scan, "_RUN", 0.0)],
    "stairs detected": [(scan, "clumps", lambda *_: 1.0)],
    "shorter blocks on plateaus": [(scan_trend, "_FLAT", 0.0)],
    "growth by at most half": [(scan_trend, "_GROWTH", 1e9)],
    "limit on looking ahead (5 times as far)": [(scan_trend, "_AHEAD", 0.2)],
    "curves bend": [(scan_trend, "_BEND", 0.0)],
    "bends in blocks": [
        (scan_decoding, "bends", lambda _, heights, edges: (nowhere(heights),) * 2 + (edges,))
    ],
    "steps in blocks": [
        (scan_decoding, "steps", lambda _, heights, *__: np.full((len(heights), 2), np.nan))
    ],
    "rows end where columns do": [(scan_mechanism, "make_agree", lambda *curves: curves)],
    "halves of even counts": [(scan_decoding, "halfway", lambda *_: 0.0)],
    "decoding again": [(scan_decoding, "_SECOND", 0.0)],
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


def errors(task: tuple[str, str, int]) -> list[float]:
    """Mean errors without a rule, at an epsilon, in so many runs; the real profiles first."""
    rule, epsilon, runs = task
    subjects = [*REAL.values(), *(make() for make in SHAPES.values())]
    with patched(WITHOUT[rule]):
        return [mean_error(AdaptiveScan(epsilon=epsilon), profile, runs) for profile in subjects]


def mean_error(mechanism: AdaptiveScan, profile: Profile, runs: int) -> float:
    """Mean sorted L1 error of seeded runs, at least half a record in all of them together.

    Rules of decoding are then compared on the same releases.
    """
    sources = (Random(run).randbytes for run in range(runs))
    errors = [profile.distance(mechanism.release(profile, source).value) for source in sources]
    return max(statistics.fmean(errors), 0.5 / runs)


def measured(path: Path, runs: int, jobs: int) -> dict[tuple[str, str], list[float]]:
    """Return errors by rule and epsilon; measure those that `path` has not, and keep them there."""
    found: dict[tuple[str, str], list[float]] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    for line in path.read_text(encoding="utf-8").splitlines():
        rule, epsilon, kept_runs, errors_of_it = json.loads(line)
        if kept_runs == runs:
            found[rule, epsilon] = errors_of_it
    tasks = [(rule, epsilon, runs) for rule in WITHOUT for epsilon in EPSILONS]
    missing = [task for task in tasks if task[:2] not in found]
    with Pool(jobs) as pool, path.open("a", encoding="utf-8") as file:
        for task, of_it in zip(missing, pool.imap(errors, missing), strict=True):
            found[task[:2]] = of_it
            file.write(json.dumps([*task, of_it], ensure_ascii=False) + "\n")
            file.flush()
    return found


def mean_ratio(ones: list[float], others: list[float]) -> float:
    """Geometric mean of ratios."""
    ratios = (math.log(a / b) for a, b in zip(ones, others, strict=True))
    return math.exp(statistics.fmean(ratios))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of a cell, default {RUNS}")
    parser.add_argument("--jobs", type=int, help="processes, default one a core")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FOLDER")
    chosen = parser.parse_args(arguments)
    found = measured(chosen.output / "errors.jsonl", chosen.runs, chosen.jobs)
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
    print(f"{chosen.runs} releases a cell\n")
    print_table(["without", *(f"ε = {e}" for e in EPSILONS)], rows)


REAL = profiles()

if __name__ == "__main__":
    main()
