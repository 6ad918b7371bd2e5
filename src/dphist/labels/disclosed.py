"""What is disclosed of common labels."""

from typing import Any

from dphist.document.disclosed import Disclosed, number_listed
from dphist.labels.discover.mechanism import DiscoverLabels
from dphist.labels.mechanism import LabelsMechanism
from dphist.labels.words import threshold_base
from dphist.privacy.as_text import plain, up
from dphist.sentence import Sentence


def disclosed(mechanism: LabelsMechanism, _value: Any = None) -> Disclosed:
    """Return what is disclosed of a mechanism.

    >>> from dphist.labels import ThresholdHistogram
    >>> disclosed(ThresholdHistogram(epsilon="0.7", delta="1e-6", max_labels=2)).threshold
    '21 records'
    """
    weighs = isinstance(mechanism, DiscoverLabels)
    return Disclosed(
        threshold=_threshold(mechanism),
        noisy="weight" if weighs else "count",
        public=number_listed(getattr(mechanism, "labels", None)),
    )


def _threshold(mechanism: LabelsMechanism) -> str:
    if mechanism.threshold is None:
        return ""
    number = plain(up(mechanism.threshold))
    if isinstance(mechanism, DiscoverLabels):
        return Sentence("the weight of {number} {users} who have one {label} each", number=number)
    above = "" if threshold_base(mechanism) == "zero" else " above the next largest count"
    return Sentence(f"{{number}} {{records}}{above}", number=number)
