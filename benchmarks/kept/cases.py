"""What is timed: pairs of the same work, ours and one that everybody knows.

A ratio of two that run in turn depends little on the machine. Each case names the page that claims
something about it.
"""

import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import opendp.prelude as dp

import dphist as dh
from benchmarks.data import ROOT
from benchmarks.label_speed import write_rows
from benchmarks.ledger import DATA, READY, STEP, _filled
from benchmarks.ranges.speed import counts_of, opendp, ours
from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.ledger.stores.sqlite import _SETTINGS
from dphist.noise import rounded_gaussian, two_sided_geometric

Work = Callable[[], object]
Clock = Callable[[], float]

SAMPLES = 500_000
ROWS = 1_000_000


@dataclass(frozen=True)
class Case:
    """One ratio.

    Attributes
    ----------
    name : group and what is timed.
    ours, other : one turn of each.
    other_name : what stands below the line of the ratio.
    clock : seconds; of the processor wherever nothing waits for a disk.
    turns : how often both run.
    times_ours : how much of the work `other` does once, `ours` does in a turn (for slow others).
    limit : the ratio that a page claims as the largest, or None.
    page : that page.
    """

    name: str
    ours: Work
    other: Work
    other_name: str
    clock: Clock
    turns: int = 15
    times_ours: float = 1.0
    limit: float | None = None
    page: str = "docs/understand/benchmarks.md"


def processor_of_children() -> float:
    """Processor seconds of the processes that have ended, user and system."""
    times = os.times()
    return times.children_user + times.children_system


def noise() -> list[Case]:
    """Exact noise beside NumPy's inexact noise, and OpenDP's exact noise."""
    generator = np.random.default_rng()

    def geometric(epsilon: str) -> Work:
        return lambda: two_sided_geometric(Fraction(epsilon), SAMPLES)

    def gaussian(sigma: str) -> Work:
        return lambda: rounded_gaussian(Fraction(sigma), SAMPLES)

    dp.enable_features("contrib", "honest-but-curious")
    measurement = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=1.0
    )
    zeros = [0] * 10_000
    laplace = "numpy laplace"
    cases = [
        ("noise: geometric, epsilon 1", geometric("1"), laplace, 1.0),
        ("noise: geometric, epsilon 1/100", geometric("1/100"), laplace, 1.0),
        ("noise: geometric, epsilon 1/1000", geometric("1/1000"), laplace, 1.0),
        ("noise: Gaussian, sigma 1", gaussian("1"), "numpy normal", 2.0),
        ("noise: Gaussian, sigma 100", gaussian("100"), "numpy normal", 2.0),
    ]
    others: dict[str, Work] = {
        laplace: lambda: generator.laplace(scale=1.0, size=SAMPLES),
        "numpy normal": lambda: generator.normal(scale=100.0, size=SAMPLES),
    }
    return [
        *(
            Case(name, work, others[other], other, time.process_time, limit=limit)
            for name, work, other, limit in cases
        ),
        Case(
            "noise: geometric, epsilon 1, beside OpenDP",
            geometric("1"),
            lambda: measurement(zeros),
            "OpenDP laplace",
            time.process_time,
            times_ours=SAMPLES / len(zeros),
            limit=1 / 40,
        ),
    ]


def releases() -> list[Case]:
    """Releases of 69 million records, beside what they consist of: short calls of NumPy.

    No single long call serves: NumPy's sort is 4 times as fast with AVX2 as without, and releases
    are as fast as before.
    """
    yahoo = dh.Profile.read(ROOT / "data" / "passwords_yahoo.csv")
    numbers = np.random.default_rng(1).integers(0, 1000, 1000)

    def short_calls() -> None:
        for _ in range(2000):
            ends = np.cumsum(numbers)
            np.searchsorted(ends, np.diff(ends))

    def release(mechanism: AnonymizedMechanism, times: int) -> Work:
        def work() -> None:
            for _ in range(times):
                mechanism.release(yahoo)

        return work

    named: dict[str, tuple[AnonymizedMechanism, int]] = {
        "RankSplit": (dh.RankSplit(epsilon=1), 20),
        "PrivHist": (dh.PrivHist(epsilon=1), 20),
        "AdaptiveScan": (dh.AdaptiveScan(epsilon=1), 2),
    }
    return [
        Case(
            f"release: {name}, Yahoo!, epsilon 1",
            release(mechanism, times),
            short_calls,
            "6,000 short NumPy calls",
            time.process_time,
            times_ours=times,
        )
        for name, (mechanism, times) in named.items()
    ]


