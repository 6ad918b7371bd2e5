"""Exact noise: time of a sample, beside NumPy's inexact noise and OpenDP's exact noise.

    python -m benchmarks.noise

All draw vectors with the same scale in one process, in turn, on one core; OpenDP adds its noise to
a vector of zeros. A ratio is the median over the turns. Times are of the processor, in the program
and in the system, which other programs disturb less than elapsed time.
"""

import os
import statistics
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from benchmarks.markdown import print_table
from dphist.noise import Source, rounded_gaussian, two_sided_geometric

NUMPY_EPSILONS = ["4", "1", "1/10", "1/64", "1/100", "1/256", "1/257", "1/1000", "1/10000"]
NUMPY_SIGMAS = ["1", "10", "100", "1000", "10000"]
EPSILONS = ["1/1000000", "1/10000", "1/1000", "1/100", "1/10", "1", "4", "50"]
SIGMAS = ["1", "100", "10000", str(2**30)]
OURS, THEIRS, TURNS, NUMPY_TURNS = 2_000_000, 20_000, 7, 21
PIECE = 1 << 16  # random bytes asked for at once


def nanoseconds(draw: Callable[[], object], samples: int) -> float:
    """Time of one sample."""
    start = time.process_time()
    draw()
    return (time.process_time() - start) / samples * 1e9


def opendp_laplace(epsilon: Fraction) -> Callable[[], object]:
    """OpenDP's exact integer Laplace mechanism on a vector of zeros."""
    measurement = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=1 / float(epsilon)
    )
    zeros = [0] * THEIRS
    return lambda: measurement(zeros)


def opendp_gaussian(sigma: Fraction) -> Callable[[], object]:
    """OpenDP's exact integer Gaussian mechanism on a vector of zeros."""
    measurement = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.l2_distance(T="f64"),
        scale=float(sigma),
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


class Counted:
    """The operating system's bytes, counted."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self, size: int) -> bytes:
        self.given += size
        return os.urandom(size)


def random_bytes(pieces: int) -> None:
    """Draw from the operating system, and forget it."""
    for _ in range(pieces):
        os.urandom(PIECE)


def against_numpy(
    names: list[str],
    ours: Callable[[Fraction, Source | None], object],
    theirs: Callable[[Fraction], object],
) -> list[tuple[str, ...]]:
    """Time all parameters in turn, and the system's random bytes beside them."""
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    bytes_of_one = {}
    for name in names:
        counted = Counted()
        ours(Fraction(name), counted)  # tables are made, too
        bytes_of_one[name] = counted.given / OURS
    for _ in range(NUMPY_TURNS):
        for name in names:
            value, pieces = Fraction(name), int(OURS * bytes_of_one[name]) // PIECE
            times[name].append(
                (
                    nanoseconds(lambda v=value: ours(v, None), OURS),  # type: ignore[misc]
                    nanoseconds(lambda v=value: theirs(v), OURS),  # type: ignore[misc]
                    nanoseconds(lambda n=pieces: random_bytes(n), OURS),  # type: ignore[misc]
                )
            )
    rows: list[tuple[str, ...]] = []
    for name, measured in times.items():
        mine, other, floor = (statistics.median(side) for side in zip(*measured, strict=True))
        low, middle, high = statistics.quantiles([b / a for a, b, _ in measured], n=4)
        rows.append(
            (
                name,
                f"{mine:.1f}",
                f"{other:.1f}",
                f"{middle:.2f} ({low:.2f} to {high:.2f})",
                f"{bytes_of_one[name]:.2f}",
                f"{floor:.1f}",
            )
        )
    return rows


def main() -> None:
    """Print the tables."""
    columns = ["dphist ns", "NumPy ns", "speed over NumPy's", "random bytes", "their ns"]
    generator = np.random.default_rng()
    print_table(
        ["two-sided geometric, epsilon", *columns],
        against_numpy(
            NUMPY_EPSILONS,
            lambda e, source: two_sided_geometric(e, OURS, source),
            lambda e: generator.laplace(scale=1 / float(e), size=OURS),
        ),
    )
    print()
    print_table(
        ["rounded Gaussian, sigma", *columns],
        against_numpy(
            NUMPY_SIGMAS,
            lambda s, source: rounded_gaussian(s, OURS, source),
            lambda s: generator.normal(scale=float(s), size=OURS),
        ),
    )
    print()
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
            compare(
                text,
                lambda s=Fraction(text): rounded_gaussian(s, OURS),  # type: ignore[misc]
                opendp_gaussian(Fraction(text)),
            )
            for text in SIGMAS
        ),
    )


if __name__ == "__main__":
    main()
