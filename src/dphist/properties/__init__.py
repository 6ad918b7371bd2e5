"""Estimates of properties of a population from a profile, private or not."""

from dphist.properties.entropy import entropy
from dphist.properties.estimate import Estimate
from dphist.properties.guessing import guessing
from dphist.properties.renyi import renyi_entropy
from dphist.properties.support_coverage import support_coverage
from dphist.properties.support_size import support_size
from dphist.properties.uniformity import distance_to_uniformity

__all__ = [
    "Estimate",
    "distance_to_uniformity",
    "entropy",
    "guessing",
    "renyi_entropy",
    "support_coverage",
    "support_size",
]
