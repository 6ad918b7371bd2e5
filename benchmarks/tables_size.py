"""Sizes of tables: the seconds and the peak memory of each step, each size in its own process.

    python -m benchmarks.tables_size [--rows N] [NAME ...]

"adult" has all 36 tables of one and two keys of as many values as eight attributes of Adult, and
the total; "contrasts" one table of 10 million cells, by two keys and by ten; "cells" five keys with
as many cells in their largest table, counted from a Parquet file of N rows (default: 10 million)
and released, answered, made whole, shown and written; "domain" all pairs of keys with 10**3 to
10**18 cells together. Peaks are of the step, with what the process held before; Linux only.
Beside each release stands the time of the exact sampler alone, for as many numbers of one scale.
Files are in a temporary folder.
"""

import argparse
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dphist as dh
from benchmarks.markdown import print_table
from dphist.cli import main as run_command
from dphist.noise import rounded_gaussian
from dphist.report import write_report

HEAD = ["", "step", "cells", "seconds", "of a processor", "peak, GiB", "goal"]
ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
FIVE = (26, 25, 25, 25, 25)
SIZES = ("adult", "contrasts", "contrasts of ten keys", "cells", "cells by command", "domain")
Row = tuple[str, int, "Spent", str]
Step = Callable[[], Any]


class Spent(NamedTuple):
    """What a step takes: seconds, those of all its threads, and the peak of memory in GiB."""

    seconds: float
    of_processor: float
    peak: float


def read_peak() -> float:
    """Return the peak of resident memory since it was last reset, in GiB."""
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 2**20


def take(step: Step) -> tuple[Any, Spent]:
    """Return what a step returns, and what it takes."""
    Path("/proc/self/clear_refs").write_text("5")
    start, processor = time.perf_counter(), time.process_time()
    found = step()
    ends = time.perf_counter() - start, time.process_time() - processor
    return found, Spent(*ends, read_peak())


def name_keys(shape: tuple[int, ...]) -> dict[str, range]:
    """Return keys of so many values."""
    return {f"k{i}": range(size) for i, size in enumerate(shape)}


def draw_counts(mechanism: dh.Tables, rows: int) -> dh.KeyedCounts:
    """Return counts of random cells."""
    cells = math.prod(mechanism.keys.shape)
    found = np.unique(np.random.default_rng(1).integers(0, cells, rows))
    return dh.KeyedCounts(mechanism.keys, found, np.ones(len(found), np.int64))


def time_release(shape: tuple[int, ...], ways: int, rows: int, goal: str) -> Iterator[Row]:
    """Yield the steps of all tables of at most so many keys; of all keys, of that table alone."""
    keys = name_keys(shape)
    fewest = 1 if ways < len(shape) else ways
    tables = [each for most in range(fewest, ways + 1) for each in combinations(keys, most)]

    def plan() -> dh.Tables:
        made = dh.Tables(rho=1, keys=keys, tables=tables)
        assert made.guarantee
        return made

    plan()  # imports are no part of it
    mechanism, planned = take(plan)
    number = sum(map(mechanism.lattice.contrasts, mechanism.lattice.family))
    yield "plan", number, planned, ""
    counts = draw_counts(mechanism, rows)
    release, spent = take(partial(mechanism.release, counts))
    yield "release", number, spent, goal

    yield "read all tables", number, take(partial(read_tables, release, tables))[1], ""
    del release, counts
    yield "the sampler alone", number, take(partial(rounded_gaussian, "12.3", number))[1], ""


def read_tables(release: dh.Release, tables: list[tuple[str, ...]]) -> None:
    """Compute the cells of all tables."""
    for names in tables:
        release.value.table(*names)


def write_rows(path: Path, rows: int) -> None:
    """Write rows of which the first values of a key are more frequent."""
    draw = np.random.default_rng(1)
    columns = {
        name: np.minimum(draw.integers(0, len(values), rows), draw.integers(0, len(values), rows))
        for name, values in name_keys(FIVE).items()
    }
    pq.write_table(pa.table(columns), path)


