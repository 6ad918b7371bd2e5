"""Errors of tables of Adult: unbiased, and whole numbers that add up.

All tables of one and two of eight attributes; the mean over tables of the L1 distance to the true
table, over the number of records. Needs `tables/adult.csv.gz` and `tables/adult-domain.json` in the
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

NAMES = (
    *("workclass", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "income>50K"),
)
TABLES = [names for most in (1, 2) for names in combinations(NAMES, most)]
RHOS = ("0.1", "0.01", "0.001")


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


def measure(data: dh.KeyedCounts, value: Any, ways: int) -> float:
    """Return the mean error over the tables of so many keys, as a share of the records."""
    records = data.counts.sum()
    errors = []
    for names in TABLES:
        if len(names) == ways:
            true = data.sum_over(tuple(NAMES.index(name) for name in names))
            errors.append(np.abs(value.table(*names).counts - true).sum() / records)
    return float(np.mean(errors))


def main() -> None:
    """Print a row for each rho: means over releases, with standard errors of the means."""
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    data = read_adult()
    print(f"{'rho':>6}  {'unbiased':>22}  {'whole numbers':>22}  seconds: release, whole")
    for rho in RHOS:
        mechanism = dh.Tables(rho=rho, keys=data.keys, tables=TABLES)
        found, spent = [], np.zeros(2)
        for _ in range(releases):
            start = time.perf_counter()
            value = mechanism.release(data).value
            for names in TABLES:
                value.table(*names)
            middle = time.perf_counter()
            whole = value.to_whole_numbers()
            spent += middle - start, time.perf_counter() - middle
            found.append([measure(data, each, ways) for each in (value, whole) for ways in (2, 1)])
        mean, error = np.mean(found, 0), np.std(found, 0) / max(releases - 1, 1) ** 0.5
        shown = [f"{mean[i]:.4f} ± {error[i]:.4f} ({mean[i + 1]:.4f})" for i in (0, 2)]
        release, fitted = spent / releases
        print(f"{rho:>6}  {shown[0]:>22}  {shown[1]:>22}  {release:.2f}, {fitted:.1f}")


if __name__ == "__main__":
    main()