def counting(folder: Path) -> list[Case]:
    """Counting a file's labels and users, beside the queries without privacy in DuckDB."""
    path = folder / "rows.parquet"
    write_rows(path, ROWS, ROWS // 10, ROWS // 10)
    query = f"SELECT text, count(*) FROM '{path}' GROUP BY text"
    of_users = f"SELECT text, count(DISTINCT who) FROM '{path}' GROUP BY text"

    def plain(text: str) -> Work:
        def work() -> None:
            with duckdb.connect() as connection:
                connection.sql(text).arrow()

        return work

    def users() -> object:
        return dh.LabelCounts.from_table(path, label="text", user="who", max_labels=10)

    return [
        Case(
            "counting: records of a label",
            lambda: dh.LabelCounts.from_table(path, label="text"),
            plain(query),
            "DuckDB count(*)",
            time.process_time,
            turns=9,
        ),
        Case(
            "counting: users of a label, at most 10 labels each",
            users,
            plain(of_users),
            "DuckDB count(DISTINCT user)",
            time.process_time,
            turns=9,
        ),
    ]


def trees() -> list[Case]:
    """Trees over many bins."""
    bins, branching = 2**18, 16
    counts, adaptive = counts_of(bins), counts_of(4096)
    tree = dh.AdaptiveTree(epsilon=1, bins=4096)
    leaves = dh.LeafCounts(epsilon=1, bins=4096)

    def many_leaves() -> None:
        for _ in range(20):
            leaves.release(adaptive)

    mine, theirs = ours(bins, branching, False), opendp(bins, branching)
    return [
        Case(
            "tree: HierarchicalTree, 2**18 bins, 16 children",
            lambda: mine(counts),
            lambda: theirs(counts),
            "OpenDP b-ary tree",
            time.process_time,
            turns=5,
        ),
        Case(
            "tree: AdaptiveTree, 4,096 bins",
            lambda: tree.release(adaptive),
            many_leaves,
            "20 releases of LeafCounts",
            time.process_time,
        ),
    ]


def start(folder: Path) -> list[Case]:
    """Starting, beside importing NumPy."""

    def run(*command: str) -> Work:
        return lambda: subprocess.run(
            [sys.executable, *command], check=True, stdout=subprocess.DEVNULL, cwd=folder
        )

    dry = ("--label", "term", "--user", "who", "--max-labels", "10", "--delta", "1e-6")
    named = {
        "start: import dphist": (("-c", "import dphist"), None),
        "start: dphist --version": (("-m", "dphist", "--version"), 1.0),
        "start: dphist labels --dry-run": (
            ("-m", "dphist", "labels", "f.csv", *dry, "--epsilon", "1", "--dry-run"),
            None,
        ),
    }
    numpy = run("-c", "import numpy")
    return [
        Case(name, run(*command), numpy, "import numpy", processor_of_children, 11, limit=limit)
        for name, (command, limit) in named.items()
    ]


def ledgers(folder: Path, ended: contextlib.ExitStack) -> list[Case]:
    """Charging a ledger, beside bare commits on the same disk."""
    bare = sqlite3.connect(folder / "bare", isolation_level=None)
    ended.callback(bare.close)
    bare.execute("CREATE TABLE lines (number INTEGER PRIMARY KEY, line TEXT)")
    for setting in _SETTINGS:
        bare.execute(setting)
    short, long = (_filled(folder / f"{entries}", entries) for entries in (100, 10_000))
    for ledger in (short, long):
        ended.callback(ledger.close)
    names = iter(range(10**9))

    def two_commits() -> None:
        for _ in range(2):
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO lines (line) VALUES (?)", ("x" * 500,))
            bare.execute("COMMIT")

    def release(ledger: dh.Ledger) -> Work:
        return lambda: ledger.release(READY, DATA, by="ana", key=f"r{next(names)}")

    def charge(ledger: dh.Ledger) -> Work:
        return lambda: ledger.reserve(STEP, by="ana", key=f"c{next(names)}")

    return [
        Case(
            "ledger: charge and finish, 100 entries",
            release(short),
            two_commits,
            "two bare commits",
            time.perf_counter,
            turns=100,
            limit=3.0,
        ),
        Case(
            "ledger: charge, 10,000 entries",
            charge(long),
            charge(short),
            "charge, 100 entries",
            time.perf_counter,
            turns=100,
            limit=1.5,
        ),
    ]


def all_cases(folder: Path, ended: contextlib.ExitStack) -> list[Case]:
    """Return all cases; what they open is closed with `ended`."""
    return [
        *noise(),
        *releases(),
        *counting(folder),
        *trees(),
        *start(folder),
        *ledgers(folder, ended),
    ]
