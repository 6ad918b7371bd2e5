"""What a ledger keeps, logs and says holds no value from the data."""

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import BoundsError, DphistError
from dphist.ledger import Deferred, Ledger
from tests.support.refusal import NUMBER, SENTINEL

FRAME = pa.table(
    {"label": [SENTINEL] * 3 + ["x"], "user": [SENTINEL, "1", "2", "3"], "n": [NUMBER, 1, 1, 1]}
)


def labels(max_count: int = 10**9) -> dh.LabelCounts:
    return dh.LabelCounts.from_table(
        FRAME, label="label", user="user", count="n", max_labels=1, max_count=max_count
    )


@pytest.fixture
def users(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a", epsilon=9, delta="1e-3", unit="one user")


def check_silent(ledger: Ledger, *texts: str) -> None:
    said = [*texts, repr(ledger), repr(ledger.balance()), repr(ledger.accounts)]
    said += [entry.text() for entry in ledger.entries()]
    said += [str(row) for row in ledger.entries().to_arrow().to_pylist()]
    for text in said:
        assert SENTINEL not in text
        assert str(NUMBER) not in text
    for file in Path(ledger.place).parent.iterdir():
        held = file.read_bytes()
        assert SENTINEL.encode() not in held
        assert str(NUMBER).encode() not in held


def test_failures_of_any_kind_tell_no_value(
    users: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    mechanism = dh.ThresholdHistogram(epsilon="0.01", delta="1e-9", max_labels=1)
    wide = labels()
    said: list[str] = []
    attempts: list[Any] = [
        wide,  # its bounds exceed those of the mechanism
        users.guard(wide),
        Deferred(lambda: wide, "one user", None),
        Deferred(lambda: FRAME, "one user", None),
        Deferred(lambda: {SENTINEL: NUMBER}, None, None),
        Deferred(lambda: [SENTINEL], None, None),
        FRAME,
    ]
    for number, data in enumerate(attempts):
        with pytest.raises(DphistError) as caught:
            users.release(mechanism, data, by="ana", key=str(number))
        said += [str(caught.value), repr(caught.value), *getattr(caught.value, "__notes__", [])]
        cause = caught.value.__cause__
        assert cause is None
    check_silent(users, caplog.text, *said)


def test_a_finished_release_below_the_threshold_leaves_no_trace(
    users: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    frame = pa.table({"label": [SENTINEL], "user": [SENTINEL]})
    data = dh.LabelCounts.from_table(frame, label="label", user="user", max_labels=1)
    mechanism = dh.ThresholdHistogram(epsilon="1", delta="1e-9", max_labels=1)
    release = users.release(mechanism, users.guard(data), by="ana", key="k")
    assert len(release.value) == 0
    check_silent(users, caplog.text, repr(release))


def test_a_session_tells_no_value(users: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    session = users.session(dh.PayWhatYouGet(epsilon="0.1", delta="1e-9"), by="ana", key="s")
    with pytest.raises(BoundsError) as caught:
        session.top(labels(), k=1)
    check_silent(users, caplog.text, str(caught.value), repr(session))


def test_a_refusal_is_the_same_whatever_the_data(users: Ledger) -> None:
    """Neighbors that straddle the threshold hear the same words, and are charged the same."""
    mechanism = dh.ThresholdHistogram(epsilon=20, delta="1e-9", max_labels=1)
    said = []
    for rows in (0, 1, 1000):
        frame = pa.table({"label": ["x"] * rows, "user": [str(n) for n in range(rows)]})
        frame = frame.cast(pa.schema([("label", pa.string()), ("user", pa.string())]))
        data = dh.LabelCounts.from_table(frame, label="label", user="user", max_labels=1)
        with pytest.raises(DphistError) as caught:
            users.release(mechanism, data, by="ana", key="k")
        said.append(str(caught.value))
    assert len(set(said)) == 1
    assert users.spent.rho == 0
