"""Histograms by region: scans of leaves, with and without a share for the top, and of every region.

    python -m benchmarks.regional [RELEASES]

Error is the sorted L1 distance, in records, summed over the regions of a level: all together, the
regions of the first level, leaves. ± is one standard error over releases. "Independent" scans every
region with a third of epsilon for each level: these do not add up. "The same, each alone" decodes
the noisy numbers of each leaf by themselves, of the same releases. Two of the three data sets are
made: the labels of a real profile, dealt to regions of unequal size with a fixed seed.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.data import ROOT, folder
from benchmarks.markdown import print_table
from dphist import (
    Profile,
    RegionalHistograms,
    RegionalProfile,
    RegionalProfiles,
    RegionTree,
    Release,
)
from dphist.arrays import IntArray
from dphist.data.open_data import OpenRegions, open_regions
from dphist.regions.comparing import IndependentScans
from dphist.regions.scans import split_scans

POEMS = {
    *("lovers_complaint", "passionate_pilgrim", "phoenix_and_the_turtle"),
    *("rape_of_lucrece", "sonnets"),
}
TRAGEDIES = {
    *("antony_and_cleopatra", "coriolanus", "hamlet", "julius_caesar", "lear", "macbeth"),
    *("othello", "romeo_and_juliet", "timon_of_athens", "tragedy_of_titus_andronicus"),
    *("troilus_and_cressida", "cymbeline"),
}
HEAD = ["data", "ε", "way", "all together", "first level", "leaves"]
RELEASES = 5


def name_kind(work: str) -> str:
    """Return the kind of a work of Shakespeare."""
    if work in POEMS:
        return "poems"
    if work in TRAGEDIES:
        return "tragedies"
    return "histories" if work.startswith(("henry", "richard", "john")) else "comedies"


def words() -> RegionalProfile | None:
    """Return how many words occur how often in each work, by kind; None without the data."""
    import pyarrow.parquet as pq

    labelled = folder("labelled")
    path = None if labelled is None else labelled / "shakespeare_by_work.parquet"
    if path is None or not path.is_file():
        return None
    table = pq.read_table(path)
    works = sorted(set(table["work"].to_pylist()))
    tree: dict[str, list[str]] = {}
    for work in works:
        tree.setdefault(name_kind(work), []).append(work)
    return RegionalProfile.from_table(
        table, label="word", count="count", region="work", regions=tree
    )


def deal(profile: Profile, regions: int, leaves: int, seed: int) -> RegionalProfile:
    """Deal the labels of a profile to leaves of unequal size: made data."""
    rng = np.random.default_rng(seed)
    sizes = np.repeat(profile.counts, profile.prevalences)
    shares = np.outer(rng.dirichlet(np.full(regions, 3.0)), np.ones(leaves))
    shares *= rng.dirichlet(np.full(leaves, 3.0), regions)
    place = rng.choice(regions * leaves, len(sizes), p=shares.ravel() / shares.sum())
    names = [[f"{region}.{leaf}" for leaf in range(leaves)] for region in range(regions)]
    tree = {str(region): held for region, held in enumerate(names)}
    flat = [name for held in names for name in held]
    counts: dict[str, IntArray] = {name: sizes[place == at] for at, name in enumerate(flat)}
    return RegionalProfile.from_counts(counts, regions=tree)


def data_sets() -> Iterator[tuple[str, RegionalProfile, Sequence[str]]]:
    """Yield a name, data and epsilons; without the data, labels of a shipped profile are dealt."""
    found = words()
    if found is not None:
        yield "words, 4 kinds, 42 works", found, ("1", "0.1")
    place = folder("profiles")
    path = None if place is None else place / "passwords_phpbb.csv"
    name = "phpbb"
    if path is None or not path.is_file():
        path, name = ROOT / "data" / "words_shakespeare.csv", "words"
    profile = Profile.read(path)
    yield f"{name} dealt to 5 × 8 (made)", deal(profile, 5, 8, 1), ("1", "0.1")
    yield f"{name} dealt to 8 × 40 (made)", deal(profile, 8, 40, 2), ("0.1",)


def measure(opened: OpenRegions, value: object) -> list[int]:
    """Return the errors of all regions together, of the first level, and of leaves."""
    tree: RegionTree = opened.regions
    held: Any = value
    levels = [[()], *(tree.level(level) for level in (0, tree.depth - 1))]
    return [
        sum(opened.unite(path).distance(held[path] if path else held.all) for path in level)
        for level in levels
    ]


def rows(releases: int) -> Iterator[list[str]]:
    """Yield a row for each data set, epsilon and way."""
    for name, data, epsilons in data_sets():
        opened = open_regions(data)
        for epsilon in epsilons:
            ways: dict[str, Any] = {
                "independent, ε/3 a level": IndependentScans(epsilon, opened),
                "leaves": RegionalProfiles(epsilon=epsilon, regions=data.regions),
                "leaves, top .2": RegionalProfiles(
                    epsilon=epsilon, regions=data.regions, top_share="0.2"
                ),
            }
            for way, mechanism in ways.items():
                made = [mechanism.release(data) for _ in range(releases)]
                values = [getattr(each, "value", each) for each in made]
                yield [name, epsilon, way, *write_errors(opened, values)]
                if way == "leaves":
                    values = [decode_apart(each) for each in made]
                    yield [name, epsilon, "the same, each alone", *write_errors(opened, values)]


def decode_apart(release: Release) -> RegionalHistograms:
    """Return leaves decoded one by one, and not moved towards the sums of their noisy numbers."""
    mechanism: Any = release.mechanism
    scans = split_scans(release.noisy, len(mechanism.regions.leaves))
    return RegionalHistograms(mechanism.regions, [*map(mechanism.leaf_scan.decode, scans)])


def write_errors(opened: OpenRegions, values: Sequence[object]) -> list[str]:
    """Return the mean error of each level with its standard error."""
    errors = [measure(opened, value) for value in values]
    mean = np.mean(errors, axis=0)
    error = np.std(errors, axis=0, ddof=1) / np.sqrt(len(values))
    return [f"{m:,.0f} ± {e:,.0f}" for m, e in zip(mean, error, strict=True)]


def main() -> None:
    """Print the table."""
    print_table(HEAD, rows(int(sys.argv[1]) if len(sys.argv) > 1 else RELEASES))


if __name__ == "__main__":
    main()
