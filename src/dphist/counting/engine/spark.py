"""Spark: calls that a signal stops at once, their progress, and sessions that were stopped.

Each call runs in a thread of its own, whose jobs have a tag. The thread inherits the local
properties of the caller's, such as its job group, scheduler pool and tags, and changes none there.
Progress is that of the tasks of stages that have begun. Spark plans stages while it works, so
nobody knows how many there will be. A stage whose results exist already is known to Spark as well,
but never begins.
"""

import contextvars
import math
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from dphist.counting.engine.progress import Measured, Report, report_progress
from dphist.errors import DphistError
from dphist.signals import exceptions_wait


def refuse_stopped(session: Any, problem: DphistError) -> None:
    """Raise `problem` if a session was stopped; Spark's own errors would be about other things."""
    stopped = False
    with suppress(Exception):  # a session that cannot say fails where it is used
        stopped = _is_stopped(session)
    if stopped:
        raise problem


def checkpoint(frame: Any) -> Any:
    """Evaluate a dataframe, and return it as an eager local checkpoint in its own session."""
    with _active(frame.sparkSession):
        return frame.localCheckpoint(eager=True)


def is_connect(session: Any) -> bool:
    """Whether this is a session of Spark Connect."""
    return "connect" in type(session).__module__


@contextmanager
def _active(session: Any) -> Iterator[None]:
    """Make a session that of this thread while the block runs.

    PySpark's client for Connect takes a checkpoint for one of the thread's session, or else of the
    process's first one, whichever session made it. The server then knows no such checkpoint.
    """
    active = getattr(type(session), "_active_session", None) if is_connect(session) else None
    if active is None:
        yield
        return
    before = getattr(active, "session", None)
    active.session = session
    try:
        yield
    finally:
        active.session = before


def _is_stopped(session: Any) -> bool:
    if is_connect(session):
        return bool(session.is_stopped)
    java = session.sparkContext._jsc  # PySpark drops it where it stops
    return java is None or bool(java.sc().isStopped())


def measure_in_classic(context: Any, tag: str) -> Measured:
    """Return the state of the jobs of a classic session that have a tag."""
    tracker = context.statusTracker()
    # PySpark's tracker knows groups alone, and the group is the caller's.
    tagged = context._jsc.sc().statusTracker().getJobIdsForTag(tag)
    jobs = [tracker.getJobInfo(job) for job in tagged]
    stages = sorted({stage for job in jobs if job is not None for stage in job.stageIds})
    found = [tracker.getStageInfo(stage) for stage in stages]
    return measure_stages(
        [
            (stage.numTasks, stage.numCompletedTasks)
            for stage in found
            if stage is not None and (stage.numActiveTasks or stage.numCompletedTasks)
        ]
    )


def measure_in_connect(stages: Sequence[Any]) -> Measured:
    """Return the state of the stages that Spark Connect tells of, the first one first."""
    ordered = sorted(stages, key=lambda stage: stage.stage_id)
    begun = [place for place, stage in enumerate(ordered) if stage.num_completed_tasks]
    last = begun[-1] + 1 if begun else 0  # what begins next; not told of tasks that run
    return measure_stages(
        [
            (stage.num_tasks, stage.num_completed_tasks)
            for place, stage in enumerate(ordered)
            if stage.num_completed_tasks or place == last
        ]
    )


def measure_stages(stages: Sequence[tuple[int, int]]) -> Measured:
    """Return the state of stages that have begun, in order.

    Each stage counts as half of what is left before it, as more may follow.

    Parameters
    ----------
    stages : the number of tasks of each, and of those that ended.
    """
    stages = [stage for stage in stages if stage[0]]
    if not stages:
        return Measured(-1.0)
    total, done = (sum(numbers) for numbers in zip(*stages, strict=True))
    left = math.prod(1 - ended / tasks / 2 for tasks, ended in stages)
    return Measured(1 - left, total, done, "tasks", f"stage {len(stages)}")


T = TypeVar("T")

_SECONDS_BETWEEN = 0.1
_SECONDS_TO_STOP = 10.0


