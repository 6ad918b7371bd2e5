"""What is disclosed of running counts."""

from typing import Any

from dphist.document.disclosed import Disclosed, number_listed
from dphist.privacy.as_text import plain, up
from dphist.sentence import EVENTS, Sentence
from dphist.streams.mechanism import ContinualMechanism


def disclosed(mechanism: ContinualMechanism, _value: Any = None) -> Disclosed:
    """Return what is disclosed of a mechanism."""
    threshold = ""
    if mechanism.threshold is not None:
        threshold = Sentence("{number} {records}", number=plain(up(mechanism.threshold)))
    times = "The number of {events}, which is not protected, and the times of readings."
    return Disclosed(
        threshold=threshold,
        public=[Sentence(times, **EVENTS), *number_listed(mechanism.labels)],
        cuts=True,
        continues=True,
    )
