"""What was tried for better quantiles of groups: choosing them jointly, and other decoders.

    python -m benchmarks.group_quantiles_tried [--runs N] [--epsilon E,E,...]

"Joint" is a trial, not a mechanism: it draws with floating point. Let n be the numbers of records
below, between and above two places, and f the shares that are asked, .5, .4 and .1. The score of a
pair of bins is the smallest L1 distance of such an n from a multiple M f, over all M and all places
within the bins. A record changes it by at most 1, so a pair that is drawn by permute-and-flip with
exp(-epsilon score / 2) is epsilon-DP. For one quantile it is the mechanism of OpenDP.

Decoders read the same noisy numbers of `AdaptiveTree`. All errors are as in
`benchmarks.group_quantiles`; the same groups, at most 15 of each column, and groups drawn from two
public shapes.
"""

import argparse
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import opendp.prelude as dp
import pandas as pd

import dphist as dh
from benchmarks.data import folder
from benchmarks.group_quantiles import (
    LEAST,
    SHARES,
    cases,
    estimates_of,
    opendp_quantiles,
    rank_errors,
)
from benchmarks.markdown import print_table
from dphist.ranges.adaptive_tree.inference import infer, spread_evenly

_GROUPS = 15
_SHAPES, _SIZES, _BINS = ("INCOME", "SEARCHLOGS"), (50, 500, 5000), 256
_HEADS = [f"{share:g}" for share in SHARES]
_LITTLE = 0.02  # percent, added to errors whose ratios are taken
_OF_JOINT = (1.0, 0.75, 0.5)
"""Shares of epsilon that the joint choice spends; a tree for all else would have the rest."""


def _columns(draw: np.random.Generator) -> Iterator[tuple[str, list[np.ndarray]]]:
    for case in cases():
        large = case.counts[case.counts.sum(axis=1) >= LEAST]
        few = np.linspace(0, len(large) - 1, min(len(large), _GROUPS)).astype(int)
        yield case.name, [large[at] for at in few]
    shapes = folder("ranges")
    if shapes is None:
        return
    for name in _SHAPES:
        counts = pd.read_csv(shapes / f"{name}.csv")["count"].to_numpy()
        shares = counts.reshape(_BINS, -1).sum(axis=1) / counts.sum()
        for size in _SIZES:
            groups = [draw.multinomial(size, shares) for _ in range(5)]
            yield f"{name}: groups of {size}, {_BINS} bins", groups


def score_pairs(counts: np.ndarray, low: float, high: float) -> tuple[np.ndarray, ...]:
    """Return pairs of bins for two quantiles, and their scores: the first bins, the second."""
    f = low, high - low, 1 - high
    below = np.append(0.0, np.cumsum(counts))
    one, two = np.triu_indices(len(counts), 1)
    first, second = counts[one].astype(float), counts[two].astype(float)
    left, right = below[one], below[-1] - below[two + 1]
    between = below[two] - below[one + 1]

    def apart(whole: np.ndarray) -> np.ndarray:
        """Take as many records of each bin to the outer sides as their shares of a whole want."""
        lack, missing = f[0] * whole - left, f[2] * whole - right
        out, up = np.clip(lack, 0, first), np.clip(missing, 0, second)
        rest = between + first - out + second - up
        distance: np.ndarray = np.abs(lack - out) + np.abs(missing - up)
        distance += np.abs(rest - f[1] * whole)
        return distance

    # The distance is linear in the whole between these.
    wholes = [left / f[0], (left + first) / f[0], right / f[2], (right + second) / f[2]]
    at_one = (first, 0.0), (first + left, f[0]), (np.zeros_like(first), 0.0)
    at_two = (second, 0.0), (second + right, f[2]), (np.zeros_like(second), 0.0)
    for (more, share), (also, other) in itertools.product(at_one, at_two):
        wholes.append((between + more + also) / (f[1] + share + other))
    of_pairs = np.min([apart(whole) for whole in wholes], axis=0)

    alone, left, right = counts.astype(float), below[:-1], below[-1] - below[1:]

    def together(whole: np.ndarray) -> np.ndarray:
        lack, missing = f[0] * whole - left, f[2] * whole - right
        wanted = np.maximum(lack, 0) + f[1] * whole + np.maximum(missing, 0)
        distance: np.ndarray = np.maximum(-lack, 0) + np.maximum(-missing, 0)
        distance += np.abs(wanted - alone)
        return distance

    wholes = [left / f[0], right / f[2], alone / f[1], np.full(len(counts), below[-1])]
    wholes += [(alone + left) / (f[0] + f[1]), (alone + right) / (f[1] + f[2])]
    of_one = np.min([together(whole) for whole in wholes], axis=0)
    each = np.arange(len(counts))
    firsts, seconds = np.concatenate([one, each]), np.concatenate([two, each])
    return firsts, seconds, np.concatenate([of_pairs, of_one])


