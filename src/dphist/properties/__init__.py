"""Estimates of properties of a population from a profile, private or not."""

from dphist.properties.entropy import entropy, estimate_entropy
from dphist.properties.estimate import Estimate
from dphist.properties.guessing import estimate_guessing, guessing
from dphist.properties.renyi import estimate_renyi_entropy, renyi_entropy
from dphist.properties.support_coverage import estimate_support_coverage, support_coverage
from dphist.properties.support_size import estimate_support_size, support_size
from dphist.properties.uniformity import distance_to_uniformity, estimate_distance_to_uniformity

__all__ = [
    "Estimate",
    "distance_to_uniformity",
    "entropy",
    "estimate_distance_to_uniformity",
    "estimate_entropy",
    "estimate_guessing",
    "estimate_renyi_entropy",
    "estimate_support_coverage",
    "estimate_support_size",
    "guessing",
    "renyi_entropy",
    "support_coverage",
    "support_size",
]
