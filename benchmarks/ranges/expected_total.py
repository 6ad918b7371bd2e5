"""What a public guess of the total is worth: `python -m benchmarks.ranges.expected_total`.

    python -m benchmarks.ranges.expected_total [--kinds prefixes ...] [--runs 10] [--jobs 1]

Each row is a "strength", the number of records times epsilon, at epsilon = 0.1 (or the rho with the
same variance of noise). Errors are those of an adaptive tree with a guess over one without, on the
same data: geometric means over shapes, of the mean over runs of root mean squared errors.

"Chosen by the others" is what rules are worth on shapes that had no part in choosing them: three
shapes at a time are held out, the rules with the lowest error on the others are taken from a list,
and errors of the three are compared. "/ 10" and "x 10" are guesses that are that much too low or
too high.
"""

import argparse
import math
import random
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from benchmarks.markdown import print_table
from benchmarks.ranges.data import Shape, read_shapes
from dphist import AdaptiveTree
from dphist.arrays import FloatArray
from dphist.ranges.adaptive_tree.exploration import Rules, rules_for
from dphist.ranges.comparing.queries import compute_squared_errors

EPSILON = 0.1
AT_ONCE = 3  # shapes that are held out together


class Tried(AdaptiveTree):
    """An adaptive tree with given rules."""

    __slots__ = ("rules",)

    def __init__(self, rules: Rules, **parameters: Any) -> None:
        AdaptiveTree.__init__(self, **parameters)
        object.__setattr__(self, "rules", rules)

    @property
    def _rules(self) -> Rules:
        given: Rules = self.rules  # type: ignore[attr-defined]
        return given


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of query, axes and noise.

    Attributes
    ----------
    axes : 1 or 2.
    gaussian : whether noise is Gaussian.
    query : as `dphist.ranges.comparing.queries` names it; trees for prefixes are tried on
        prefixes.
    strengths : numbers of records times epsilon.
    tried : changes of the rules that are chosen from.
    """

    axes: int
    gaussian: bool
    query: str
    strengths: tuple[int, ...]
    tried: tuple[dict[str, Any], ...]

    def rules(self, strength: float | None) -> Rules:
        """Return those of the library, for a guess."""
        return rules_for(
            several_axes=self.axes > 1,
            gaussian=self.gaussian,
            prefixes=self.query == "prefixes",
            strength=strength,
        )

    def listed(self) -> list[Rules]:
        """Return what is chosen from: the rules without a guess first."""
        usual = self.rules(None)
        return [usual, *(replace(usual, **changes) for changes in self.tried)]

    def needed(self, strength: float) -> list[Rules]:
        """Return all that a row of the table needs."""
        guesses = [self.rules(strength * off) for off in (0.1, 1, 10)]
        return list(dict.fromkeys([*self.listed(), *guesses]))

    def make(self, rules: Rules, shape: Shape) -> Tried:
        """Return the tree for a shape."""
        budget = {"rho": EPSILON**2 / 4} if self.gaussian else {"epsilon": EPSILON}
        return Tried(rules, bins=shape.counts.shape, **budget)


def _look(level: int, share: float) -> dict[str, Any]:
    return {"first_level": level, "first_share": share}


_STRENGTHS = (100, 300, 1000, 3000)
_OTHER_AXES = (_look(4, 0.2), _look(5, 0.3), _look(6, 0.2))
KINDS = {
    "prefixes": Kind(
        1,
        False,
        "prefixes",
        (*_STRENGTHS, 10000),
        (_look(1, 0.35), _look(2, 0.35), _look(2, 0.45), _look(3, 0.55)),
    ),
    "prefixes, Gaussian": Kind(
        1, True, "prefixes", _STRENGTHS, (_look(0, 0.2), _look(1, 0.15), _look(1, 0.3))
    ),
    "rectangles": Kind(
        2, False, "rectangles", _STRENGTHS, ({"merge": 8}, {"merge": 4}, *_OTHER_AXES)
    ),
    "rectangles, Gaussian": Kind(
        2, True, "rectangles", _STRENGTHS, ({"merge_doubt": 0.5}, {"stop": 8}, *_OTHER_AXES)
    ),
    "ranges": Kind(1, False, "ranges", _STRENGTHS, (_look(3, 0.2), _look(3, 0.35), _look(2, 0.15))),
    "ranges, Gaussian": Kind(
        1, True, "ranges", _STRENGTHS, (_look(1, 0.15), _look(2, 0.15), {"stop": 8})
    ),
}


def errors(kind: Kind, shape: Shape, strength: int, runs: int) -> dict[Rules, FloatArray]:
    """Return, by rules, the root mean squared error of each run, (runs,) float64, records."""
    needed = kind.needed(strength)
    found = {rules: np.zeros(runs) for rules in needed}
    for run in range(runs):
        counts = shape.at(str(round(strength / EPSILON)), run)
        for rules in needed:
            seed = random.Random(f"{shape.name} {strength} {run}")
            value = kind.make(rules, shape).release(counts, source=seed.randbytes).value
            found[rules][run] = math.sqrt(compute_squared_errors(counts, value.counts)[kind.query])
    return found


def ratio(over: Sequence[FloatArray], under: Sequence[FloatArray]) -> tuple[float, float]:
    """Return the geometric mean over shapes of ratios of mean errors, and its standard error."""
    logs, squares = [], 0.0
    for one, other in zip(over, under, strict=True):
        quotient = one.mean() / other.mean()
        logs.append(math.log(quotient))
        apart = (one - quotient * other) / one.mean()
        squares += float(apart.var(ddof=1)) / len(apart) if len(apart) > 1 else 0.0
    mean = math.exp(math.fsum(logs) / len(logs))
    return mean, mean * math.sqrt(squares) / len(logs)


def held_out(kind: Kind, found: Sequence[dict[Rules, FloatArray]]) -> list[FloatArray]:
    """Return the errors of each shape under the rules that are best on those not held out with it.

    `found`: errors by rules, a shape each.
    """
    chosen = []
    for place, own in enumerate(found):
        start = place - place % AT_ONCE
        others = [*found[:start], *found[start + AT_ONCE :]] or found
        usual = [one[kind.rules(None)] for one in others]
        best = min(kind.listed(), key=lambda r: ratio([one[r] for one in others], usual)[0])
        chosen.append(own[best])
    return chosen


def row_of(kind: Kind, strength: int, found: Sequence[dict[Rules, FloatArray]]) -> list[str]:
    """Return a row of the table."""
    usual = [one[kind.rules(None)] for one in found]
    mean = math.exp(math.fsum(math.log(one.mean()) for one in usual) / len(usual))
    cells = [f"{strength:,}", f"{mean:.3g}"]
    guessed = {off: [one[kind.rules(strength * off)] for one in found] for off in (1, 0.1, 10)}
    for over in (guessed[1], held_out(kind, found), guessed[0.1], guessed[10]):
        cells.append("{:.3f} ± {:.3f}".format(*ratio(over, usual)))
    worst = max(ratio([one], [other])[0] for one, other in zip(guessed[1], usual, strict=True))
    return [*cells, f"{worst:.2f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a table a kind."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kinds", nargs="+", choices=tuple(KINDS), default=list(KINDS))
    parser.add_argument("--runs", type=int, default=10, help="of a cell, default 10")
    parser.add_argument("--jobs", type=int, default=1, help="processes, default 1")
    chosen = parser.parse_args(arguments)
    for name in chosen.kinds:
        kind = KINDS[name]
        shapes = read_shapes(kind.axes)
        cells = list(product(kind.strengths, shapes))
        with ProcessPoolExecutor(chosen.jobs) as pool:
            found = list(
                pool.map(
                    errors,
                    [kind] * len(cells),
                    [shape for _, shape in cells],
                    [strength for strength, _ in cells],
                    [chosen.runs] * len(cells),
                )
            )
        rows = [
            row_of(kind, strength, found[start : start + len(shapes)])
            for start, strength in zip(
                range(0, len(cells), len(shapes)), kind.strengths, strict=True
            )
        ]
        head = ["without a guess", "with it", "chosen by the others", "/ 10", "x 10", "worst shape"]
        print()
        print_table([f"{name}: strength", *head], rows)


if __name__ == "__main__":
    main()
