"""The histogram tester of dp-auditorium, implemented again from its paper.

A. Gilbert and A. McMillan. Property Testing for Differential Privacy. 2018. arXiv:1806.06427,
Algorithm 2, with the error bound of W. Kong et al. DP-Auditorium: A Large Scale Library for
Auditing Differential Privacy. 2023. arXiv:2307.05608. No package index has dp-auditorium, and its
requirements (TensorFlow 2.15, NumPy 1.26) exclude those of dphist.

The tester takes one number a run. An outcome of several is tested column by column, and the
probability of failure is divided among columns, pairs and directions.
"""

import math

import numpy as np

from benchmarks.auditors.samples import Encoder, draw
from benchmarks.auditors.task import CONFIDENCE, Task, Verdict
from dphist.arrays import FloatArray

BINS = 100


def histogram(task: Task) -> Verdict:
    """Refute if the estimated delta at the claimed epsilon is above the claimed one."""
    share = task.seconds / len(task.pairs)
    best = -math.inf
    for pair in task.pairs:
        ones, others = draw(task, pair, share)
        encoder = Encoder()
        first = max(len(ones) // 20, 20)  # a twentieth says which bins there are
        encoder.learn([*ones[:first], *others[:first]])
        rows, other_rows = encoder.rows(ones), encoder.rows(others)
        failure = (1 - CONFIDENCE) / (2 * len(task.pairs) * rows.shape[1])
        for column in range(rows.shape[1]):
            two = _masses(rows[:, column], other_rows[:, column], first)
            for p, q in (two, two[::-1]):
                shown = _epsilon(p, q, len(rows) - first, task.delta, failure)
                best = max(best, shown)
    return Verdict(best > task.epsilon, max(best, 0.0))


def _masses(ones: FloatArray, others: FloatArray, first: int) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of bins; NaN has a bin of its own."""
    early = np.concatenate([ones[:first], others[:first]])
    early = early[~np.isnan(early)]
    values = np.unique(early)
    if len(values) <= BINS:
        edges = (values[1:] + values[:-1]) / 2 if len(values) else np.zeros(1)
    else:
        edges = np.linspace(early.min(), early.max(), BINS + 1)[1:-1]

    def counted(samples: FloatArray) -> FloatArray:
        later = samples[first:]
        missing = np.isnan(later)
        places = np.where(missing, len(edges) + 1, np.searchsorted(edges, later))
        return np.bincount(places, minlength=len(edges) + 2) / len(later)

    return counted(ones), counted(others)


def _epsilon(p: FloatArray, q: FloatArray, runs: int, delta: float, failure: float) -> float:
    """Return the largest epsilon at which the tester finds more than `delta`."""
    low, high = 0.0, 20.0
    if _delta(p, q, low, runs, failure) < delta:
        return -math.inf
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _delta(p, q, middle, runs, failure) >= delta else (low, middle)
        )
    return low


def _delta(p: FloatArray, q: FloatArray, epsilon: float, runs: int, failure: float) -> float:
    scale = math.exp(epsilon)
    estimate = float(np.maximum(p - scale * q, 0).sum())
    term = 2 / math.sqrt(runs) * (np.sqrt(p).sum() + scale * np.sqrt(q).sum())
    other = 6 * (1 + scale) * math.sqrt(math.log(4 / failure) / (2 * runs))
    return estimate - float(term) - other
