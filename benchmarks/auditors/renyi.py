"""The Rényi tester of dp-auditorium, implemented again from its paper.

W. Kong et al. DP-Auditorium: A Large Scale Library for Auditing Differential Privacy. 2023.
arXiv:2307.05608, Algorithm 2. A network g with two layers of 100 and outputs in [-BOUND, BOUND]
maximizes a lower bound on the Rényi divergence (J. Birrell et al. 2021): a / (a - 1) log E_P
exp((a - 1) g) - log E_Q exp(a g). It learns on half of the runs; the other half state the bound,
less its error. epsilon-DP is refuted above min(epsilon, 2 a epsilon**2). The test says nothing
where delta is above 0. Here NumPy trains the network, in place of TensorFlow.
"""

import itertools
import math
import time

import numpy as np

from benchmarks.auditors.samples import Encoder, draw
from benchmarks.auditors.task import CONFIDENCE, NOT_FOR_THIS, Task, Verdict
from dphist.arrays import FloatArray

ORDER = 2.0
BOUND = 1.0
_WIDTH = 100
_BATCH = 512
_RATE = 0.003
_TRAINING = 0.4  # of the time

_random = np.random.default_rng()


def renyi(task: Task) -> Verdict:
    """Refute if the divergence between the two laws is larger than a pure claim allows."""
    if task.delta > 0:
        return NOT_FOR_THIS
    share = task.seconds / len(task.pairs)
    failure = (1 - CONFIDENCE) / (2 * len(task.pairs))
    best = 0.0
    for pair in task.pairs:
        ones, others = draw(task, pair, share * (1 - _TRAINING))
        encoder = Encoder()
        encoder.learn([*ones, *others])
        rows, other_rows = _scaled(encoder.rows(ones), encoder.rows(others))
        half = len(rows) // 2
        for p, q in ((rows, other_rows), (other_rows, rows)):
            network = Network(p.shape[1])
            network.train(p[:half], q[:half], share * _TRAINING / 2)
            best = max(best, _shown(network(p[half:]), network(q[half:]), failure))
    return Verdict(best > min(task.epsilon, 2 * ORDER * task.epsilon**2), best)


def _scaled(ones: FloatArray, others: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return columns of mean 0 and variance 1; what is absent is 0, and has a column."""
    both = np.concatenate([ones, others])
    absent = np.isnan(both)
    filled = np.where(absent, 0.0, both)
    scaled = (filled - filled.mean(axis=0)) / np.maximum(filled.std(axis=0), 1e-9)
    columns = np.column_stack([scaled, absent[:, absent.any(axis=0)]])
    return columns[: len(ones)], columns[len(ones) :]


def _shown(p: FloatArray, q: FloatArray, failure: float) -> float:
    """Return the lower bound on the divergence, which is at most epsilon for an epsilon-DP law."""
    estimate = ORDER / (ORDER - 1) * math.log(np.exp((ORDER - 1) * p).mean())
    estimate -= math.log(np.exp(ORDER * q).mean())
    tails = 3 * math.exp(2 * (ORDER - 1) * BOUND), 2 * math.exp(2 * ORDER * BOUND)
    error = max(math.sqrt(each * math.log(2 / failure) / len(p)) for each in tails)
    return estimate - math.log((1 + error) / (1 - error)) if error < 1 else 0.0


class Network:
    """Two hidden layers of hyperbolic tangents, and an output that is bounded by one."""

    def __init__(self, inputs: int) -> None:
        """Draw the weights."""
        sizes = [inputs, _WIDTH, _WIDTH, 1]
        self.weights: list[FloatArray] = []
        for fan_in, fan_out in itertools.pairwise(sizes):
            limit = math.sqrt(6 / (fan_in + fan_out))
            self.weights += [_random.uniform(-limit, limit, (fan_in, fan_out)), np.zeros(fan_out)]

    def _layers(self, rows: FloatArray) -> list[FloatArray]:
        found = [rows]
        for layer in range(3):
            found.append(np.tanh(found[-1] @ self.weights[2 * layer] + self.weights[2 * layer + 1]))
        return found

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return (len(rows),) outputs in [-BOUND, BOUND]."""
        return BOUND * self._layers(rows)[-1][:, 0]

    def train(self, ones: FloatArray, others: FloatArray, seconds: float) -> None:
        """Maximize the divergence by Adam until the time is up."""
        first = [np.zeros_like(each) for each in self.weights]
        second = [np.zeros_like(each) for each in self.weights]
        until, step = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            step += 1
            slopes = self._slopes(
                ones[_random.integers(0, len(ones), _BATCH)],
                others[_random.integers(0, len(others), _BATCH)],
            )
            for place, slope in enumerate(slopes):
                first[place] = 0.9 * first[place] + 0.1 * slope
                second[place] = 0.999 * second[place] + 0.001 * slope**2
                mean = first[place] / (1 - 0.9**step)
                spread = np.sqrt(second[place] / (1 - 0.999**step)) + 1e-8
                self.weights[place] = self.weights[place] + _RATE * mean / spread

    def _slopes(self, ones: FloatArray, others: FloatArray) -> list[FloatArray]:
        p, q = self._layers(ones), self._layers(others)
        weight_p = np.exp((ORDER - 1) * BOUND * p[-1])
        weight_q = np.exp(ORDER * BOUND * q[-1])
        found = [np.zeros_like(each) for each in self.weights]
        for layers, outer in (
            (p, ORDER * BOUND * weight_p / weight_p.sum()),
            (q, -ORDER * BOUND * weight_q / weight_q.sum()),
        ):
            slope = outer
            for layer in (2, 1, 0):
                slope = slope * (1 - layers[layer + 1] ** 2)
                found[2 * layer] += layers[layer].T @ slope
                found[2 * layer + 1] += slope.sum(axis=0)
                slope = slope @ self.weights[2 * layer].T
        return found
