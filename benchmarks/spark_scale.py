"""Cost in Spark over rows, users and partitions; docs/guides/scale.md has the tables.

    python -m benchmarks.spark_scale rows users partitions kinds skew heavy shuffles
    python -m benchmarks.spark_scale rows --rows 100_000_000

Rows come from `range` and a hash, so nothing is read from disk: users are uniform, the ranks of
labels log-uniform, which is close to Zipf's law with exponent 1. Spark runs on two cores of this
machine, with 3 GiB for its only JVM (``--heap``). Processor time is that of this process, the JVM
and its Python workers together; other programs disturb it less than elapsed time. Bytes shuffled
are what the tasks wrote for others to read, compressed, from Spark's event log, as is the time of
the longest task.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.markdown import print_table
from dphist import LabelCounts, Profile, ThresholdHistogram, bin_counts
from dphist.counting.engine.rows import SparkRows

MAX_LABELS = 10
LABELS = 1_000_000
REPEATED = 100  # labels, so that a user's rows repeat them
PER_USER = 100  # rows
HEAVY_KINDS = (
    "labels",
    "labels, added up before",
    "bins, users bounded",
    "bins, added up before",
)
ROWS = 10_000_000
MINUTES: dict[str, Any] = {"column": "x", "start": 0, "stop": 86_400, "width": 60}  # of a day


@dataclass(frozen=True)
class Case:
    """What is counted: `rows` rows of `users` users, `heavy` of the rows by one user.

    `labels` is how many labels there are, unless all are different.
    """

    kind: str = "labels"
    rows: int = ROWS
    users: int = ROWS // PER_USER
    partitions: int = 32
    heavy: float = 0.0
    labels: int = LABELS


def frame_of(session: Any, case: Case) -> Any:
    """Return the rows: who, term, x."""
    share = "(pmod(xxhash64(id, 1), 1000000007) / 1000000007D)"
    label = "id" if "all different" in case.kind else f"CAST(pow({case.labels}, {share}) AS BIGINT)"
    user = f"pmod(xxhash64(id, 2), {case.users})"
    if case.heavy:
        user = f"CASE WHEN pmod(id, {round(1 / case.heavy)}) = 0 THEN 0 ELSE {user} END"
    return session.range(0, case.rows, 1, case.partitions).selectExpr(
        f"{user} AS who",
        f"CONCAT('term ', {label}) AS term",
        "pmod(xxhash64(id, 3), 86400) AS x",
    )


def without_privacy(frame: Any) -> None:
    """Count the users of each label, all of them, and keep the table in Spark."""
    from pyspark.sql.functions import count_distinct

    frame.groupBy("term").agg(count_distinct("who").alias("n")).localCheckpoint(eager=True)


def counted(frame: Any) -> LabelCounts:
    """Count the labels, each user bounded."""
    return LabelCounts.from_table(frame, label="term", user="who", max_labels=MAX_LABELS)


def labels(frame: Any) -> None:
    """Count and release."""
    ThresholdHistogram(epsilon=1, delta=1e-6, max_labels=MAX_LABELS).release(counted(frame))


def in_three_shuffles(job: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return a job where Spark may add up the rows of a user and label before it sends them."""

    def ungathered(frame: Any) -> None:
        with patch.object(SparkRows, "gather", lambda rows, _: rows):
            job(frame)

    return ungathered


def added_up_before(frame: Any) -> None:
    """Count and release rows that the caller added up: docs/guides/scale.md, for heavy users."""
    exact = [f"CAST({name} AS STRING COLLATE UTF8_BINARY) AS {name}" for name in ("who", "term")]
    pairs = frame.selectExpr(*exact).groupBy("who", "term").count()
    found = LabelCounts.from_table(
        pairs, label="term", user="who", count="count", max_labels=MAX_LABELS
    )
    ThresholdHistogram(epsilon=1, delta=1e-6, max_labels=MAX_LABELS).release(found)


def profile_of_users(frame: Any) -> None:
    """Count a profile, each user bounded."""
    Profile.from_table(frame, label="term", user="who", max_records=MAX_LABELS)


def bins_of_users(frame: Any) -> None:
    """Count bins, each user bounded."""
    bin_counts(frame, **MINUTES, user="who", max_records=MAX_LABELS)


def bins_added_up_before(frame: Any) -> None:
    """Count bins of rows that the caller added up: the records of each user and value."""
    added = frame.groupBy("who", "x").count()
    bin_counts(added, **MINUTES, user="who", count="count", max_records=MAX_LABELS)


JOBS: dict[str, Callable[[Any], object]] = {
    "query without privacy": without_privacy,
    "labels": labels,
    "labels, three shuffles": in_three_shuffles(labels),
    "labels, added up before": added_up_before,
    "labels all different, counted": counted,
    "labels all different, released": labels,
    "labels all different, three shuffles": in_three_shuffles(labels),
    "profile": lambda frame: Profile.from_table(frame, label="term"),
    "profile, users bounded": profile_of_users,
    "profile, users bounded, three shuffles": in_three_shuffles(profile_of_users),
    "edges": lambda frame: Profile.from_edges(frame, source="who", target="x"),
    "bins": lambda frame: bin_counts(frame, **MINUTES),
    "bins, users bounded": bins_of_users,
    "bins, added up before": bins_added_up_before,
    "bins, users bounded, three shuffles": in_three_shuffles(bins_of_users),
}


