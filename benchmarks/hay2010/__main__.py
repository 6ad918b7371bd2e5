"""The experiments of Hay, Rastogi, Miklau and Suciu (2010), Fig. 5 and 7, on data like theirs.

    python -m benchmarks.hay2010 --output docs/images

Prints Markdown tables of the squared error of the three inferences, and draws them. Data as
`benchmarks.data` finds them; without a folder of data only the word counts that are shipped.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.data import ROOT
from benchmarks.hay2010 import figures
from benchmarks.hay2010.errors import (
    SYMBOLS,
    FloatArray,
    Histogram,
    Ratio,
    errors_by_position,
    harmonic_sum,
    histograms,
    noise_variance,
    ratio,
    squared_errors,
    standard_error,
)
from benchmarks.markdown import print_table

EPSILONS = ("1", "0.1", "0.01")
# Where sorting comes close to projecting: at one epsilon, not above it nor below.
MORE_EPSILONS = ("8", "4", "2", "1", "0.5", "0.2", "0.1", "0.01")
SOCIAL = "degrees_facebook_combined"
RUNS = 200  # as in the paper's Fig. 7; its Fig. 5 has 50
OUTPUT = ROOT / "benchmarks" / "out" / "hay2010"

Errors = dict[tuple[str, str], dict[str, FloatArray]]


def measure_all(found: Sequence[Histogram], runs: int) -> Errors:
    """Return the errors of each run, by histogram's name and epsilon."""
    return {(h.name, e): squared_errors(h, e, runs) for h in found for e in EPSILONS}


def print_data(found: Sequence[Histogram]) -> None:
    """Print what Theorem 2 makes of each sequence."""
    head = ["sequence", "for the paper's", "labels n", "distinct d", "Σ H(nᵢ)", "n / Σ H(nᵢ)"]
    rows = []
    for h in found:
        bound = harmonic_sum(h.runs)
        shape = (f"{h.labels:,}", f"{len(h.runs):,}", f"{bound:,.0f}", f"{h.labels / bound:.1f}")
        rows.append([h.name, h.stands_for, *shape])
    print_table(head, rows)


def print_errors(found: Sequence[Histogram], errors: Errors) -> None:
    """Print mean squared errors, their ratios, and how near S̄ is to its bound."""
    gains = ["S̃ / S̄", "S̃_r / S̄", "S̄ / bound"]
    rows = []
    for h in found:
        for epsilon in EPSILONS:
            mine = errors[h.name, epsilon]
            bound = noise_variance(epsilon) * harmonic_sum(h.runs)
            means = [number(float(mine[name].mean())) for name in SYMBOLS]
            ratios = [ratio(mine[n], mine["projected"]) for n in ("raw", "sorted")]
            ratios.append(ratio(mine["projected"], np.full_like(mine["projected"], bound)))
            rows.append([h.name, epsilon, *means, *map(with_error, ratios)])
    print_table(["sequence", "ε", *SYMBOLS.values(), *gains], rows)
    worst = {
        SYMBOLS[name]: max(standard_error(one[name] / one[name].mean()) for one in errors.values())
        for name in SYMBOLS
    }
    listed = ", ".join(f"{symbol} {100 * error:.1f} %" for symbol, error in worst.items())
    print(f"\nLargest relative standard error of a mean: {listed}.")


def print_sorting(histogram: Histogram, runs: int) -> None:
    """Print how near sorting comes to projecting, over more epsilons."""
    rows = []
    for epsilon in MORE_EPSILONS:
        mine = squared_errors(histogram, epsilon, runs)
        pairs = [("raw", "projected"), ("sorted", "projected"), ("sorted", "rounded")]
        rows.append([epsilon, *(with_error(ratio(mine[a], mine[b])) for a, b in pairs)])
    heads = ["S̃ / S̄", "S̃_r / S̄", "S̃_r / S̄ rounded"]
    print_table([f"{histogram.name}: ε", *heads], rows)


def print_positions(histogram: Histogram, errors: dict[str, FloatArray]) -> None:
    """Print the mean error in the parts that the second figure shows."""
    names = ("sorted", "projected")
    expected = f"{noise_variance('1'):.2g}"
    rows = [
        [part, f"{first:,} to {last:,}", expected]
        + [f"{np.mean(errors[name][first - 1 : last]):.2g}" for name in names]
        for part, (first, last) in figures.parts(histogram).items()
    ]
    symbols = (SYMBOLS[name] for name in names)
    head = [f"{histogram.name}, ε = 1", "positions", "S̃, expected", *symbols]
    print_table(head, rows)


def number(value: float) -> str:
    """Return three digits, or all of a larger number's thousands."""
    return f"{float(f'{value:.3g}'):,.0f}"


def with_error(value: Ratio) -> str:
    """Return a ratio and its standard error, the latter rounded up."""
    digits = 2 if value.value < 10 else 1 if value.value < 100 else 0
    rounded_up = math.ceil(value.standard_error * 10**digits) / 10**digits
    return f"{value.value:,.{digits}f} ± {rounded_up:,.{digits}f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--output", type=Path, default=OUTPUT, metavar="FOLDER", help="default benchmarks/out/...")
    add("--runs", type=int, default=RUNS, help=f"noisy sequences a cell, default {RUNS}")
    chosen = parser.parse_args(arguments)
    if chosen.runs < 2:
        parser.error("--runs must be at least 2: one run has no standard error")
    found = histograms()
    if len(found) == 1:
        print("No folder of data (see benchmarks/data.py): only what is shipped is measured.\n")
    chosen.output.mkdir(parents=True, exist_ok=True)
    print(f"Means of {chosen.runs} runs.\n")
    print_data(found)
    print()
    errors = measure_all(found, chosen.runs)
    print_errors(found, errors)
    figures.draw_errors(chosen.output / "hay2010-errors.png", found, errors, EPSILONS)
    for h in found:
        if h.name == SOCIAL:
            print()
            print_sorting(h, chosen.runs)
        # With nothing but the shipped data, theirs is the second figure.
        if h.name in ("NETTRACE", SOCIAL) or len(found) == 1:
            by_position = errors_by_position(h, "1", chosen.runs)
            print()
            print_positions(h, by_position)
            kind = h.stands_for.replace(" ", "-")
            path = chosen.output / f"hay2010-positions-{kind}.png"
            figures.draw_positions(path, h, by_position, noise_variance("1"))


if __name__ == "__main__":
    main()
