"""GroupCommit: single events of several threads, recorded on disk by one commit for all that wait.

A commit takes some milliseconds, in which other threads bring further events. The first of these
threads then counts all events that wait, in the order of their arrival, as one batch.
"""

import contextlib
import copy
import queue
import threading
import time
from collections import deque

from dphist.errors import DataError, DphistError, StateError
from dphist.streams.events.columns import check_user_type
from dphist.streams.events.cutting import Events, join_events
from dphist.streams.state.live import IN_USE, LiveState

_PATIENCE = 1.0
"""Seconds after which a waiting thread looks whether another one was interrupted and forgot it."""

_WAIT_SHARE, _LONGEST_WAIT, _STEP = 0.1, 0.005, 0.0001  # of the last commit; seconds


class GroupCommit:
    """The queue of single events of one stream.

    **Guarantee.** `count` returns only after the event is in a commit that is durable. Each event
    is taken from the queue at most once, before its step is computed, and is never put back. So no
    event counts twice, and no noise is drawn for an event of which noise was drawn before.

    Notes
    -----
    The thread whose event is first in the queue counts for all. There is always one as long as the
    queue is not empty: an event that arrives at an empty queue is the first, and whoever takes
    events takes all of them. The queue and the signals need no lock, so a handler of the operating
    system's signals never waits for the call that it interrupts.
    """

    __slots__ = ("_calls", "_expected", "_last_commit", "_live", "_waiting")

    def __init__(self, live: LiveState) -> None:
        self._live = live
        self._waiting: deque[_Call] = deque()
        self._calls: dict[int, _Call] = {}  # of each thread, while it waits
        self._expected = 1  # how many events may soon wait
        self._last_commit = 0.0  # seconds

    def count(self, event: Events) -> None:
        """Count one event; return when it is durable.

        Raises
        ------
        HorizonError
            If the horizon is reached; the event is not counted.
        OutputFileError, StateError
            If the commit failed, for every event in it.
        """
        self._live.refuse_forks()
        self._live.refuse_calls_within_calls()
        thread = threading.get_ident()
        if thread in self._calls:  # as within a call: it could wait for itself
            raise StateError(IN_USE)
        call = _Call(event, thread)
        try:
            self._calls[thread] = call
            self._waiting.append(call)
            while not call.is_done:
                if self._is_first(call):
                    self._lead(call)
                elif not call.was_woken(_PATIENCE):
                    self._look_for(call)
        finally:  # it may be interrupted at any point
            self._calls.pop(thread, None)
            if not call.is_done:
                self._withdraw(call)
        if call.error is not None:
            raise call.error

    def _is_first(self, call: "_Call") -> bool:
        try:
            return self._waiting[0] is call
        except IndexError:
            return False

    def _lead(self, own: "_Call") -> None:
        """Count all events that wait, and tell their threads."""
        with self._live.ready():
            if own.is_done:  # it was taken just after it had arrived
                return
            self._wait_for_others()
            taken: list[_Call] = []
            before = self._live.state.time
            start = time.monotonic()
            try:
                self._take(taken)
                self._refuse_other_types(taken)
                if not taken:  # an interrupted thread took them, or all were refused
                    return
                left = self._live.state.mechanism.horizon - before
                if left:
                    self._live.count_now(join_events([call.event for call in taken[:left]]), None)
                if taken[left:]:
                    raise self._live.horizon_error()
            except BaseException as error:
                self._settle(taken, before, error)
                if not isinstance(error, DphistError):
                    raise
            else:
                self._expected = len(taken) + len(self._waiting)
                self._last_commit = time.monotonic() - start
                self._settle(taken, before, None)

    def _wait_for_others(self) -> None:
        """Wait for a small part of a commit for threads whose calls the last one has just ended.

        Without it the thread that led the last group leads the next one alone, as it runs already,
        and a commit is for half of the threads on average. A single thread never waits.
        """
        start = time.monotonic()
        longest = min(_WAIT_SHARE * self._last_commit, _LONGEST_WAIT)
        while len(self._waiting) < self._expected and time.monotonic() - start < longest:
            time.sleep(_STEP)
        self._expected = 1  # until the next commit: if it fails, nobody waits

    def _take(self, taken: "list[_Call]") -> None:
        """Take all events that wait. What is taken is never put back: it may have been counted."""
        while True:
            try:
                taken.append(self._waiting.popleft())
            except IndexError:
                return

    def _refuse_other_types(self, taken: "list[_Call]") -> None:
        """Refuse, and remove, events with users of another type than the stream's users.

        If there is no event yet, the first of these decides. The others count with or without those
        that are refused.
        """
        held = self._live.state.user_type
        if held is None and taken:
            held = taken[0].event.user_type
        for call in taken:
            try:
                check_user_type(held, call.event.user_type)
            except DataError as error:
                call.error = error
                call.is_done = True
                call.wake()
        taken[:] = [call for call in taken if not call.is_done]

    def _settle(self, taken: "list[_Call]", before: int, error: BaseException | None) -> None:
        """Tell each thread what became of its event.

        Time passes only when a step is applied, after its commit. So as many of the events, in
        order, are durable.
        """
        durable = self._live.state.time - before
        for place, call in enumerate(taken):
            if place >= durable:
                call.error = _error_for_all(error)
            call.is_done = True
            call.wake()

    def _look_for(self, call: "_Call") -> None:
        """Give up on an event that was taken by a thread that an interrupt kept from settling."""
        with self._live.lock:  # now nobody is taking or settling
            # A thread may be interrupted again while it withdraws the first event of the queue.
            with contextlib.suppress(IndexError, ValueError):  # others withdraw meanwhile
                while (head := self._waiting[0]) is not self._calls.get(head.thread):
                    self._waiting.remove(head)
            if not call.is_done and call not in self._waiting:
                call.error = _error_for_all(None)
                call.is_done = True

    def _withdraw(self, call: "_Call") -> None:
        """Remove an event whose call ends with an error, unless it is taken; wake the next."""
        try:
            self._waiting.remove(call)
            self._waiting[0].wake()
        except (ValueError, IndexError):
            pass


class _Call:
    """An event of one thread, and what became of it.

    Attributes
    ----------
    event : a batch of one event.
    thread : the thread that waits.
    is_done : whether the call can return or fail.
    error : what it fails with; None if the event is durable.
    """

    __slots__ = ("_signals", "error", "event", "is_done", "thread")

    def __init__(self, event: Events, thread: int) -> None:
        self.event, self.thread = event, thread
        self.is_done = False
        self.error: DphistError | None = None
        self._signals: queue.SimpleQueue[None] = queue.SimpleQueue()

    def wake(self) -> None:
        """Let the waiting thread look again."""
        self._signals.put(None)

    def was_woken(self, seconds: float) -> bool:
        """Wait to be woken, at most so long."""
        try:
            self._signals.get(timeout=seconds)
        except queue.Empty:
            return False
        return True


def _error_for_all(error: BaseException | None) -> DphistError:
    """Return an error for one of the threads whose events were not recorded."""
    if isinstance(error, DphistError):
        return copy.copy(error)
    return StateError(
        "the call that was recording this event, together with its own, was interrupted or failed; "
        "whether the event counts is in `time`, if need be after the stream is opened again"
    )
