"""Mechanisms for labels and streams of somebody else's, with no more than the protocol asks for.

They draw their noise with mechanisms of dphist, and hide what those offer beside the protocol.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import dphist as dh
from dphist.mechanism import ExpectedError
from dphist.noise import Source
from dphist.parameters import positive_number


@dataclass(frozen=True, kw_only=True)
class Borrowed:
    """The members of `dphist.Mechanism`, from a mechanism of dphist."""

    epsilon: Any = field(metadata={"meaning": "Privacy parameter of a single label."})

    reference: ClassVar[str] = "Nobody. A paper. 2026."

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_number(self.epsilon, "epsilon"))

    @property
    def _lender(self) -> Any:
        raise NotImplementedError

    def _released(self, data: Any, source: Source | None) -> dh.Release:
        released: dh.Release = self._lender.release(data, source)
        return released

    @property
    def guarantee(self) -> Any:
        return self._lender.guarantee

    @property
    def noise_scale(self) -> Fraction | float:
        scale: Fraction | float = self._lender.noise_scale
        return scale

    @property
    def description(self) -> str:
        return f"Borrowed. {self._lender.description}"

    def release(self, data: Any, /, source: Source | None = None) -> dh.Release:
        return replace(self._released(data, source), mechanism=self)

    def decode(self, noisy: Mapping[str, Any], /) -> Any:
        raise dh.UnsupportedError("a release of this mechanism does not keep noisy counts")

    def expected_error(self) -> ExpectedError:
        found: ExpectedError = self._lender.expected_error()
        return found

    def intervals(self, release: Any, /, level: float = 0.95) -> Any:
        return self._lender.intervals(replace(release, mechanism=self._lender), level)


@dh.register
@dataclass(frozen=True, kw_only=True)
class OtherLabels(Borrowed):
    """Labels above a threshold."""

    @property
    def _lender(self) -> dh.ThresholdHistogram:
        return dh.ThresholdHistogram(epsilon=self.epsilon, delta="1e-6", max_labels=2)


@dh.register
@dataclass(frozen=True, kw_only=True)
class OtherListed(Borrowed):
    """Listed labels."""

    @property
    def _lender(self) -> dh.ThresholdHistogram:
        return dh.ThresholdHistogram(epsilon=self.epsilon, max_labels=2, labels=["x", "q"])


@dh.register
@dataclass(frozen=True, kw_only=True)
class OtherRanking(Borrowed):
    """The top labels, without counts."""

    @property
    def _lender(self) -> dh.TopLabels:
        return dh.TopLabels(epsilon=self.epsilon, delta="1e-6", k=3)


@dh.register
@dataclass(frozen=True, kw_only=True)
class OtherStream(Borrowed):
    """Running counts of a list of events."""

    @property
    def _lender(self) -> dh.ContinualMechanism:
        return dh.ContinualMechanism(epsilon=self.epsilon, delta="1e-6", horizon=100)

    def _released(self, data: Sequence[Sequence[str]], source: Source | None) -> dh.Release:
        stream = dh.ContinualHistogram(epsilon=self.epsilon, delta="1e-6", horizon=100)
        stream.update_many(data, source=source)
        return stream.release(source=source)


OTHERS: tuple[type[Borrowed], ...] = (OtherLabels, OtherListed, OtherRanking, OtherStream)
EVENTS = [["x"]] * 90
