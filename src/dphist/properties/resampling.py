"""What a release's own noise does to an estimate: its mechanism is run again, on the release.

The released profile stands for the secret one. Released again, with fresh noise, it gives
profiles that differ from it about as it differs from the secret one, and estimates from them
differ likewise: a parametric bootstrap (Efron and Tibshirani 1993, "An introduction to the
bootstrap", section 6.5). Only the release is used, so it is post-processing and costs no privacy.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dphist.errors import ParameterError
from dphist.noise import Source as Randomness
from dphist.parameters import whole_number
from dphist.profile import Profile
from dphist.properties.estimate import Estimate
from dphist.properties.source import Source, profile_of
from dphist.release import Release

FloatArray = npt.NDArray[np.float64]

RESAMPLES = 100
# A standard deviation of ten is known to a quarter; more than so many tell nothing more.
_FEWEST, _MOST = 10, 10**6
_NORMAL = 1.959963984540054  # 97.5 % point


def including_noise(
    source: Source,
    found: Estimate,
    estimate: Callable[[Profile], float],
    resamples: int,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Return `found` with the noise of `source`, if that is a release, in its error and interval.

    Parameters
    ----------
    source : what `found` was estimated from.
    found : the estimate, its standard error and interval those of sampling alone.
    estimate : the same estimator, for any profile.
    resamples : int, from 10 to 10**6
        How often the mechanism is run again. Randomness is the operating system's, so that
        two answers differ a little.
    within : least and largest value the property can have.

    Raises
    ------
    ParameterError
        If `resamples` is out of range, or the mechanism of the release cannot be run.
    """
    runs = whole_number(resamples, "resamples", _FEWEST, _MOST)
    if not isinstance(source, Release):
        return found
    again = [estimate(profile) for profile in further_releases(source, runs)]
    return combined(found, np.array(again, np.float64), within)


@lru_cache(maxsize=1)
def further_releases(
    release: Release, resamples: int, randomness: Randomness | None = None
) -> tuple[Profile, ...]:
    """Return profiles that the mechanism makes of the released one, each with noise of its own.

    Those of the last release are kept, for all properties of it to be told from the same ones.

    Parameters
    ----------
    randomness : for tests only.

    Notes
    -----
    Each takes as long as a release of the data did.
    """
    released, mechanism = profile_of(release), release.mechanism
    if not hasattr(mechanism, "release"):
        raise ParameterError(
            "source must be a release whose mechanism can be run again; for an estimate without"
            " its noise, give source=release.value"
        )
    return tuple(mechanism.release(released, randomness).value for _ in range(resamples))


def combined(found: Estimate, again: FloatArray, within: tuple[float, float]) -> Estimate:
    """Return `found` with the spread and the shift of `again` in its error and interval.

    Parameters
    ----------
    again : (b,) float64, estimates from further releases.
    within : least and largest value the property can have.

    Notes
    -----
    What an estimate is off is the sum of two parts, one from the sampling of records and one
    from the noise, which is drawn independently of the records:

    - standard errors are added in squares, and so are the distances of either end of the interval
      from the value: 1.96 standard deviations of `again` to those of sampling;
    - the mean of `again` less the value estimates the bias that noise and decoding have. The
      value is not corrected by it, which would add noise, and a profile released twice has
      been smoothed twice; but the end on whose side the truth is then likely to be, is moved
      by it.

    Ends that were clipped for the released profile are not clipped by it any more: noise may
    have added labels.
    """
    if not (math.isfinite(found.value) and np.all(np.isfinite(again))):
        note = "a release's noise: not told, as without bound in some of its further releases"
        return replace(found, standard_error=None, interval=None, notes=(*found.notes, note))
    noise, shift = float(np.std(again, ddof=1)), float(np.mean(again)) - found.value
    error = found.standard_error
    interval = found.interval
    if interval is not None:
        below = math.hypot(max(found.value - interval[0], 0.0), _NORMAL * noise)
        above = math.hypot(max(interval[1] - found.value, 0.0), _NORMAL * noise)
        low = found.value - below - max(shift, 0.0)
        high = found.value + above + max(-shift, 0.0)
        interval = (max(low, within[0]), min(high, within[1]))
    what = "is in the error" if interval is None else "is in error and interval"
    note = (
        f"a release's noise: standard deviation {noise:.2g}, shift {shift:.2g}, by"
        f" {len(again)} further releases of the released profile; it "
        + ("is in neither error nor interval" if error is None and interval is None else what)
    )
    return replace(
        found,
        standard_error=None if error is None else math.hypot(error, noise),
        interval=interval,
        notes=(*found.notes, note),
    )
