"""The mechanism to use when one has no reason to use another: the adaptive scan.

By `python -m benchmarks.anonymized` (`docs/understand/comparison.md`) it has the lowest error of
those that need to know nothing in advance, at every epsilon. The choice never depends on data.
"""

from dphist.anonymized.adaptive_scan.mechanism import AdaptiveScan
from dphist.anonymized.mechanism import checked_profile
from dphist.data.profile import Profile
from dphist.noise import Source
from dphist.parameters import Exact
from dphist.release.release import Release


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
        With `value` an AnonymizedHistogram and `total` a private estimate of the number of records.

    Guarantee
    ---------
    Pure epsilon-DP for neighbors that differ by adding or removing records whose cells
    number at most `sensitivity`: see `AdaptiveScan`, the mechanism this uses.
    """
    bound = checked_profile(profile).sensitivity if sensitivity is None else sensitivity
    return AdaptiveScan(epsilon=epsilon, sensitivity=bound).release(profile, source)
