"""Errors of tables of Adult: separate ones, unbiased, and whole numbers that add up.

All 36 tables of one and two of eight attributes; the mean over tables of the L1 distance to the
true table, over the number of records. Separate: Gaussian noise on the cells of each table, each
with 1/36 of rho. Seconds are those of planning, releasing and reading these tables and the total,
and of making them whole. Needs `tables/adult.csv.gz` and `tables/adult-domain.json` in the
data folder: see `benchmarks/data.py`.

    python -m benchmarks.tables [releases]
"""

import csv
import gzip
import json
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

import dphist as dh
from benchmarks.data import folder
from dphist.arrays import AnyArray
from dphist.noise.gaussian import rounded_gaussian

NAMES = (
    *("workclass", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "income>50K"),
)
TABLES = [names for most in (1, 2) for names in combinations(NAMES, most)]
RHOS = ("0.1", "0.01", "0.001")
Cells = dict[tuple[str, ...], AnyArray]


def read_adult() -> dh.KeyedCounts:
    """Return the records of Adult by the eight attributes."""
    held = folder("tables")
    if held is None:
        raise SystemExit("no folder tables/ in the data; name it in DPHIST_DATA")
    domain = json.loads((held / "adult-domain.json").read_text())
    with gzip.open(held / "adult.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    columns = {name: pa.array([int(row[name]) for row in rows]) for name in NAMES}
    keys = {name: range(domain[name]) for name in NAMES}
    return dh.KeyedCounts.from_table(pa.table(columns), keys=keys)


def count_table(data: dh.KeyedCounts, names: tuple[str, ...]) -> AnyArray:
    """Return the true table of these keys."""
    return data.sum_over(tuple(NAMES.index(name) for name in names))


def measure(data: dh.KeyedCounts, tables: Cells, ways: int) -> float:
    """Return the mean error over the tables of so many keys, as a share of the records."""
    records = data.counts.sum()
    errors = [
        np.abs(cells - count_table(data, names)).sum() / records
        for names, cells in tables.items()
        if len(names) == ways
    ]
    return float(np.mean(errors))


def release_separately(data: dh.KeyedCounts, rho: str) -> Cells:
    """Return each table by itself: a record is in one cell of each, and rho = 36 / 2 sigma**2."""
    sigma = (len(TABLES) / (2 * float(rho))) ** 0.5
    true = {names: count_table(data, names) for names in TABLES}
    return {names: cells + rounded_gaussian(sigma, cells.shape) for names, cells in true.items()}


def read_tables(value: Any) -> Cells:
    """Return the counts of all tables of a release."""
    return {names: value.table(*names).counts for names in TABLES}


def main() -> None:
    """Print a row for each rho: means over releases, with standard errors of the means."""
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    data = read_adult()
    heads = "".join(f"  {head:>24}" for head in ("separate", "unbiased", "whole numbers"))
    print(f"{'rho':>6}{heads}  seconds: release, whole")
    for rho in RHOS:
        found, spent = [], np.zeros(2)
        for _ in range(releases):
            separate = release_separately(data, rho)
            start = time.perf_counter()
            value = dh.Tables(rho=rho, keys=data.keys, tables=TABLES).release(data).value
            for names in ((), *TABLES):
                value.table(*names)
            middle = time.perf_counter()
            whole = value.to_whole_numbers()
            spent += middle - start, time.perf_counter() - middle
            each = separate, read_tables(value), read_tables(whole)
            found.append([[measure(data, tables, ways) for ways in (2, 1)] for tables in each])
        mean, error = np.mean(found, 0), np.std(found, 0) / max(releases - 1, 1) ** 0.5
        shown = [
            f"{two:.4f} ± {off:.4f} ({one:.4f})"
            for (two, one), (off, _) in zip(mean, error, strict=True)
        ]
        release, fitted = spent / releases
        columns = "".join(f"  {each:>24}" for each in shown)
        print(f"{rho:>6}{columns}  {release:.2f}, {fitted:.1f}")


if __name__ == "__main__":
    main()
