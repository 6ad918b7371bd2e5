"""Running counts of a stream of events, read again and again."""

from dphist.continual.mechanism import ContinualMechanism
from dphist.continual.stream import ContinualHistogram

__all__ = ["ContinualHistogram", "ContinualMechanism"]
