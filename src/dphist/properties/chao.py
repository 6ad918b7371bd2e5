"""Chao's lower bound on the number of labels, and the labels that further records would show.

The second is Chao and Jost's extrapolation, as ecologists use it (iNEXT). It takes Chao's lower
bound for the number of unseen labels, and supposes that these are equally probable (Colwell et al.
2012, "Models and estimators linking individual-based and sample-based rarefaction, extrapolation
and comparison of assemblages", equation 9; Chao and Jost 2012, "Coverage-based rarefaction and
extrapolation").
"""

import math

import numpy as np

from dphist.data.diagram import Diagram


def chao1(profile: Diagram) -> float:
    """Return a lower bound, in expectation, on the number of labels of the population.

    Notes
    -----
    K + (n - 1)/n f1 (f1 - 1)/(2 (f2 + 1)) with K labels seen, f1 of them once and f2 twice: the
    bias-corrected form, also defined for f2 = 0, of Chao 1984, "Nonparametric estimation of the
    number of classes in a population" (in Chao and Chiu 2016, "Species richness: estimation and
    comparison").

    >>> from dphist import Profile
    >>> chao1(Profile.from_counts([5, 2, 1, 1, 1]))
    6.35
    """
    if profile.labels == 0:
        return 0.0
    once, twice = seen_once(profile), seen_times(profile, 2)
    unseen = once * (once - 1) / (2 * (twice + 1))
    return profile.labels + unseen * (profile.total - 1) / profile.total


def seen_once(profile: Diagram) -> int:
    """Return the number of labels with one record."""
    return seen_times(profile, 1)


def seen_times(profile: Diagram, r: int) -> int:
    """Return the number of labels with r records."""
    from_r, above = profile.cumulative_prevalences([r, r + 1]).tolist()
    return int(from_r - above)


def new_labels(profile: Diagram, extra: float) -> tuple[float, float]:
    """Return the number of new labels in `extra` n further records, and its standard error.

    Notes
    -----
    f0 (1 - (n f0/(n f0 + f1))**m) for m = `extra` n further records and f1 labels with one record.
    The number f0 of unseen labels is Chao's bound, f1**2 (n - 1)/(2 n f2), or
    f1 (f1 - 1) (n - 1)/(2 n) if no label has two records. The error is that of the delta method
    for f1 and f2 as multinomial numbers among all labels, seen or not (Colwell et al. 2012,
    equation 10).

    Spiders of the girdled trees (Ellison et al. 2010), in as many further spiders; iNEXT's manual
    has 34.731 - 26 species:

    >>> from dphist import Profile
    >>> counts = [46, 22, 17, 15, 15, 9, 8, 6, 6, 4] + [2] * 4 + [1] * 12
    >>> round(new_labels(Profile.from_counts(counts), 1)[0], 3)
    8.731
    """
    n, once, twice = profile.total, seen_once(profile), seen_times(profile, 2)
    if n == 0:
        return 0.0, 0.0
    change = np.array([_change(n, once, twice, extra, once=True), 0.0])
    if twice:
        change[1] = _change(n, once, twice, extra, once=False)
    seen = np.array([once, twice], np.float64)
    # Of S labels, f1 and f2 have variances f (1 - f/S) and covariance -f1 f2/S.
    all_labels = profile.labels + _unseen(n, once, twice)
    variance = float(change**2 @ seen) - float(change @ seen) ** 2 / all_labels
    return _formula(n, once, twice, extra), math.sqrt(max(variance, 0.0))


def _unseen(n: int, once: float, twice: float) -> float:
    """Return Chao's bound of the number of unseen labels."""
    pairs = once**2 / (2 * twice) if twice else once * (once - 1) / 2
    return max(pairs, 0.0) * (n - 1) / n


def _formula(n: int, once: float, twice: float, extra: float) -> float:
    unseen = _unseen(n, once, twice)
    if unseen <= 0:
        return 0.0
    return -unseen * math.expm1(-extra * n * math.log1p(once / (n * unseen)))


def _change(n: int, f1: int, f2: int, extra: float, *, once: bool) -> float:
    """Return the derivative, from half a label less to half a label more."""
    half = (0.5, 0.0) if once else (0.0, 0.5)
    more = _formula(n, f1 + half[0], f2 + half[1], extra)
    return more - _formula(n, max(f1 - half[0], 0.0), f2 - half[1], extra)
