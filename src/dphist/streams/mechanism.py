"""ContinualMechanism: the parameters of a stream, and what they guarantee before any event."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import ndtri

from dphist.errors import Argument, ParameterError, UnsupportedError
from dphist.mechanism import ExpectedError, Intervals, check_kind, parameter
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.noise.law import Drawing, NoiseLaw
from dphist.noise.magnitude import gaussian_half_width
from dphist.parameters import (
    Exact,
    check_level,
    optional_whole,
    positive_delta,
    privacy_parameter,
    whole_number,
)
from dphist.privacy import PrivacyUnit
from dphist.release.label_types import LabelType
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts
from dphist.sentence import EVENTS, Sentence
from dphist.streams.counters.autoregressive import LARGEST_DISTANCE
from dphist.streams.counters.binary import levels
from dphist.streams.counters.design import UNBOUNDED
from dphist.streams.counters.laplace import LaplaceCounter, laplace_half_width
from dphist.streams.measuring import StreamMeasuring
from dphist.streams.methods import COMPOSITION, Method, check_method, check_type, read_listed_labels

LEVEL = 0.95
"""Probability of the counts and intervals that are stated."""

LARGEST_HORIZON = 2**40
LARGEST_BOUND = 2**30


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ContinualMechanism(StreamMeasuring):
    """Running counts of a stream's labels: parameters, guarantee and threshold.

    Parameters
    ----------
    epsilon : number above 0; required.
        The paper's parameter: with ``method="binary"`` each dyadic sum of each label has Gaussian
        noise of standard deviation 1 / epsilon. What a stream costs in all is `guarantee`, which
        is the same for all Gaussian methods; `dphist.calibrate` finds epsilon from a total. With
        ``method="laplace"`` it is the total of all labels and readings.
    delta : number above 0 and below 1
        Required unless `labels` are listed; then there is none. With `labels`, 0 asks for a pure
        guarantee: ``method="laplace"``.
    horizon : int or None
        How many events there may be (L). None if no horizon is to be chosen: then the noise grows
        with time (``method="unbounded"``), the stream ends after 2**40 events, and `readings` is
        required.
    max_labels : int
        How many labels an event keeps at most (Delta_0).
    method : "toeplitz", "autoregressive", "binary", "laplace" or "unbounded", optional
        How the noise of a label's running counts is correlated over time. The default, "toeplitz",
        has the smallest error at every time; streams of earlier versions continue with
        "autoregressive". "laplace" is pure, for listed labels, and the default if `delta` is 0.
    labels : sequence of labels, optional
        Known labels: public, not taken from the events. All are released from the start, and
        labels that are not listed are ignored.
    max_events_per_user : int, optional
        How many events of one user count; further ones count as empty. Then users are
        protected with all their events, otherwise single events.
    windows : int, optional
        Counts of past windows are wanted, which begin and end at multiples of this many events.
    readings : int, optional
        At how many times the stream is read at most; as often as there are events when omitted.
        Fewer make the threshold lower.
    label_type : str, optional
        "text", "integer", "boolean", "date", "timestamp" (without a time zone), "instant" (a
        timestamp with one, released in UTC), "bytes" or "decimal". That of the listed `labels`, or
        "text", when omitted. Labels of another type are refused.

    Guarantee
    ---------
    - Neighboring streams differ in one event, which is empty in one of them. With
      `max_events_per_user`, they differ in all events of one user, which are empty in one of them.
    - The results of all readings together, at whatever times: delta-approximate rho-zCDP with
      rho = m**2 D ceil(log2(L + 1)) epsilon**2 / 2. m is `max_events_per_user` or 1, and D is
      `max_labels`, or the number of listed labels if that is less. With listed labels delta is 0.
    - (E, d(E) + delta)-DP for every E >= 0, with the exact delta d(E) of Gaussian noise for
      mu**2 = 2 rho.
    - With ``method="laplace"``: the results of all readings are epsilon-DP.
    - Public: the number and the times of events, and the times of readings.
    - The streams must not depend on what is released (`docs/understand/proofs/streams.md`).
    - Not covered: the time an update or reading takes.
    """

    paper = "rogers2023"
    reference = (
        "R. Rogers. A Unifying Privacy Analysis Framework for Unknown Domain Algorithms in "
        "Differential Privacy. 2023. arXiv:2309.09170. Section 4.3."
    )

    epsilon: Fraction = parameter(
        Sentence(
            "Privacy parameter of a single {label}, or of all with method laplace; the guarantee "
            "is of all readings together."
        )
    )
    delta: Fraction | None = parameter(
        Sentence(
            "Probability with which a {label} may betray {an_event}, in all {labels} and readings.",
            **EVENTS,
        ),
        not_given=Sentence("There is none: all {labels} are listed."),
    )
    horizon: int = parameter(
        Sentence(
            "{Events} of the stream that the guarantee covers; further ones are refused.", **EVENTS
        )
    )
    max_labels: int = parameter(
        Sentence("{Labels} of one {event} that are counted at most.", **EVENTS)
    )
    method: Method = parameter(
        Sentence("How the noise of a running count goes on from one {event} to the next.", **EVENTS)
    )
    labels: tuple[str, ...] | None = parameter(
        Sentence("Public list of {labels}; all are in each reading, others are ignored."),
        not_given=Sentence("No list of {labels}: they come from the stream."),
        public=True,
    )
    max_events_per_user: int | None = parameter(
        Sentence(
            "{Events} of one {user} that are counted at most, over the whole stream.", **EVENTS
        ),
        not_given=Sentence("{Events} are protected one by one, whoever they are of.", **EVENTS),
        symbol="M",
    )
    windows: int | None = parameter(
        Sentence(
            "{Events} between the times at which counts of a window may start or end.", **EVENTS
        ),
        not_given="Counts of a window were not asked for.",
    )
    readings: int | None = parameter(
        "Times at which the stream is read, at most.",
        not_given=Sentence("The stream may be read after every {event}.", **EVENTS),
    )
    label_type: LabelType = parameter(Sentence("Type of the {labels} of the {events}.", **EVENTS))

    def __init__(
        self,
        *,
        epsilon: Exact,
        delta: Exact | None = None,
        horizon: int | None,
        max_labels: int = 1,
        method: Method | None = None,
        labels: Sequence[Any] | None = None,
        max_events_per_user: int | None = None,
        windows: int | None = None,
        readings: int | None = None,
        label_type: LabelType | None = None,
    ) -> None:
        chosen = check_method(method, horizon, labels, delta, readings)
        if labels is not None and delta not in (None, 0):
            raise ParameterError("delta", "must be left out where labels are listed: there is none")
        kind = check_type(label_type, labels)
        most = UNBOUNDED
        if horizon is not None:
            most = whole_number(horizon, "horizon", 1, LARGEST_HORIZON)
        self._hold(
            epsilon=privacy_parameter(epsilon, "epsilon"),
            delta=positive_delta(delta, "labels come from the data") if labels is None else None,
            horizon=most,
            max_labels=whole_number(max_labels, "max_labels", 1, LARGEST_BOUND),
            method=chosen,
            labels=None if labels is None else read_listed_labels(labels, kind),
            max_events_per_user=optional_whole(max_events_per_user, "max_events_per_user", 1, most),
            windows=optional_whole(windows, "windows", 1, most),
            readings=optional_whole(readings, "readings", 1, most),
            label_type=kind,
        )
        self._check_strength()

    def _check_strength(self) -> None:
        if self.method == "laplace":
            counter = self.counter
            assert isinstance(counter, LaplaceCounter)  # noqa: S101 - by its method
            if counter.rate < SMALLEST_EPSILON:
                raise ParameterError("epsilon", "is too small to sample")
            return
        if self.method == "binary" and 1 / self.epsilon > LARGEST_SIGMA:
            raise ParameterError("epsilon", "is too small to sample")
        events = self.max_events_per_user or 1
        each = events**2 * levels(self.horizon) * self.epsilon**2
        if self.method != "binary" and each > LARGEST_DISTANCE**2:
            raise ParameterError(
                "epsilon",
                "is too large for this "
                + Argument("method")
                + ", with "
                + Argument("max_events_per_user")
                + " and "
                + Argument("horizon"),
            )
        try:
            stated = self.guarantee
        except ParameterError:
            stated = None
        if stated is None:
            raise ParameterError("epsilon", "is too large for a guarantee to be stated")
        _ = self.threshold  # refuses what cannot be sampled

    @property
    def standard_error(self) -> float:
        """The largest standard deviation of a running count at any time, records."""
        if self.method == "binary":  # at the time with the most blocks
            return self.standard_error_at(2 ** ((self.horizon + 1).bit_length() - 1) - 1)
        return math.sqrt(self.counter.variance)

    def standard_error_at(self, time: int) -> float:
        """Return the standard deviation of a running count at a time, 1 to horizon, records."""
        moment = whole_number(time, "time", 1, self.horizon)
        return math.sqrt(self.counter.variance_at(moment))

    @property
    def noise_scale(self) -> float:
        """`standard_error`, by the name all mechanisms have."""
        return self.standard_error

    def least_shown(self, time: int | None = None) -> int | None:
        """Return the smallest count that a reading may have; None if labels are listed.

        A noisy count is compared with the threshold, of a time or the last one, before it is
        rounded.
        """
        last = self.horizon if time is None else whole_number(time, "time", 1, self.horizon)
        units = self.threshold_units_at(last)
        bits = self.counter.unit_bits
        return None if units is None else (2 * (units + 1) + (1 << bits)) >> (bits + 1)

    def likely_count(self, chance: float, time: int | None = None) -> int:
        """Return the count from which a label is in a reading with this probability or more.

        By the noise of a time, or the largest; 1 where all labels are listed.
        """
        check_level(chance, "chance")
        limit = self.threshold if time is None else self.threshold_at(time)
        if limit is None:
            return 1
        error = self.standard_error if time is None else self.standard_error_at(time)
        return math.ceil(float(limit) + float(ndtri(chance)) * error)

    def find_stated_until(self, time: int) -> int | None:
        """Return the last of these times if the noise is stated up to it; None if for all times.

        Without a horizon, what is stated of the end of the stream would say little of its readings.
        """
        last = whole_number(time, "time", 0)
        return max(last, 1) if self.method == "unbounded" else None

    def half_width(self, level: float = LEVEL, time: int | None = None) -> int:
        """Return the smallest q at which a count's noise, rounded, is within q at any time.

        With a `time`, at that one and, unless the method is binary or laplace, those before.
        """
        counter = self.counter
        if isinstance(counter, LaplaceCounter):
            return laplace_half_width(counter.rate, counter.most_blocks, level)
        error = self.standard_error if time is None else self.standard_error_at(time)
        return gaussian_half_width(error, level)

    def expected_error(self) -> ExpectedError:
        """Return the count from which a label is in a reading with 95 %, and the noise's scale."""
        return ExpectedError(
            None if self.threshold is None else self.likely_count(LEVEL),
            self.half_width(LEVEL),
            self.noise_scale,
            LEVEL,
        )

    def intervals(self, release: Release, level: float = LEVEL) -> Intervals:
        """Return bounds on the true counts of the last reading, in the order of its rows.

        They reach `half_width` to both sides, and not below 1 unless labels are listed.
        """
        self._check_asked(release, level)
        until = self.find_stated_until(int(release.value.times[-1]))
        counts, width = release.value.latest.counts, self.half_width(level, until)
        low, high = counts - width, counts + width
        if self.threshold is not None:
            low, high = np.maximum(low, 1), np.maximum(high, 1)
        return Intervals(low, high, level)

    def restore(self, value: Any, noisy: Mapping[str, Any]) -> RunningCounts:
        """Return readings that were read from a file.

        Raises
        ------
        ValueError
            If a stream with these parameters cannot have made them.
        """
        check_kind(value, RunningCounts)
        counts: RunningCounts = value
        if counts.times[-1] > self.horizon:
            raise ValueError("a reading is after the horizon")
        if counts.label_type != self.label_type:
            raise ValueError("the labels are not of the type of the mechanism")
        if self.labels is not None and not set(counts.label_texts) <= set(self.labels):
            raise ValueError("the labels are not those of the mechanism")
        return counts

    def release_readings(
        self, readings: Mapping[int, Mapping[str, int]], stream: Any, unit: PrivacyUnit
    ) -> Release:
        """Release the recorded readings of a stream, by their times.

        Raises
        ------
        UnsupportedError
            If nothing was recorded.
        """
        if not readings:
            raise UnsupportedError("no reading was recorded yet: call release or record first")
        held = dict(sorted(readings.items()))
        value = RunningCounts(list(held), list(held.values()), label_type=self.label_type)
        return self._make_release(value, stream, None, provenance={"unit": unit})

    @classmethod
    def needs_delta(cls, labels: Sequence[Any] | None = None, **_parameters: Any) -> bool:
        """Whether there is a delta: not where labels are listed."""
        return labels is None

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise on the running count of a label."""
        if self.method == "laplace":
            form = "sums of blocks"
            return NoiseLaw("two-sided geometric", self.noise_scale, Drawing.WHOLE, form)
        return NoiseLaw("Gaussian", self.noise_scale, Drawing.RUNNING, "in small units")

    @property
    def description(self) -> Sentence:
        """How the counts are made."""
        if self.labels is not None:
            said = "Each listed {label} has {count}."
        else:
            said = (
                "Each {label} has {count}; it is listed while its noisy count is above the "
                "threshold."
            )
        form = "a running count with {law} noise, {composition}"
        count = Sentence(form, law=self.law.distribution, composition=COMPOSITION[self.method])
        return Sentence(said, count=count)


def read_mechanism(
    mechanism: ContinualMechanism | None, parameters: Mapping[str, Any]
) -> ContinualMechanism | None:
    """Return the mechanism of a stream that is given, or made from its parameters, or neither."""
    if parameters and mechanism is not None:
        raise ParameterError("mechanism", "must be left out where its parameters are given")
    return ContinualMechanism(**parameters) if parameters else mechanism
