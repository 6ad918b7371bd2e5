"""The bound on records of a user with the smallest expected error, from noisy numbers."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dphist.errors import ParameterError
from dphist.parameters import whole_number
from dphist.release.fitted_users import (
    FittedUsers,
    Share,
    estimate_share_cut,
    fit_users,
    list_sizes,
    spread_users,
)
from dphist.release.maker import read_parameters
from dphist.release.release import Release
from dphist.release.user_records import read_user_sizes

_TRIED = 5  # bounds at which a mechanism is tried; between them its error follows a power of these


@dataclass(frozen=True, slots=True)
class TriedRecords:
    """What is expected of a bound on the records of a user.

    Attributes
    ----------
    max_records : the bound.
    error : expected, of bias and noise together, in the measure of the mechanism: its
        `expected_error`.
    noise : the part of it that is due to noise.
    share_cut : of all records, up to the last cell's start for a user, by laws that are fitted to
        the noisy numbers; its interval has about 95 %.
    """

    max_records: int
    error: float
    noise: float
    share_cut: Share


@dataclass(frozen=True, slots=True)
class ChosenRecords:
    """A bound that was chosen, and why.

    Attributes
    ----------
    max_records : the bound with the smallest expected error; of several, the smallest.
    mechanism : the mechanism that was asked about, with ``sensitivity=max_records``.
    tried : all bounds, ascending.
    """

    max_records: int
    mechanism: Any
    tried: tuple[TriedRecords, ...]


def choose_max_records(
    users: Release, mechanism: Any, caps: Sequence[int] | None = None
) -> ChosenRecords:
    """Return the bound on the records of each user with the smallest expected error.

    A smaller bound makes counts too low, a larger one needs more noise. Both are predicted from
    the noisy numbers of users and from public ones, so this is post-processing and costs nothing.
    What is released with the bound costs the epsilon of the mechanism, or the rho of its Gaussian
    noise, whichever bound it is. The smaller rho that pure noise states beside epsilon depends on
    the bound: `Release.with_users` therefore counts the one that epsilon implies.

    Parameters
    ----------
    users : a release of what `dphist.count_user_records` counted.
    mechanism : what the counts are to be released with; its `sensitivity` is replaced.
    caps : public bounds to choose from, below the start of the last cell of `users` (default: one
        below the start of each cell).

    Returns
    -------
    ChosenRecords

    Raises
    ------
    ParameterError
        If `users` is another release, the mechanism has no sensitivity or is not one of profiles or
        bins, or no bound is left at which it can be made.

    Examples
    --------
    >>> import dphist as dh, pandas as pd
    >>> rows = pd.DataFrame({"who": [*range(500), *[*range(5)] * 20], "age": [*range(60)] * 10})
    >>> counts = dh.count_user_records(rows, user="who", most=100)
    >>> users = dh.LeafCounts(epsilon=9, bins=counts.bins).release(counts)
    >>> choose_max_records(users, dh.AdaptiveTree(epsilon=9, bins=60)).max_records
    15
    """
    sizes = read_user_sizes(users, 1)
    cells = sizes.cells
    if not callable(getattr(mechanism, "error_after_cut", None)):
        raise ParameterError("mechanism", "must be one of anonymized histograms or of ranges")
    if caps is None:
        caps = [start - 1 for start in cells[1:]]
    bounds = sorted({whole_number(cap, "caps", 1, cells[-1] - 1) for cap in caps})
    starts = (*cells, cells[-1] + 1)
    noisy = np.array(sizes.noisy, np.float64)
    fitted = fit_users(starts, noisy, sizes.law.standard_deviation)
    spread = np.stack([spread_users(starts, each) for each in fitted.laws])
    shares = {cap: estimate_share_cut(starts, fitted, spread, cap) for cap in bounds}
    total = _count_records(fitted, spread, starts)
    kept = {cap: round(total * (1 - share.value)) for cap, share in shares.items()}
    noise = _predict_noise(mechanism, kept)
    tried = []
    for cap, error in noise.items():
        whole = mechanism.error_after_cut(error, total, kept[cap])
        tried.append(TriedRecords(cap, whole, error, shares[cap]))
    best = min(tried, key=lambda each: (each.error, each.max_records)).max_records
    return ChosenRecords(best, bound_mechanism(mechanism, best), tuple(tried))


def bound_mechanism(mechanism: Any, max_records: int) -> Any:
    """Return a mechanism of another sensitivity, at one epsilon, or rho of Gaussian noise."""
    return type(mechanism)(**(read_parameters(mechanism) | {"sensitivity": max_records}))


def _count_records(fitted: FittedUsers, spread: Any, starts: Sequence[int]) -> int:
    return max(round(fitted.total(spread * list_sizes(starts))), 1)


def _predict_noise(mechanism: Any, kept: dict[int, int]) -> dict[int, float]:
    """Return the error of noise at each bound at which the mechanism can be made.

    Parameters
    ----------
    kept : by bound, the records that are kept.
    """
    made = {}
    for cap in kept:
        with contextlib.suppress(ParameterError):  # too little of the budget for each record
            made[cap] = bound_mechanism(mechanism, cap)
    if not made:
        raise ParameterError("epsilon", "is too small for any bound on records", "raise it")
    caps = list(made)
    places = sorted({round(place) for place in np.linspace(0, len(caps) - 1, _TRIED)})
    tried = [caps[place] for place in places]
    errors = [max(made[cap].quick_error(max(kept[cap], 1)), 1e-9) for cap in tried]
    found = np.exp(np.interp(np.log(caps), np.log(tried), np.log(errors)))
    return {cap: float(error) for cap, error in zip(caps, found, strict=True)}
