"""The guarantee and the parameters of a stream, independent of its events."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dphist.counting.reading.types import UserType
from dphist.errors import Argument, ParameterError
from dphist.parameters import Exact
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PrivacyUnit, PureDP
from dphist.release.label_types import label_of
from dphist.release.release import FOR_TESTS
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state.live import LiveState
from dphist.streams.state.state import StreamState


class StreamProperties:
    """The public side of a stream: parameters, guarantee and time."""

    __slots__ = ("_live",)

    _live: LiveState

    @property
    def _state(self) -> StreamState:
        return self._live.state

    @property
    def mechanism(self) -> ContinualMechanism:
        """The stream's parameters."""
        return self._live.state.mechanism

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected, and how much of it counts."""
        return self.mechanism.unit

    @property
    def time(self) -> int:
        """The number of events so far; public."""
        return self._live.state.time

    @property
    def user_type(self) -> UserType | None:
        """The type of the users, which the first event decided; public.

        None before the first event, without `max_events_per_user`, and in a state of an earlier
        version, where the next event decides.
        """
        return self._live.state.user_type

    @property
    def for_tests(self) -> bool:
        """Whether any random bits came from a caller; then the stream protects nobody."""
        return self._live.state.for_tests

    def _typed(self, counts: Mapping[str, int]) -> dict[Any, int]:
        """Return counts by label, of counts by the labels' texts."""
        kind = self.mechanism.label_type
        return {label_of(text, kind): count for text, count in counts.items()}

    def _check_user(self, given: bool) -> None:
        """Refuse an event without a user where users are bounded, and with one where not."""
        bounded = self.mechanism.max_events_per_user is not None
        bound = Argument("max_events_per_user")
        if bounded and not given:
            raise ParameterError(
                "user", "must be given: the stream bounds events a user (" + bound + ")"
            )
        if given and not bounded:
            raise ParameterError("user", "must be left out: the stream was made without " + bound)

    def _promise(self) -> str:
        """Return the guarantee in words, for a repr."""
        target = self.mechanism.target
        asked = "" if target is None else f", target={target!r}"
        said = f"{FOR_TESTS}; " if self.for_tests else ""
        promise = f"{self.guarantee} for {self.mechanism.unit}{asked}"
        return f"{promise}; {said}method={self.mechanism.method!r}"

    @property
    def guarantee(self) -> ZCDP | ApproxZCDP | PureDP:
        """The total cost of all readings."""
        return self.mechanism.guarantee

    @property
    def budget(self) -> PureDP | ApproxDP | None:
        """The maximum total cost that the stream is calibrated to; None if not calibrated."""
        target = self.mechanism.target
        return None if target is None else target.guarantee

    @property
    def epsilon(self) -> Fraction:
        """The paper's parameter; see `guarantee` for the total."""
        return self.mechanism.epsilon

    @property
    def threshold(self) -> Fraction | None:
        """Labels with a noisy count above it are released; None if labels are listed."""
        return self.mechanism.threshold

    @property
    def standard_error(self) -> float:
        """The largest standard deviation of a released count at any time, records."""
        return self.mechanism.standard_error

    @property
    def horizon(self) -> int:
        """The maximum number of events."""
        return self.mechanism.horizon

    @property
    def remaining(self) -> int:
        """The number of events left."""
        return self.horizon - self.time

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the smallest known epsilon of `releases` such streams at a total delta."""
        return self.mechanism.epsilon_at(delta, releases)

    def to_approx_dp(self, delta: Exact) -> ApproxDP:
        """Return the smallest known (epsilon, delta)-DP guarantee for a total delta."""
        return self.mechanism.to_approx_dp(delta)

    @classmethod
    def needs_delta(cls, labels: Sequence[Any] | None = None, **_parameters: Any) -> bool:
        """Whether a delta is needed: only if labels are not listed."""
        return ContinualMechanism.needs_delta(labels)
