"""Progress of work in Spark: tasks of the stages that have begun.

Spark plans stages while it works, so nobody knows how many there will be. A stage whose results
exist already is known to Spark as well, but never begins.
"""

import math
from collections.abc import Sequence
from typing import Any

from dphist.counting.engine.progress import Measured


def measured_in_classic(context: Any, tag: str) -> Measured:
    """Return the state of the jobs of a classic session that have a tag."""
    tracker = context.statusTracker()
    # PySpark's tracker knows groups alone, and the group is the caller's.
    tagged = context._jsc.sc().statusTracker().getJobIdsForTag(tag)
    jobs = [tracker.getJobInfo(job) for job in tagged]
    stages = sorted({stage for job in jobs if job is not None for stage in job.stageIds})
    found = [tracker.getStageInfo(stage) for stage in stages]
    return measured_of(
        [
            (stage.numTasks, stage.numCompletedTasks)
            for stage in found
            if stage is not None and (stage.numActiveTasks or stage.numCompletedTasks)
        ]
    )


def measured_in_connect(stages: Sequence[Any]) -> Measured:
    """Return the state of the stages that Spark Connect tells of, the first one first."""
    ordered = sorted(stages, key=lambda stage: stage.stage_id)
    begun = [place for place, stage in enumerate(ordered) if stage.num_completed_tasks]
    last = begun[-1] + 1 if begun else 0  # what begins next; not told of tasks that run
    return measured_of(
        [
            (stage.num_tasks, stage.num_completed_tasks)
            for place, stage in enumerate(ordered)
            if stage.num_completed_tasks or place == last
        ]
    )


def measured_of(stages: Sequence[tuple[int, int]]) -> Measured:
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
