"""StatDP's method, implemented again from its paper.

Z. Ding, Y. Wang, G. Wang, D. Zhang, D. Kifer. Detecting Violations of Differential Privacy. CCS
2018. arXiv:1805.10277. The package needs mechanisms that take its own generator and lists of
queries, and its last release needs an old NumPy.

Events are values of a column, or half-lines in the densest 70 % of a column that has many values.
The paper combines the events of all columns, which is possible for two or three; beyond
`MOST_EVENTS` this takes the events of single columns, of adjacent pairs of columns, and whole
outcomes. The authors help theirs by a function of the outcome, such as a distance; here there is
none. The test is for pure claims: it says nothing where delta is above 0. To choose an event, a
normal approximation stands for the p-value, which takes too long for so many events.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy.stats import hypergeom

from benchmarks.auditors.samples import Encoder, draw
from benchmarks.auditors.task import CONFIDENCE, NOT_FOR_THIS, Task, Verdict
from dphist.arrays import BoolArray, FloatArray

MOST_EVENTS = 1000
_THINNINGS = 200

_random = np.random.default_rng()

Event = list[tuple[int, float, float]]
"""Columns, each with a range (above, below]; a value v is (v, v)."""


def statdp(task: Task) -> Verdict:
    """Choose the pair and the event with the least p-value; test it on fresh runs."""
    if task.delta > 0:
        return NOT_FOR_THIS
    share = task.seconds / 2 / len(task.pairs)
    least, chosen = math.inf, None
    for pair in task.pairs:
        ones, others = draw(task, pair, share)
        encoder = Encoder()
        encoder.learn([*ones, *others])
        rows, other_rows = encoder.rows(ones), encoder.rows(others)
        few = 0.001 * len(rows) * math.exp(task.epsilon)
        for event in _events(np.concatenate([rows, other_rows]), len(rows)):
            hits, other_hits = int(_in(event, rows).sum()), int(_in(event, other_rows).sum())
            if hits + other_hits > few:
                expected = max(hits, other_hits) * math.exp(-task.epsilon)
                fewer = min(hits, other_hits)
                score = (fewer - expected) / math.sqrt(fewer + expected)  # falls with the p-value
                if score < least:
                    least, chosen = score, (pair, encoder, event, other_hits > hits)
    if chosen is None:
        return Verdict(refuted=False, epsilon=0.0)
    pair, encoder, event, swapped = chosen
    ones, others = draw(task, pair[::-1] if swapped else pair, task.seconds / 2)
    hits, other_hits = (int(_in(event, encoder.rows(each)).sum()) for each in (ones, others))
    return Verdict(
        _p_value(hits, other_hits, task.epsilon, len(ones)) < 1 - CONFIDENCE,
        _epsilon(hits, other_hits, len(ones)),
    )


def _p_value(hits: int, other_hits: int, epsilon: float, runs: int) -> float:
    """Thin the hits by exp(-epsilon), then Fisher's exact test; on average."""
    thinned = _random.binomial(hits, math.exp(-epsilon), _THINNINGS)
    return float(hypergeom.sf(thinned - 1, 2 * runs, thinned + other_hits, runs).mean())


def _epsilon(hits: int, other_hits: int, runs: int) -> float:
    """Return the largest epsilon that the test refutes."""
    low, high = 0.0, 20.0
    for _ in range(20):
        middle = (low + high) / 2
        refuted = _p_value(hits, other_hits, middle, runs) < 1 - CONFIDENCE
        low, high = (middle, high) if refuted else (low, middle)
    return low


def _in(event: Event, rows: FloatArray) -> BoolArray:
    inside = np.ones(len(rows), bool)
    for column, above, below in event:
        values = rows[:, column]
        if math.isnan(above):
            inside &= np.isnan(values)
        elif above == below:
            inside &= values == above
        else:
            inside &= (values > above) & (values < below)
    return inside


def _events(rows: FloatArray, runs: int) -> Iterator[Event]:
    of_columns = [
        [(column, *each) for each in _ranges(rows[:, column], runs)]
        for column in range(rows.shape[1])
    ]
    if math.prod(len(each) for each in of_columns) <= MOST_EVENTS:
        yield from (list(each) for each in itertools.product(*of_columns))
        return
    yield from ([each] for column in of_columns for each in column)
    pairs = (
        list(each) for two in itertools.pairwise(of_columns) for each in itertools.product(*two)
    )
    yield from itertools.islice(pairs, MOST_EVENTS)
    wholes = Counter(row.tobytes() for row in rows).most_common(MOST_EVENTS // rows.shape[1])
    for row, _ in wholes:
        yield [(column, value, value) for column, value in enumerate(np.frombuffer(row).tolist())]


def _ranges(values: FloatArray, runs: int) -> list[tuple[float, float]]:
    present = np.sort(values[~np.isnan(values)])
    found = [(math.nan, math.nan)] if len(present) < len(values) else []
    unique = np.unique(present)
    if len(unique) < max(runs * 0.002, 3):
        return found + [(float(each), float(each)) for each in unique]
    width = int(0.7 * len(present))
    start = int(np.argmin(present[width:] - present[: len(present) - width]))
    lines = np.linspace(present[start], present[start + width], 10)
    return found + [(-math.inf, float(each)) for each in lines]
