"""Plans of streams state what the mechanism states, and criteria are decided by a reading."""

from fractions import Fraction
from typing import Any

import dphist as dh
from dphist.planning.declared import count_guessers
from tests.support.planning.verdicts import verdicts


def test_every_number_is_the_library_s_own() -> None:
    bounds: dict[str, Any] = {"max_labels": [1, 2], "max_events": 3}
    for row in dh.plan("streams", epsilon=1, horizon=500, delta="1e-6", **bounds):
        made = dh.calibrate(
            dh.ContinualMechanism,
            epsilon=row["epsilon"],
            delta=row["delta"],
            horizon=500,
            max_labels=row["max_labels"],
            max_events_per_user=row["max_events"],
        )
        expected = made.expected_error()
        assert made.epsilon_at(row["delta"]) <= row["epsilon"], "it costs no more than is stated"
        assert row["guessed_right"] == count_guessers(row["epsilon"], Fraction(row["delta"]))
        assert row["appears_from"] == expected.appears_from
        assert row["half_width"] == expected.half_width


def test_streams() -> None:
    mechanism = dh.calibrate(dh.ContinualMechanism, epsilon=8, delta="1e-6", horizon=100)
    stream = dh.ContinualHistogram(epsilon=mechanism.epsilon, delta=mechanism.delta, horizon=100)
    for _ in range(90):
        stream.update(["a"])
    release = stream.release()
    found = verdicts(
        release,
        "streams",
        ["at least 1 labels", "at least 2 labels", "count error < 1", "epsilon <= 8"],
        horizon=100,
    )
    assert list(found.values()) == [True, False, False, None], "no epsilon was asked for"
