"""DP-Sniper's method, implemented again from its paper.

B. Bichsel, S. Steffen, I. Bogunovic, M. Vechev. DP-Sniper: Black-Box Discovery of Differential
Privacy Violations using Classifiers. IEEE S&P 2021. The package needs PyTorch, and mechanisms that
draw many samples at once. A logistic regression tells outcomes of two neighbors apart; the event is
the share `C` of outcomes that it thinks likeliest from the first, with a coin where these tie; the
event's two probabilities are bounded on fresh runs (Clopper and Pearson).

Absent values have a feature of their own, as in the authors' code for special values. The paper's
bound is for pure claims; delta is taken off the larger probability, as in J. Lokna et al.
Group and Attack: Auditing Differential Privacy. CCS 2023.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.auditors.samples import Encoder, draw
from benchmarks.auditors.task import CONFIDENCE, Task, Verdict
from dphist.arrays import FloatArray
from dphist.lab.auditing.statistical.bounds import least_epsilons

C = 0.01
_PENALTY = 1e-4
_STEPS = 100

_random = np.random.default_rng()


class Attack:
    """An event: outcomes that a classifier gives at least some probability to be from the first."""

    def __init__(self, ones: FloatArray, others: FloatArray) -> None:
        """Learn to tell apart."""
        both = np.concatenate([ones, others])
        self.missing = np.isnan(both).any(axis=0)
        present = np.where(np.isnan(both), np.nan, both)
        with np.errstate(all="ignore"):
            counts = np.maximum((~np.isnan(present)).sum(axis=0), 1)
            self.mean = np.nansum(present, axis=0) / counts
            self.scale = np.sqrt(np.nansum((present - self.mean) ** 2, axis=0) / counts)
        self.scale[self.scale == 0] = 1
        features = self._features(both)
        labels = np.r_[np.ones(len(ones)), np.zeros(len(others))]

        def loss(weights: FloatArray) -> tuple[float, FloatArray]:
            logits = features @ weights
            value = np.logaddexp(0, logits).mean() - (labels * logits).mean()
            slope = features.T @ (expit(logits) - labels) / len(labels)
            return float(value + _PENALTY * weights @ weights), slope + 2 * _PENALTY * weights

        start = np.zeros(features.shape[1])
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        self.weights = found.x
        self.threshold, self.coin = 0.0, 1.0

    def _features(self, rows: FloatArray) -> FloatArray:
        absent = np.isnan(rows)
        values = np.where(absent, 0.0, (rows - self.mean) / self.scale)
        return np.column_stack([np.ones(len(rows)), values, absent[:, self.missing]])

    def set_threshold(self, others: FloatArray) -> None:
        """Make the event as likely as `C` where it is less likely."""
        logits = self._features(others) @ self.weights
        wanted = C * len(logits)
        self.threshold = np.sort(logits)[::-1][min(int(wanted), len(logits) - 1)]
        equal = (logits == self.threshold).sum()
        self.coin = min(max((wanted - (logits > self.threshold).sum()) / equal, 0.0), 1.0)

    def hits(self, rows: FloatArray) -> int:
        """Return how many outcomes are in the event."""
        logits = self._features(rows) @ self.weights
        above = int((logits > self.threshold).sum())
        return above + int(_random.binomial((logits == self.threshold).sum(), self.coin))


def dpsniper(task: Task) -> Verdict:
    """Make an attack for each pair and direction, keep the best, and bound it on fresh runs."""
    share = task.seconds * 2 / 3 / len(task.pairs)
    best, chosen = -np.inf, None
    for pair in task.pairs:
        ones, others = draw(task, pair, share, least=150)
        encoder = Encoder()
        encoder.learn([*ones, *others])
        rows, other_rows = encoder.rows(ones), encoder.rows(others)
        third = len(rows) // 3
        for swapped, (p, q) in enumerate(((rows, other_rows), (other_rows, rows))):
            attack = Attack(p[:third], q[:third])
            attack.set_threshold(q[third : 2 * third])
            shown = _epsilon(attack, p[2 * third :], q[2 * third :], task.delta)
            if shown > best or chosen is None:
                best, chosen = shown, (pair[::-1] if swapped else pair, encoder, attack)
    assert chosen is not None
    pair, encoder, attack = chosen
    ones, others = draw(task, pair, task.seconds / 3)
    shown = _epsilon(attack, encoder.rows(ones), encoder.rows(others), task.delta)
    return Verdict(shown > task.epsilon, max(shown, 0.0))


def _epsilon(attack: Attack, p: FloatArray, q: FloatArray, delta: float) -> float:
    counted = np.array([attack.hits(p)]), np.array([attack.hits(q)])
    return float(least_epsilons(*counted, len(p), delta, 1 - CONFIDENCE)[0])
