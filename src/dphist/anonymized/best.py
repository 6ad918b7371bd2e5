"""The mechanism to use when one has no reason to use another."""

from dphist.anonymized.adaptive_scan.mechanism import AdaptiveScan
from dphist.anonymized.mechanism import checked_profile
from dphist.data.profile import Profile
from dphist.noise import Source
from dphist.parameters import Exact
from dphist.release.release import Release


def best_mechanism(*, epsilon: Exact, sensitivity: int = 1) -> AdaptiveScan:
    """Return today's best pure-epsilon mechanism that needs to know nothing in advance.

    By `python -m benchmarks.anonymized` (`docs/comparison.md`) that is the adaptive scan, at
    every epsilon. The choice depends on the parameters alone, never on data.
    """
    return AdaptiveScan(epsilon=epsilon, sensitivity=sensitivity)


def anonymize(
    profile: Profile,
    *,
    epsilon: Exact,
    sensitivity: int | None = None,
    source: Source | None = None,
) -> Release:
    """Release an anonymized histogram with today's best mechanism.

    Parameters
    ----------
    profile : the data.
    epsilon : number above 0; required.
    sensitivity : int, optional
        Cells one privacy unit can change; the bound `profile` carries when omitted.
    source : randomness, for tests only.

    Returns
    -------
    Release
        With `value` a Profile and `total` a private estimate of the number of records.

    Guarantee
    ---------
    Pure epsilon-DP for neighbours that differ by adding or removing records whose cells
    number at most `sensitivity`: see `AdaptiveScan`, the mechanism this uses.
    """
    bound = checked_profile(profile).sensitivity if sensitivity is None else sensitivity
    return best_mechanism(epsilon=epsilon, sensitivity=bound).release(profile, source)
