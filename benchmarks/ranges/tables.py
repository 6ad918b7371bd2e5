"""From errors of cells to the tables: geometric means over shapes, and ratios by shape."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.markdown import print_table
from benchmarks.ranges.contenders import OURS, Contender, yardstick
from benchmarks.ranges.data import OWN
from dphist.lab.comparing.results import number_text
from dphist.ranges.comparing.case import PUBLISHED
from dphist.ranges.comparing.queries import WORKLOADS

Place = tuple[str, str, str]  # workload, epsilon, scale
ALLOWED = 1.1  # how far ours may be behind a published mechanism on one shape


@dataclass(frozen=True, slots=True)
class Results:
    """Errors, records a query, of one number of axes.

    Attributes
    ----------
    axes : int
    shapes, scales, epsilons : what was asked for, in the order of the tables.
    contenders : list of Contender
    errors : by (contender, shape, workload, epsilon, scale).
    doubts : standard errors of these, each as a share of the error; by the same.
    """

    axes: int
    shapes: Sequence[str]
    scales: Sequence[str]
    epsilons: Sequence[str]
    contenders: Sequence[Contender]
    errors: dict[tuple[str, str, str, str, str], float]
    doubts: dict[tuple[str, str, str, str, str], float] = field(default_factory=dict)

    def mean(self, contender: str, place: Place) -> float:
        """Return the geometric mean over shapes; 0 if an error is."""
        values = [self.errors[contender, shape, *place] for shape in self.shapes]
        with np.errstate(divide="ignore"):
            return float(np.exp(np.log(values).mean()))

    def best(self, family: str, place: Place) -> Contender:
        """Return the one of a family whose mean is lowest there: hindsight, in its favor."""
        among = [c for c in self.contenders if c.family == family]
        return min(among, key=lambda c: self.mean(c.name, place))

    @property
    def families(self) -> list[str]:
        """The families of which more than one was measured."""
        names = [c.family for c in self.contenders if c.family]
        return [name for name in dict.fromkeys(names) if names.count(name) > 1]

    def named(self, name: str, place: Place) -> str | None:
        """Return the contender of that name, or the best of that family; None if there is none."""
        if name in self.families:
            return self.best(name, place).name
        return name if any(c.name == name for c in self.contenders) else None


def print_means(results: Results) -> None:
    """Print a table a workload and epsilon: a row a contender, a column a scale."""
    for workload in WORKLOADS[results.axes]:
        for epsilon in results.epsilons:
            head = [f"{workload}, ε = {epsilon}", *map(scale_text, results.scales)]
            print()
            print_table(head, _rows(results, workload, epsilon))


def _rows(results: Results, workload: str, epsilon: str) -> Iterable[list[str]]:
    places = [(workload, epsilon, scale) for scale in results.scales]
    left = results.families
    for place_in_list, contender in enumerate(results.contenders):
        if contender.alone or contender.family not in results.families:
            means = [results.mean(contender.name, place) for place in places]
            yield [contender.name, *map(number_text, means)]
        rest = results.contenders[place_in_list + 1 :]
        family = contender.family
        if family in left and not any(c.family == family for c in rest):
            yield [family, *(_best_text(results, family, place) for place in places)]


def _best_text(results: Results, family: str, place: Place) -> str:
    best = results.best(family, place)
    which = best.name.removeprefix("least squares ").removesuffix(" + projection")
    which = which.replace("H- binary", "2-ary" if results.axes == 1 else "2 x 2")
    return f"{number_text(results.mean(best.name, place))} ({which})"


def print_ratios(results: Results) -> None:
    """Print, by shape, how many times the error of the yardstick ours has where that is most."""
    other = yardstick(results.axes)
    rows = []
    for shape in results.shapes:
        row = [shape]
        for epsilon in results.epsilons:
            found = [
                (_over(results, OURS, name, shape, place), place)
                for workload in WORKLOADS[results.axes]
                for scale in results.scales
                for place in [(workload, epsilon, scale)]
                if (name := results.named(other, place)) and results.named(OURS, place)
            ]
            if not found:
                return
            ratio, (workload, _, scale) = max(found)
            row.append(f"{ratio:.2f} ({workload}, {scale_text(scale)})")
        rows.append(row)
    heads = [f"ε = {epsilon}" for epsilon in results.epsilons]
    print()
    print_table([f"{OURS} / {other}, at worst", *heads], rows)


def print_published(results: Results) -> None:
    """Print ours over each published mechanism: means over shapes and single shapes, at worst."""
    known = [contender.name for contender in results.contenders]
    names = [name for name in PUBLISHED if name in known and OURS in known]
    for epsilon in results.epsilons if names else []:
        places = [(w, epsilon, scale) for w in WORKLOADS[results.axes] for scale in results.scales]
        head = ["mean over shapes, at worst", "one shape, at worst", f"above {ALLOWED}"]
        print()
        print_table(
            [f"{OURS} over, ε = {epsilon}", *head],
            ([name, *_compared(results, name, places)] for name in names),
        )


def _compared(results: Results, name: str, places: Sequence[Place]) -> list[str]:
    means = [(*_ratio(results, name, results.shapes, place), place) for place in places]
    single = [
        (*_ratio(results, name, [shape], place), place, shape)
        for shape in results.shapes
        for place in places
    ]
    behind = sum(ratio > ALLOWED for ratio, *_ in single)
    ratio, doubt, (workload, _, scale) = max(means)
    mean = f"{ratio:.2f} ± {doubt:.2f} ({workload}, {scale_text(scale)})"
    ratio, doubt, (workload, _, scale), shape = max(single)
    one = f"{ratio:.2f} ± {doubt:.2f} ({shape}, {workload}, {scale_text(scale)})"
    return [mean, one, f"{behind} of {len(single)}"]


def _ratio(
    results: Results, other: str, shapes: Sequence[str], place: Place
) -> tuple[float, float]:
    """Return the geometric mean of ours over another, and its standard error."""
    logs, squares = [], 0.0
    for shape in shapes:
        ratio = _over(results, OURS, other, shape, place)
        logs.append(math.log(ratio) if 0 < ratio < math.inf else 0.0)
        squares += sum(results.doubts.get((one, shape, *place), 0.0) ** 2 for one in (OURS, other))
    mean = math.exp(math.fsum(logs) / len(logs))
    return mean, mean * math.sqrt(squares) / len(logs)


def _over(results: Results, one: str, other: str, shape: str, place: Place) -> float:
    under = results.errors[other, shape, *place]
    over = results.errors[one, shape, *place]
    if under == 0:
        return 1.0 if over == 0 else math.inf
    return over / under


def scale_text(scale: str) -> str:
    """Return a number of records as people write it."""
    return "own" if scale == OWN else f"{int(scale):,}"
