"""The interval of the share of the most probable labels, from a release.

Noise on few records makes peaks: labels that seem frequent and are not. The likeliest population of
such a release has these peaks too, so samples of it, released again, do not show how often noise
makes peaks where there are none. Samples of an even population do. The lower end is the smallest
share that neither contradicts: a test against each, and linear interpolation between them.
"""

import math
from collections.abc import Callable

import numpy as np

from dphist.data.diagram import Diagram
from dphist.properties.estimate import NORMAL
from dphist.properties.held_out import clopper_pearson, held_out_share
from dphist.properties.profile_likelihood import Population
from dphist.properties.resampling import Pairs

_ABOVE = 0.975
# Of so many releases of an even population, and the one in question, each is the largest with
# probability 2.5 %.
FEWEST_EVEN = 39


def interval_with_noise(
    sampling: tuple[float, float],
    profile: Diagram,
    tries: int,
    own: Callable[[Diagram], float],
    likeliest: tuple[Population, Pairs],
    even: tuple[Population, Pairs],
) -> tuple[float, float]:
    """Return the interval of the share that the `tries` most probable labels have.

    Parameters
    ----------
    sampling : the interval of sampling alone, around the held-out share and the own one.
    profile : the released one, with records.
    own : the share of a profile's records that its most frequent labels have.
    likeliest, even : two populations; samples of each, and releases of these.
    """

    def held_out(other: Diagram) -> float:
        return held_out_share(other, tries) if other.total else 0.0

    low, high = sampling
    share, opened = held_out(profile), own(profile)
    below, fewer = _noise(held_out, likeliest[1])
    above, more = _noise(own, likeliest[1])
    down = math.hypot(share - low, NORMAL * below) + max(fewer, 0.0)
    up = math.hypot(high - opened, NORMAL * above) + max(-more, 0.0)
    # What the share is in each population, and how large its held-out share may be by chance.
    peak = likeliest[0].share_of_top(tries)
    least, _ = clopper_pearson(even[0].share_of_top(tries), profile.total)
    highest, high_by_noise = (_highest(held_out, pairs) for _, pairs in (likeliest, even))
    part = (share - high_by_noise) / (highest - high_by_noise) if highest > high_by_noise else 0.0
    smallest = least + min(max(part, 0.0), 1.0) * max(peak - least, 0.0)
    return min(share - down, smallest), opened + up


def _noise(ask: Callable[[Diagram], float], pairs: Pairs) -> tuple[float, float]:
    """Return standard deviation and mean of how far a release is off its sample."""
    strays = np.array([ask(released) - ask(sample) for sample, released in pairs])
    return float(np.std(strays, ddof=1)), float(np.mean(strays))


def _highest(ask: Callable[[Diagram], float], pairs: Pairs) -> float:
    """Return what a further release exceeds with probability 2.5 %, or less: a Monte Carlo test.

    As if normal, or by order: of n + 1 alike, one is the largest with probability 1 / (n + 1).
    """
    found = np.sort([ask(released) for _, released in pairs])
    normal = float(found.mean() + NORMAL * found.std(ddof=1))
    place = min(math.ceil(_ABOVE * (len(found) + 1)), len(found))
    return max(normal, float(found[place - 1]))
