"""LiveState: the only owner of a stream's state; it stores each step before applying it.

A state is continued from its file or begun there (`open_state`), or taken over into memory
(`take_over`).
"""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dphist.errors import Argument, DphistError, HorizonError, ParameterError, StateError
from dphist.mechanism import check_unit
from dphist.noise import Source
from dphist.noise.for_tests import is_for_tests
from dphist.privacy import ApproxDP, PrivacyUnit, Target, find_delta
from dphist.privacy.unit import unit_of_data
from dphist.release.maker import read_parameters
from dphist.streams.events.cutting import Events, slice_events
from dphist.streams.events.keys import BatchKey, Progress
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state.state import Step, StreamState, StreamUsers
from dphist.streams.state.stored import all_rows, read_state, step_rows, users_rows
from dphist.streams.store.store import Store

_LOG = logging.getLogger(__name__)

IN_USE = (
    "the stream is in use by another call, which this one interrupts (in a signal handler?): both "
    "would draw noise for the same counts. Call it later"
)


class LiveState:
    """The only continuation of a state: in one process, one call at a time.

    Two owners of one state would draw different noise for the same counts. The two releases
    together would reveal more than the guarantee allows.

    Attributes
    ----------
    state : the current state.
    store : the file of the state, or None for a stream in memory.
    lock : held by the one running call.
    """

    __slots__ = ("_busy", "_pid", "_runner", "_saved_to", "_torn", "lock", "state", "store")

    def __init__(self, state: StreamState, store: Store | None = None) -> None:
        self.state, self.store = state, store
        self.lock = threading.RLock()
        self._pid = os.getpid()
        self._busy = False  # whether a call is running
        self._runner = 0  # the thread that runs it
        self._torn = False  # whether a step was begun but not completed
        self._saved_to: Path | None = None

    def count(self, events: Events, source: Source | None, key: BatchKey | None = None) -> bool:
        """Count all events or none; return False if a batch with this key was counted before.

        With windows, a batch is counted in parts that end at the marks. If a later part fails, the
        earlier parts stay counted. The state keeps the key together with the events, and how many
        of them are counted.
        """
        with self.ready():
            return self.count_now(events, source, key)

    def count_now(self, events: Events, source: Source | None, key: BatchKey | None = None) -> bool:
        """Count events as `count` does; call it within `ready`."""
        self._refuse_if_saved()
        note = _Note(self.state, events, key)
        if key is not None:
            left_over = self.state.drop_counted(events, key)
            if left_over is None:
                return False
            events = left_over
        if len(events) > self.state.mechanism.horizon - self.state.time:
            raise self.horizon_error()
        counted = note.events - len(events)
        for part in self._parts(events):
            counted += len(part)
            self._apply(note.on(self.state.counting(part, source), counted), source)
        if key is not None and not len(events):
            step = Step(self.state.time, self.state.noise, self.state.reads)
            self._apply(note.on(step, counted), source)
        return True

    def horizon_error(self) -> HorizonError:
        """Return the error for more events than are left."""
        horizon = self.state.mechanism.horizon
        return HorizonError(
            Argument("horizon")
            + f" is {horizon} events, of which {horizon - self.state.time} are left: the "
            "guarantee covers no more. Make a new stream, which costs its own budget"
        )

    def _parts(self, events: Events) -> Iterator[Events]:
        """Cut a batch at the marks of windows."""
        every = self.state.mechanism.windows
        done = 0
        while every is not None and done < len(events):
            most = every - self.state.time % every
            yield slice_events(events, done, min(done + most, len(events)))
            done += most
        if every is None and len(events):
            yield events

    def read(self, *, record: bool, source: Source | None) -> dict[str, int]:
        """Read the counts of all labels now; call it within `ready`."""
        step, counts = self.state.reading(record=record, source=source)
        before = self.state
        if step.noise is not before.noise or step.reads != before.reads:
            self._refuse_if_saved()  # the stream in the file would not know of this reading
        elif step.reading is None:
            return counts
        self._apply(step, source)
        return counts

    def name_users(self, column: str, unit: PrivacyUnit | str | None, usual: PrivacyUnit) -> None:
        """Keep who the users of the stream are, the first time; refuse others from then on.

        Parameters
        ----------
        unit : one of them; None for the one that was kept, or else the `usual` one.

        Raises
        ------
        ParameterError
            If the column or the unit is not the one that was kept.
        """
        if self.state.mechanism.max_events_per_user is None:
            raise ParameterError("user", "needs " + Argument("max_events_per_user"))
        if not isinstance(column, str) or not column:
            raise ParameterError("column", "must be the name of a column or field")
        held = self.state.named_users
        known = usual if held is None else held.unit
        users = StreamUsers(column, known if unit is None else unit_of_data(unit).single)
        with self.ready():
            held = self.state.named_users
            if held is None:
                self._refuse_if_saved()
                if self.store is not None:
                    self.store.commit(users_rows(users))
                self.state.named_users = users
            elif held != users:
                name = "user" if held.column != users.column else "unit"
                fault = "must be as the stream was made with: events of both would count together"
                raise ParameterError(name, fault, "begin another stream for others")

    def save_to(self, path: Path) -> None:
        """Write the state to a new file, from which only another stream can continue."""
        with self.ready():
            if self.store is not None:
                raise StateError(f"the stream already keeps its state in {self.store.path}")
            self._refuse_if_saved()
            store = Store.create(path, replace_taken=True)
            # From here on the file may be complete, even if this call is interrupted.
            self._saved_to = path
            try:
                store.commit(all_rows(self.state))
            except BaseException:
                if not store.uncertain and store.discard():
                    self._saved_to = None
                raise
            finally:
                store.close()

    def close(self) -> None:
        """Close the store, if there is one; in a forked process this does nothing."""
        if os.getpid() != self._pid:
            return
        with self.lock:
            if self._busy:
                raise StateError("the stream is in use by another call, which this one interrupts")
            if self.store is not None:
                self.store.close()

    def _apply(self, step: Step, source: Source | None) -> None:
        """Store a step, then apply it to the state."""
        step = replace(step, for_tests=is_for_tests(source))
        stopped = self.store is not None and self.store.uncertain  # by an earlier call
        self._torn = True
        if self.store is not None:
            try:
                self.store.commit(step_rows(self.state, step))
            except DphistError as error:  # the store itself refuses further use if it must
                self._torn = False
                # Whoever brings such an event again may count it twice.
                if self.store.uncertain and not stopped:
                    raise StateError(*error.args).within(
                        "",
                        ", and the disk could not confirm it: the events of this call may count or "
                        "not. Close the stream and open it again; its time shows which",
                    ) from None
                raise
        self.state.apply(step)
        self._torn = False

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Ensure that this is the only running call and that the state is complete."""
        self.refuse_forks()
        with self.lock:  # the same thread may enter again, for example in a signal handler
            if self._busy:
                raise StateError(IN_USE)
            if self._torn:
                raise StateError(
                    "the stream was interrupted in the middle of a step; open its state again"
                )
            self._runner = threading.get_ident()
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def refuse_forks(self) -> None:
        """Raise StateError in a process that was forked from the one that made this object."""
        if os.getpid() != self._pid:
            raise StateError(
                "the stream belongs to the process that made it; a forked process would draw "
                "different noise for the same counts"
            )

    def refuse_calls_within_calls(self) -> None:
        """Raise StateError if this thread runs a call, which a signal's handler interrupts."""
        if self._busy and self._runner == threading.get_ident():
            raise StateError(IN_USE)

    def _refuse_if_saved(self) -> None:
        if self._saved_to is not None:
            raise StateError(f"the stream was saved to {self._saved_to}: load it from there")


