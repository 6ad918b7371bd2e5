"""Histograms over labels that nobody listed beforehand (Rogers 2023)."""

from dphist.unknown.pay_what_you_get import PayWhatYouGet
from dphist.unknown.threshold import ThresholdHistogram
from dphist.unknown.top_labels import TopLabels
from dphist.unknown.top_threshold import TopThreshold

__all__ = ["PayWhatYouGet", "ThresholdHistogram", "TopLabels", "TopThreshold"]
