"""LiveState: the one owner of a stream's state, who writes each step down before it is taken."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dphist.errors import DphistError, HorizonError, ParameterError, StateError
from dphist.mechanism import check_unit
from dphist.noise import Source
from dphist.noise.whose import is_for_tests
from dphist.privacy import ApproxDP, Target
from dphist.release.maker import parameters_of
from dphist.streams.events.cutting import Events, part_of
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state.state import Step, StreamState
from dphist.streams.state.stored import all_rows, restored, step_rows
from dphist.streams.store.store import Store


class LiveState:
    """A state that goes on: here, in one process, one call at a time, and nowhere else.

    Two owners of one state would draw different noise for the same counts, and from both
    together more could be learnt than the guarantee says.

    Attributes
    ----------
    state : as it is now.
    store : where it is written down, or None for a stream in memory.
    """

    __slots__ = ("_busy", "_handed_over", "_lock", "_pid", "_torn", "state", "store")

    def __init__(self, state: StreamState, store: Store | None = None) -> None:
        self.state, self.store = state, store
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._busy = False  # a call is under way
        self._torn = False  # a step was begun and not ended
        self._handed_over: Path | None = None

    def count(self, events: Events, source: Source | None) -> None:
        """Count all events, or none; where windows are kept, those up to a mark may count alone."""
        with self.ready():
            self._refuse_if_handed_over()
            horizon = self.state.mechanism.horizon
            left = horizon - self.state.time
            if len(events) > left:
                raise HorizonError(
                    f"horizon is {horizon} events, of which {left} are left: the "
                    "guarantee covers no more. Make a new stream, which costs anew"
                )
            for part in self._parts(events):
                self._take(self.state.counting(part, source), source)

    def _parts(self, events: Events) -> Iterator[Events]:
        """Cut a batch at the marks of windows."""
        every = self.state.mechanism.windows
        done = 0
        while every is not None and done < len(events):
            most = every - self.state.time % every
            yield part_of(events, done, min(done + most, len(events)))
            done += most
        if every is None and len(events):
            yield events

    def read(self, *, record: bool, source: Source | None) -> dict[str, int]:
        """Read all labels now; to be called within `ready`."""
        step, counts = self.state.reading(record=record, source=source)
        before = self.state
        if step.noise is not before.noise or step.reads != before.reads:
            self._refuse_if_handed_over()  # a reading that the stream elsewhere would not know of
        elif step.reading is None:
            return counts
        self._take(step, source)
        return counts

    def hand_over(self, path: Path) -> None:
        """Write the state to a new file, which owns it from then on."""
        with self.ready():
            if self.store is not None:
                raise StateError(f"the stream keeps its state in {self.store.path} already")
            self._refuse_if_handed_over()
            store = Store.create(path, replace_taken=True)
            # From here on the file may be whole, whatever interrupts this.
            self._handed_over = path
            try:
                store.commit(all_rows(self.state))
            except BaseException:
                if not store.uncertain and store.discard():
                    self._handed_over = None
                raise
            finally:
                store.close()

    def close(self) -> None:
        """Give the store up, if there is one; in a forked process there is none."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._busy:
                raise StateError("the stream is in use by a call that this one interrupts")
            if self.store is not None:
                self.store.close()

    def _take(self, step: Step, source: Source | None) -> None:
        """Write a step down, and take it."""
        step = replace(step, for_tests=is_for_tests(source))
        self._torn = True
        if self.store is not None:
            try:
                self.store.commit(step_rows(self.state, step))
            except DphistError:  # the store says itself if it can go on
                self._torn = False
                raise
        self.state.take(step)
        self._torn = False

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Make sure that this call is the only one, and that the state is whole."""
        if os.getpid() != self._pid:
            raise StateError(
                "the stream belongs to the process that made it; a forked one would draw other "
                "noise for the same counts"
            )
        with self._lock:  # which the thread that has it may take again: in a signal's handler, say
            if self._busy:
                raise StateError(
                    "the stream is in use by a call that this one interrupts (from a signal's "
                    "handler?): both would draw noise for the same counts. Call it later"
                )
            if self._torn:
                raise StateError(
                    "the stream was interrupted in the middle of a step; open its state again"
                )
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def _refuse_if_handed_over(self) -> None:
        if self._handed_over is not None:
            raise StateError(f"the stream was handed over to {self._handed_over}: load it")


def with_budget(mechanism: ContinualMechanism, budget: ApproxDP) -> ContinualMechanism:
    """Return the parameters with a budget that they keep to."""
    if not isinstance(budget, ApproxDP):
        raise ParameterError("budget must be an ApproxDP(epsilon, delta)")
    check_unit(budget, mechanism.guarantee.unit, "budget")
    try:
        return mechanism.calibrated_to(Target(budget))
    except ParameterError:
        pass
    raise ParameterError("budget must be at least what the stream costs: see to_approx_dp")


def begun(
    store: Store, mechanism: ContinualMechanism | None, budget: ApproxDP | None = None
) -> StreamState:
    """Return the state in a store, or begin one; what is given must be its own.

    Parameters
    ----------
    mechanism : with the budget, where both are given.
    budget : what a state that is there must keep to, where it is given alone.
    """
    state = taken_from(store)
    if state is not None and mechanism is None and budget is not None:
        mechanism = with_budget(state.mechanism, budget)
    if state is None:
        if mechanism is None:
            raise ParameterError(
                f"epsilon, delta and horizon must be given: no stream was begun at {store.path}"
            )
        state = StreamState(mechanism)
        store.commit(all_rows(state))
    elif mechanism is not None and not _agree(mechanism, state.mechanism):
        raise ParameterError(
            f"the stream at {store.path} was made with other parameters: leave them out to go on "
            "with it, or name another file"
        )
    return state


def _agree(given: ContinualMechanism, kept: ContinualMechanism) -> bool:
    """Whether parameters are equal, and targets, where both state one."""
    targets = {given.target, kept.target} - {None}
    return parameters_of(given) == parameters_of(kept) and len(targets) < 2


def taken_from(store: Store) -> StreamState | None:
    """Return the state in a store, if there is one."""
    try:
        return restored(store)
    except DphistError:
        raise
    except Exception:  # noqa: S110 - its text could show what is in the state
        pass
    raise StateError(f"{store.path} holds no stream that this version of dphist can read")