class _Note:
    """What is noted of a batch with a key, in the steps that count it."""

    def __init__(self, state: StreamState, events: Events, key: BatchKey | None) -> None:
        self.events, self._key = len(events), key
        self._before = None if key is None else state.position(key.origin)

    def on(self, step: Step, counted: int) -> Step:
        """Return the step that also notes how many events of its batch are counted after it."""
        if self._key is None:
            return step
        progress = Progress(self._key.position, counted, self.events, self._before)
        return replace(step, progress=(self._key.origin, progress))


def open_state(
    path: str | Path,
    mechanism: ContinualMechanism | None,
    budget: ApproxDP | None,
    *,
    moved: bool,
) -> tuple[StreamState, Store]:
    """Continue the state in a file, or begin one there; see `ContinualHistogram.open`."""
    if mechanism is not None and budget is not None:  # before there is a file
        mechanism = _with_budget(mechanism, budget)
    new = not os.path.lexists(path)
    if new and mechanism is None:
        raise ParameterError(
            ("epsilon", "delta", "horizon"),
            f"must be given to begin a stream: there is no state at {path}",
        )
    store = Store.create(path) if new else Store.open(path, moved=moved)
    try:
        return _load_or_begin(store, mechanism, budget), store
    except BaseException:
        if new:  # nothing was counted, and no noise drawn
            store.discard()
        store.close()
        raise


