"""Running counts of a stream of events, read again and again."""

from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.stream import ContinualHistogram

__all__ = ["ContinualHistogram", "ContinualMechanism"]
