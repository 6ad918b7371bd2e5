"""Running counts without a horizon, beside those for the best horizon; and pure running counts.

    python -m benchmarks.streams.unbounded

The first table is in units of sigma_1**2, that of a single count of the same zCDP, without the part
for rounding. The second one is in units of 1 / epsilon**2.
"""

import math
from fractions import Fraction

from benchmarks.markdown import print_table
from dphist.streams.counters.design import design, toeplitz_designs, unbounded_design
from dphist.streams.counters.laplace import laplace_counter, sum_of_blocks
from dphist.streams.counters.toeplitz import variance_without_past

BITS = (6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40)
PURE_BITS = (8, 12, 16, 20, 24)


def square_root(horizon: int) -> float:
    """Return the largest variance of the square-root factorization, to a relative 1 / horizon**2.

    `published.square_root` adds up all times.
    """
    harmonic = math.log(horizon) + 0.5772156649 - 1 / (4 * horizon)
    return ((harmonic + math.log(16)) / math.pi) ** 2


def print_unbounded() -> None:
    """Print the variance at each time beside the largest one for that horizon."""
    ours = unbounded_design()
    rows = []
    for bits in BITS:
        time = 2**bits
        found = ours.squared_sensitivity * variance_without_past(ours.decays, ours.weights, time)
        last = min(
            each.squared_sensitivity * variance_without_past(each.decays, each.weights, time)
            for each in toeplitz_designs(time)
        )
        numbers = [float(found), float(last), float(design(time).cost), square_root(time)]
        numbers += [numbers[0] / numbers[1], numbers[0] / numbers[3]]
        rows.append([f"2^{bits}", *(f"{number:.2f}" for number in numbers)])
    head = ["time", "horizon=None", "toeplitz, this horizon: largest", "autoregressive"]
    print_table([*head, "√ factorization", "ratio to toeplitz", "ratio to √"], rows)


def print_pure() -> None:
    """Print the mean variance of the pure counter, and of Laplace noise on dyadic blocks."""
    rows = []
    for bits in PURE_BITS:
        counter = laplace_counter(Fraction(1), 2**bits)
        blocks = sum_of_blocks(counter.base, counter.levels, 2**bits) / 2**bits
        scale = 2 * counter.levels**2
        numbers = [scale * blocks, scale * counter.most_blocks, bits * (bits + 1) ** 2]
        shown = [f"{number:,.0f}" for number in numbers]
        rows.append([f"2^{bits}", counter.base, counter.levels, *shown, counter.width])
    head = ["horizon", "base", "levels", "mean variance", "largest", "dyadic blocks: mean"]
    print_table([*head, "numbers a label"], rows)


def main() -> None:
    """Print the tables."""
    print_unbounded()
    print()
    print_pure()


if __name__ == "__main__":
    main()
