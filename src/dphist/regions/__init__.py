"""Anonymized histograms by region: how many labels have each count, in regions that add up."""

from dphist.regions.histograms import RegionalHistograms
from dphist.regions.mechanism import RegionalProfiles

__all__ = ["RegionalHistograms", "RegionalProfiles"]
