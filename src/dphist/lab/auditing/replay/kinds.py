"""How mechanisms of dphist are replayed: whose sums are told, and which pairs delta is for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dphist.anonymized import AdaptiveScan, PartitionSampler, PrivHist, RankSplit
from dphist.arrays import IntArray
from dphist.data.label_counts import LabelCounts
from dphist.data.open_data import open_labels, open_listed, open_profile
from dphist.lab.auditing.replay.transcript import Told
from dphist.labels import ThresholdHistogram, TopLabels, TopThreshold
from dphist.labels.mechanism import LabelsMechanism
from dphist.labels.threshold.law import grid
from dphist.streams import ContinualMechanism

_BLOCK = 1023  # draws that the scan may leave unused


def _any_pair(one: Any, other: Any) -> bool:
    return True


@dataclass(frozen=True)
class Setup:
    """How a mechanism is replayed.

    Attributes
    ----------
    told : exact numbers that noise is added to out of sight, by request.
    spare : draws at the end that may not be used.
    is_meant : whether a pair is for replaying: of labels that only one of two neighbors has, noisy
        counts exist on one side alone, which delta covers.
    why_not : why nothing is replayed; empty otherwise.
    """

    told: Mapping[int, Told] = field(default_factory=dict)
    spare: int = 0
    is_meant: Callable[[Any, Any], bool] = _any_pair
    why_not: str = ""


def setup_of(mechanism: Any) -> Setup:
    """Return how a mechanism, or a callable, is replayed."""
    if isinstance(mechanism, RankSplit | PrivHist) and getattr(mechanism, "total", None) is None:
        return Setup(told={0: lambda data: np.array([open_profile(data).total])})
    if isinstance(mechanism, AdaptiveScan):
        return Setup(spare=_BLOCK)
    if isinstance(mechanism, PartitionSampler):
        return Setup(why_not="it draws whole profiles, and adds no noise to numbers")
    if isinstance(mechanism, ContinualMechanism):
        return Setup(why_not="the sums that noise of streams is added to are held nowhere")
    if isinstance(mechanism, TopLabels | TopThreshold):
        return Setup(why_not="its noise is real, and only compared")
    if isinstance(mechanism, ThresholdHistogram):
        return _of_threshold(mechanism)
    if isinstance(mechanism, LabelsMechanism):
        return Setup(is_meant=_same_labels)
    return Setup()


def _of_threshold(mechanism: ThresholdHistogram) -> Setup:
    if mechanism.count_cut_users or mechanism.correlated is True:
        return Setup(why_not="its noise is shared by several numbers")
    listed = mechanism.labels
    is_meant = _same_labels if listed is None else _any_pair  # listed labels all get noise
    if mechanism.noise == "laplace":
        return Setup(is_meant=is_meant)
    fine = grid(mechanism.noise_scale)

    def told(data: LabelCounts) -> IntArray:
        counts = labels_in_order(data)[1] if listed is None else open_listed(data, listed)
        return fine * np.asarray(counts, np.int64)

    return Setup(told={0: told}, is_meant=is_meant)


def _same_labels(one: Any, other: Any) -> bool:
    if not (isinstance(one, LabelCounts) and isinstance(other, LabelCounts)):
        return True
    return labels_in_order(one)[0] == labels_in_order(other)[0]


def labels_in_order(counts: LabelCounts) -> tuple[list[Any], IntArray]:
    """Return labels and counts in the order in which a mechanism meets them."""
    met = open_labels(counts)
    return met.column("label").to_pylist(), np.asarray(met.column("count"), np.int64)
