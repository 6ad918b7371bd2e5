"""Maker: the part of a mechanism that its releases need."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from dphist.arrays import IntArray
from dphist.privacy import Guarantee, Target

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Maker(Protocol):
    """What a release needs of its mechanism: all of `dphist.Mechanism` but `release`."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What a release costs, and whom it protects (`guarantee.unit`); known before data."""

    @property
    @abstractmethod
    def noise_scale(self) -> Fraction | float:
        """Scale of the noise on a number that is measured, in records.

        1 / rate of two-sided geometric noise, the standard deviation of Gaussian noise, the scale
        of Gumbel noise. Where several numbers get different noise, the smallest scale.
        """

    @property
    @abstractmethod
    def description(self) -> str:
        """How a release is made, in a sentence or two."""

    @property
    @abstractmethod
    def reference(self) -> str:
        """The paper, and the algorithm or theorem in it."""

    @abstractmethod
    def decode(self, noisy: Mapping[str, IntArray], /) -> Any:
        """Return the value inferred from the noisy counts of a release; post-processing.

        Raises
        ------
        ParameterError
            If the mechanism keeps no noisy counts, or these are not those of a release.
        """

    @abstractmethod
    def expected_error(self, *public: Any, **guesses: Any) -> Any:
        """Return the error to expect, from public numbers alone.

        Of anonymized histograms, the sorted L1 distance in records; of ranges, the root of the mean
        squared error of a random range in records; of labels and streams, an `ExpectedError`.
        """

    @abstractmethod
    def intervals(self, release: Any, /, level: float = 0.95) -> Any:
        """Return bounds on the truth, with `lower`, `upper` and `level`; post-processing.

        Of anonymized histograms a `Band`, of others `Intervals`; None if a release has no
        counts.
        """


@runtime_checkable
class Restoring(Protocol):
    """A mechanism that checks and completes a value that was read from a file."""

    def restore(self, value: Any, noisy: Mapping[str, IntArray]) -> Any:
        """Return the value as it was released; ValueError if the mechanism cannot have made it."""


@runtime_checkable
class Totaling(Protocol):
    """A mechanism whose total follows from its noisy numbers."""

    def compute_total(self, noisy: Mapping[str, IntArray]) -> int:
        """Return the total of a release with these noisy numbers."""


@runtime_checkable
class Inferred(Protocol):
    """A value that noisy counts and what is fixed about the data make together."""

    def infer_again(self, decoded: Any) -> Any:
        """Return the value decoded from its noisy counts, with what this one has of the data."""

    def complete(self, decoded: Any) -> Any:
        """Return this value, read from a file, with what only its noisy counts hold.

        Raises
        ------
        ValueError
            If it is not of these noisy counts.
        """


def find_target(mechanism: Maker) -> Target | None:
    """Return the target of a mechanism; None if it has none, as mechanisms of others may."""
    target: Target | None = getattr(mechanism, "target", None)
    return target


def read_parameters(mechanism: "DataclassInstance") -> dict[str, Any]:
    """Return the constructor parameters of a mechanism, or of a guarantee, by name."""
    return {item.name: getattr(mechanism, item.name) for item in fields(mechanism) if item.init}
