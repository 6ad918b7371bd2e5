"""What audits compare: the released numbers of every kind, and everything else that is shown."""

import warnings

import numpy as np
import pytest

import dphist as dh
from dphist.lab.auditing.named import make_named, mechanisms
from dphist.lab.auditing.outcome import capture_run, describe_outcome, list_features, watch_run
from dphist.lab.auditing.subject import make_pairs, make_subject


@pytest.mark.long(every=2)
@pytest.mark.usefixtures("repeatable")
@pytest.mark.quick("[LeafCounts]", "[SortedCounts]", "[ThresholdHistogram]", "[Continual")
@pytest.mark.parametrize("name", mechanisms())
def test_released_numbers_are_compared(name: str) -> None:
    """Of data with large counts, numbers that vary from run to run are among the features."""
    epsilon = 8 if name == "ContinualMechanism" else "1/4"  # above a threshold after few events
    mechanism = make_named(name, epsilon=epsilon, delta=None, parameters={})
    run = make_subject(mechanism).run
    data = [pair.other for pair in make_pairs(mechanism) if "2**62" not in pair.name][-1]
    # The top list has another length in one run of twenty, and no other number that varies.
    runs = [list_features(watch_run(run, data)) for _ in range(400 if name == "TopLabels" else 40)]
    varying = {
        feature
        for feature in runs[0]
        if len({repr(each.get(feature)) for each in runs}) > 1
        and any(isinstance(each.get(feature), int | float) for each in runs)
    }
    assert varying
    assert not any(" at 0x" in str(value) or "<bound" in str(value) for each in runs for value in each.values())  # fmt: skip  # noqa: E501


def test_all_that_is_said_is_compared() -> None:
    def run(data: int) -> dict[str, object]:
        print("printed", data)
        warnings.warn("warned", stacklevel=1)
        return {"a": np.array([data]), "b": {1}, "c": None}

    whole = capture_run(run, 5)
    assert whole == capture_run(run, 5) != capture_run(run, 6)
    text = describe_outcome(whole)
    assert text == ("the outcome is {'a': [5], 'b': [1]}, with 'warned', with 'printed 5\\n'")


def test_types_that_compare_equal_are_different_outcomes() -> None:
    outcomes = [capture_run(lambda data: data, each) for each in (1, 1.0, True, "1", -0.0, 0.0)]
    assert len(set(outcomes)) == 6


def test_errors_are_outcomes() -> None:
    def fails(data: int) -> None:
        raise dh.ParameterError("data", f"must not be {data}")

    assert (
        describe_outcome(capture_run(fails, 3))
        == "the outcome is ParameterError: data must not be 3"
    )