def take_over(path: str | Path, *, moved: bool) -> StreamState:
    """Return the state in a file, which is wiped; see `ContinualHistogram.load`."""
    store = Store.open(path, moved=moved)
    try:
        state = _load_state(store)
        if state is None:
            raise StateError(f"{store.path} holds no stream yet: use open to begin one")
        store.take()
    finally:
        store.close()
    _LOG.warning("%s was taken over: it cannot be loaded again", store.path)
    return state


def _with_budget(mechanism: ContinualMechanism, budget: ApproxDP) -> ContinualMechanism:
    """Return the mechanism with `budget` as its target; its guarantee must be within the budget."""
    if not isinstance(budget, ApproxDP):
        raise ParameterError("budget", "must be an ApproxDP(epsilon, delta)")
    check_unit(budget, mechanism.guarantee.unit, "budget")
    try:
        return mechanism.calibrated_to(Target(budget))
    except ParameterError:
        pass
    raise ParameterError("budget", "must be at least what the stream costs: see to_approx_dp")


def _load_or_begin(
    store: Store, mechanism: ContinualMechanism | None, budget: ApproxDP | None = None
) -> StreamState:
    """Return the state in a store, or begin a new one; parameters given must match the state.

    Parameters
    ----------
    mechanism : the parameters, including the budget if both are given; None to use the state's own.
    budget : used without `mechanism`: the budget that the state in the store must be within.
    """
    state = _load_state(store)
    if state is not None and mechanism is None and budget is not None:
        mechanism = _with_budget(state.mechanism, budget)
    if state is None:
        if mechanism is None:
            raise ParameterError(
                ("epsilon", "delta", "horizon"),
                f"must be given: there is no stream yet at {store.path}",
            )
        state = StreamState(mechanism)
        store.commit(all_rows(state))
    elif mechanism is not None and (names := _different_parameters(mechanism, state.mechanism)):
        raise ParameterError(
            names,
            f"must be as the stream at {store.path} was made with",
            "leave out all parameters to continue it, or name another file",
        )
    return state


def _different_parameters(given: ContinualMechanism, kept: ContinualMechanism) -> tuple[str, ...]:
    """Return the names of parameters that differ; "budget" if both have targets and these do.

    A state of an earlier version has that version's default method, at the same cost. It continues
    with it where today's default is given.
    """
    targets = {
        (target.guarantee.epsilon, find_delta(target.guarantee), target.releases)
        for target in (given.target, kept.target)
        if target is not None
    }
    wanted, held = read_parameters(given), read_parameters(kept)
    if (wanted["method"], held["method"]) == ("toeplitz", "autoregressive"):
        wanted = {**wanted, "method": "autoregressive"}
    different = tuple(name for name in held if wanted[name] != held[name])
    return different or ("budget",) * (len(targets) > 1)


def _load_state(store: Store) -> StreamState | None:
    """Return the state in a store, or None if there is none."""
    try:
        return read_state(store)
    except DphistError:
        raise
    except Exception:  # noqa: S110 - its message could show content of the state
        pass
    raise StateError(f"{store.path} does not hold a stream that this version of dphist can read")
