"""Releases of streams of each sort, for reports."""

import random
from collections.abc import Callable

from dphist import ApproxDP, Release
from dphist.privacy import Target
from dphist.release.running_counts import RunningCounts
from dphist.streams import ContinualMechanism
from tests.support.report.labels import HOSTILE

UNKNOWN = ContinualMechanism(epsilon="0.2", delta="1e-6", horizon=100_000, max_labels=2)
BINARY = ContinualMechanism(epsilon="0.2", delta="1e-6", horizon=4000, method="binary", windows=100)
USERS = ContinualMechanism(epsilon="0.1", delta="1e-7", horizon=9000, max_events_per_user=3)
KNOWN = ContinualMechanism(epsilon="0.2", horizon=5000, labels=["tea", "milk", "<b>rum"])


def release_readings(
    mechanism: ContinualMechanism, labels: list[str], readings: int = 12
) -> Release:
    """Counts that grow, each label's at a rate of its own, and are released above the threshold."""
    draw, least = random.Random(5), mechanism.threshold
    step = mechanism.horizon // readings
    found = []
    for i in range(1, readings + 1):
        counts = {
            label: round(step * i / (rank + 1) + draw.gauss(0, mechanism.standard_error))
            for rank, label in enumerate(labels)
        }
        shown = {label: count for label, count in counts.items() if least is None or count > least}
        found.append(shown)
    value = RunningCounts([step * i for i in range(1, readings + 1)], found)
    return Release(value, mechanism.guarantee, mechanism, provenance={"unit": mechanism.unit})


ALL: dict[str, Callable[[], Release]] = {
    "unknown": lambda: release_readings(UNKNOWN, [f"label {i}" for i in range(70)]),
    "binary": lambda: release_readings(BINARY, list("abcde")),
    "users": lambda: release_readings(
        USERS.calibrated_to(Target(ApproxDP(6, "1e-6"))), list("abc")
    ),
    "known": lambda: release_readings(KNOWN, ["tea", "milk", "<b>rum"]),
    "hostile": lambda: release_readings(UNKNOWN, HOSTILE, 3),
    "one reading": lambda: release_readings(UNKNOWN, ["a", "b"], 1),
    "many readings": lambda: release_readings(UNKNOWN, ["a", "b"], 900),
    "nothing": lambda: release_readings(UNKNOWN, []),
    "none left": lambda: gone(),
}


def gone() -> Release:
    """Every label fell below the threshold again."""
    value = RunningCounts([500, 900, 1000], [{"a": 400}, {"a": 390, "b": 420}, {}])
    return Release(value, UNKNOWN.guarantee, UNKNOWN)
