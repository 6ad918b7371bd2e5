"""Measured error on the hard instances of both lower bounds, against the bounds' order.

    python -m benchmarks.lower_bounds [--mechanisms NAME ...] [--seconds S] [--slowest S]

Every run draws new random bits. A table shows mean error over the bound's order, which stays
level where a mechanism is as good as can be; slopes are of straight lines fitted on log-log axes
to the last four points measured, the bound's own fitted in the same way. Releases that are
foreseen to take too long, or run out of memory, are skipped and named. About five minutes; a plot
and the printed text go to the output folder.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks import drawing
from benchmarks import hard_instances as hard
from benchmarks.comparison.limits import MEMORY, memory_limit
from benchmarks.comparison.tables import markdown
from benchmarks.data import ROOT
from benchmarks.repeating import measure
from dphist import Profile
from dphist.anonymized.comparing import CONTENDERS
from dphist.document.compared import Contender
from dphist.errors import DphistError
from dphist.files import write_text
from dphist.lab.comparing.compare import open_case
from dphist.lab.comparing.measuring import Effort, Measured
from dphist.lab.comparing.results import epsilon_text, number_text

OUTPUT = ROOT / "benchmarks" / "out" / "lower_bounds"
IntArray = npt.NDArray[np.int64]
Point = tuple[int, Fraction]  # n and epsilon

FITTED = 4  # points, from the end where the orders should show


@dataclass(frozen=True, slots=True)
class Regime:
    """A lower bound and where to measure against it.

    Attributes
    ----------
    instance, bits, order : of `benchmarks.hard_instances`.
    by_total : points that differ in n.
    by_epsilon : points that differ in epsilon, from the largest down.
    against : what the plot over epsilon has on its x axis, and how it is written.
    """

    name: str
    formula: str
    instance: Callable[[int, float, IntArray], Profile]
    bits: Callable[[int, float], int]
    order: Callable[[float, float], float]
    by_total: Sequence[Point]
    by_epsilon: Sequence[Point]
    against: Callable[[float], float]
    against_text: str


def _points(totals: Sequence[int], epsilons: Sequence[str]) -> list[Point]:
    return [(n, Fraction(epsilon)) for n in totals for epsilon in epsilons]


LOW = Regime(
    "Low privacy",
    "√n exp(−ε)",
    lambda n, _, bits: hard.low_privacy(n, bits),
    lambda n, _: hard.low_privacy_bits(n),
    hard.low_privacy_order,
    _points([10**power for power in range(4, 11)], ["2"]),
    _points([10**8], ["1", "2", "3", "4", "5", "6"]),
    lambda epsilon: math.exp(-epsilon),
    "exp(−ε)",
)
HIGH = Regime(
    "High privacy",
    "√(n ln(1/ε) / ε)",
    hard.high_privacy,
    hard.high_privacy_bits,
    hard.high_privacy_order,
    _points([10**power for power in range(5, 12)], ["0.01"]),
    _points([10**8], ["0.1", "0.03", "0.01", "0.003", "0.001", "0.0003"]),
    lambda epsilon: 1 / epsilon,
    "1/ε",
)


@dataclass(frozen=True, slots=True)
class Found:
    """What one mechanism did at the points it was fast enough for."""

    contender: Contender
    results: dict[Point, Measured]

    def at(self, points: Sequence[Point]) -> list[tuple[Point, float]]:
        """Return points measured, with their mean errors; an error of 0 has no logarithm."""
        some = [(point, self.results[point].error) for point in points if point in self.results]
        return [(point, error) for point, error in some if error > 0]


def foreseen_seconds(point: Point, results: dict[Point, Measured]) -> float:
    """Return the most a release may take, from those made: it grows no faster than n / epsilon.

    So it was for every mechanism here.
    """
    n, epsilon = point
    bounds = [
        done.seconds * max(1.0, n / m) * max(1.0, float(other / epsilon))
        for (m, other), done in results.items()
    ]
    return min(bounds, default=0.0)


def examine(
    regime: Regime, contender: Contender, effort: Effort, slowest: float
) -> tuple[Found, list[str]]:
    """Measure a mechanism at all points, and return those skipped: too slow, or too large."""
    results: dict[Point, Measured] = {}
    skipped = []
    for point in dict.fromkeys([*regime.by_total, *regime.by_epsilon]):
        where = f"n = {_power(point[0])}, ε = {epsilon_text(point[1])}"
        if foreseen_seconds(point, results) > slowest:
            skipped.append(where)
            continue
        try:
            results[point] = measure_at(regime, contender, point, effort)
        except (DphistError, MemoryError) as error:
            print(f"{contender.name}, {where}: {error}", file=sys.stderr)
            skipped.append(f"{where} (failed)")
    return Found(contender, results), skipped


def measure_at(regime: Regime, contender: Contender, point: Point, effort: Effort) -> Measured:
    """Measure the error at one point over the mechanism's noise and random bits."""
    n, epsilon = point
    generator = np.random.default_rng(n)  # the same instances for every mechanism

    def run() -> tuple[Sequence[float | None], float]:
        bits = hard.random_bits(regime.bits(n, float(epsilon)), generator)
        _, case = open_case(regime.instance(n, float(epsilon), bits))
        return case.run(contender.make(epsilon, case.opened))()

    return measure(run, effort, math.inf)


