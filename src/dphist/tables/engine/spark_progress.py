"""Progress of work in Spark: tasks of the stages that are known so far.

A classic session has a tracker of the jobs of a group, a session of Spark Connect calls a handler.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from dphist.tables.engine.progress import Measure, Measured, Report, reported

_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")

# Spark plans more stages while it works: the end alone is 1.
_MOST = 0.99


@contextmanager
def spark_reported(frame: Any, progress: Report | None) -> Iterator[None]:
    """Call `progress` periodically, from a thread, while the block evaluates a Spark dataframe.

    A Spark that tells nothing of its tasks is evaluated all the same.
    """
    if progress is None:
        yield
        return
    with ExitStack() as stack:
        try:
            measure = _watched(stack, frame.sparkSession)
        except Exception:  # progress must never cost a result
            measure = _nothing
        stack.enter_context(reported(measure, progress))
        yield


def _watched(stack: ExitStack, session: Any) -> Measure:
    """Return what measures the work of a session from now on, until `stack` is closed."""
    if hasattr(session, "registerProgressHandler") and "connect" in type(session).__module__:
        return _of_connect(stack, session)
    return _of_classic(stack, session.sparkContext)


def _of_classic(stack: ExitStack, context: Any) -> Measure:
    """Watch the jobs of a group of their own; the caller's group is restored."""
    for name in _GROUP:
        stack.callback(_quietly, context.setLocalProperty, name, context.getLocalProperty(name))
    group = f"dphist-{secrets.token_hex(8)}"
    context.setLocalProperty("spark.jobGroup.id", group)
    tracker = context.statusTracker()

    def measure() -> Measured:
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = sorted({stage for job in jobs if job is not None for stage in job.stageIds})
        found = [tracker.getStageInfo(stage) for stage in stages]
        return tasks_of([(s.numTasks, s.numCompletedTasks) for s in found if s is not None])

    return measure


def _of_connect(stack: ExitStack, session: Any) -> Measure:
    """Watch what Spark Connect tells a handler."""
    latest = [Measured(-1.0)]

    def handle(stages: Any, **_: Any) -> None:
        each = [(s.num_tasks, s.num_completed_tasks) for s in stages or ()]
        latest[0] = tasks_of(each)

    session.registerProgressHandler(handle)
    stack.callback(_quietly, session.removeProgressHandler, handle)
    return lambda: latest[0]


def tasks_of(stages: Sequence[tuple[int, int]]) -> Measured:
    """Return the state of stages, each with the numbers of its tasks and of those that ended."""
    total, done = (sum(numbers) for numbers in zip(*stages, strict=True)) if stages else (0, 0)
    if not total:
        return Measured(-1.0)
    ended = sum(completed >= tasks for tasks, completed in stages)
    note = f"stage {min(ended + 1, len(stages))} of {len(stages)}"
    return Measured(min(done / total, _MOST), total, done, "tasks", note)


def _quietly(call: Callable[..., Any], *given: Any) -> None:
    """Call something of Spark's; the session may have ended."""
    try:
        call(*given)
    except Exception:
        return


def _nothing() -> Measured:
    return Measured(-1.0)
