"""What decoding again is worth: the error of `AdaptiveScan` with it, over that without.

    python -m benchmarks.redecoding [--epsilons E ...] [--runs N] [--profiles NAME ...]

Both decode the same releases, so ratios have small standard errors. "Held out": constants (the
bendings tried, the share) are chosen on all but three profiles and judged on those three, by
turns. The last columns divide the width of 95 % error bars, and state their coverage of ranks
evenly spaced on a logarithmic axis, before and after.
"""

import argparse
import itertools
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from benchmarks.coverage import counts_at
from benchmarks.data import profiles
from benchmarks.markdown import print_table
from dphist import AdaptiveScan, Profile, Release
from dphist.anonymized.adaptive_scan import decoding, refining

EPSILONS = ("1", "0.5", "0.1", "0.01")
BENDINGS, SHARES = ((1.0,), (1.0, 3.0), (0.5, 1.0, 2.0, 4.0)), (0.5, 0.8, 1.0)
SHIPPED = (refining._BENDINGS, decoding._SECOND)
CHOICES = list(itertools.product(BENDINGS, SHARES))
LARGE, RUNS_OF_LARGE = 10**7, 5  # records
HELD_OUT = 3
_REMEMBERED: dict[object, refining.Refined | None] = {}


def remembered(scanned: refining.Scanned) -> refining.Refined | None:
    """Decode again, once for all shares."""
    key = refining._BENDINGS, scanned.roughness, scanned.counts.tobytes()
    if key not in _REMEMBERED:
        _REMEMBERED[key] = refining.refine_curve(scanned)
    return _REMEMBERED[key]


@contextmanager
def decoder(bendings: tuple[float, ...], share: float) -> Iterator[None]:
    """Use these constants for a while; a share of 0 decodes once."""
    with (
        patch.object(refining, "_BENDINGS", bendings),
        patch.object(decoding, "_SECOND", share),
        patch.object(decoding, "refine_curve", remembered),
    ):
        yield


def distances(profile: Profile, release: Release) -> list[int]:
    """Errors of one release: decoded once, and with each choice of constants."""
    found = []
    for choice in [(BENDINGS[0], 0.0), *CHOICES]:
        with decoder(*choice):
            found.append(profile.distance(release.redecode().value))
    return found


def bars(profile: Profile, mechanism: AdaptiveScan, release: Release) -> tuple[float, float]:
    """Width of the error bars (cells between them), and the part of ranks they cover."""
    found = mechanism.pointwise_band(release)
    ranks = np.unique(np.geomspace(1, profile.labels, 300).astype(np.int64))
    low, true, high = (counts_at(p, ranks) for p in (found.lower, profile, found.upper))
    return found.lower.distance(found.upper), float(np.mean((low <= true) & (true <= high)))


def measured(profile: Profile, epsilon: str, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors, (runs, 1 + choices), and bars before and after, (runs, 4)."""
    errors, widths = [], []
    mechanism = AdaptiveScan(epsilon=epsilon)
    for _ in range(runs):
        release = mechanism.release(profile)
        _REMEMBERED.clear()
        errors.append(distances(profile, release))
        row: list[float] = []
        for choice in ((BENDINGS[0], 0.0), SHIPPED):
            with decoder(*choice):
                row += bars(profile, mechanism, release.redecode())
        widths.append(row)
    return np.array(errors, np.float64), np.array(widths)


def held_out(ratios: dict[str, np.ndarray]) -> dict[str, float]:
    """Each profile's ratio with the constants that are best on those of other turns.

    Best is the smallest product of the geometric mean and the worst ratio.
    """
    names, found = list(ratios), {}
    for start in range(0, len(names), HELD_OUT):
        kept = names[start : start + HELD_OUT]
        others = np.log([ratios[name] for name in names if name not in kept])
        best = int(np.argmin(others.mean(0) + others.max(0)))
        found.update({name: float(ratios[name][best]) for name in kept})
    return found


def table_of(epsilon: str, every: dict[str, Profile], runs: int) -> None:
    """Measure and print the table of one epsilon."""
    errors, widths = {}, {}
    for name, profile in every.items():
        these = min(runs, RUNS_OF_LARGE) if profile.total > LARGE else runs
        errors[name], widths[name] = measured(profile, epsilon, these)
    ratios = {name: e[:, 1:].mean(0) / e[:, 0].mean() for name, e in errors.items()}
    outside = held_out(ratios)
    ours, rows = CHOICES.index(SHIPPED), []
    for name, e in errors.items():
        gain = e[:, 1 + ours] / e[:, 0].mean()
        paired = gain - e[:, 0] / e[:, 0].mean() * gain.mean()
        error = paired.std(ddof=1) / len(e) ** 0.5
        width = widths[name].mean(0)
        rows.append([
            name, str(len(e)), f"{e[:, 0].mean():,.0f}", f"{e[:, 1 + ours].mean():,.0f}",
            f"{gain.mean():.3f} ± {error:.3f}", f"{outside[name]:.3f}",
            f"{width[2] / width[0]:.2f}", f"{100 * width[1]:.1f} %", f"{100 * width[3]:.1f} %",
        ])  # fmt: skip
    means = [
        np.exp(statistics.fmean(np.log(list(some))))
        for some in ([r[ours] for r in ratios.values()], outside.values())
    ]
    rows.append(["geometric mean", "", "", "", *(f"{mean:.3f}" for mean in means), "", "", ""])
    print_table(
        [f"ε = {epsilon}", "runs", "once", "again", "ratio", "held out", "bars", "covered once",
         "covered again"],
        rows,
    )  # fmt: skip
    print(flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS, metavar="E")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--profiles", nargs="+", default=[""], metavar="NAME")
    chosen = parser.parse_args(arguments)
    every = {
        name: profile
        for name, profile in profiles().items()
        if any(part in name for part in chosen.profiles)
    }
    for epsilon in chosen.epsilons:
        table_of(epsilon, every, chosen.runs)


if __name__ == "__main__":
    main()
