"""diffprivlib: its mechanisms and tools.

python -m benchmarks.audit_others.diffprivlib_cases [CASE [about]]
"""

import importlib
import warnings
from typing import Any

import numpy as np

from benchmarks.audit_others.cases import Case, serve

mechanisms: Any = importlib.import_module("diffprivlib.mechanisms")
models: Any = importlib.import_module("diffprivlib.models")
tools: Any = importlib.import_module("diffprivlib.tools")
utils: Any = importlib.import_module("diffprivlib.utils")

# Bounds and ranges are given in each case but those that are about their absence.
ONE = (("no record, and one", 0, 1), ("9 and 10 records", 9, 10))
REAL = (("sums that differ by 1", 0.0, 1.0), ("by less", 0.25, 1.0))
REPLACED = (
    ("a record replaced", [0.0, 1.0, 0.5, 0.25], [1.0, 1.0, 0.5, 0.25]),
    ("all alike but one", [0.0] * 4, [1.0, 0.0, 0.0, 0.0]),
)
CHOICES = (("equal utilities, and not", [0.0, 0.0], [1.0, -1.0]),)


def pure() -> tuple[float, float]:
    """The parameters that every case asks for."""
    return 1.0, 0.0


def _with_delta() -> tuple[float, float]:
    return 1.0, 0.01


def _choose(kind: Any) -> Any:
    return lambda utility: kind(epsilon=1, sensitivity=1, utility=utility).randomise()


def _no_bounds(values: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", utils.PrivacyLeakWarning
        )  # the library says that this leaks
        return float(tools.mean(values, epsilon=1))


def _regression(rows: Any) -> list[float]:
    x, y = np.array(rows)[:, :1], np.array(rows)[:, 1]
    fitted = models.LinearRegression(
        epsilon=1, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0), fit_intercept=False
    ).fit(x, y)
    return [float(each) for each in fitted.coef_.ravel()]


def _naive_bayes(rows: Any) -> list[Any]:
    x, y = np.array(rows)[:, :1], np.array(rows)[:, 1]
    fitted = models.GaussianNB(epsilon=1, bounds=(0.0, 1.0)).fit(x, y)
    return [fitted.classes_.tolist(), fitted.class_count_.tolist()]


LINES = (("a record replaced", [[0.0, 0.0]] * 3 + [[1.0, 0.0]], [[0.0, 0.0]] * 3 + [[0.1, 0.0]]),)

