"""Error of the entropy estimators, from exact profiles and from anonymized ones."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.markdown import print_table
from benchmarks.properties.populations import LABELS, LAWS, NAMES, SEED, Sample, bits, draw
from dphist import Profile, anonymize
from dphist.properties.entropy import METHODS, entropy, weights
from dphist.properties.estimate import Histogram

RECORDS = (300, 1000, 3000)
RUNS = 400
EPSILONS = (None, "1", "0.1")

# Root mean square errors in bits that were to be reached, for 1000 records: method, epsilon.
GOALS = {
    ("plug-in", None): (0.83, 0.62, 0.57),
    ("miller-madow", None): (0.38, 0.38, 0.27),
    ("wu-yang", None): (0.074, 0.122, 0.059),
    ("wu-yang", "1"): (0.095, 0.129, 0.061),
}
GOAL_RECORDS = 1000


class Cell(NamedTuple):
    """What an error is one of."""

    method: str
    records: int
    epsilon: str | None
    labels: int | None


Errors = dict[Cell, tuple[float, ...]]


def measure(runs: int) -> Errors:
    """Return root mean square errors in bits, one a law."""
    found: dict[Cell, list[float]] = {}
    random = np.random.default_rng(SEED)
    for records in RECORDS:
        for law in LAWS:
            drawn = draw(law, records, runs)
            for epsilon in EPSILONS:
                seen = [_histogram(each.profile, epsilon, random) for each in drawn]
                for method in METHODS:
                    for labels in (LABELS, None):
                        error = _rmse(seen, drawn, method, labels)
                        found.setdefault(Cell(method, records, epsilon, labels), []).append(error)
    return {cell: tuple(errors) for cell, errors in found.items()}


def print_errors(errors: Errors, runs: int) -> None:
    """Print the table."""
    print(
        f"Root mean square error in bits, {' / '.join(NAMES)}; {runs} samples, so that a number"
        f" is known to about {100 / math.sqrt(2 * runs):.0f} %.\n"
    )
    rows = []
    for records in RECORDS:
        for epsilon in EPSILONS:
            for method in METHODS:
                known, unknown = (
                    _three(errors[Cell(method, records, epsilon, labels)])
                    for labels in (LABELS, None)
                )
                goal = GOALS.get((method, epsilon)) if records == GOAL_RECORDS else None
                aim = "" if goal is None else " / ".join(f"{value:.3g}" for value in goal)
                rows.append([method, f"{records:,}", epsilon or "exact", known, aim, unknown])
    head = ["method", "records", "ε", f"{LABELS:,} labels, known", "to reach", "not known"]
    print_table(head, rows)


def print_without_limit(runs: int) -> None:
    """Say what the uniform law owes to the limit log k, which no estimate exceeds."""
    drawn = draw(LAWS[0], GOAL_RECORDS, runs)
    most = math.log2(LABELS)
    free = [_unlimited(each) for each in drawn]
    errors = np.array(free) - most
    cut = np.minimum(errors, 0.0)
    print(
        f"\nUniform law, {GOAL_RECORDS:,} records, exact: the truth is log k, which no estimate"
        f" exceeds. Without that limit Wu-Yang's error is {_root(errors):.3f} bits"
        f" (mean {np.mean(errors):+.3f}), with it {_root(cut):.3f}."
    )


def _histogram(profile: Profile, epsilon: str | None, random: np.random.Generator) -> Histogram:
    if epsilon is None:
        return profile
    released: Histogram = anonymize(profile, epsilon=epsilon, source=random.bytes).value
    return released


def _rmse(
    seen: Sequence[Histogram], drawn: Sequence[Sample], method: str, labels: int | None
) -> float:
    estimates = np.array([entropy(source, method=method, labels=labels).value for source in seen])
    return _root(estimates - [bits(each.probabilities) for each in drawn])


def _root(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def _unlimited(sample: Sample) -> float:
    """Wu and Yang's sum over all labels, seen and unseen, in bits."""
    n = int(sample.counts.sum())
    nats = weights(sample.counts, n, method="wu-yang", labels=LABELS).sum()
    return float(nats / math.log(2))


def _three(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.3f}" for value in values)