def choose(scores: np.ndarray, epsilon: float, draw: np.random.Generator) -> int:
    """Return a place by permute-and-flip: one of those that are kept, each by its own chance."""
    kept = draw.random(len(scores)) < np.exp(-epsilon / 2 * (scores - scores.min()))
    return int(draw.choice(np.flatnonzero(kept)))


def _decoded(tree: Any, noisy: Any, histogram: Any) -> dict[str, list[float]]:
    """Return quantiles read from the same noisy numbers in several ways."""
    measured, bins = tree._measured(noisy), histogram.counts.size
    curves = {}
    for name, sweeps in (("not rounded", 3), ("one sweep", 1), ("six sweeps", 6)):
        found = spread_evenly(infer(measured, sweeps).counts[-1], measured.sizes)
        curves[name] = np.append(0.0, np.cumsum(tree.shape.restore(found)))
    ends = [np.zeros(bins, np.int64)], [np.arange(1, bins + 1)]
    enclosed = histogram.answers._enclosing.enclose(*ends)
    least = np.append(0.0, (enclosed.inner.count + enclosed.outer.count) / 2)
    curves["least squares"] = np.maximum.accumulate(np.maximum(least, 0))
    curves["mean of least squares and prior"] = (
        curves["least squares"] + curves["not rounded"]
    ) / 2
    near = max(1, bins // 50)
    padded = np.pad(np.diff(curves["not rounded"]), near, mode="symmetric")
    smooth = np.convolve(padded, np.full(2 * near + 1, 1 / (2 * near + 1)), "valid")
    curves["smoothed over 4 % of the bins"] = np.append(0.0, np.cumsum(smooth))
    return {name: _places(curve) for name, curve in curves.items()}


def _places(curve: np.ndarray) -> list[float]:
    if not curve[-1] > 0:
        return [(len(curve) - 1) / 2] * len(SHARES)
    return [float(x) for x in np.interp(SHARES, curve / curve[-1], np.arange(len(curve)))]


def measure(
    groups: list[np.ndarray], epsilon: float, runs: int, draw: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return rank errors of each contender, (runs * groups, quantiles)."""
    errors: dict[str, list[list[float]]] = {}
    for counts in groups:
        firsts, seconds, scores = score_pairs(counts, *SHARES)
        tree = dh.AdaptiveTree(epsilon=str(epsilon), bins=len(counts), workload="prefix")
        for _ in range(runs):
            release = tree.release(counts)
            found = {"dphist, all": estimates_of(release.value, SHARES)}
            for share in _OF_JOINT:
                at = choose(scores, share * epsilon, draw)
                found[f"joint, {share:g} of ε"] = [firsts[at] + 0.5, seconds[at] + 0.5]
            found["OpenDP, both"] = opendp_quantiles(counts, epsilon, SHARES)
            found |= _decoded(tree, release.noisy, release.value)
            for name, values in found.items():
                errors.setdefault(name, []).append(rank_errors(counts, values, SHARES))
    return {name: np.array(each) for name, each in errors.items()}


def main() -> None:
    """Print a table of contenders, and how decoders compare with the one there is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", default="0.1,1,4")
    asked = parser.parse_args()
    dp.enable_features("contrib")
    draw = np.random.default_rng(1)
    ratios = []
    for column, groups in _columns(draw):
        rows = []
        for epsilon in map(float, asked.epsilon.split(",")):
            found = measure(groups, epsilon, asked.runs, draw)
            means = {name: each.mean(axis=0) for name, each in found.items()}
            least = means["dphist, all"] + _LITTLE
            ratios.append({name: (each + _LITTLE) / least for name, each in means.items()})
            for name in found:
                if name.startswith(("dphist", "joint", "OpenDP")):
                    errors = found[name].std(axis=0, ddof=1) / len(found[name]) ** 0.5
                    rows.append([f"{epsilon:g}", name, *_pairs(means[name], errors)])
        print(f"\n{column}\n")
        print_table(["ε", "", *_HEADS], rows)
    print("\nErrors of decoders over those of dphist, geometric means of all rows\n")
    compared = []
    for name in ratios[0]:
        logs = np.log([each[name] for each in ratios])
        errors = logs.std(axis=0, ddof=1) / len(logs) ** 0.5
        compared.append([name, *_pairs(np.exp(logs.mean(axis=0)), errors)])
    print_table(["", *_HEADS], compared)


def _pairs(means: np.ndarray, errors: np.ndarray) -> list[str]:
    return [f"{mean:.2f} ± {error:.2f}" for mean, error in zip(means, errors, strict=True)]


if __name__ == "__main__":
    main()
