"""What everyday releases cost, in epsilon and in rho, and how many of them an account takes.

    python -m benchmarks.prices

"Own rho" is what a mechanism states; "by epsilon" is epsilon tanh(epsilon/2), what every pure
guarantee implies. OpenDP and Tumult's published formula convert a pure guarantee to epsilon**2 / 2.
"30" is the epsilon of 30 such releases at delta 1e-6: by own rho, by the rho that epsilon implies,
and by dp_accounting's privacy losses, for releases that are fixed beforehand. Counts of releases
are those of a ledger with one account.

The second table is of plans that cost (1, 1e-6) together: the noise of the first release, if later
ones may be chosen after earlier results, and if all are decided beforehand.
"""

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import opendp.prelude as dp

import dphist as dh
from benchmarks.markdown import print_table
from dphist.lab.bridges.dp_accounting import PLDAccountant
from dphist.privacy.conversion import pure_to_rho, rho_to_epsilon
from dphist.privacy.guarantees import find_rho
from dphist.streams.mechanism import ContinualMechanism

ACCOUNTS: tuple[tuple[Any, Any], ...] = ((1, "1e-6"), (5, "1e-5"))
EACH = Fraction(1, 5)
MANY, DELTA = 30, Fraction("1e-6")
HEAD = ["release, ε = 0.2", "own ρ", "ρ by ε", "ε²/2 (OpenDP, Tumult)"]
HEAD += ["30: ε", "by ρ of ε", "by dp_accounting"]
HEAD += [f"fit in ({epsilon}, {delta})" for epsilon, delta in ACCOUNTS]

USERS: dict[str, Any] = {"delta": "1e-8", "max_labels": 3}
RELEASES: dict[str, Any] = {
    "one histogram of disjoint bins": dh.LeafCounts(epsilon=EACH, bins=1024),
    "the same, a user has 10 records": dh.LeafCounts(epsilon=EACH, bins=1024, sensitivity=10),
    "binary tree over 1,024 bins": dh.HierarchicalTree(epsilon=EACH, bins=1024, branching=2),
    "tree over 1,024 bins, branching chosen": dh.HierarchicalTree(epsilon=EACH, bins=1024),
    "adaptive tree over 1,024 bins": dh.AdaptiveTree(epsilon=EACH, bins=1024),
    "quantiles of 50 groups, 100 bins each": dh.GroupedHistogram(
        epsilon=EACH, groups={"group": range(50)}, bins=100
    ),
    "map of 64 × 64 cells": dh.AdaptiveTree(epsilon=EACH, bins=(64, 64)),
    "anonymized histogram": dh.AdaptiveScan(epsilon=EACH),
    "degrees of a graph, for an edge": dh.AdaptiveScan(epsilon=EACH, sensitivity=2),
    "labels, 3 of a user, Laplace": dh.ThresholdHistogram(
        epsilon=EACH / 3, noise="laplace", **USERS
    ),
    "labels, 3 of a user, Gaussian": dh.calibrate(
        dh.ThresholdHistogram, epsilon=EACH, noise="gaussian", **USERS
    ),
    "labels with a sum, 3 of a user, Laplace": dh.ThresholdHistogram(
        epsilon=EACH / 6, noise="laplace", sums={"x": dh.Clamp(0, 500, "0.01")}, **USERS
    ),
    "running counts of 65,536 events": ContinualMechanism(
        epsilon=EACH, horizon=2**16, labels=("a", "b"), method="laplace"
    ),
}

BINS: dict[str, Any] = {"bins": 1024}
LABELS = (dh.ThresholdHistogram, {"max_labels": 3, "noise": "gaussian"})
PLANS: dict[str, list[Any]] = {
    "3 histograms, Gaussian": [(dh.LeafCounts, {**BINS, "epsilon": None})] * 3,
    "30 histograms, geometric": [(dh.LeafCounts, {**BINS, "rho": None})] * 30,
    "labels, Gaussian, and a histogram": [LABELS, (dh.LeafCounts, BINS)],
    "labels, Laplace, a histogram, a tree": [
        (dh.ThresholdHistogram, {"max_labels": 3, "noise": "laplace"}),
        (dh.LeafCounts, {**BINS, "rho": None}),
        (dh.HierarchicalTree, {**BINS, "rho": None}),
    ],
}
HEAD_OF_PLANS = ["releases, (1, 1e-6)", "noise, chosen on the way", "decided beforehand", "less"]
HEAD_OF_PLANS += ["account", "the same by dp_accounting"]


def opendp_rho(epsilon: Fraction) -> float:
    """Return the rho that OpenDP converts a pure guarantee to."""
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    noise = dp.m.make_laplace(*space, scale=float(1 / epsilon))
    converted: Any = dp.c.make_pureDP_to_zCDP(noise)
    return float(converted.map(1))


def by_losses(mechanism: Any) -> str:
    """Return the epsilon of ten releases, as dp_accounting adds up their privacy losses."""
    try:
        event = mechanism.dp_event()
    except dh.DphistError:
        return ""
    accountant = PLDAccountant()
    accountant.compose(event, MANY)
    return f"{accountant.get_epsilon(float(DELTA)):.2f}"


def row_of(name: str, mechanism: Any, folder: Path) -> list[str]:
    """Return what a release costs, and how many fit."""
    guarantee, ours = mechanism.guarantee, mechanism.epsilon_at(DELTA, MANY)
    row = [
        name,
        f"{float(find_rho(guarantee)):.5f}",
        "",
        "",
        f"{float(ours):.2f}" if ours else "",
        "",
    ]
    if isinstance(guarantee, dh.PureDP):
        implied = pure_to_rho(guarantee.epsilon)
        row[2:4] = [f"{float(implied):.5f}", f"{opendp_rho(guarantee.epsilon):.5f}"]
        before = min(MANY * guarantee.epsilon, rho_to_epsilon(MANY * implied, DELTA))
        row[5] = f"{float(before):.2f}"
    row.append(by_losses(mechanism))
    for total, delta in ACCOUNTS:
        path = folder / f"{len(list(folder.iterdir()))}.ledger"
        unit = dh.PrivacyUnit(guarantee.unit.who)
        ledger = dh.Ledger.create(path, epsilon=total, delta=delta, unit=unit)
        row.append(f"{ledger.releases_left(mechanism):,}")
    return row


def row_of_plan(name: str, listed: list[Any]) -> list[str]:
    """Return the noise of the first release of a plan, by both ways of deciding."""
    wanted: dict[str, Any] = {"epsilon": 1, "delta": DELTA, "unit": "one user"}
    added = dh.calibrate(listed, **wanted, accounting="cdp")
    together = dh.calibrate(listed, **wanted)
    before, after = (float(found[0].noise_scale) for found in (added, together))
    accountant = PLDAccountant()
    for mechanism in together:
        accountant.compose(mechanism.dp_event())
    theirs = accountant.get_epsilon(float(DELTA))
    account = dh.FixedPlan(together, DELTA, "one user").account
    row = [name, f"{before:.2f}", f"{after:.2f}", f"{1 - after / before:.0%}", account]
    return [*row, f"{theirs:.4f}"]


def main() -> None:
    """Print the tables."""
    print_table(HEAD_OF_PLANS, [row_of_plan(name, listed) for name, listed in PLANS.items()])
    print()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row_of(name, made, Path(folder)) for name, made in RELEASES.items()]
    print_table(HEAD, rows)


if __name__ == "__main__":
    main()
