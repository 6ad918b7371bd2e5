"""Histograms by region, beside the method of Kuo, Chiu, Kifer, Hay and Machanavajjhala (2018).

    python -m benchmarks.regional_kuo [FOLDER] [--releases N] [--epsilon E,E,...] [--largest K]

FOLDER has `taxi_level3.npy` of the authors (github.com/yzk5145/coco, folder `data`): pickups of
taxis by neighborhood of Manhattan. The data of `benchmarks.regional` are measured besides. Error is
the sorted L1 distance in records, which is the earth mover's distance of the authors, summed over
the regions of a level: all together, the regions of the first level, leaves. ± is one standard
error over releases.

The method is written here after what the authors' programs do; of the text of the paper only the
beginning was to be had. Each level gets an equal share of epsilon, and a region is estimated by
itself. "Hc" adds geometric noise to the numbers of labels with a count of at most 1, 2, … K - 1,
and takes the nearest non-decreasing numbers in L1. "Hg" adds noise to each count, sorted, and takes
the nearest ones in L2. From the top down, the sorted counts of a region are matched with those of
the regions below it; matched counts are averaged, weighed by their variances, and given to the
regions below. The method is given the true number of labels of each leaf and the bound K: they are
public there, and dphist knows neither.
"""

import argparse
import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy.optimize import isotonic_regression

from benchmarks.markdown import print_table
from benchmarks.regional import HEAD, data_sets, write_errors
from dphist import AnonymizedHistogram, RegionalProfile, RegionalProfiles
from dphist.arrays import FloatArray, IntArray
from dphist.data.open_data import OpenRegions, open_regions
from dphist.data.region_tree import RegionPath
from dphist.regions.comparing import LevelHistograms

LOWER = 18  # neighborhoods of Lower Manhattan, which come first
Groups: TypeAlias = dict[int, int]
"""How many labels have each count."""


@dataclass
class Estimate:
    """Estimated counts of a region.

    Attributes
    ----------
    counts : a number a label.
    variances : of each count that is estimated, rounded.
    """

    counts: FloatArray
    variances: dict[int, float]

    @property
    def groups(self) -> Groups:
        """How many labels have each count, rounded, in ascending order."""
        values, numbers = np.unique(np.rint(self.counts).astype(int), return_counts=True)
        return dict(zip(values.tolist(), numbers.tolist(), strict=True))


def read_taxis(folder: Path) -> RegionalProfile:
    """Return how many taxis picked up how often in each neighborhood."""
    table = np.load(folder / "taxi_level3.npy")
    counts = {str(at): np.repeat(np.arange(1, row.size + 1), row) for at, row in enumerate(table)}
    names = list(counts)
    return RegionalProfile.from_counts(
        counts, regions={"lower": names[:LOWER], "upper": names[LOWER:]}
    )


def add_noise(exact: IntArray, epsilon: float, draw: np.random.Generator) -> IntArray:
    """Return whole numbers with two-sided geometric noise, by NumPy's floats."""
    p = -np.expm1(-epsilon)
    return exact + draw.geometric(p, exact.size) - draw.geometric(p, exact.size)


def fit_l1(noisy: IntArray) -> IntArray:
    """Return non-decreasing whole numbers that are nearest in L1: running medians by a heap."""
    heap: list[int] = []
    ends = np.empty_like(noisy)
    for at, value in enumerate(noisy.tolist()):
        heapq.heappush(heap, -value)
        if -heap[0] > value:
            heapq.heapreplace(heap, -value)
        ends[at] = -heap[0]
    return np.minimum.accumulate(ends[::-1])[::-1]


def estimate_hc(
    counts: IntArray, epsilon: float, largest: int, draw: np.random.Generator
) -> Estimate:
    """Return estimates from noisy cumulative numbers of labels."""
    exact = np.cumsum(np.bincount(counts, minlength=largest + 1)[: largest + 1])
    noisy = add_noise(exact[1:-1], epsilon, draw)
    fitted = np.clip(fit_l1(noisy), 0, counts.size)
    numbers = np.diff(fitted, prepend=0, append=counts.size)
    return _weigh(np.repeat(np.arange(1.0, largest + 1), numbers), 4 / epsilon**2)


def estimate_hg(counts: IntArray, epsilon: float, draw: np.random.Generator) -> Estimate:
    """Return estimates from noisy counts that are sorted."""
    noisy = add_noise(np.sort(counts), epsilon, draw)
    fitted = np.clip(isotonic_regression(noisy).x, 1, None)
    return _weigh(np.rint(fitted), 2 / epsilon**2)


def _weigh(counts: FloatArray, variance: float) -> Estimate:
    found = Estimate(counts, {})
    found.variances = {count: variance / number for count, number in found.groups.items()}
    return found