def time_steps(path: Path, folder: Path) -> Iterator[Row]:
    """Yield the steps of five keys with 10 million cells."""
    keys = name_keys(FIVE)
    tables = ["k0", "k1+k2", "+".join(keys)]
    size = math.prod(FIVE)
    goal = "4 GiB"
    counts, spent = take(lambda: dh.KeyedCounts.from_table(path, keys=keys))
    yield "count the rows of a file", size, spent, goal
    mechanism = dh.Tables(rho=1, keys=keys, tables=tables)
    release, spent = take(partial(mechanism.release, counts))
    yield "release", size, spent, goal
    del counts
    value = release.value
    where = dict.fromkeys(keys, 3)
    steps: dict[str, Step] = {
        "answer, with an interval": lambda: value.interval(**where),
        "all cells as an Arrow table": lambda: len(value.table(*keys).to_arrow()),
        "write Parquet": lambda: pq.write_table(
            value.table(*keys).to_arrow(), folder / "cells.parquet"
        ),
        "write the page": lambda: write_report(release, folder / "page.html"),
        "write the release": lambda: release.save(folder / "release.json"),
        "load it": lambda: len(dh.Release.load(folder / "release.json").value.contrasts),
        "write CSV": lambda: release.to_csv(folder / "cells.csv"),
        "whole numbers": lambda: value.to_whole_numbers().table(*keys).counts.size,
    }
    for name, step in steps.items():
        yield name, size, take(step)[1], goal


def time_command(path: Path, folder: Path) -> Iterator[Row]:
    """Yield a command that writes release, table and page."""
    typed = [
        f"--axis={name}={','.join(map(str, values))}" for name, values in name_keys(FIVE).items()
    ]
    outputs = {"output": "own.json", "table": "own.csv", "report": "own.html"}
    given = ["tables", str(path), "--each-row-is-one-person", "--rho=1", *typed]
    given += ["--tables=k0,k1+k2,k0+k1+k2+k3+k4", "--quiet"]
    given += [f"--{option}={folder / name}" for option, name in outputs.items()]
    yield "dphist tables", math.prod(FIVE), take(lambda: run_command(given))[1], "4 GiB"


def time_domains() -> Iterator[Row]:
    """Yield the release of all pairs of keys, of larger and larger domains."""
    for shape in ((10,) * 3, (10,) * 6, (10,) * 12, (10,) * 18):
        steps = list(time_release(shape, 2, 100_000, ""))
        name, number, spent, _ = steps[1]
        yield f"{name}: {len(shape)} keys, 10^{len(shape)} cells together", number, spent, ""


def run(name: str, path: Path, folder: Path) -> Iterator[Row]:
    """Yield the steps of a size."""
    if name == "adult":
        yield from time_release(ADULT, 2, 48_842, "1 s")
    elif name == "contrasts":
        yield from time_release((3163, 3163), 2, 10**7, "5 s, 1 GiB")
    elif name == "contrasts of ten keys":
        yield from time_release((5,) * 10, 10, 10**7, "5 s, 1 GiB")
    elif name == "cells":
        yield from time_steps(path, folder)
    elif name == "cells by command":
        yield from time_command(path, folder)
    else:
        yield from time_domains()


def main() -> None:
    """Print the table: a process for each size, which this one starts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SIZES)} (default: all)")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.within is not None:
        for step, cells, spent, goal in run(
            asked.names[0], asked.within / "rows.parquet", asked.within
        ):
            taken = "\t".join(f"{number:.2f}" for number in spent)
            print(f"{step}\t{cells:,}\t{taken}\t{goal}", flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as folder:
        write_rows(Path(folder) / "rows.parquet", asked.rows)
        print_table(HEAD, measure(asked.names or SIZES, folder))


def measure(names: list[str] | tuple[str, ...], folder: str) -> Iterator[list[str]]:
    """Yield the rows of the table."""
    for name in names:
        command = [sys.executable, "-m", "benchmarks.tables_size", name, "--within", folder]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for line in done.stdout.splitlines():
            yield [name, *line.split("\t")]


if __name__ == "__main__":
    main()
