"""Chao's lower bound on the number of labels, for use when the number is unknown."""

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
