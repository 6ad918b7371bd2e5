"""The noisy numbers of the scans of several leaves, and what bounds they give; post-processing."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dphist.anonymized.adaptive_scan.bands import bound_scans
from dphist.arrays import IntArray
from dphist.errors import ParameterError
from dphist.noise.magnitude import geometric_stopped_bound
from dphist.regions.measuring import PARTS
from dphist.release.anonymized_histogram import AnonymizedHistogram

NoisyScan: TypeAlias = Mapping[str, IntArray]
"""The noisy numbers of a leaf, as `AdaptiveScan` releases them."""
Scans: TypeAlias = Sequence[NoisyScan]
"""The noisy numbers of each leaf."""


def split_scans(noisy: Mapping[str, IntArray], leaves: int) -> Scans:
    """Return the noisy numbers of each leaf; the ends of each begin with 0.

    Raises
    ------
    ParameterError
        If they are not those of as many leaves.
    """
    scans: list[dict[str, IntArray]] = [{} for _ in range(leaves)]
    if any(len(noisy.get(name, ())) == 0 for name in PARTS):
        raise not_of_a_release()
    for after, of in (("column_ends", "columns"), ("row_ends", "rows")):
        starts = np.flatnonzero(noisy[after] == 0)
        fitting = len(noisy[of]) == len(noisy[after]) - leaves
        if len(starts) != leaves or starts[0] != 0 or not fitting:
            raise not_of_a_release()
        ends = np.split(noisy[after], starts[1:])
        counts = np.split(noisy[of], starts[1:] - np.arange(1, leaves))
        for scan, own_ends, own_counts in zip(scans, ends, counts, strict=True):
            scan[after], scan[of] = own_ends, own_counts
    return scans


def bound_leaves(
    scans: Scans, rate: Fraction, level: float
) -> list[tuple[AnonymizedHistogram, AnonymizedHistogram]]:
    """Return bounds on the true histogram of each leaf, which hold together.

    If no noise of any of them exceeds t, all bounds hold; with probability `level` none does.

    Parameters
    ----------
    rate : parameter of the noise.
    """
    draws = sum(len(each["columns"]) + len(each["rows"]) for each in scans)
    t = geometric_stopped_bound(rate, draws, 1 - level)
    return [bound_scans(each, t) for each in scans]


def not_of_a_release() -> ParameterError:
    """Return the error for noisy numbers that no release has."""
    return ParameterError("noisy", "must hold the blocks of a release and where they end")
