"""Labels with noise that ends, beside geometric and Gaussian noise at the same total.

    python -m benchmarks.bounded_noise

The first table: counts from which a label is released with 50 and 95 %, and the standard deviation
of the noise of a count, by public parameters alone. The second: the expected number of labels, if
each record of a profile is a user with one label; by exact laws, so nothing is drawn. Profiles as
in `benchmarks.data`.
"""

from typing import Any

import dphist as dh
from benchmarks.data import profiles
from benchmarks.markdown import print_table

NOISES: tuple[Any, ...] = ("laplace", "truncated", "optimal", "gaussian")
TOTALS = (("1", "1e-6"), ("0.1", "1e-6"), ("0.1", "1e-8"), ("0.01", "1e-8"))
BOUNDS = ((1, 1), (2, 1), (3, 1), (10, 1), (1, 5), (3, 5))
DATA = ("words_shakespeare", "words_brown", "passwords_phpbb")


def made(epsilon: str, delta: str, noise: Any, labels: int = 1, count: int = 1) -> Any:
    """Return the mechanism of a total."""
    total: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    bounds: dict[str, Any] = {"max_labels": labels, "max_count": count}
    return dh.calibrate(dh.ThresholdHistogram, noise=noise, **total, **bounds)


def cell(mechanism: Any, best: Any) -> str:
    """Write both counts and the standard deviation; bold if `best` chooses this noise."""
    text = f"{mechanism.likely_count(0.5):,} / {mechanism.likely_count(0.95):,}"
    text += f" ({mechanism.spread:.1f})"
    return f"**{text}**" if mechanism.noise == best.noise else text


def compare_points() -> None:
    """Print the first table."""
    rows = []
    for epsilon, delta in TOTALS:
        for labels, count in BOUNDS:
            noises = NOISES if count == 1 else tuple(n for n in NOISES if n != "optimal")
            best = made(epsilon, delta, "best", labels, count)
            cells = {n: cell(made(epsilon, delta, n, labels, count), best) for n in noises}
            row = [cells.get(noise, "none") for noise in NOISES]
            rows.append([f"({epsilon}, {delta})", labels, count, *row])
    print_table(["total", "max_labels", "max_count", *NOISES], rows)


def compare_profiles() -> None:
    """Print the second table."""
    rows = []
    for name, profile in profiles().items():
        if name not in DATA:
            continue
        sizes = list(zip(profile.counts.tolist(), profile.prevalences.tolist(), strict=True))
        for epsilon, delta in TOTALS:
            found = []
            for noise in NOISES:
                mechanism = made(epsilon, delta, noise)
                found.append(sum(n * mechanism.release_chance(size) for size, n in sizes))
            more = [f"{round(100 * (each / found[0] - 1), 1) + 0.0:+.1f} %" for each in found[1:]]
            rows.append([name, f"({epsilon}, {delta})", f"{found[0]:,.1f}", *more])
    print_table(["labels of", "total", "laplace", *NOISES[1:]], rows)


if __name__ == "__main__":
    compare_points()
    print()
    compare_profiles()
