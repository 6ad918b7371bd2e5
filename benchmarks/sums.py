"""Counts, sums and means of listed labels beside the noise formulas of PipelineDP and Tumult.

    python -m benchmarks.sums

Total (1, 1e-6), the same bounds and clamps for all, 200 trials. dphist is run; of the others the
code was not run; their noise is drawn by their published formulas:

- PipelineDP 0.3.1 (`compute_dp_mean` in dp_computations.py, NaiveBudgetAccountant): half of
  epsilon for the count, half for the sum about the middle of the clamp; Laplace noise of scale
  m B / (epsilon / 2), or Gaussian noise by Balle and Wang 2018 at (epsilon / 2, delta / 2) with
  sensitivity sqrt(m) B.
- Tumult Analytics 0.21 (`average`, which halves its budget likewise): geometric noise for pure
  epsilon, or discrete Gaussian noise of variance m B**2 / (2 rho / 2) with the rho that is worth
  (1, 1e-6) by the tightest conversion.

Data: visits of restaurants as in PipelineDP's example, rebuilt from its shape (visitors, days of a
week, money spent); and items bought by customers, as in `benchmarks.data`.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import brentq
from scipy.special import ndtr

import dphist as dh
from benchmarks.data import folder
from benchmarks.markdown import print_table

EPSILON, DELTA, TRIALS = 1.0, 1e-6, 200

Noise = Callable[[np.random.Generator, float, int], np.ndarray]
"""Draws noise of numbers that a user changes by a reach, of this many labels."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows, the public labels, and the bounds on what a user adds."""

    name: str
    rows: pa.Table
    labels: list[Any]
    max_labels: int
    clamp: dh.Clamp


def restaurants() -> Table:
    """1,500 visitors who come on some days of a week and spend about 20 each time."""
    draw = np.random.default_rng(7)
    visits = draw.poisson(2.2, 1500) + 1
    who = np.repeat(np.arange(1500), visits)
    spent = np.round(draw.gamma(4, 5, len(who)), 2)
    days = draw.integers(1, 8, len(who))
    rows = pa.table({"user": who, "label": days, "x": spent})
    return Table("restaurants", rows, list(range(1, 8)), 3, dh.Clamp(0, 60, "0.01"))


def items() -> Table | None:
    """Pieces that customers bought of each of the 200 most frequent items; None without data."""
    place = folder("labelled")
    if place is None:
        return None
    found = pq.read_table(place / "online_retail.parquet")
    frame = found.select(["customer", "item", "quantity"]).to_pandas().dropna()
    often = frame["item"].value_counts().index[:200]  # a public list, for this comparison
    kept = frame[frame["item"].isin(often)]
    rows = pa.table(
        {
            "user": kept["customer"].to_numpy(),
            "label": kept["item"].astype(str).tolist(),
            "x": kept["quantity"].to_numpy(),
        }
    )
    return Table("items", rows, sorted(map(str, often)), 20, dh.Clamp(0, 50, 1))


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the least standard deviation at sensitivity 1 (Balle and Wang 2018, Theorem 8)."""

    def excess(sigma: float) -> float:
        return float(
            ndtr(0.5 / sigma - epsilon * sigma)
            - math.exp(epsilon) * ndtr(-0.5 / sigma - epsilon * sigma)
            - delta
        )

    return float(brentq(excess, 0.1, 1000))


def rho_worth(epsilon: float, delta: float) -> float:
    """Return the largest rho that costs at most this."""
    return float(
        brentq(
            lambda rho: float(dh.ZCDP(round(rho, 9)).to_approx_dp(delta).epsilon) - epsilon, 1e-4, 1
        )
    )


def contenders(most: int) -> Iterator[tuple[str, Noise]]:
    """Yield the formulas of others, for users with `most` labels."""
    half = EPSILON / 2
    sigma = gaussian_sigma(half, DELTA / 2) * math.sqrt(most)
    rho = rho_worth(EPSILON, DELTA)

    def laplace(draw: np.random.Generator, reach: float, size: int) -> np.ndarray:
        return draw.laplace(0, most * reach / half, size)

    def normal(deviation: float) -> Noise:
        return lambda draw, reach, size: draw.normal(0, deviation * reach, size)

    yield "PipelineDP, Laplace", laplace
    yield "PipelineDP, Gaussian", normal(sigma)
    yield "Tumult, pure", laplace
    yield "Tumult, ρ", normal(math.sqrt(most / rho))


def errors(true: np.ndarray, found: np.ndarray, clamp: dh.Clamp) -> tuple[float, float, float]:
    """Return mean absolute errors of counts, sums and means; both are (2, labels)."""
    moved = np.abs(found - true).mean(axis=1)
    mean = np.clip(found[1] / np.maximum(found[0], 1), float(clamp.low), float(clamp.high))
    return float(moved[0]), float(moved[1]), float(np.abs(mean - true[1] / true[0]).mean())


def compare(table: Table) -> Iterator[list[str]]:
    """Yield a row of errors for each method."""
    sums, clamp = {"x": table.clamp}, table.clamp
    counts = dh.LabelCounts.from_table(
        table.rows, label="label", user="user", max_labels=table.max_labels, sums=sums
    )
    kind = counts.label_type
    labels = pa.array(table.labels, kind).to_pylist()
    middle = clamp.center(counts_users=True)
    users, steps = np.array(counts.counts_of(labels)), np.array(counts.sums_of(labels)[0])
    true = np.array([users, (steps + middle * users) * float(clamp.step)])
    mechanism = dh.calibrate(
        dh.ThresholdHistogram,
        epsilon="1",
        delta="1e-6",
        max_labels=table.max_labels,
        labels=labels,
        noise="best",
        sums=sums,
    )
    own = []
    for _ in range(TRIALS):
        value = mechanism.release(counts).value
        place = {label: k for k, label in enumerate(value.labels)}
        order = [place[label] for label in labels]
        found = np.array([value.counts[order], value.estimates("x")[order, 0]])
        own.append(errors(true, found, clamp))
    yield [table.name, f"dphist, {mechanism.noise}", *_shown(own)]
    draw, size = np.random.default_rng(1), len(labels)
    center = float((clamp.low + clamp.high) / 2)
    reach = float((clamp.high - clamp.low) / 2)
    for name, noise in contenders(min(table.max_labels, size)):
        trials = []
        for _ in range(TRIALS):
            counted = true[0] + noise(draw, 1, size)
            summed = true[1] - center * true[0] + noise(draw, reach, size) + center * counted
            trials.append(errors(true, np.array([counted, summed]), clamp))
        yield [table.name, name, *_shown(trials)]


def _shown(trials: list[tuple[float, float, float]]) -> list[str]:
    return [f"{number:,.3g}" for number in np.mean(trials, axis=0)]


def main() -> None:
    """Print the table of errors."""
    found = [table for table in (restaurants(), items()) if table is not None]
    rows = [row for table in found for row in compare(table)]
    print_table(["data", "method", "count", "sum", "mean"], rows)


if __name__ == "__main__":
    main()
