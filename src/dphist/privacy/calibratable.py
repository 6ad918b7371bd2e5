"""What calibration asks of a mechanism, and what a mechanism may offer it."""

from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from dphist.parameters import Exact
from dphist.privacy import Guarantee, Target


class Guaranteeing(Protocol):
    """What every mechanism has that can be calibrated."""

    @property
    def guarantee(self) -> Guarantee: ...


@runtime_checkable
class Accounting(Protocol):
    """A mechanism that may prove a smaller epsilon of its releases than its guarantee does."""

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None: ...


@runtime_checkable
class Remembering(Protocol):
    """A mechanism that holds what it was asked to cost."""

    def calibrated_to(self, target: Target) -> Any: ...


@runtime_checkable
class Thresholding(Protocol):
    """A mechanism whose delta of its own is spent on a threshold."""

    @property
    def epsilon(self) -> Fraction: ...

    @property
    def threshold(self) -> Any: ...


@runtime_checkable
class Ordering(Protocol):
    """A mechanism that says which share of delta is the better one, where no threshold does.

    `share_order` is what is to be the least, and what decides among equal ones.
    """

    @property
    def epsilon(self) -> Fraction: ...

    @property
    def share_order(self) -> tuple[Any, Any]: ...


@runtime_checkable
class Deciding(Protocol):
    """A class of mechanisms that have a delta of their own with some parameters only."""

    def needs_delta(self, **parameters: Any) -> bool: ...


@runtime_checkable
class Choosing(Protocol):
    """A class of mechanisms that may leave a choice to calibration, as only a total decides it.

    Its mechanisms have a `calibration_order`, of which the smallest is taken.
    """

    def calibration_forms(self, delta: Exact, **parameters: Any) -> list[dict[str, Any]]: ...
