"""How mechanisms for labels are audited: which pairs delta is for, and what a release states."""

from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.document.audited import (
    SMALL_DELTA,
    AuditedClass,
    Auditing,
    Numbers,
    OpenLabels,
    Setup,
    Statement,
)
from dphist.labels.discover.mechanism import DiscoverLabels
from dphist.labels.neighbors import LabelNeighbors
from dphist.labels.threshold.law import grid
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.labels.top_labels import TopLabels
from dphist.labels.top_threshold import TopThreshold
from dphist.release.label_table import LabelTable
from dphist.release.release import Release


def _list_value(value: LabelTable) -> Any:
    counts = value.counts
    return value.labels if counts is None else dict(zip(value.labels, counts, strict=True))


def _have_same_labels(one: Any, other: Any) -> bool:
    if not (isinstance(one, OpenLabels) and isinstance(other, OpenLabels)):
        return True
    return one.labels == other.labels


def _refuse_top(mechanism: Any) -> Setup:
    return Setup(why_not="its noise is real, and only compared")


def _set_up_threshold(mechanism: ThresholdHistogram) -> Setup:
    if mechanism.count_cut_users or mechanism.correlated is True:
        return Setup(why_not="its noise is shared by several numbers")
    listed = mechanism.labels
    setup = (
        Setup(is_meant=_have_same_labels) if listed is None else Setup()
    )  # listed ones get noise
    if mechanism.noise == "laplace":
        return setup
    fine = grid(mechanism.noise_scale)

    def told(data: OpenLabels) -> IntArray:
        counts = data.counts if listed is None else data.counts_of(listed)
        return fine * np.asarray(counts, np.int64)

    return Setup(told={0: told}, is_meant=setup.is_meant)


def _read_labels(mechanism: ThresholdHistogram, release: Release, data: OpenLabels) -> Numbers:
    own = mechanism.noise == "laplace" and not mechanism.count_cut_users
    order = data.labels if mechanism.labels is None else mechanism.labels
    found = dict(zip(release.value.labels, release.value.counts.tolist(), strict=True))
    return [found[label] for label in order] if own and found.keys() == set(order) else None


AUDITING = Auditing(
    neighbors=LabelNeighbors,
    compared=_list_value,
    setup=lambda _: Setup(is_meant=_have_same_labels),
    mechanisms={
        ThresholdHistogram: AuditedClass(
            small={"delta": SMALL_DELTA, "max_labels": 2},
            others={"with normal noise": {"noise": "gaussian"}},
            tiny={"of 1 label": {"max_labels": 1}},
            setup=_set_up_threshold,
            statement=Statement(_read_labels),
        ),
        TopThreshold: AuditedClass(
            small={"delta": SMALL_DELTA, "max_labels": 2, "k": 3}, setup=_refuse_top
        ),
        TopLabels: AuditedClass(
            small={"delta": SMALL_DELTA, "k": 2, "candidates": 4}, setup=_refuse_top
        ),
        DiscoverLabels: AuditedClass(small={"delta": SMALL_DELTA, "max_labels": 2}),
    },
)
