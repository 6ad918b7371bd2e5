"""Chao and Jost's extrapolation of the number of labels, as ecologists use it (iNEXT).

It takes Chao's lower bound for the number of unseen labels, and supposes that these are equally
probable (Colwell et al. 2012, "Models and estimators linking individual-based and sample-based
rarefaction, extrapolation and comparison of assemblages", equation 9; Chao and Jost 2012,
"Coverage-based rarefaction and extrapolation").
"""

import math

from dphist.data.profile import Profile
from dphist.properties.chao import seen_once, seen_times


def new_labels(profile: Profile, extra: float) -> tuple[float, float]:
    """Return the number of new labels in `extra` n further records, and its standard error.

    Notes
    -----
    f0 (1 - (n f0/(n f0 + f1))**m) for m = `extra` n further records and f1 labels with one record.
    The number f0 of unseen labels is Chao's bound, f1**2 (n - 1)/(2 n f2), or
    f1 (f1 - 1) (n - 1)/(2 n) if no label has two records. The error is that of the delta method for
    independent Poisson numbers f1 and f2.

    Spiders of the girdled trees (Ellison et al. 2010), in as many further spiders; iNEXT's manual
    has 34.731 - 26 species:

    >>> counts = [46, 22, 17, 15, 15, 9, 8, 6, 6, 4] + [2] * 4 + [1] * 12
    >>> round(new_labels(Profile.from_counts(counts), 1)[0], 3)
    8.731
    """
    n, once, twice = profile.total, seen_once(profile), seen_times(profile, 2)
    if n == 0:
        return 0.0, 0.0
    value = _formula(n, once, twice, extra)
    # With f2 = 0 the formula is another: the step to f2 = 1 is then no derivative.
    by_once = (
        _formula(n, once + 1, twice, extra) - _formula(n, max(once - 1, 0), twice, extra)
    ) / (2 if once else 1)
    by_twice = 0.0
    if twice:
        by_twice = _formula(n, once, twice + 0.5, extra) - _formula(n, once, twice - 0.5, extra)
    return value, math.sqrt(by_once**2 * once + by_twice**2 * twice)


def _formula(n: int, once: float, twice: float, extra: float) -> float:
    pairs = once**2 / (2 * twice) if twice else once * (once - 1) / 2
    unseen = pairs * (n - 1) / n
    if unseen <= 0:
        return 0.0
    return -unseen * math.expm1(-extra * n * math.log1p(once / (n * unseen)))
