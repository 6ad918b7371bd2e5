"""A stream keeps who its users are: `docs/guides/streams.md`, "The same users in all runs"."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.privacy import Target
from dphist.streams.state.state import StreamUsers
from tests.support.refusal import refused

PARAMETERS: dict[str, Any] = {"epsilon": "0.1", "delta": "1e-6", "horizon": 64}
BOUNDED = {**PARAMETERS, "max_events_per_user": 2}
PATIENTS = StreamUsers("patient", dh.PrivacyUnit("patient"))


def test_they_stay_wherever_the_state_goes(tmp_path: Path) -> None:
    stream = dh.ContinualHistogram(**BOUNDED)
    stream.name_users("patient", "one patient")
    stream = stream.calibrated_to(Target(dh.ApproxDP(9, "1e-3")))
    assert stream.named_users == PATIENTS
    stream.save(tmp_path / "s")
    stream = dh.ContinualHistogram.load(tmp_path / "s")
    assert stream.named_users == PATIENTS
    stream.save(tmp_path / "t")
    for _ in range(2):
        with dh.ContinualHistogram.open(tmp_path / "t") as stream:
            assert stream.named_users == PATIENTS
            stream.name_users("patient")
            stream.update(["a"], user="1")
            assert stream.release().guarantee.unit == PATIENTS.unit
            for column, unit in (
                ("visit", None),
                ("Patient", None),
                ("patient", "patients"),
                ("patient", "one Patient"),
                ("patient", "one patient, or one row without a patient"),
            ):
                with refused(dh.ParameterError, "must be as the stream was made with"):
                    stream.name_users(column, unit)


@pytest.mark.parametrize("column", ["", None, 5, b"a", ("a",)])
def test_a_column_is_text(column: Any, tmp_path: Path) -> None:
    """What a state could not give back would be refused ever after, or be no state."""
    with dh.ContinualHistogram.open(tmp_path / "s", **BOUNDED) as stream:
        with refused(dh.ParameterError, "column must be the name of a column or field"):
            stream.name_users(column)
        assert stream.named_users is None


def test_a_stream_of_single_events_has_no_users() -> None:
    stream = dh.ContinualHistogram(**PARAMETERS)
    with refused(dh.ParameterError, "user needs max_events_per_user"):
        stream.name_users("patient")


def test_a_stream_that_was_saved_takes_no_users(tmp_path: Path) -> None:
    """The file would not know of them."""
    stream = dh.ContinualHistogram(**BOUNDED)
    stream.save(tmp_path / "s")
    with refused(dh.StateError, "load it from there"):
        stream.name_users("patient")
    assert dh.ContinualHistogram.load(tmp_path / "s").named_users is None


def test_a_batch_has_the_users_that_were_named() -> None:
    stream = dh.ContinualHistogram(**BOUNDED)
    batch = pa.table({"label": ["a", "b"], "patient": ["1", "2"], "visit": ["8", "9"]})
    stream.update_many(batch, user="visit")  # nobody was named yet
    stream.name_users("patient")
    with refused(dh.ParameterError, "user must be 'patient', the column that the stream"):
        stream.update_many(batch, user="visit")
    assert stream.time == 2
    stream.update_many(batch, user="patient")
