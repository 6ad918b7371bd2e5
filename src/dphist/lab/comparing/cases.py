"""Which kind data are of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dphist.data.binned_counts import BinnedCounts
from dphist.data.guard import refuse_guarded
from dphist.data.label_counts import LabelCounts
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.lab.comparing.anonymized.case import AnonymizedCase
from dphist.lab.comparing.case import Case
from dphist.lab.comparing.labels.case import LabelsCase
from dphist.lab.comparing.ranges.case import RangesCase
from dphist.lab.comparing.streams.case import StreamsCase


def case_of(data: Any, delta: Any) -> Case:
    """Return data with the mechanisms for them.

    Raises
    ------
    LedgerError
        If a ledger guards the data: comparing would look at them without paying.
    ParameterError
        If they are of no kind, or a delta is missing.
    """
    refuse_guarded(data)
    if isinstance(data, Profile):
        return AnonymizedCase(data, delta)
    if isinstance(data, LabelCounts):
        return LabelsCase(data, delta)
    if _are_events(data):
        return StreamsCase(data, delta)
    if isinstance(data, BinnedCounts | np.ndarray | list | tuple):
        return RangesCase(data, delta)
    raise ParameterError(
        "data",
        "must be a Profile, BinnedCounts, an array of counts, LabelCounts, or a sequence of "
        "events, each a sequence of labels",
    )


def _are_events(data: Any) -> bool:
    if isinstance(data, str) or not isinstance(data, Sequence) or not data:
        return False
    if not all(isinstance(event, list | tuple | set | frozenset) for event in data):
        return False
    labels = [label for event in data for label in event]
    return all(isinstance(label, str) for label in labels)