CASES = {
    "Geometric": Case(
        lambda n: mechanisms.Geometric(epsilon=1).randomise(n), pure, ONE, "whole numbers"
    ),
    "GeometricTruncated": Case(
        lambda n: mechanisms.GeometricTruncated(epsilon=1, lower=0, upper=10).randomise(n),
        pure, ONE, "clipped after noise",
    ),
    "GeometricFolded": Case(
        lambda n: mechanisms.GeometricFolded(epsilon=1, lower=0, upper=10).randomise(n),
        pure, ONE, "folded at the bounds",
    ),
    "Laplace": Case(
        lambda x: mechanisms.Laplace(epsilon=1, sensitivity=1).randomise(x), pure, REAL,
        "floats",
    ),
    "LaplaceTruncated": Case(
        lambda x: mechanisms.LaplaceTruncated(
            epsilon=1, sensitivity=1, lower=0, upper=1
        ).randomise(x),
        pure, REAL, "floats, clipped",
    ),
    "LaplaceFolded": Case(
        lambda x: mechanisms.LaplaceFolded(
            epsilon=1, sensitivity=1, lower=0, upper=1
        ).randomise(x),
        pure, REAL, "floats, folded",
    ),
    "LaplaceBoundedDomain": Case(
        lambda x: mechanisms.LaplaceBoundedDomain(
            epsilon=1, sensitivity=1, lower=0, upper=1
        ).randomise(x),
        pure, REAL, "floats, drawn until within bounds, with a larger scale",
    ),
    "LaplaceBoundedNoise": Case(
        lambda x: mechanisms.LaplaceBoundedNoise(epsilon=1, delta=0.01, sensitivity=1).randomise(x),
        _with_delta, REAL, "bounded noise",
    ),
    "Snapping": Case(
        lambda x: mechanisms.Snapping(epsilon=1, sensitivity=1, lower=0, upper=1).randomise(x),
        pure, REAL, "Mironov's mechanism",
    ),
    "Staircase": Case(
        lambda x: mechanisms.Staircase(epsilon=1, sensitivity=1).randomise(x), pure, REAL, "floats"
    ),
    "Gaussian": Case(
        lambda x: mechanisms.Gaussian(epsilon=1, delta=0.01, sensitivity=1).randomise(x),
        _with_delta, REAL, "floats",
    ),
    "GaussianAnalytic": Case(
        lambda x: mechanisms.GaussianAnalytic(epsilon=1, delta=0.01, sensitivity=1).randomise(x),
        _with_delta, REAL, "floats",
    ),
    "GaussianDiscrete": Case(
        lambda n: mechanisms.GaussianDiscrete(epsilon=1, delta=0.01).randomise(n),
        _with_delta, ONE, "whole numbers",
    ),
    "Exponential": Case(_choose(mechanisms.Exponential), pure, CHOICES, "two candidates"),
    "PermuteAndFlip": Case(_choose(mechanisms.PermuteAndFlip), pure, CHOICES, "two candidates"),
    "mean": Case(
        lambda values: float(tools.mean(values, epsilon=1, bounds=(0, 1))), pure, REPLACED, "bounds"
    ),
    "mean, bounds from data": Case(
        _no_bounds, pure, REPLACED, "no bounds; the library warns with PrivacyLeakWarning"
    ),
    "sum": Case(
        lambda values: float(tools.sum(values, epsilon=1, bounds=(0, 1))), pure, REPLACED, "bounds"
    ),
    "mean, a value missing": Case(
        lambda values: float(tools.mean(values, epsilon=1, bounds=(0, 1))), pure,
        (("a record replaced by a missing one", [0.5] * 4, [0.5] * 3 + [float("nan")]),),
        "a NaN",
    ),
    "var": Case(
        lambda values: float(tools.var(values, epsilon=1, bounds=(0, 1))), pure, REPLACED, "bounds"
    ),
    "median": Case(
        lambda values: float(tools.median(values, epsilon=1, bounds=(0, 1))), pure, REPLACED,
        "bounds",
    ),
    "quantile, many equal": Case(
        lambda values: float(tools.quantile(values, 0.5, epsilon=1, bounds=(0, 1))), pure,
        (("a record replaced", [0.5] * 1500 + [0.25], [0.5] * 1501),),
        "issue 107: an error on some data",
    ),
    "count_nonzero": Case(
        lambda values: int(tools.count_nonzero(values, epsilon=1)), pure, REPLACED, ""
    ),
    "histogram": Case(
        lambda values: tools.histogram(values, epsilon=1, bins=2, range=(0, 1))[0], pure,
        (("a record more", [0.1] * 3, [0.1] * 4), ("in the other bin", [0.1], [0.1, 0.9])),
        "records added",
    ),
    "histogram, records replaced": Case(
        lambda values: tools.histogram(values, epsilon=1, bins=2, range=(0, 1))[0], pure,
        (("a record moves", [0.1] * 4, [0.1] * 3 + [0.9]),),
        "records replaced, as in mean and sum",
    ),
    "histogram, density": Case(
        lambda values: tools.histogram(values, epsilon=1, bins=2, range=(0, 1), density=True)[0],
        pure, (("a record more", [0.1] * 3, [0.1] * 4),), "shares",
    ),
    "GaussianNB": Case(
        _naive_bayes, pure,
        (("a record of another class", [[0.5, 0.0]] * 5, [[0.5, 0.0]] * 4 + [[0.5, 1.0]]),),
        "classes, and how many records each has",
    ),
    "LinearRegression": Case(
        _regression, pure, LINES, "issue 104: the upper bound of a feature is not used"
    ),
}  # fmt: skip

if __name__ == "__main__":
    serve("diffprivlib", CASES)
