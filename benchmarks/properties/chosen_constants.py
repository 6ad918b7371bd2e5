"""Whether the constants of g-modeling suit populations that had no part in choosing them.

Each variant changes constants of `dphist.properties.g_modeling`. Three populations at a time are
held out: the variant with the smallest geometric mean of the ratio on all others (to the better
published method, over t = 1/2, 1 and 2) is judged on these three. Populations and samples are those
of the part "new"; a population and its smaller variant are held out together.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.markdown import print_table
from benchmarks.properties.new_labels import EXTRA, SEED, FloatArray, Population, populations
from dphist import Profile
from dphist.properties import g_modeling
from dphist.properties.support_coverage import CHAO_JOST, GOOD_TOULMIN, SMOOTHED, support_coverage

RUNS = 30
AT_ONCE = 3
VARIANTS: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "counts up to 20": {"LARGEST_COUNT": 20, "_HIGHEST_RATE": 40.0},
    "counts up to 80": {"LARGEST_COUNT": 80, "_HIGHEST_RATE": 125.0},
    "no lowest rate": {"_LOWEST_RATES": (1e-3,)},
    "lowest rates to 0.5": {"_LOWEST_RATES": (1e-3, 0.05, 0.2, 0.5)},
    "two deviations": {"_DEVIATIONS": 0.02 * 16.0 ** np.arange(2)},
    "gamma distributions": {"_DEVIATIONS": np.array([0.005])},
    "smaller deviations": {"_DEVIATIONS": 0.00125 * 4.0 ** np.arange(5)},
    "knots twice as far": {"_KNOTS": 0.5},
}


@contextmanager
def constants(changes: dict[str, Any]) -> Iterator[None]:
    """Use other constants for a while."""
    before = {name: getattr(g_modeling, name) for name in changes}
    for name, value in changes.items():
        setattr(g_modeling, name, value)
    g_modeling._design.cache_clear()
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(g_modeling, name, value)
        g_modeling._design.cache_clear()


def squares(population: Population, extra: Fraction, runs: int) -> dict[str, FloatArray]:
    """Return the squared errors of variants and published methods, (runs,) each."""
    random = np.random.default_rng([SEED, 2])
    drawn = [population.draw(extra, random) for _ in range(runs)]
    found: dict[str, FloatArray] = {}
    for name, changes in VARIANTS.items():
        with constants(changes):
            found[name] = np.array([
                _ours(profile, more) - new for profile, more, new in drawn
            ]) ** 2  # fmt: skip
    for method in (SMOOTHED, CHAO_JOST, *([GOOD_TOULMIN] if extra <= 1 else [])):
        found[method] = np.array([
            _published(profile, more, method) - new for profile, more, new in drawn
        ]) ** 2  # fmt: skip
    return found


def _ours(profile: Profile, more: Fraction) -> float:
    expected = g_modeling.new_labels(profile, float(more))[0]
    return min(max(expected, 0.0), float(more * profile.total))


def _published(profile: Profile, more: Fraction, method: str) -> float:
    # A part that was drawn may be a little less than half.
    at = min(more, Fraction(1)) if method == GOOD_TOULMIN else more
    return support_coverage(profile, extra=at, method=method).value


def logs_of(population: Population, runs: int) -> FloatArray:
    """Return the logarithm of each variant's ratio, (variants, extras)."""
    columns = []
    for extra in EXTRA:
        found = squares(population, extra, runs)
        best = min(float(each.mean()) for name, each in found.items() if name not in VARIANTS)
        columns.append([math.log(float(found[name].mean()) / best) / 2 for name in VARIANTS])
    return np.array(columns).T


def turns(names: list[str]) -> Iterator[list[int]]:
    """Yield the places of populations that are held out together, three kinds at a time.

    A kind is what stands before a comma and a number: a whole population, and draws from it.
    """
    kinds = [name.rstrip("0123456789,. ") for name in names]
    distinct = list(dict.fromkeys(kinds))
    for start in range(0, len(distinct), AT_ONCE):
        together = distinct[start : start + AT_ONCE]
        yield [place for place, kind in enumerate(kinds) if kind in together]


def print_choices(runs: int) -> None:
    """Print what each variant is worth, and what choosing is worth on those held out."""
    every = list(populations())
    names = [each.name for each in every]
    logs = np.array([logs_of(each, runs) for each in every])  # (populations, variants, extras)
    print(f"{runs} samples each; ratios to the better published method, geometric means.\n")
    head = ["variant", *(f"t = {float(extra):g}" for extra in EXTRA), "all", "above 1", "largest"]
    rows = []
    for place, variant in enumerate(VARIANTS):
        mine = logs[:, place]
        means = [*np.exp(mine.mean(axis=0)), math.exp(mine.mean())]
        above = np.count_nonzero(mine > 0)
        rows.append([
            variant, *(f"{mean:.3f}" for mean in means), f"{above} of {mine.size}",
            f"{math.exp(mine.max()):.2f}",
        ])  # fmt: skip
    print_table(head, rows)
    print()
    rows, judged, shipped = [], [], []
    for held in turns(names):
        others = [place for place in range(len(names)) if place not in held]
        best = int(np.argmin(logs[others].mean(axis=(0, 2))))
        judged.append(logs[held, best])
        shipped.append(logs[held, 0])
        rows.append([
            "; ".join(names[place] for place in held), list(VARIANTS)[best],
            f"{math.exp(judged[-1].mean()):.3f}", f"{math.exp(shipped[-1].mean()):.3f}",
        ])  # fmt: skip
    whole = [f"{math.exp(np.concatenate(each).mean()):.3f}" for each in (judged, shipped)]
    print_table(["held out", "best on the others", "its ratio", "as shipped"],
                [*rows, ["all", "", *whole]])  # fmt: skip
