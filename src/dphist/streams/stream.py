"""ContinualHistogram: running counts of the labels in a stream of events."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, SupportsIndex

from dphist.counting.reading.columns import UserType
from dphist.errors import ParameterError
from dphist.noise import Source
from dphist.parameters import Exact, whole_number
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PrivacyUnit, PureDP, Target
from dphist.privacy.unit import ONE_USER
from dphist.release.label_types import LabelType, read_label
from dphist.release.release import FOR_TESTS, Release
from dphist.streams.events.keys import batch_key, format_origin
from dphist.streams.events.reading import check_user, one_event, read_events
from dphist.streams.mechanism import ContinualMechanism, read_mechanism
from dphist.streams.methods import Method
from dphist.streams.state.group_commit import GroupCommit
from dphist.streams.state.live import LiveState, open_state, take_over
from dphist.streams.state.state import StreamState, StreamUsers
from dphist.streams.store.store import Store


class ContinualHistogram:
    """Running counts of labels that need not be known in advance, read any number of times.

    Each event is a set of labels. At any time, `counts` returns all labels with a noisy count above
    a threshold. The total cost of all readings is fixed in advance.

    Parameters
    ----------
    epsilon : number above 0; required.
        The paper's parameter; the total cost of the stream is `guarantee`. `dphist.calibrate`
        computes it from a total.
    delta : number above 0 and below 1
        Required if `labels` are not listed. With `labels`, 0 asks for a pure guarantee.
    horizon : int or None
        Maximum number of events; further events are refused. None if no horizon is to be chosen:
        the noise then grows slowly with time, and `readings` is required. The stream ends after
        2**40 events.
    max_labels : int
        Maximum number of labels of an event; if there are more, that many are kept, chosen at
        random.
    method : "toeplitz", "autoregressive", "binary" or "laplace", optional
        The default, "toeplitz", has the lowest error. "autoregressive" is that of earlier versions,
        and "binary" the published mechanism. "laplace" has a pure guarantee, for listed labels, and
        is the default if `delta` is 0; then `epsilon` is the total.
    labels : sequence of labels, optional
        Known, public labels: all are released from the start, and others are ignored.
    max_events_per_user : int, optional
        Maximum number of events counted for a user; then all events of a user are protected
        together. The first event decides the type of users; those of another type are refused.
    windows : int, optional
        Keep counts for `window`, of windows that begin and end at multiples of this number of
        events. Each multiple takes time and memory for every label.
    readings : int, optional
        Maximum number of times at which the stream is read (default: `horizon`). A smaller number,
        such as one per day, lowers the threshold.
    label_type : str, optional
        "text", "integer", "boolean", "date", "timestamp", "instant", "bytes" or "decimal" (default:
        that of the listed `labels`, or "text").

    Guarantee
    ---------
    delta-approximate rho-zCDP for all readings together, see `ContinualMechanism`. Neighbors
    differ in one event, which is empty in one of them (with `max_events_per_user`: in all events
    of one user). The number and the times of events are public. Events must not depend on
    releases. Not covered: running time, memory, and anyone who sees the state, which is secret.

    Notes
    -----
    A stream has one owner. It cannot be copied or pickled, and refuses to continue in a forked
    process: two copies would draw different noise for the same counts. Calls from several threads
    run one at a time. Rogers 2023, sec. 4.3; Rivera Cardoso and Rogers 2022.

    Examples
    --------
    >>> import dphist as dh
    >>> stream = dh.calibrate(dh.ContinualHistogram, epsilon=1, delta="1e-6", horizon=10_000)
    >>> for _ in range(500):
    ...     stream.update(["aspirin"])
    >>> list(stream.counts())
    ['aspirin']
    """

    __slots__ = ("_group", "_live")

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
            label_type=label_type,
        )
        self._live = LiveState(StreamState(mechanism))
        self._group = GroupCommit(self._live)

    @classmethod
    def _from_state(cls, state: StreamState, store: Store | None) -> "ContinualHistogram":
        stream = cls.__new__(cls)
        stream._live = LiveState(state, store)
        stream._group = GroupCommit(stream._live)
        return stream

    def __repr__(self) -> str:
        target, said = self.mechanism.target, f"{FOR_TESTS}; " if self.for_tests else ""
        asked = "" if target is None else f", target={target!r}"
        promise = f"{self.guarantee} for {self.unit}{asked}; {said}"
        method, events = self.mechanism.method, f"{self.time} of {self.horizon} events"
        return f"ContinualHistogram({promise}method={method!r}, {events})"

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a stream cannot be copied or pickled: save it, which hands it over")

    def __enter__(self) -> "ContinualHistogram":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def calibrated_to(self, target: Target) -> "ContinualHistogram":
        """Return a new stream with this target: see `MechanismBase`."""
        if self.time or self._live.store is not None:
            raise ParameterError("target", "must be set before the first event, and in memory")
        state = StreamState(self.mechanism.calibrated_to(target))
        state.named_users = self.named_users
        return self._from_state(state, None)

    @property
    def _state(self) -> StreamState:
        return self._live.state

    @property
    def mechanism(self) -> ContinualMechanism:
        """The stream's parameters."""
        return self._state.mechanism

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected, and how much of it counts."""
        return self.mechanism.make_unit(self._user)

    @property
    def _user(self) -> PrivacyUnit:
        """One user."""
        named = self.named_users
        return ONE_USER if named is None else named.unit

    @property
    def named_users(self) -> StreamUsers | None:
        """Column and unit of the users, as `name_users` was told; public. None if it was not."""
        return self._state.named_users

    def name_users(self, column: str, unit: PrivacyUnit | str | None = None) -> None:
        """Say who the users of all events are; a durable stream keeps it, and refuses others.

        Releases then name the unit. The stream does not see where events come from: whoever names
        the users sees to it that all are of this column.

        Parameters
        ----------
        column : the column or field that names the users.
        unit : one of them, such as "one patient" (default: as it was said before, or "one user").

        Raises
        ------
        ParameterError
            If other users were named before, or the stream protects single events.
        """
        self._live.name_users(column, unit, self._user)

    def _check_column(self, user: str) -> None:
        """Refuse users of another column than the one that was named."""
        named = self.named_users
        if named is not None and user != named.column:
            fault = f"must be {named.column!r}, the column that the stream was made with"
            raise ParameterError("user", fault, "begin another stream for others")

    @property
    def time(self) -> int:
        """The number of events so far; public."""
        return self._state.time

    @property
    def user_type(self) -> UserType | None:
        """The type of the users, which the first event decided; public.

        None before the first event, without `max_events_per_user`, and in a state of an earlier
        version, where the next event decides.
        """
        return self._state.user_type

    @property
    def for_tests(self) -> bool:
        """Whether any random bits came from a caller; then the stream protects nobody."""
        return self._state.for_tests

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

    def update(
        self, labels: Iterable[Any], *, user: object | None = None, source: Source | None = None
    ) -> None:
        """Count one event. When this returns, a durable stream has recorded it on disk.

        Events that several threads bring to a durable stream at a time share one commit, so that
        many threads bring many events per second. They count in the order of their arrival.

        Parameters
        ----------
        labels : iterable of labels, of the stream's `label_type`; each counts once. An event may be
            empty.
        user : user of the event: text, an integer, a date, a truth value or a UUID; of the same
            type in all events. Required with `max_events_per_user`, refused without it.
        source : `source(n)` returns n random bytes. For tests only: all releases say so.

        Raises
        ------
        HorizonError
            If the horizon is reached; nothing is counted.
        DataError, ParameterError
            If the event is invalid; nothing is counted.
        StateError
            If the stream was saved to a file or closed, the process is a fork, or writing failed.
        """
        check_user(self.mechanism.max_events_per_user is not None, user is not None)
        event = one_event(labels, user, label_type=self.mechanism.label_type)
        if self._live.store is None or source is not None:
            self._live.count(event, source)
        else:
            self._group.count(event)

    def update_many(
        self,
        events: object,
        *,
        label: str = "label",
        event: str | None = None,
        user: str | None = None,
        key: tuple[Any, ...] | None = None,
        source: Source | None = None,
    ) -> bool:
        """Count events in time order: all of them, or none if there is an error.

        With `windows`, a crash or a full disk may leave the events up to a multiple of `windows`
        counted; `time` shows how many, and a second call with the same `key` counts the others.

        Parameters
        ----------
        events : sequence of iterables of labels, each an event; or a dataframe of pandas, Polars,
            Arrow or DuckDB, its rows in time order.
        label : column of labels of the stream's `label_type`, or of lists of text; a row without
            one is an empty event.
        event : column; consecutive rows of one value are one event. Without it each row is one.
        user : column of users, of the same type in all batches; required with
            `max_events_per_user`. The one that was given to `name_users`, if that was called.
        key : where the batch comes from, and last a whole number that grows from batch to batch of
            this origin, such as ("topic", partition, offset). A durable stream keeps it in the
            commit of the events. A batch with a number not above that of the last one counted
            from there is not counted again: so a consumer that repeats batches after a crash
            counts each exactly once. A repeated batch must have the same events, and batches must
            not overlap: continue behind `position`.

        Returns
        -------
        bool, whether the batch was counted: False if it had been counted before.

        Raises
        ------
        As `update`, and ColumnError if a column is missing or of an unsuitable type.
        """
        place = batch_key(key)
        bounded = self.mechanism.max_events_per_user is not None
        if user is not None:
            check_user(bounded, given=True)
            self._check_column(user)
        batch = read_events(
            events,
            label=label,
            event=event,
            user=user,
            with_users=bounded,
            label_type=self.mechanism.label_type,
        )
        return self._live.count(batch, source, place)

    def position(self, *origin: Any) -> int | None:
        """Return the number in a key up to which an origin is counted; None if nothing was.

        After a crash, a consumer continues behind it.

        Parameters
        ----------
        *origin : the items of the key before the number.

        >>> import dphist as dh
        >>> stream = dh.ContinualHistogram(epsilon=1, delta="1e-6", horizon=100)
        >>> stream.update_many([["a"], ["b"]], key=("sales", 0, 17))
        True
        >>> stream.update_many([["a"], ["b"]], key=("sales", 0, 17))
        False
        >>> stream.position("sales", 0), stream.time
        (17, 2)
        """
        with self._live.ready():
            return self._state.position(format_origin(origin))

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
            return self._decode_labels(self._live.read(record=False, source=source))

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
        with self._live.ready():
            return self._decode_labels(self._state.window(start, end))

    def record(self, *, source: Source | None = None) -> dict[Any, int]:
        """Return `counts`, and keep them for `release`."""
        with self._live.ready():
            if self.time not in self._state.readings:
                self._live.read(record=True, source=source)
            return self._decode_labels(self._state.readings[self.time])

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
        return self.mechanism.release_readings(self._state.readings, self, self.unit)

    def save(self, path: str | Path) -> None:
        """Hand the stream over to a file, which `load` or `open` continues. The file is secret.

        Afterwards this object accepts no events and makes no new readings, only repeats the last
        one: two continuing streams would draw different noise for the same counts.

        Raises
        ------
        StateError
            If the file exists and its state was not loaded before.
        OutputFileError
            If it cannot be written.
        """
        self._live.save_to(Path(path))

    @classmethod
    def load(cls, path: str | Path, *, moved: bool = False) -> "ContinualHistogram":
        """Take over the stream of a file that `save` wrote, into memory.

        The file is wiped and refused from then on, so the returned stream is the only one. Its
        state is lost with the process if it is not saved again; `open` keeps it on disk.

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
        return cls._from_state(take_over(path, moved=moved), None)

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
        """Continue the stream in a file, or begin one there.

        Each event and the noise of each reading are on disk before the call returns. So a crash
        loses no counted event, counts none twice, and draws no noise twice.
        The file stays open, and locked, until `close`.

        Parameters
        ----------
        path : a file on a local disk; secret, readable by its owner only.
        moved : the file is a copy of its last content, and the original is gone for good.
        mechanism : the parameters, as `dphist.calibrate` finds them from a total.
        budget : maximum total cost of the stream, if `mechanism` has no target. A stream with a
            higher cost or another budget is refused.
        **parameters : those of the constructor, instead of `mechanism`. One of the two is required
            to begin; both may be omitted to continue, and otherwise must match the stream.

        Raises
        ------
        StateError
            If the file is in use, a copy, set back to an older content, taken over, damaged,
            edited or of another version.
        ParameterError
            If parameters are missing, or not those of the stream.
        """
        asked = read_mechanism(mechanism, parameters)
        return cls._from_state(*open_state(path, asked, budget, moved=moved))

    def close(self) -> None:
        """Close the file of a durable stream, so that others can open it. May be called again."""
        self._live.close()

    def _decode_labels(self, counts: Mapping[str, int]) -> dict[Any, int]:
        """Return counts by label, of counts by the labels' texts."""
        kind = self.mechanism.label_type
        return {read_label(text, kind): count for text, count in counts.items()}
