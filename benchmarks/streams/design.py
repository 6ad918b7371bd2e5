"""The decays behind running counts: the library's few constants beside a free search.

    python -m benchmarks.streams.design [--bits 4 8 ...] [--starts N] [--values N]

Variances are in units of sigma_1**2, that of a single count of the same zCDP. The free search
minimizes over all times of decay and weights, with as many parts as the library takes and with
one fewer and one more; what it finds is priced by the library's own bound, as the design is.
"""

import argparse
import time
from collections.abc import Sequence

from benchmarks.markdown import print_table
from benchmarks.streams.published import lower_bound, square_root
from benchmarks.streams.searching import Effort, buffered, stationary
from dphist.streams.counters.design import Design, design

BITS = (4, 8, 12, 16, 20, 24)
HEAD = ["horizon", "parts", "largest = mean", "free search", "ratio", "one part fewer", "one more"]
HEAD += ["BLT, as many buffers: largest", "mean", "√ factorization: largest", "mean"]
HEAD += ["lower bound of the mean"]


def row_of(bits: int, effort: Effort) -> list[str]:
    """Search for one horizon."""
    horizon = 2**bits
    ours = design(horizon)
    parts = len(ours.decays)
    found = {
        number: float(stationary(number, horizon, ours, effort).cost)
        for number in (parts - 1, parts, parts + 1)
        if number >= 2
    }
    of_buffers = buffered(parts, horizon, effort)
    root = square_root(horizon)
    cost = float(ours.cost)
    numbers = [cost, found[parts], cost / found[parts], found.get(parts - 1), found[parts + 1]]
    numbers += [of_buffers.largest, of_buffers.mean, root.largest, root.mean, lower_bound(horizon)]
    texts = ["-" if number is None else f"{number:.3f}" for number in numbers]
    return [f"2^{bits}", str(parts), *texts]


def print_parts(ours: Design, free: Design, horizon: int) -> None:
    """Print the times of decay, and the weights, of both."""
    rows = []
    for name, one in (("the library's", ours), ("free search", free)):
        total = float(sum(one.weights))
        times = [float((1 + decay) / (1 - decay) / 2) for decay in one.decays]
        rows.append(
            [
                name,
                ", ".join(f"{value:,.4g}" for value in times),
                ", ".join(f"{float(weight) / total:.3f}" for weight in one.weights),
            ]
        )
    print_table([f"horizon {horizon:,}", "times of decay, events", "shares of the variance"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    usual = Effort()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--bits", nargs="+", type=int, default=list(BITS), help="horizons are 2**bits")
    add("--starts", type=int, default=usual.starts, help="of a search")
    add("--values", type=int, default=usual.values, help="function values of a round of a start")
    chosen = parser.parse_args(arguments)
    effort = Effort(chosen.starts, chosen.values)
    start = time.perf_counter()
    print_table(HEAD, (row_of(bits, effort) for bits in chosen.bits))
    print()
    horizon = 2 ** chosen.bits[len(chosen.bits) // 2]
    ours = design(horizon)
    print_parts(ours, stationary(len(ours.decays), horizon, ours, effort), horizon)
    print(f"\n{time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
