"""Whether a mechanism of `dphist.for_error` reaches the error asked for, on real data.

    python -m benchmarks.planning [anonymized] [ranges] [labels]

The guess of the total is one digit, rounded up: nothing else of the data is used. Each ratio is
the error measured over the error asked for. Data as `benchmarks.data` finds them.
"""

import math
import sys
from collections.abc import Iterator

import numpy as np

import dphist as dh
from benchmarks.data import folder, profiles
from benchmarks.markdown import print_table
from benchmarks.ranges.data import read_shapes
from dphist.release.range_histogram.boxes import box_sums, sum_boxes

RUNS = 8
SHARES = ("0.01", "0.001")
TABLES = {
    "online_retail": ("item", "customer", (10, 50)),
    "reddit_bigrams": ("ngram", "author", (5, 20)),
}
PLACES = (20, 100)  # of the label whose count is asked for


def main() -> None:
    """Print the tables, all of them or those named."""
    tables = {
        "anonymized": ("profile", "measured / asked", anonymized),
        "ranges": ("histogram", "measured / asked", ranges),
        "labels": ("labels", "appeared", labels),
    }
    for name in sys.argv[1:] or tables:
        what, found, rows = tables[name]
        print_table([what, "asked for", "epsilon", found], rows())
        print()


def anonymized() -> Iterator[list[str]]:
    """Measure the sorted L1 distance, as a share of the records."""
    for name, profile in profiles().items():
        for share in SHARES:
            made = dh.for_error(dh.AdaptiveScan, relative_error=share, total=guess(profile.total))
            off = np.mean([profile.distance(made.release(profile).value) for _ in range(RUNS)])
            ratio = off / float(share) / guess(profile.total)
            yield [name, percent(share), epsilon_of(made), f"{ratio:.2f}"]


def ranges() -> Iterator[list[str]]:
    """Measure the root of the mean squared error of random ranges, and of boxes of grids."""
    for shape in [*read_shapes(1), *read_shapes(2)]:
        counts, total = shape.counts, guess(int(shape.counts.sum()))
        rng = np.random.default_rng(1)
        ends = [np.sort(rng.integers(0, n + 1, (2, 2000)), axis=0) for n in counts.shape]
        lo, hi = [low for low, _ in ends], [high for _, high in ends]
        exact = box_sums(sum_boxes(counts), lo, hi)
        low, high = (each[0] if len(each) == 1 else tuple(each) for each in (lo, hi))
        for share in SHARES:
            made = dh.for_error(
                dh.AdaptiveTree, relative_error=share, total=total, bins=counts.shape
            )
            off = [made.release(counts).value.count_bins(low, high) - exact for _ in range(RUNS)]
            rmse = math.sqrt(np.mean(np.square(np.array(off, float))))
            yield [
                shape.name,
                percent(share),
                epsilon_of(made),
                f"{rmse / float(share) / total:.2f}",
            ]


def labels() -> Iterator[list[str]]:
    """Count how often labels of the count asked for, or up to 5 % more, appear."""
    place = folder("labelled")
    for name, (label, user, caps) in TABLES.items() if place else ():
        for cap in caps:
            table = dh.LabelCounts.from_table(
                f"{place}/{name}.parquet",
                label=label,
                user=user,
                max_labels=cap,
                null_users="drop",
            )
            largest = table.largest(max(PLACES))
            for at in PLACES:
                count = largest["count"].to_pylist()[at - 1]
                made = dh.for_error(
                    dh.ThresholdHistogram, appears_from=count, max_labels=cap, delta="1e-6"
                )
                held = largest["count"].to_numpy()
                near = set(
                    largest["label"].to_numpy(zero_copy_only=False)[
                        (held >= count) & (held <= 1.05 * count)
                    ]
                )
                runs = 100
                found = sum(len(near & set(made.release(table).value.labels)) for _ in range(runs))
                yield [
                    f"{name}, `max_labels={cap}`",
                    f"appear from {count}",
                    epsilon_of(made),
                    f"{found / runs / len(near):.1%}",
                ]


def guess(total: int) -> int:
    """Round a number up to one digit, as somebody who does not know it would say it.

    >>> guess(913_548), guess(3306)
    (1000000, 4000)
    """
    size = int(10 ** (len(str(total)) - 1))
    return -(-total // size) * size


def percent(share: str) -> str:
    """Write a share in percent."""
    return f"{100 * float(share):g} % of the total"


def epsilon_of(made: dh.Mechanism) -> str:
    """Return the total epsilon of a mechanism, as text."""
    target = made.target  # type: ignore[attr-defined]
    return f"{float(made.guarantee.epsilon if target is None else target.guarantee.epsilon):g}"  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
