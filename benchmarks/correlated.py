"""Counts of known labels with correlated noise, beside independent noise at the same cost.

    python -m benchmarks.correlated

Prints the table of docs/understand/lab-notes. Labels are public lists: months, days of the
week, hours of the day, airports, common English words. The total is (1, 1e-6). Each trial bounds
the users anew and draws new noise. Errors are mean absolute differences from the counts after
bounding, which is the same for all. Data as in `benchmarks.data`.
"""

import argparse
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.data import folder
from benchmarks.markdown import print_table
from dphist import LabelCounts, ThresholdHistogram, calibrate

TOTAL: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
WORDS = (  # noqa: SIM905 - easier to read
    "the and i to of a my in you is that not with me it for be his your this but he as "
    "have thou him so will what her thy all no by do shall if are we thee our on good now "
    "lord from come at"
).split()
"""Common words of English plays, written down without a look at the data."""


@dataclass(frozen=True, slots=True)
class Table:
    """Pairs of user and label, each once, and the public list of labels."""

    name: str
    pairs: pa.Table
    labels: tuple[Any, ...]

    def counted(self, max_labels: int) -> LabelCounts:
        """Return the counts, users bounded at random."""
        return LabelCounts.from_table(self.pairs, label="label", user="user", max_labels=max_labels)


def table(name: str, path: Path, user: str, label: str, labels: Sequence[Any]) -> Table:
    """Read pairs of users and listed labels; `label` is an expression in SQL."""
    with duckdb.connect() as connection:
        found = connection.sql(
            f"SELECT DISTINCT {user} AS user, {label} AS label FROM read_parquet($path) "
            f"WHERE {user} IS NOT NULL AND {label} IN (SELECT unnest($labels))",
            params={"path": str(path), "labels": list(labels)},
        )
        pairs = found.to_arrow_table()
    return Table(name, pairs, tuple(labels))


def tables() -> Iterator[Table]:
    """All data with public labels there are."""
    streams, labelled = folder("streams"), folder("labelled")
    if streams is None or labelled is None:
        raise SystemExit("no folders streams/ and labelled/ in DPHIST_DATA")
    planes = streams / "nycflights13.parquet"
    hour = "make_timestamp(3600000000 * ts_hour::BIGINT)"
    second = "make_timestamp(1000000 * ts::BIGINT)"
    yield table("planes by airport", planes, "tailnum", "origin", ("EWR", "JFK", "LGA"))
    yield table("planes by weekday", planes, "tailnum", f"isodow({hour})", range(1, 8))
    yield table("planes by month", planes, "tailnum", f"month({hour})", range(1, 13))
    yield table("planes by hour", planes, "tailnum", f"hour({hour})", range(24))
    shop = labelled / "online_retail.parquet"
    customer = "nullif(customer, -1)"
    yield table("customers by weekday", shop, customer, f"isodow({second})", range(1, 8))
    yield table("customers by month", shop, customer, f"month({second})", range(1, 13))
    yield table(
        "plays by word", labelled / "shakespeare_by_work.parquet", "work", "lower(word)", WORDS
    )


def mechanisms(labels: Sequence[Any], max_labels: int) -> dict[str, ThresholdHistogram]:
    """Return the contenders, all of the same total cost."""
    given: dict[str, Any] = {**TOTAL, "labels": list(labels), "max_labels": max_labels}
    number = len(labels)
    independent = [calibrate(ThresholdHistogram, noise=n, **given) for n in ("laplace", "gaussian")]
    return {
        "before": min(independent, key=lambda made: made.spread),
        "auto": calibrate(ThresholdHistogram, correlated="auto", **given),
        "auto, sums of all": calibrate(
            ThresholdHistogram, correlated="auto", sums_of=number, **given
        ),
    }


def rows(held: Table, trials: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each bound: every label, half of them, a quarter."""
    number = len(held.labels)
    for max_labels in sorted({number, -(-number // 2), -(-number // 4)}, reverse=True):
        contenders = mechanisms(held.labels, max_labels)
        errors: dict[str, list[float]] = {name: [] for name in contenders}
        totals: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(trials):
            counts = held.counted(max_labels)
            truth = dict(zip(held.labels, counts.counts_of(held.labels), strict=True))
            for name, mechanism in contenders.items():
                value = mechanism.release(counts).value
                away = [
                    n - truth[label]
                    for label, n in zip(value.labels, value.counts.tolist(), strict=True)
                ]
                errors[name].append(statistics.fmean(map(abs, away)))
                totals[name].append(abs(sum(away)))
        yield (
            f"{held.name}, {max_labels} of {number}",
            contenders["before"].noise,
            *(f"{made.error_of_sum(held.labels[:1]):.1f}" for made in contenders.values()),
            *(with_error(errors[name]) for name in contenders),
            *(with_error(totals[name]) for name in contenders),
        )


def with_error(numbers: list[float]) -> str:
    """Return the mean and its standard error."""
    error = statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    return f"{statistics.fmean(numbers):,.1f} ± {error:.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=30)
    chosen = parser.parse_args()
    kinds = ("before", "auto", "auto, sums of all")
    print_table(
        (
            "labels, `max_labels` of d",
            "noise before",
            *(f"σ: {kind}" for kind in kinds),
            *(f"error of a count: {kind}" for kind in kinds),
            *(f"error of the sum: {kind}" for kind in kinds),
        ),
        (row for held in tables() for row in rows(held, chosen.trials)),
    )


if __name__ == "__main__":
    main()
