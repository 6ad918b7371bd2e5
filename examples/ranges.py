"""When people visit a web site: a saved release from which any period can be asked.

    python examples/ranges.py OUTPUT_FOLDER

The visits of the year 2024 are made up here, with more of them by day, on working days and in
autumn. Instead of them --visits names a file (CSV, Parquet) with one row a visit, and --column its
column of times. The release costs epsilon 1. OUTPUT_FOLDER gets `visits.json` and `visits.html`.

What is protected is one visit; where a person has several, --visits-each says how many at most, and
a person is protected with all of them. The edges of the bins, each hour of the year, are published:
they come from the calendar, not from the data.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import dphist as dh

START, STOP = "2024-01-01", "2025-01-01"
VISITS = 200_000
PERIODS = [
    ("all of the year", "2024-01-01", "2025-01-01"),
    ("in March", "2024-03-01", "2024-04-01"),
    ("on 1 May", "2024-05-01", "2024-05-02"),
    ("at noon of that day", "2024-05-01T12:00", "2024-05-01T13:00"),
]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="OUTPUT_FOLDER", type=Path)
    parser.add_argument("--visits", metavar="FILE", type=Path)
    parser.add_argument("--column", default="time", metavar="COLUMN")
    parser.add_argument("--visits-each", default=1, type=int, metavar="N")
    chosen = parser.parse_args(arguments)
    try:
        release_visits(chosen)
    except dh.DphistError as error:  # made to be shown: it never holds a value of the data
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def release_visits(chosen: argparse.Namespace) -> None:
    visits = made_up() if chosen.visits is None else chosen.visits
    counts = dh.bin_counts(visits, column=chosen.column, start=START, stop=STOP, width="1h")
    mechanism = dh.AdaptiveTree(epsilon=1, bins=counts.bins, sensitivity=chosen.visits_each)
    release = mechanism.release(counts)

    chosen.folder.mkdir(parents=True, exist_ok=True)
    release.save(chosen.folder / "visits.json")
    dh.write_report(release, chosen.folder / "visits.html")
    tell(release, chosen.folder)


def made_up() -> pa.Table:
    """Times of visits, at random."""
    chance = np.random.default_rng(1)
    hours = np.arange(366 * 24)
    by_hour = 1.1 + np.sin((hours % 24 - 9) / 24 * 2 * np.pi)
    by_day = np.where(hours // 24 % 7 < 5, 1.5, 0.8)  # the year begins on a Monday
    weights = by_hour * by_day * (1 + hours / len(hours))
    hour = chance.choice(hours, VISITS, p=weights / weights.sum())
    minute = chance.integers(0, 60, VISITS)
    times = np.datetime64(START, "s") + (hour * 60 + minute).astype("m8[m]")
    return pa.table({"time": times})


def tell(release: dh.Release, folder: Path) -> None:
    """Print what was released. All of it may be published; the visits may not."""
    histogram = release.value
    print(f"Guarantee: {release.guarantee}")
    for name, start, stop in PERIODS:
        error = 1.96 * histogram.error(start, stop)
        print(f"Visits {name}: {histogram.count(start, stop):,} ± {error:.0f}")
    half, low, high = (np.datetime_as_string(each, unit="D") for each in histogram.median())
    print(f"Half of the visits were before {half} (95 % interval: {low} to {high})")
    print(f"Written: {folder / 'visits.json'}, {folder / 'visits.html'}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
