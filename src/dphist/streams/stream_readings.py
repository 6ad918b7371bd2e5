"""The readings of a stream: its counts now, those of past windows, and their release."""

from typing import Any

from dphist.errors import Argument, ParameterError, UnsupportedError
from dphist.noise import Source
from dphist.parameters import whole_number
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts
from dphist.streams.stream_properties import StreamProperties


class StreamReadings(StreamProperties):
    """What is read of a stream. A reading is on disk before it is returned."""

    __slots__ = ()

    def counts(self, *, source: Source | None = None) -> dict[Any, int]:
        """Return all labels released at this time with their noisy counts, the largest first.

        Reading again before the next event returns the same counts. A label may appear at one time
        and not later. Counts are integers; those of listed labels may be negative.

        Raises
        ------
        HorizonError
            If the stream was already read `readings` times.
        StateError
            As `update`.
        """
        with self._live.ready():
            return self._typed(self._live.read(record=False, source=source))

    def top(self, k: int, *, source: Source | None = None) -> dict[Any, int]:
        """Return the k largest of `counts`, or all of them if there are fewer."""
        most = whole_number(k, "k", 1)
        return dict(list(self.counts(source=source).items())[:most])

    def window(self, start: int, end: int) -> dict[Any, int]:
        """Return noisy counts of the events `start` to `end`, the first event being 1.

        Covers all labels that `counts` has released so far, without another threshold, so counts
        may be 0 or negative. It has no further cost.

        Raises
        ------
        ParameterError
            If the stream keeps no windows, or start - 1 and end are not both multiples of
            `windows`, 0 <= start - 1 < end <= time.
        """
        every = self.mechanism.windows
        if every is None:
            raise ParameterError(
                "windows", "must be given when the stream is made, for windows to be kept"
            )
        first, last = whole_number(start, "start", 1), whole_number(end, "end", 1)
        with self._live.ready():
            if not first <= last <= self.time or (first - 1) % every or last % every:
                raise ParameterError(
                    ("start", "end"),
                    "must be such that start - 1 and end are multiples of "
                    + Argument("windows", every)
                    + ", start is at most end, and end at most "
                    + Argument("time", self.time),
                )
            return self._typed(self._state.window(first, last))

    def record(self, *, source: Source | None = None) -> dict[Any, int]:
        """Return `counts`, and keep them for `release`."""
        with self._live.ready():
            if self.time not in self._state.readings:
                self._live.read(record=True, source=source)
            return self._typed(self._state.readings[self.time])

    def release(self, *, source: Source | None = None) -> Release:
        """Record the counts at this time, and release all recorded readings.

        `released` only does the latter, also when no reading is left.

        Returns
        -------
        Release of `RunningCounts`, which can be saved, plotted and reported.
        """
        self.record(source=source)
        return self.released()

    def released(self) -> Release:
        """Release all recorded readings, without a new one.

        Raises
        ------
        UnsupportedError
            If nothing was recorded.
        """
        if not self._state.readings:
            raise UnsupportedError("no reading was recorded yet: call release or record first")
        readings = dict(sorted(self._state.readings.items()))
        kind = self.mechanism.label_type
        value = RunningCounts(list(readings), list(readings.values()), label_type=kind)
        provenance = {"unit": self.unit}
        return self.mechanism._given_out(value, self, None, provenance=provenance)