def call_spark(session: Any, call: Callable[[], T], progress: Report | None = None) -> T:
    """Return ``call()``, which runs queries of a Spark session; a signal cancels them in Spark.

    Parameters
    ----------
    session : of PySpark, classic or Connect.
    call : function of no arguments.
    progress : function of a `Done`, or None
        What is told of the tasks of these queries; see `report_progress`.

    Notes
    -----
    What a signal handler raises is delayed until the queries have ended, or for 10 s if Spark does
    not answer. Other jobs go on, unless the handler stops them: that of PySpark, which a classic
    session installs where it starts, cancels all jobs of the session for Ctrl-C.

    Where threads of Python have no thread of Java (``PYSPARK_PIN_THREAD=false``), jobs cannot be
    marked. Then the call runs in the caller's thread, with no progress and nothing to cancel.
    """
    jobs = _find_jobs(session)
    if jobs is None:
        return call()
    results: list[T] = []
    errors: list[BaseException] = []
    ended = threading.Event()
    settings = contextvars.copy_context()  # such as `Resources`

    def work(*, marked: bool = False) -> None:
        try:
            if marked:
                with suppress(Exception):  # marks must never cost a result
                    jobs.mark()
            results.append(settings.run(call))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    from pyspark import InheritableThread

    # A daemon, so that a Spark that never answers does not keep Python from ending.
    thread = InheritableThread(
        partial(work, marked=True), session=session, name="dphist-spark", daemon=True
    )
    with jobs.watch(thread, progress), exceptions_wait() as waiting:
        try:
            thread.start()
        except Exception:  # Spark has ended, which the call reports in our words
            work()
        while not ended.wait(_SECONDS_BETWEEN):
            if waiting:
                _stop(jobs, ended)
                break
            if not thread.is_alive() and not ended.is_set():
                work()  # it ended before the call: Spark ended while it copied properties
    if errors:
        raise errors[0]
    return results[0]


class _Jobs(ABC):
    """The jobs of one call, which have a tag.

    Attributes
    ----------
    tag : nobody else's.
    """

    def __init__(self, session: Any) -> None:
        self.session = session
        self.tag = f"dphist-{secrets.token_hex(8)}"

    @abstractmethod
    def mark(self) -> None:
        """Mark the jobs that this thread starts from now on."""

    @abstractmethod
    def cancel(self) -> None:
        """Cancel the jobs that run."""

    @abstractmethod
    @contextmanager
    def watch(self, thread: threading.Thread, progress: Report | None) -> Iterator[None]:
        """Tell of the progress of the jobs of a thread while the block runs."""


class _ClassicJobs(_Jobs):
    """Jobs of a classic session."""

    def mark(self) -> None:
        context = self.session.sparkContext
        context.addJobTag(self.tag)
        context.setInterruptOnCancel(True)  # a task that sorts looks at nothing else

    def cancel(self) -> None:
        self.session.sparkContext.cancelJobsWithTag(self.tag)

    @contextmanager
    def watch(self, thread: threading.Thread, progress: Report | None) -> Iterator[None]:
        with report_progress(
            lambda: measure_in_classic(self.session.sparkContext, self.tag), progress
        ):
            yield


class _ConnectJobs(_Jobs):
    """Operations of a session of Spark Connect."""

    def mark(self) -> None:
        self.session.addTag(self.tag)

    def cancel(self) -> None:
        self.session.interruptTag(self.tag)

    @contextmanager
    def watch(self, thread: threading.Thread, progress: Report | None) -> Iterator[None]:
        latest = Measured(-1.0)

        def handle(stages: Any, **_: Any) -> None:
            nonlocal latest
            if threading.current_thread() is thread:  # not another query of the session
                measured = measure_in_connect(stages or ())
                if measured.total is not None:  # a second query of one call begins with no stage
                    latest = measured

        if progress is not None:
            self.session.registerProgressHandler(handle)
        try:
            with report_progress(lambda: latest, progress):
                yield
        finally:
            if progress is not None:
                with suppress(Exception):  # the session may have ended
                    self.session.removeProgressHandler(handle)


def _find_jobs(session: Any) -> _Jobs | None:
    """Return the jobs of a session; None if its threads cannot mark them."""
    if is_connect(session):
        return _ConnectJobs(session)
    from pyspark import SparkContext

    pinned = type(SparkContext._gateway).__name__ == "ClientServer"
    return _ClassicJobs(session) if pinned else None


def _stop(jobs: _Jobs, ended: threading.Event) -> None:
    """Cancel jobs until their thread has ended, or give up.

    Repeatedly, because the thread may be between two jobs. From another thread, because Spark may
    not answer, and a second signal must not interrupt a request halfway.
    """

    def cancel() -> None:
        while not ended.is_set():
            with suppress(Exception):
                jobs.cancel()
            ended.wait(_SECONDS_BETWEEN)

    threading.Thread(target=cancel, name="dphist-spark-stop", daemon=True).start()
    ended.wait(_SECONDS_TO_STOP)
