"""Histograms over labels that nobody listed beforehand (Rogers 2023)."""

from dphist.labels.auto.mechanism import AutoThreshold
from dphist.labels.discover.mechanism import DiscoverLabels
from dphist.labels.pay_what_you_get import PayWhatYouGet
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.labels.top_labels import TopLabels
from dphist.labels.top_threshold import TopThreshold

__all__ = [
    "AutoThreshold",
    "DiscoverLabels",
    "PayWhatYouGet",
    "ThresholdHistogram",
    "TopLabels",
    "TopThreshold",
]
