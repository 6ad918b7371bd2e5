"""Measuring of streams: the noise of a label's counts, what it costs, and the threshold."""

import math
from dataclasses import replace
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.mechanism import MechanismBase
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.noise.quantiles import normal_quantile_above
from dphist.parameters import Exact, probability, whole_number
from dphist.privacy import ZCDP, ApproxZCDP, PrivacyUnit, PureDP
from dphist.privacy.conversion import geometric_to_rho
from dphist.privacy.losses import GeometricLoss, Losses
from dphist.privacy.unit import ONE_EVENT, ONE_USER
from dphist.streams.counters.autoregressive import autoregressive_counter
from dphist.streams.counters.binary import BinaryCounter, levels
from dphist.streams.counters.laplace import LaplaceCounter, laplace_counter
from dphist.streams.counters.noise_table import Counter
from dphist.streams.counters.toeplitz import toeplitz_counter, unbounded_counter
from dphist.streams.methods import Method


class StreamMeasuring(MechanismBase):
    """What the guarantee of a stream rests on: `docs/understand/proofs/streams.md`."""

    __slots__ = ()

    epsilon: Fraction
    delta: Fraction | None
    horizon: int
    max_labels: int
    method: Method
    labels: tuple[str, ...] | None
    max_events_per_user: int | None
    windows: int | None
    readings: int | None

    @property
    def counter(self) -> Counter:
        """The noise of a label's running counts."""
        if self.method == "binary":
            return BinaryCounter(1 / self.epsilon, self.horizon)
        if self.method == "laplace":
            events = self.max_events_per_user or 1
            return laplace_counter(self.epsilon / (events * self.changed_labels), self.horizon)
        marks = 0 if self.windows is None else self.horizon // self.windows
        times = min(self.horizon, self.most_readings + marks)
        if self.method == "unbounded":
            return unbounded_counter(levels(self.horizon) * self.epsilon**2, times)
        made = toeplitz_counter if self.method == "toeplitz" else autoregressive_counter
        return made(levels(self.horizon) * self.epsilon**2, self.horizon, times)

    @property
    def most_readings(self) -> int:
        """At how many times the stream is read at most."""
        return self.readings or self.horizon

    @property
    def changed_labels(self) -> int:
        """How many labels one event changes at most."""
        return self.max_labels if self.labels is None else min(self.max_labels, len(self.labels))

    @property
    def mu_squared(self) -> Fraction:
        """Squared distance of neighbors, in variances of the noise."""
        events = self.max_events_per_user or 1
        return events**2 * self.changed_labels * levels(self.horizon) * self.epsilon**2

    @property
    def guarantee(self) -> ZCDP | ApproxZCDP | PureDP:
        """What all readings cost together, as (approximate) zCDP or pure DP."""
        if self.method == "laplace":
            blocks, events = self._blocks_of_event, self.max_events_per_user or 1
            rho = blocks * geometric_to_rho(self.epsilon / blocks, events)
            return PureDP(self.epsilon, self._unit, rho)
        rho, unit = self.mu_squared / 2, self._unit
        return ZCDP(rho, unit) if self.delta is None else ApproxZCDP(rho, self.delta, unit)

    def privacy_losses(self) -> Losses:
        """Return the losses of all readings, or larger ones."""
        if self.method != "laplace":
            return MechanismBase.privacy_losses(self)
        blocks = self._blocks_of_event
        return Losses((GeometricLoss(self.epsilon / blocks, times=blocks),))

    @property
    def _blocks_of_event(self) -> int:
        """In how many blocks an event is, of a pure stream; each costs an equal part of epsilon."""
        counter = self.counter
        assert isinstance(counter, LaplaceCounter)  # noqa: S101 - by its method
        return counter.levels * self.changed_labels

    @property
    def threshold(self) -> Fraction | None:
        """Noisy counts above it are released, in records; None if labels are listed.

        Without a horizon it grows with time, and this is the last one: see `threshold_at`.
        """
        return self.threshold_at(self.horizon)

    def threshold_at(self, time: int) -> Fraction | None:
        """Return the threshold at a time, 1 to horizon: the same at all times if there is one."""
        units = self.threshold_units_at(whole_number(time, "time", 1, self.horizon))
        return None if units is None else Fraction(units, 2**self.counter.unit_bits)

    def threshold_units_at(self, time: int) -> int | None:
        """Return `threshold_at` in units of the noise."""
        counter = self.counter
        if self.delta is None:
            return None
        return threshold_units(
            counter,
            self.delta / (self.max_labels * self.most_readings),
            self.max_events_per_user or 1,
            time if self.method == "unbounded" else None,
        )

    @property
    def _unit(self) -> PrivacyUnit:
        bounds = {"max_labels": self.changed_labels}
        if self.max_events_per_user is None:
            return PrivacyUnit("event", bounds=bounds)
        return PrivacyUnit("user", bounds={**bounds, "max_events": self.max_events_per_user})

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected, and how much of it counts."""
        return self.make_unit(ONE_USER)

    def make_unit(self, user: PrivacyUnit) -> PrivacyUnit:
        """Return what is protected, under the name of a user."""
        most = self.max_events_per_user
        return ONE_EVENT if most is None else replace(user, events=most)

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the smallest epsilon known for `releases` such streams at a total delta.

        None if that delta is too small for any.
        """
        total, times = probability(delta, "delta"), whole_number(releases, "releases", 1, 2**40)
        if self.method == "laplace":
            return MechanismBase.epsilon_at(self, total, times)
        left = total - times * (self.delta or 0)
        if left > 0:
            try:
                return gaussian_epsilon(times * self.mu_squared, left)
            except ParameterError:  # beyond what is computed exactly; zCDP is not
                pass
        return MechanismBase.epsilon_at(self, total, times)


_ROOT_BITS = 64


def threshold_units(
    counter: Counter, chance: Fraction, events: int, time: int | None = None
) -> int:
    """Return the smallest threshold proved to keep the probability, in the counter's units.

    One user has at most `events` events. Labels of this user only have counts j from 1 to
    `events`, which add up to at most `events` times max_labels. With c = `chance` (delta /
    (max_labels readings)), a threshold T is valid if Pr[j + N > T] <= c j / events for every j:
    then the probability that any such label is released is at most max_labels c at one time, and
    at most delta over all readings. The T required by j is convex in j, so the first and the last
    j decide (`docs/understand/proofs/streams.md`, Lemma 7).

    At one `time`, its variance decides; else the largest of all times.

    For one event it is 1 + sigma sqrt(ceil(log2(L + 1)) + 1) Phi^-1(1 - delta / (Delta_0 L))
    with the binary counter and L readings (Rogers 2023, sec. 4.3), plus rounding.
    """
    deviation = _root_above(counter.variance if time is None else counter.variance_at(time))
    needed = (
        count + deviation * normal_quantile_above(chance * count / events) for count in (1, events)
    )
    return math.ceil((max(needed) + counter.rounding) * (1 << counter.unit_bits))


def _root_above(square: Fraction) -> Fraction:
    scaled = -(-(square.numerator << 2 * _ROOT_BITS) // square.denominator)
    return Fraction(math.isqrt(scaled) + 1, 1 << _ROOT_BITS)
