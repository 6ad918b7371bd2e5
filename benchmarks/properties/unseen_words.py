"""Unseen words: how many words a whole text has, foretold from a part of its tokens.

A third or a half of the tokens of Hamlet, and of all Shakespeare, is drawn at random (without
replacement: multivariate hypergeometric). What is estimated is the number of distinct words of the
whole text. Root mean square errors, from the part itself and from an anonymized release of it; the
last column is the share of runs in which the part's own 95 % interval held the unseen words.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

import dphist
from benchmarks.data import ROOT, folder
from benchmarks.markdown import print_table
from dphist import Profile
from dphist.properties.support_coverage import (
    CHAO_JOST,
    G_MODELING,
    GOOD_TOULMIN,
    POISSON,
    SMOOTHED,
    support_coverage,
)

IntArray = npt.NDArray[np.int64]

RUNS = 400
SEED = 20190
EPSILON = "1"
PARTS = {"third": Fraction(1, 3), "half": Fraction(1, 2)}
HEAD = ["text", "part", "words", "method", "RMSE", "bias", "private RMSE", "ratio"]
HEAD.append("interval holds")
OBSERVED = "observed words"
BY_WORK = "shakespeare_by_work.parquet"


def texts() -> Iterator[tuple[str, IntArray]]:
    """Yield each text's name and the counts of its words, (K,) int64."""
    labelled = folder("labelled")
    path = None if labelled is None else labelled / BY_WORK
    if path is None or not path.exists():
        print(f"No labelled/{BY_WORK} in DPHIST_DATA, so no Hamlet.\n")
    else:
        yield "Hamlet", _hamlet(path)
    place = folder("profiles") or ROOT / "data"
    yield "Shakespeare", Profile.read(place / "words_shakespeare.csv").sorted_counts()


def _hamlet(path: Path) -> IntArray:
    import duckdb

    query = "SELECT count::BIGINT FROM read_parquet(?) WHERE work = 'hamlet' ORDER BY ALL"
    with duckdb.connect() as connection:
        rows = connection.execute(query, [str(path)]).fetchall()
    return np.array([row[0] for row in rows], np.int64)


def rows_of(
    name: str, counts: IntArray, part: str, runs: int, epsilon: str, rng: np.random.Generator
) -> Iterator[tuple[object, ...]]:
    """Yield a row a method."""
    tokens, words = int(counts.sum()), len(counts)
    size = -(-tokens * PARTS[part].numerator // PARTS[part].denominator)  # up: extra <= 2 or 1
    extra = Fraction(tokens - size, size)
    methods = [G_MODELING, CHAO_JOST, SMOOTHED, POISSON]
    if extra <= 1:
        methods.insert(2, GOOD_TOULMIN)
    errors: dict[str, list[tuple[float, float]]] = {m: [] for m in [OBSERVED, *methods]}
    held: dict[str, list[bool]] = {m: [] for m in methods}
    for _ in range(runs):
        drawn = rng.multivariate_hypergeometric(counts, size, method="marginals")
        seen = Profile.from_counts(drawn)
        profiles = seen, dphist.anonymize(seen, epsilon=epsilon, source=rng.bytes).value
        errors[OBSERVED].append(_pair([p.labels - words for p in profiles]))
        for method in methods:
            found = [support_coverage(p, extra=extra, method=method) for p in profiles]
            known = [p.labels + f.value - words for p, f in zip(profiles, found, strict=True)]
            errors[method].append(_pair(known))
            low, high = found[0].interval or (0.0, 0.0)
            held[method].append(low <= words - seen.labels <= high)
    for method, found_errors in errors.items():
        array = np.array(found_errors)
        (plain, private), bias = np.sqrt(np.mean(array**2, axis=0)), np.mean(array[:, 0])
        share = f"{np.mean(held[method]):.0%}" if method in held else ""
        figures = (f"{plain:.0f}", f"{bias:+.0f}", f"{private:.0f}", f"{private / plain:.3f}")
        yield (name, part, f"{words:,}", method, *figures, share)


def _pair(values: list[float]) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def print_words(runs: int) -> None:
    """Print the table."""
    rng = np.random.default_rng(SEED)
    rows = [
        row
        for name, counts in texts()
        for part in PARTS
        for row in rows_of(name, counts, part, runs, EPSILON, rng)
    ]
    print(f"{runs} parts of each text; private at ε = {EPSILON}.\n")
    print_table(HEAD, rows)
