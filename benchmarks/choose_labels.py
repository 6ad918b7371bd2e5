"""Whether it pays to choose `max_labels` privately from a public list: a trial.

    python -m benchmarks.choose_labels

A tenth of epsilon pays for the choice: the exponential mechanism takes the cap for which the
number of users with at most that many labels is closest to a share q of all. One user changes that
score by at most 1. The rest pays for the histogram. Compared with caps that are fixed without a
look: what is listed, and the sum of all errors against the uncut counts, as a share of these.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import numpy as np

import dphist as dh
from benchmarks.data import folder
from benchmarks.markdown import print_table
from dphist.labels.planning import threshold_histogram

CAPS = (1, 2, 5, 10, 20, 50, 100, 200)
SHARES = (0.5, 0.7, 0.9)
EPSILONS = ("1", "0.2")
DELTA = "1e-6"
PART = 0.1
RUNS = 5
TABLES = {
    "online_retail": ("labelled/online_retail.parquet", "item", "customer"),
    "reddit_bigrams": ("labelled/reddit_bigrams.parquet", "ngram", "author"),
    "nycflights13": ("streams/nycflights13.parquet", "dest", "tailnum"),
}


@dataclass(frozen=True)
class Data:
    """Cut tables by cap, the true counts, and how many labels each user has."""

    cut: dict[int, list[dh.LabelCounts]]
    true: dict[str, int]
    labels_of_users: np.ndarray


def load(path: str, label: str, user: str) -> Data:
    """Read a data set."""
    cut = {
        cap: [
            dh.LabelCounts.from_table(
                path, label=label, user=user, max_labels=cap, null_users="drop", null_labels="drop"
            )
            for _ in range(2)
        ]
        for cap in CAPS
    }
    named = f"from '{path}' where {user} is not null and {label} is not null"
    engine = duckdb.connect()
    rows = engine.execute(
        f"select cast({label} as text), count(distinct {user}) {named} group by 1"
    )
    totals = dict(rows.fetchall())
    users = engine.execute(f"select count(distinct {label}) {named} group by {user}").fetchall()
    return Data(cut, totals, np.array([n for (n,) in users]))


def chosen(data: Data, share: float, epsilon: float, rng: np.random.Generator) -> int:
    """Return the cap that the exponential mechanism takes."""
    users = data.labels_of_users
    scores = [-abs(int((users <= cap).sum()) - share * users.size) for cap in CAPS]
    weights = np.exp(epsilon / 2 * (np.array(scores) - max(scores)))
    return int(rng.choice(CAPS, p=weights / weights.sum()))


def worth(data: Data, cap: int, mechanism: dh.ThresholdHistogram, run: int) -> tuple[int, float]:
    """Return how many labels are listed, and all errors as a share of the true counts."""
    value = mechanism.release(data.cut[cap][run % 2]).value
    counts = np.asarray(value.counts)
    held = {str(label): int(count) for label, count in zip(value.labels, counts, strict=True)}
    off = sum(abs(held.get(label, 0) - count) for label, count in data.true.items())
    return len(held), off / sum(data.true.values())


def rows() -> Iterator[list[str]]:
    """Compare fixed caps with the private choice."""
    rng = np.random.default_rng(3)
    place = folder("labelled")
    if place is None:
        raise SystemExit("no data; name their folder in DPHIST_DATA")
    for name, (path, label, user) in TABLES.items():
        data = load(str(place.parent / path), label, user)
        for epsilon in EPSILONS:
            full = {cap: threshold_histogram(epsilon=epsilon, delta=DELTA, max_labels=cap)
                    for cap in CAPS}  # fmt: skip
            left = f"{float(epsilon) * (1 - PART):g}"
            rest = {cap: threshold_histogram(epsilon=left, delta=DELTA, max_labels=cap)
                    for cap in CAPS}  # fmt: skip
            fixed = {cap: mean([worth(data, cap, full[cap], run) for run in range(RUNS)])
                     for cap in CAPS}  # fmt: skip
            most = max(fixed, key=lambda cap: fixed[cap][0])
            least = min(fixed, key=lambda cap: fixed[cap][1])
            cells = [f"{name}, ε = {epsilon}"]
            cells += [f"{fixed[most][0]:.0f} (cap {most})", f"{fixed[least][1]:.1%} (cap {least})"]
            cells += [said(fixed[cap]) for cap in (10, 50)]
            for share in SHARES:
                caps = [chosen(data, share, PART * float(epsilon), rng) for _ in range(RUNS)]
                found = mean([worth(data, cap, rest[cap], run) for run, cap in enumerate(caps)])
                cells.append(f"{said(found)} (cap {math.floor(np.median(caps))})")
            yield cells


def mean(found: list[tuple[int, float]]) -> tuple[float, float]:
    """Average over runs."""
    return float(np.mean([n for n, _ in found])), float(np.mean([off for _, off in found]))


def said(found: tuple[float, float]) -> str:
    """Write labels and error."""
    return f"{found[0]:.0f}; {found[1]:.1%}"


def main() -> None:
    """Print the table."""
    head = ["data", "most labels", "least error", "cap 10", "cap 50"]
    print_table([*head, *(f"chosen, q = {share}" for share in SHARES)], rows())


if __name__ == "__main__":
    main()
