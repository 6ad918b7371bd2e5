"""Releases of running counts with fixed numbers: each method, each way to name what is counted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import dphist as dh
from dphist.privacy import ApproxDP, PureDP, Target
from dphist.release.running_counts import RunningCounts
from dphist.streams import ContinualMechanism
from tests.support.mechanisms.others import OtherStream
from tests.support.report.told import CLINIC, ODD, shown

COUNTS_OF_ODD = dict(zip(ODD, range(9000, 0, -1000), strict=True))
WORDS: dict[str, Any] = {
    "title": "Visits by ward",
    "label_name": "ward",
    "record_name": "visit",
    **CLINIC,
}
PAID = {"ledger": "clinic (5e1f)", "account": "main", "entry": "3"}


def release(
    mechanism: ContinualMechanism,
    readings: Mapping[int, Mapping[Any, int]],
    who: str = "user",
    paid: Mapping[str, str] | None = None,
    **words: Any,
) -> dh.Release:
    """Return a release of readings by their times, on a fixed day."""
    value = RunningCounts(list(readings), list(readings.values()), label_type=mechanism.label_type)
    unit = mechanism.make_unit(dh.PrivacyUnit(who))
    stated = {"unit": unit, **(paid or {})}
    return shown(dh.Release(value, mechanism.guarantee, mechanism, provenance=stated), **words)


def growing(labels: Sequence[Any], times: Sequence[int], least: int = 0) -> Any:
    """Return readings of counts that grow, each label's at a rate of its own."""
    found = {}
    for time in times:
        counts = {label: time // (place + 1) - place for place, label in enumerate(labels)}
        found[time] = {label: count for label, count in counts.items() if count > least}
    return found


def users(most: int = 3, labels: int = 1) -> ContinualMechanism:
    """Return a stream in which users are protected."""
    return ContinualMechanism(
        epsilon="0.1",
        delta="1e-7",
        horizon=9000,
        max_labels=labels,
        max_events_per_user=most,
    )


UNKNOWN = ContinualMechanism(epsilon="0.2", delta="1e-6", horizon=100_000)
MANY = ContinualMechanism(epsilon="0.2", delta="1e-6", horizon=100_000, max_labels=2, readings=50)
BINARY = ContinualMechanism(epsilon="0.2", delta="1e-6", horizon=4000, method="binary", windows=100)
EARLIER = ContinualMechanism(epsilon="0.2", delta="1e-6", horizon=4000, method="autoregressive")
ENDLESS = ContinualMechanism(epsilon="0.2", delta="1e-6", horizon=None, readings=100)
LISTED = ContinualMechanism(epsilon="0.2", horizon=5000, labels=["tea", "milk", "<b>rum"])
ONE_LISTED = ContinualMechanism(epsilon="0.2", horizon=5000, labels=["tea"], max_labels=4)
PURE = ContinualMechanism(epsilon="0.5", delta=0, horizon=5000, labels=["tea", "milk"])
INTEGERS = ContinualMechanism(epsilon=1, delta="1e-6", horizon=9000, label_type="integer")
DATES = ContinualMechanism(epsilon=1, delta="1e-6", horizon=9000, label_type="date")
BYTES = ContinualMechanism(epsilon=1, delta="1e-6", horizon=9000, label_type="bytes")
SHORT = ContinualMechanism(epsilon=1, delta="1e-6", horizon=100)
LETTERS = list("abcde")
TIMES = range(1000, 9001, 1000)

MADE: dict[str, Callable[[], dh.Release]] = {
    "events": lambda: release(UNKNOWN, growing(LETTERS, TIMES, 150)),
    "events, in words": lambda: release(UNKNOWN, growing(LETTERS, TIMES, 150), paid=PAID, **WORDS),
    "users": lambda: release(users(), growing(LETTERS, TIMES, 700)),
    "users, one event": lambda: release(users(1), growing(LETTERS, TIMES, 200)),
    "users, called people": lambda: release(
        users(2, 2), growing(LETTERS, TIMES, 600), unit="person/people", label_name="taxon/taxa"
    ),
    "patients, in words": lambda: release(
        users(), growing(LETTERS, TIMES, 700), who="one patient", **WORDS
    ),
    "many": lambda: release(MANY, growing([f"l{n}" for n in range(40)], [50_000, 90_000], 300)),
    "very many": lambda: release(MANY, growing([f"l{n}" for n in range(130)], [90_000], 300)),
    "many readings": lambda: release(UNKNOWN, growing(LETTERS, range(100, 90_001, 100), 150)),
    "binary": lambda: release(BINARY, growing(LETTERS, range(400, 4001, 400), 200)),
    "autoregressive": lambda: release(EARLIER, growing(LETTERS, range(400, 4001, 400), 200)),
    "endless": lambda: release(ENDLESS, growing(LETTERS, TIMES, 200)),
    "listed": lambda: release(LISTED, {10: {"tea": 3, "milk": -4, "<b>rum": 0}}),
    "one listed": lambda: release(ONE_LISTED, {1: {"tea": 1}}),
    "pure": lambda: release(PURE, {100: {"tea": 70, "milk": 31}, 200: {"tea": 150, "milk": 60}}),
    "calibrated": lambda: release(
        users().calibrated_to(Target(ApproxDP(6, "1e-6"))), growing(LETTERS, TIMES, 700)
    ),
    "four streams": lambda: release(
        UNKNOWN.calibrated_to(Target(ApproxDP(60, "1e-5"), 4)), growing(LETTERS, TIMES, 150)
    ),
    "pure, calibrated": lambda: release(
        PURE.calibrated_to(Target(PureDP("0.5"))), {100: {"tea": 70, "milk": 31}}
    ),
    "one": lambda: release(UNKNOWN, {1000: {"a": 400}}),
    "nothing": lambda: release(UNKNOWN, {1: {}}),
    "none left": lambda: release(UNKNOWN, {500: {"a": 400}, 900: {"a": 390, "b": 420}, 1000: {}}),
    "odd labels": lambda: release(UNKNOWN, {9000: COUNTS_OF_ODD, 10_000: COUNTS_OF_ODD}),
    "integers": lambda: release(INTEGERS, growing([7, -1, 2**40], TIMES, 40)),
    "dates": lambda: release(DATES, growing([date(2026, 1, 1), date(2026, 2, 1)], TIMES, 40)),
    "bytes": lambda: release(BYTES, growing([b"\x00\xff", b"a"], TIMES, 40)),
    "of somebody else": lambda: replace(
        release(SHORT, {50: {"x": 40}, 90: {"x": 80, "y": 30}}), mechanism=OtherStream(epsilon=1)
    ),
    "for tests": lambda: replace(release(UNKNOWN, growing(LETTERS, TIMES, 150)), for_tests=True),
}
"""Releases by what they show."""
