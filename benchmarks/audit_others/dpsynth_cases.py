"""DPSynth: the primitives that its synthesizers measure with.

python -m benchmarks.audit_others.dpsynth_cases [CASE [about]]
"""

import importlib
import math
from statistics import NormalDist
from typing import Any

import numpy as np

from benchmarks.audit_others.cases import Case, Pair, serve

primitives: Any = importlib.import_module("dpsynth.local_mode.primitives")
quantiles: Any = importlib.import_module("dpsynth.local_mode._quantiles")
DELTA = 0.01
ONE = (("no record, and one", 0, 1), ("9 and 10 records", 9, 10))
LABELS: tuple[Pair, ...] = (
    ("no record, and one", [], [3]),
    ("2 and 3 of a label", [3, 3, 7], [3, 3, 3, 7]),
)
HISTOGRAMS = (("no record, and one", [0, 0, 0, 0], [0, 1, 0, 0]),)


def _gaussian(more: float = 0) -> tuple[float, float]:
    """Return (1, delta) of Gaussian noise of scale 1 on counts that differ by 1."""
    cdf = NormalDist().cdf
    return 1.0, cdf(-0.5) - math.e * cdf(-1.5) + more


def _draw() -> np.random.Generator:
    return np.random.default_rng()


def _select(labels: list[int]) -> Any:
    found, counts, _ = primitives.select_partitions_gaussian_thresholding(
        _draw(), np.array(labels, dtype=np.int64), gdp_budget=1.0, delta=DELTA
    )
    return [found.tolist(), counts.tolist()]


CASES = {
    "add_gaussian_noise, whole numbers": Case(
        lambda n: primitives.add_gaussian_noise(_draw(), np.array([n]), 1.0)[0],
        _gaussian, ONE, "float noise on whole numbers",
    ),
    "select_partitions_gaussian_thresholding": Case(
        _select, lambda: _gaussian(DELTA), LABELS, "labels and their noisy counts",
    ),
    "median from a histogram": Case(
        lambda counts: quantiles._median_from_histogram(_draw(), np.array(counts), 1.0),
        lambda: (1.0, 0.0), HISTOGRAMS, "the exponential mechanism",
    ),
}  # fmt: skip

if __name__ == "__main__":
    serve("dpsynth", CASES)