def cases(group: str, rows: int | None) -> Iterator[Case]:
    """Return the cases of a group of the table."""
    base = Case(rows=rows or ROWS, users=(rows or ROWS) // PER_USER)
    if group == "rows":
        for number in [rows] if rows else [10**6, 10**7]:
            for kind in ("labels", "query without privacy"):
                yield Case(kind, number, number // PER_USER)
    elif group == "users":
        for users in (base.rows // 10_000, base.rows // 100, base.rows):
            yield replace(base, users=users)
    elif group == "partitions":
        for partitions in (4, 32, 256):
            yield replace(base, partitions=partitions)
    elif group == "kinds":
        yield from (replace(base, kind=kind) for kind in JOBS)
    elif group == "shuffles":
        for few in (LABELS, REPEATED):
            for kind in ("labels", "labels, three shuffles", "labels, added up before"):
                yield replace(base, kind=kind, labels=few)
        yield from (replace(base, kind=kind) for kind in JOBS if "all different" in kind)
        for kind in ("profile, users bounded", "bins, users bounded"):
            yield replace(base, kind=kind)
            yield replace(base, kind=f"{kind}, three shuffles")
    elif group == "skew":
        for few in (LABELS, REPEATED):
            for kind in ("labels", "labels, three shuffles", "labels, added up before"):
                yield replace(base, kind=kind, heavy=0.01, labels=few)
    elif group == "heavy":
        for share in (0.0, 0.01, 0.1, 0.5):
            for kind in HEAVY_KINDS:
                yield replace(base, kind=kind, heavy=share)
    else:
        raise SystemExit(f"no such group: {group}")


def open_session(log: Path, heap: str) -> Any:
    """Start Spark on two cores of this machine; its events go to a folder."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": heap,
        "spark.log.level": "OFF",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("dphist-scale")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def processor_seconds() -> float:
    """Processor time of this process and its descendants so far."""
    parents, spent = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(folder.name)] = int(fields[1])
        spent[int(folder.name)] = sum(map(int, fields[11:15]))
    own = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(spent[pid] for pid in own) / os.sysconf("SC_CLK_TCK")


def tasks_of(log: Path) -> list[dict[str, Any]]:
    """Return the metrics of the tasks that have ended so far, as Spark writes them."""
    return [
        json.loads(line).get("Task Metrics") or {}
        for path in log.iterdir()
        for line in path.read_text().splitlines()
        if '"SparkListenerTaskEnd"' in line and line.endswith("}")
    ]


def measure(session: Any, case: Case, log: Path) -> list[str]:
    """Run one case; return a row of the table."""
    session.conf.set("spark.sql.shuffle.partitions", str(case.partitions))
    before, busy, start = len(tasks_of(log)), processor_seconds(), time.perf_counter()
    JOBS[case.kind](frame_of(session, case))
    elapsed, busy = time.perf_counter() - start, processor_seconds() - busy
    time.sleep(1)  # for the last event
    tasks = tasks_of(log)[before:]
    shuffled = sum(task["Shuffle Write Metrics"]["Shuffle Bytes Written"] for task in tasks)
    spilled = sum(task["Disk Bytes Spilled"] for task in tasks)
    longest = max(task["Executor Run Time"] for task in tasks) / 1000
    return [
        case.kind,
        f"{case.rows:,}",
        f"{case.users:,}",
        "" if "all different" in case.kind else f"{case.labels:,}",
        str(case.partitions),
        f"{case.heavy * 100:g} %" if case.heavy else "",
        f"{elapsed:.0f}",
        f"{longest:.1f}",
        f"{busy:.0f}",
        f"{busy / case.rows * 1e6:.2f}",
        f"{shuffled / case.rows:.1f}",
        f"{spilled / 2**20:.0f}",
        f"{os.getloadavg()[0]:.0f}",
    ]


HEAD = [
    *("what", "rows", "users", "labels", "partitions", "one user", "s", "longest task, s"),
    *("processor s", "us a row", "bytes shuffled a row", "MiB spilled", "load"),
]


def main() -> None:
    """Measure the groups that are named, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "groups", nargs="+", help="rows, users, partitions, kinds, skew, heavy, shuffles"
    )
    parser.add_argument("--rows", type=lambda text: int(text.replace("_", "")))
    parser.add_argument("--heap", default="3g", help="memory of Spark's Java machine")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(Path(folder), arguments.heap)
        measure(session, Case(rows=100_000, users=1000), Path(folder))  # warms up
        table = []
        for group in arguments.groups:
            for case in cases(group, arguments.rows):
                table.append(measure(session, case, Path(folder)))
                print(" | ".join(table[-1]), file=sys.stderr, flush=True)
        session.stop()
    print_table(HEAD, table)


if __name__ == "__main__":
    main()