def match(above: Estimate, below: Sequence[Estimate]) -> list[Estimate]:
    """Return the regions below, averaged with the region above: least with least."""
    left = [each.groups for each in below]
    given: list[list[tuple[int, float, float]]] = [[] for _ in below]
    for count, remaining in above.groups.items():
        number = remaining
        while number:
            least = min(min(groups) for groups in left if groups)
            shares = split([groups.get(least, 0) for groups in left], number)
            for at, share in enumerate(shares):
                if share:
                    pair = above.variances[count], below[at].variances[least]
                    value = (count / pair[0] + least / pair[1]) / (1 / pair[0] + 1 / pair[1])
                    given[at].append((share, value, 1 / (1 / pair[0] + 1 / pair[1])))
                    left[at][least] -= share
                    if not left[at][least]:
                        del left[at][least]
            number -= sum(shares)
    return [_unite(each) for each in given]


def split(available: Sequence[int], number: int) -> list[int]:
    """Deal labels to regions in proportion to what each has: largest remainders first."""
    total = sum(available)
    if number >= total:
        return list(available)
    exact = [number * each / total for each in available]
    shares = [int(each) for each in exact]
    order = sorted(range(len(exact)), key=lambda at: shares[at] - exact[at])
    for at in order[: number - sum(shares)]:
        shares[at] += 1
    return shares


def _unite(given: Sequence[tuple[int, float, float]]) -> Estimate:
    numbers, values, variances = (np.array(each) for each in zip(*given, strict=True))
    found = Estimate(np.repeat(values, numbers), {})
    rounded = np.rint(values).astype(int)
    for count in np.unique(rounded).tolist():
        here = rounded == count
        found.variances[count] = float(np.average(variances[here], weights=numbers[here]))
    return found


def release(
    opened: OpenRegions, epsilon: float, largest: int | None, draw: np.random.Generator
) -> LevelHistograms:
    """Return what the method releases: by Hc up to a largest count, or without one by Hg."""
    tree = opened.regions
    levels: list[Sequence[RegionPath]] = [[()], *(tree.level(at) for at in range(tree.depth))]
    share = epsilon / len(levels)
    found: dict[RegionPath, Estimate] = {}
    for path in (path for level in levels for path in level):
        held = opened.unite(path)
        counts = np.repeat(held.counts, held.prevalences)
        found[path] = (
            estimate_hg(counts, share, draw)
            if largest is None
            else estimate_hc(counts, share, largest, draw)
        )
    for above, level in itertools.pairwise(levels):
        for path in above:
            below = [each for each in level if each[:-1] == path]
            matched = match(found[path], [found[each] for each in below])
            found.update(zip(below, matched, strict=True))
    return _add_up(found, levels)


def _add_up(
    found: dict[RegionPath, Estimate], levels: Sequence[Sequence[RegionPath]]
) -> LevelHistograms:
    made = {}
    for path in (path for level in levels for path in level):
        held = [found[leaf].counts for leaf in levels[-1] if leaf[: len(path)] == path]
        counts = np.rint(np.concatenate(held)).astype(int)
        made[path] = AnonymizedHistogram(*np.unique(counts[counts > 0], return_counts=True))
    return LevelHistograms(made, made[()])


def rows(options: argparse.Namespace) -> Iterator[list[str]]:
    """Yield a row for each data set, epsilon and way."""
    data = [(name, held) for name, held, _ in data_sets()]
    if options.folder is not None:
        data.insert(0, ("taxis, 2 parts, 28 neighborhoods", read_taxis(options.folder)))
    draw = np.random.default_rng(1)
    for name, profile in data:
        opened = open_regions(profile)
        for epsilon in options.epsilon.split(","):
            ours = {
                "leaves": RegionalProfiles(epsilon=epsilon, regions=profile.regions),
                "leaves, top .2": RegionalProfiles(
                    epsilon=epsilon, regions=profile.regions, top_share="0.2"
                ),
            }
            for way, mechanism in ours.items():
                values = [mechanism.release(profile).value for _ in range(options.releases)]
                yield [name, epsilon, way, *write_errors(opened, values)]
            for way, largest in {"Kuo et al., Hc": options.largest, "Kuo et al., Hg": None}.items():
                made = [
                    release(opened, float(epsilon), largest, draw) for _ in range(options.releases)
                ]
                yield [name, epsilon, way, *write_errors(opened, made)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regional_kuo")
    parser.add_argument("folder", nargs="?", type=Path, help="of the authors' data on taxis")
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--epsilon", default="1,0.1")
    parser.add_argument("--largest", type=int, default=100_000, help="K, which is public")
    print_table(HEAD, rows(parser.parse_args()))


if __name__ == "__main__":
    main()