def slope(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return the slope on log-log axes of the line through the last points, or None of too few."""
    if len(x) < FITTED:
        return None
    return float(np.polyfit(np.log(x[-FITTED:]), np.log(y[-FITTED:]), 1)[0])


def tables(regime: Regime, found: Sequence[Found]) -> str:
    """Return both tables of a regime in Markdown."""
    sides: list[tuple[str, Sequence[Point], Callable[[Point], float], str]] = [
        (f"ε = {epsilon_text(regime.by_total[0][1])}", regime.by_total, _total, "n"),
        (f"n = {_power(regime.by_epsilon[0][0])}", regime.by_epsilon, _against(regime),
         regime.against_text),
    ]  # fmt: skip
    parts = []
    for fixed, points, x, text in sides:
        names = [_power(n) if text == "n" else epsilon_text(epsilon) for n, epsilon in points]
        variable = "n" if text == "n" else "ε"
        head = [f"{fixed}; {variable} =", *names, f"slope in {text}"]
        rows = [
            [
                one.contender.name,
                *(_relative(regime, one.results.get(point), point) for point in points),
                _slope_text([(x(point), error) for point, error in one.at(points)]),
            ]
            for one in found
        ]
        bound = [(x(point), regime.order(point[0], float(point[1]))) for point in points]
        rows.append(["bound's order", *("1" for _ in points), _slope_text(bound)])
        parts.append(markdown(head, rows, {head[0]}))
    return f"## {regime.name}: error over {regime.formula}\n\n" + "\n\n".join(parts)


def _power(n: int) -> str:
    return f"10^{math.log10(n):g}"


def _total(point: Point) -> float:
    return float(point[0])


def _against(regime: Regime) -> Callable[[Point], float]:
    return lambda point: regime.against(float(point[1]))


def _relative(regime: Regime, measured: Measured | None, point: Point) -> str:
    if measured is None:
        return "–"
    return number_text(measured.error / regime.order(point[0], float(point[1])))


def _slope_text(pairs: Sequence[tuple[float, float]]) -> str:
    fitted = slope([x for x, _ in pairs], [y for _, y in pairs])
    return "–" if fitted is None else f"{fitted:.2f}"


def draw(path: Path, every: Sequence[tuple[Regime, Sequence[Found]]]) -> None:
    """Draw error against n and against epsilon, a line of panels a regime."""
    figure = drawing.new_figure(12, 9.5)
    axes = figure.subplots(2, 2)
    for (regime, found), (left, right) in zip(every, axes.tolist(), strict=True):
        epsilon, total = regime.by_total[0][1], regime.by_epsilon[0][0]
        _panel(left, regime, found, regime.by_total, _total)
        drawing.clean(left, f"{regime.name}, ε = {epsilon_text(epsilon)}")
        left.set_xlabel("n, bound on the records")
        left.set_ylabel("Mean sorted L1 error")
        _panel(right, regime, found, regime.by_epsilon, _against(regime))
        drawing.clean(right, f"{regime.name}, n = {total:,}")
        right.set_xlabel(regime.against_text)
    bound = Line2D([], [], label="order of the bound", **_BOUND)
    drawing.legend(figure, (one.contender for _, found in every for one in found), extra=[bound])
    figure.savefig(path, dpi=130)


_BOUND: dict[str, Any] = {"color": "black", "linewidth": 2.5, "alpha": 0.45}


def _panel(
    ax: Axes,
    regime: Regime,
    found: Sequence[Found],
    points: Sequence[Point],
    x: Callable[[Point], float],
) -> None:
    bound = [regime.order(n, float(epsilon)) for n, epsilon in points]
    ax.plot([x(point) for point in points], bound, **_BOUND)
    seen = list(bound)
    for one in found:
        pairs = one.at(points)
        style = drawing.line_style(one.contender)
        ax.plot([x(point) for point, _ in pairs], [error for _, error in pairs], **style)
        seen += [error for _, error in pairs]
    ax.set_xscale("log")
    drawing.log_y_axis(ax, seen)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--mechanisms", nargs="+", metavar="NAME", help="only those whose name has this in it")
    add("--output", type=Path, default=OUTPUT, metavar="FOLDER", help="default benchmarks/out/...")
    add("--target", type=float, default=0.03, help="standard error over mean, default 0.03")
    add("--seconds", type=float, default=1.5, help="time for a point, default 1.5; 2 runs always")
    add("--slowest", type=float, default=40.0, help="skip releases foreseen to take longer")
    add("--memory", type=float, default=MEMORY, metavar="GIB", help=f"at most, default {MEMORY:g}")
    chosen = parser.parse_args(arguments)
    wanted = chosen.mechanisms or [""]
    contenders = [c for c in CONTENDERS if any(w.lower() in c.name.lower() for w in wanted)]
    effort = Effort(chosen.target, fewest=4, most=200, seconds=chosen.seconds)
    text = ["# Errors on the hard instances of the lower bounds"]
    every = []
    for regime in (LOW, HIGH):
        found: list[Found] = []
        skipped = []
        for contender in contenders:
            with memory_limit(chosen.memory):
                one, missed = examine(regime, contender, effort, chosen.slowest)
            found.append(one)
            if missed:
                skipped.append(f"{contender.name} at {'; '.join(missed)}")
        every.append((regime, found))
        text.append(tables(regime, found))
        text.append("Skipped, too slow or failed: " + (". ".join(skipped) or "none") + ".")
        print("\n\n".join(text[-2:]) + "\n", flush=True)
    chosen.output.mkdir(parents=True, exist_ok=True)
    write_text(chosen.output / "lower_bounds.md", "\n\n".join(text) + "\n")
    draw(chosen.output / "lower_bounds.png", every)


if __name__ == "__main__":
    main()
