"""Exact geometric noise: samples a second, beside OpenDP's integer Laplace.

    python -m benchmarks.noise

Both draw vectors with the same scale in one process, in turn, on one core; OpenDP adds its
noise to a vector of zeros. The ratio is the median over the turns.
"""

import statistics
import time
from collections.abc import Callable
from fractions import Fraction

import opendp.prelude as dp

from benchmarks.markdown import print_table
from dphist.noise import rounded_gaussian, two_sided_geometric

EPSILONS = ["1/1000000", "1/10000", "1/1000", "1/100", "1/10", "1", "4", "50"]
OURS, THEIRS, TURNS = 2_000_000, 20_000, 7


def nanoseconds(draw: Callable[[], object], samples: int) -> float:
    """Time of one sample."""
    start = time.perf_counter()
    draw()
    return (time.perf_counter() - start) / samples * 1e9


def opendp_laplace(epsilon: Fraction) -> Callable[[], object]:
    """OpenDP's exact integer Laplace mechanism on a vector of zeros."""
    measurement = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=1 / float(epsilon)
    )
    zeros = [0] * THEIRS
    return lambda: measurement(zeros)


def opendp_gaussian(sigma: float) -> Callable[[], object]:
    """OpenDP's exact integer Gaussian mechanism on a vector of zeros."""
    measurement = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=sigma
    )
    zeros = [0] * THEIRS
    return lambda: measurement(zeros)


def compare(
    name: str, ours: Callable[[], object], theirs: Callable[[], object]
) -> tuple[str, str, str, str]:
    """Time both in turn; medians, and the median of the ratios."""
    ours(), theirs()  # tables are made, code is loaded
    times = [(nanoseconds(ours, OURS), nanoseconds(theirs, THEIRS)) for _ in range(TURNS)]
    mine, other = (statistics.median(side) for side in zip(*times, strict=True))
    ratio = statistics.median(theirs / ours for ours, theirs in times)
    return name, f"{mine:.0f}", f"{other:,.0f}", f"{ratio:.0f}"


def main() -> None:
    """Print the tables."""
    dp.enable_features("contrib", "honest-but-curious")
    print_table(
        ["two-sided geometric, epsilon", "dphist ns", "OpenDP ns", "ratio"],
        (
            compare(
                text,
                lambda e=Fraction(text): two_sided_geometric(e, OURS),  # type: ignore[misc]
                opendp_laplace(Fraction(text)),
            )
            for text in EPSILONS
        ),
    )
    print()
    print_table(
        ["rounded Gaussian, sigma", "dphist ns", "OpenDP discrete Gaussian ns", "ratio"],
        (
            compare(str(sigma), lambda s=sigma: rounded_gaussian(s, OURS), opendp_gaussian(sigma))  # type: ignore[misc]
            for sigma in (1.0, 100.0, 10_000.0)
        ),
    )


if __name__ == "__main__":
    main()
