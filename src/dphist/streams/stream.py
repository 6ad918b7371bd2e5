"""ContinualHistogram: a stream of events, and the running counts of its labels."""

import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, SupportsIndex

from dphist.errors import ParameterError, StateError
from dphist.noise import Source
from dphist.parameters import Exact, whole_number
from dphist.privacy import ApproxDP, Target
from dphist.release.release import Release
from dphist.release.running_counts import RunningCounts
from dphist.streams.events.reading import one_event, read_events
from dphist.streams.mechanism import ContinualMechanism, Method
from dphist.streams.state.live import LiveState, begun, taken_from, with_budget
from dphist.streams.state.state import StreamState
from dphist.streams.store.store import Store
from dphist.streams.stream_properties import StreamProperties

_LOG = logging.getLogger(__name__)


class ContinualHistogram(StreamProperties):
    """Running counts of labels nobody listed beforehand, read as often as one likes.

    Events come one after another, each a set of labels; `counts` gives at any time, and again and
    again, all labels whose noisy count is above a threshold. What all readings cost together is
    fixed beforehand.

    Parameters
    ----------
    epsilon : number above 0; required.
        The paper's parameter; what the stream costs in all is `guarantee`. `dphist.calibrate`
        finds it from a total.
    delta : number above 0 and below 1
        Required unless `labels` are listed.
    horizon : int
        How many events there may be. The one after the last is refused.
    max_labels : int
        How many labels an event keeps at most; of more, so many are chosen at random.
    method : "autoregressive" or "binary"
        The default has the lower error; "binary" is the published mechanism.
    labels : sequence of str, optional
        Known labels, public: all are released from the start, others are ignored.
    max_events_per_user : int, optional
        How many events of a user count; then all events of a user are protected together.
    windows : int, optional
        Counts of past windows are wanted, which begin and end at multiples of so many events.
        Then each such multiple takes time for every label, and memory.
    readings : int, optional
        At how many times the stream is read at most; as often as there are events when omitted.
        Where it is read once a day, saying so makes the threshold lower.

    Guarantee
    ---------
    delta-approximate rho-zCDP for all readings together, see `ContinualMechanism`. Neighbours
    differ in one event, which is empty in one of them (with `max_events_per_user`: in all events
    of one user). The number and the times of events are public. The streams do not depend on what
    is released. Not covered: time, memory, and whoever sees the state, which is secret.

    Notes
    -----
    A stream has one owner. It cannot be copied or pickled, and refuses to go on in a forked
    process: two copies would draw different noise for the same counts. Calls from several threads
    take turns. Rogers 2023, sec. 4.3; Rivera Cardoso and Rogers 2022.

    Examples
    --------
    >>> import dphist as dh
    >>> stream = dh.calibrate(dh.ContinualHistogram, epsilon=1, delta="1e-6", horizon=10_000)
    >>> for _ in range(500):
    ...     stream.update(["aspirin"])
    >>> list(stream.counts())
    ['aspirin']
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        epsilon: Exact,
        delta: Exact | None = None,
        horizon: int,
        max_labels: int = 1,
        method: Method = "autoregressive",
        labels: Sequence[str] | None = None,
        max_events_per_user: int | None = None,
        windows: int | None = None,
        readings: int | None = None,
    ) -> None:
        mechanism = ContinualMechanism(
            epsilon=epsilon,
            delta=delta,
            horizon=horizon,
            max_labels=max_labels,
            method=method,
            labels=labels,
            max_events_per_user=max_events_per_user,
            windows=windows,
            readings=readings,
        )
        self._live = LiveState(StreamState(mechanism))

    @classmethod
    def _of(cls, state: StreamState, store: Store | None) -> "ContinualHistogram":
        stream = cls.__new__(cls)
        stream._live = LiveState(state, store)
        return stream

    @property
    def _state(self) -> StreamState:
        return self._live.state

    def __repr__(self) -> str:
        return f"ContinualHistogram({self._promise()}, {self.time} of {self.horizon} events)"

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a stream cannot be copied or pickled: save it, which hands it over")

    def __enter__(self) -> "ContinualHistogram":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def calibrated_to(self, target: Target) -> "ContinualHistogram":
        """Return a new stream that remembers what it was asked to cost: see `MechanismBase`."""
        if self.time or self._live.store is not None:
            raise ParameterError("target must be set before the first event, and in memory")
        return self._of(StreamState(self.mechanism.calibrated_to(target)), None)

    def update(
        self, labels: Iterable[str], *, user: object | None = None, source: Source | None = None
    ) -> None:
        """Count one event. When this returns, it counts, and a durable stream has recorded it.

        Parameters
        ----------
        labels : iterable of text, each of which counts once; of none, the event is empty.
        user : whose event it is: text, an integer, a date or a truth value. Required where
            `max_events_per_user` is given, and not taken otherwise.
        source : `source(n)` returns n random bytes. For tests only: all releases say so.

        Raises
        ------
        HorizonError
            If there were as many events as the horizon; nothing is counted.
        DataError, ParameterError
            If the event cannot be one; nothing is counted.
        StateError
            If the stream was handed over, closed, is in a forked process, or writing failed.
        """
        bounded = self.mechanism.max_events_per_user is not None
        if bounded != (user is not None):
            raise ParameterError(
                "user must be given: the stream bounds events a user (max_events_per_user)"
                if bounded
                else "user must be left out: the stream was made without max_events_per_user"
            )
        self._live.count(one_event(labels, user), source)

    def update_many(
        self,
        events: object,
        *,
        label: str = "label",
        event: str | None = None,
        user: str | None = None,
        source: Source | None = None,
    ) -> None:
        """Count events in time order: all of them, or, if there is an error, none.

        Only where `windows` are kept may a crash, or a full disk, leave the events up to a
        multiple of `windows` counted; `time` tells.

        Parameters
        ----------
        events : sequence of iterables of text, each an event; or a dataframe of pandas, Polars,
            Arrow or DuckDB, its rows in time order.
        label : column of labels, or of lists of labels; a row without one is an empty event.
        event : column; consecutive rows of one value are one event. Without it each row is one.
        user : column of users; required where `max_events_per_user` is given.

        Raises
        ------
        As `update`, and ColumnError if a column is missing or of a type that cannot serve.
        """
        bounded = self.mechanism.max_events_per_user is not None
        if user is not None and not bounded:
            raise ParameterError(
                "user must be left out: the stream was made without max_events_per_user"
            )
        batch = read_events(events, label=label, event=event, user=user, with_users=bounded)
        self._live.count(batch, source)

    def counts(self, *, source: Source | None = None) -> dict[str, int]:
        """Return all labels released at this time with their noisy counts, the largest first.

        Read again before the next event, it is the same. A label may be there at one time and
        not at a later one. Counts are integers; those of listed labels may be negative.

        Raises
        ------
        HorizonError
            If the stream was read at as many times as `readings` allows.
        StateError
            As `update`.
        """
        with self._live.ready():
            return self._live.read(record=False, source=source)

    def top(self, k: int, *, source: Source | None = None) -> dict[str, int]:
        """Return the k largest of `counts`, or all of them if there are fewer."""
        most = whole_number(k, "k", 1)
        return dict(list(self.counts(source=source).items())[:most])

    def window(self, start: int, end: int) -> dict[str, int]:
        """Return noisy counts of the events `start` to `end`, the first event being 1.

        Of all labels that `counts` has released by now, without a threshold of their own; so
        counts may be 0 or negative. It costs nothing further.

        Raises
        ------
        ParameterError
            If the stream keeps no windows, or start - 1 and end are not both multiples of
            `windows`, 0 <= start - 1 < end <= time.
        """
        every = self.mechanism.windows
        if every is None:
            raise ParameterError(
                "windows must be given when the stream is made, for windows to be kept"
            )
        first, last = whole_number(start, "start", 1), whole_number(end, "end", 1)
        with self._live.ready():
            if not first <= last <= self.time or (first - 1) % every or last % every:
                raise ParameterError(
                    f"start - 1 and end must be multiples of windows={every}, start at most end, "
                    f"and end at most time={self.time}"
                )
            return self._state.window(first, last)

    def record(self, *, source: Source | None = None) -> dict[str, int]:
        """Return `counts`, and keep them for `release`."""
        with self._live.ready():
            if self.time not in self._state.readings:
                self._live.read(record=True, source=source)
            return dict(self._state.readings[self.time])

    def release(self, *, source: Source | None = None) -> Release:
        """Record the counts of this time, and release all that were recorded so far.

        `released` does the latter alone, also when no reading is left.

        Returns
        -------
        Release of `RunningCounts`, which can be saved, plotted and reported.
        """
        self.record(source=source)
        return self.released()

    def released(self) -> Release:
        """Release what was recorded so far, without reading anew.

        Raises
        ------
        ParameterError
            If nothing was recorded.
        """
        if not self._state.readings:
            raise ParameterError("no reading was recorded yet: call release or record first")
        readings = dict(sorted(self._state.readings.items()))
        value = RunningCounts(list(readings), list(readings.values()))
        provenance = {"unit": self.mechanism.unit}
        return self.mechanism._given_out(value, self, None, provenance=provenance)

    def save(self, path: str | Path) -> None:
        """Hand the stream over to a file, for `load` or `open` to go on with. Secret.

        This object takes no more events and makes no new readings; it repeats the last: two
        streams that both went on would draw different noise for the same counts.

        Raises
        ------
        StateError
            If the file exists, unless its state was loaded before.
        OutputFileError
            If it cannot be written.
        """
        self._live.hand_over(Path(path))

    @classmethod
    def load(cls, path: str | Path, *, moved: bool = False) -> "ContinualHistogram":
        """Take over the stream of a file that `save` wrote, into memory.

        The file is wiped, and refused from then on: the stream that is returned is the only one.
        Its state is lost with the process unless it is saved again; `open` keeps it on disk.

        Parameters
        ----------
        path : the file.
        moved : the file is a copy of its last content, and the original is gone for good.

        Raises
        ------
        StateError
            If it was loaded before, is in use, a copy, set back to an older content, damaged,
            edited or of another version.
        InputFileError
            If it is missing.
        """
        store = Store.open(path, moved=moved)
        try:
            state = taken_from(store)
            if state is None:
                raise StateError(f"{store.path} holds no stream yet: use open to begin one")
            store.take()
        finally:
            store.close()
        _LOG.warning("%s was taken over: it cannot be loaded again", store.path)
        return cls._of(state, None)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        moved: bool = False,
        mechanism: ContinualMechanism | None = None,
        budget: ApproxDP | None = None,
        **parameters: Any,
    ) -> "ContinualHistogram":
        """Go on with the stream that is kept in a file, or begin one there.

        Each event and each reading's noise is on disk before the call returns, so that a crash at
        any moment loses no event that was counted, counts none twice, and draws no noise twice.
        The file stays open, and locked, until `close`.

        Parameters
        ----------
        path : a file on a local disk; secret, readable by its owner only.
        moved : the file is a copy of its last content, and the original is gone for good.
        mechanism : the parameters, as `dphist.calibrate` finds them from a total.
        budget : what the stream costs at most in all, where `mechanism` does not remember it. To
            go on with a stream that costs more, or has another budget, is refused.
        **parameters : those of the constructor, in place of `mechanism`. One of them is required
            to begin; both may be left out to go on. What is given must be the stream's own then.

        Raises
        ------
        StateError
            If the file is in use, a copy, set back to an older content, taken over, damaged,
            edited or of another version.
        ParameterError
            If parameters are missing, or not those of the stream.
        """
        if parameters and mechanism is not None:
            raise ParameterError("mechanism must be left out where its parameters are given")
        if parameters:
            mechanism = ContinualMechanism(**parameters)
        if mechanism is not None and budget is not None:  # before there is a file
            mechanism = with_budget(mechanism, budget)
        new = not os.path.lexists(path)
        if new and mechanism is None:
            raise ParameterError(
                "epsilon, delta and horizon must be given to begin a stream: there is no state at "
                f"{path}"
            )
        store = Store.create(path) if new else Store.open(path, moved=moved)
        try:
            return cls._of(begun(store, mechanism, budget), store)
        except BaseException:
            if new:  # nothing was counted, and no noise drawn
                store.discard()
            store.close()
            raise

    def close(self) -> None:
        """Give up the file of a durable stream, for others to open. May be called again."""
        self._live.close()
