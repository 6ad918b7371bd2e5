"""Batches with keys are counted exactly once, whatever crashes and repeats there are."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.errors import OutputFileError, ParameterError
from dphist.streams.store.store import Store
from tests.support.counting.contribution_engines import spark

GIVEN: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 10_000}


def exact(stream: dh.ContinualHistogram) -> dict[str, int]:
    state = stream._state
    return dict(zip(state.labels, state.counts, strict=True))


def test_a_batch_is_counted_once() -> None:
    stream = dh.ContinualHistogram(**GIVEN)
    assert stream.position("sales", 0) is None
    assert stream.update_many([["a"], ["b"]], key=("sales", 0, 5))
    assert not stream.update_many([["a"], ["b"]], key=("sales", 0, 5))
    assert not stream.update_many([["c"]], key=("sales", 0, 4))
    assert stream.update_many([["a"]], key=("sales", 1, 0))
    assert stream.update_many([["a"]], key=("sales", 0, 9))
    assert exact(stream) == {"a": 3, "b": 1}
    assert (stream.position("sales", 0), stream.position("sales", 1)) == (9, 0)
    assert stream.time == 4


def test_names_of_origins_are_not_confused() -> None:
    stream = dh.ContinualHistogram(**GIVEN)
    keys = [("1", 0), (1, 0), ("a", "b", 0), ('a", "b', 0), ("a", 1, 0), ("a,1", 0)]
    for key in keys:
        assert stream.update_many([["x"]], key=key)
    assert exact(stream) == {"x": len(keys)}


def test_numbers_of_other_types_are_the_same_origin() -> None:
    """A partition that is read from a column is the one that a client of the log names."""
    stream = dh.ContinualHistogram(**GIVEN)
    assert stream.update_many([["x"]], key=("sales", 2, 5))
    assert not stream.update_many([["x"]], key=(np.str_("sales"), np.int64(2), np.int32(5)))
    assert stream.position("sales", np.uint8(2)) == 5
    assert exact(stream) == {"x": 1}


def test_an_empty_batch_keeps_its_key(tmp_path: Path) -> None:
    with dh.ContinualHistogram.open(tmp_path / "s", **GIVEN) as stream:
        assert stream.update_many([], key=("q", 0))
    with dh.ContinualHistogram.open(tmp_path / "s") as stream:
        assert not stream.update_many([["a"]], key=("q", 0))
        assert stream.time == 0


@pytest.mark.parametrize("way", ["open", "save"])
def test_keys_are_in_the_file(way: str, tmp_path: Path) -> None:
    if way == "open":
        with dh.ContinualHistogram.open(tmp_path / "s", **GIVEN) as stream:
            stream.update_many([["a"]], key=("sales", 0, 5))
        again = dh.ContinualHistogram.open(tmp_path / "s")
    else:
        stream = dh.ContinualHistogram(**GIVEN)
        stream.update_many([["a"]], key=("sales", 0, 5))
        stream.save(tmp_path / "s")
        again = dh.ContinualHistogram.load(tmp_path / "s")
    assert again.position("sales", 0) == 5
    assert not again.update_many([["a"]], key=("sales", 0, 5))
    assert exact(again) == {"a": 1}
    again.close()


def test_a_batch_that_fails_does_not_keep_its_key() -> None:
    stream = dh.ContinualHistogram(**{**GIVEN, "horizon": 2})
    with pytest.raises(dh.HorizonError):
        stream.update_many([["a"]] * 3, key=("sales", 0, 5))
    assert stream.position("sales", 0) is None
    assert stream.update_many([["a"]] * 2, key=("sales", 0, 5))
    assert not stream.update_many([["a"]] * 9, key=("sales", 0, 5))  # not an error: it was counted


def test_a_batch_that_was_counted_in_part_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With windows a batch is several commits; the third one fails."""
    batch = [[f"l{n}"] for n in range(10)]
    stream = dh.ContinualHistogram.open(tmp_path / "s", windows=3, **GIVEN)
    stream.update_many([["z"]], key=("sales", 0, 4))
    commit, calls = Store.commit, [0]

    def failing(self: Store, rows: Any) -> None:
        calls[0] += 1
        if calls[0] == 3:
            raise OutputFileError("no space left")
        commit(self, rows)

    monkeypatch.setattr(Store, "commit", failing)
    with pytest.raises(OutputFileError):
        stream.update_many(batch, key=("sales", 0, 14))
    monkeypatch.undo()
    stream.close()
    with dh.ContinualHistogram.open(tmp_path / "s") as again:
        assert (again.time, again.position("sales", 0)) == (6, 4)
        for bad in (("sales", 0, 8), ("sales", 0, 15), ("sales", 0, 20)):
            with pytest.raises(ParameterError, match="must end with 14 again"):
                again.update_many(batch, key=bad)
        with pytest.raises(ParameterError, match="same events"):
            again.update_many(batch[:3], key=("sales", 0, 14))
        with pytest.raises(ParameterError, match="same events"):
            again.update_many(batch[5:], key=("sales", 0, 14))
        assert not again.update_many([["z"]], key=("sales", 0, 4))
        assert again.update_many(batch, key=("sales", 0, 14))
        assert exact(again) == {"z": 1, **{f"l{n}": 1 for n in range(10)}}
        assert again.position("sales", 0) == 14
        assert not again.update_many(batch, key=("sales", 0, 14))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("sales", "key must be a tuple"),
        ((5,), "key must be a tuple"),
        (("sales", "5"), "the last item of key must be"),
        (("sales", -1), "the last item of key must be"),
        (("sales", True), "the last item of key must be"),
        (("sales", 2**63), "the last item of key must be"),
        ((1.5, 1), "key must hold names that are text or whole numbers"),
        ((True, 1), "key must hold names that are text or whole numbers"),
        ((np.bool_(True), 1), "key must hold names that are text or whole numbers"),
        ((None, 1), "key must hold names that are text or whole numbers"),
        ((b"sales", 1), "key must hold names that are text or whole numbers"),
    ],
)
def test_bad_keys_are_refused_before_anything_is_counted(key: Any, message: str) -> None:
    stream = dh.ContinualHistogram(**GIVEN)
    with pytest.raises(ParameterError, match=message):
        stream.update_many([["a"]], key=key)
    assert stream.time == 0


CONSUMER = """
import sys
import dphist as dh
from tests.streams.test_keys import GIVEN, batch_at
state, last = sys.argv[1], int(sys.argv[2])
with dh.ContinualHistogram.open(state, windows=7, **GIVEN) as stream:
    print("ready", flush=True)
    position = stream.position("log", 0)
    for offset in range(0 if position is None else position + 1, last):
        stream.update_many(batch_at(offset), key=("log", 0, offset))
print("done", flush=True)
"""


def batch_at(offset: int) -> list[list[str]]:
    """The batch of a log that is the same each time it is read."""
    return [[f"label {(offset + place) % 5}"] for place in range(offset % 6)]


@pytest.mark.verify
def test_a_consumer_that_is_killed_at_random_counts_each_event_once(tmp_path: Path) -> None:
    """As of Kafka: the log is kept by somebody else, and read again from where the state says."""
    draw, batches, kills = random.Random(7), 20, 0
    ended = ""
    while kills < 3 or ended != "done\n":
        if ended == "done\n":
            batches += 20  # the disk is quick
        with subprocess.Popen(
            [sys.executable, "-c", CONSUMER, str(tmp_path / "s"), str(batches)],
            stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(draw.random() * 0.2)
            process.send_signal(signal.SIGKILL)
            ended = process.stdout.read()
        kills += ended != "done\n"
    expected: dict[str, int] = {}
    for offset in range(batches):
        for (label,) in batch_at(offset):
            expected[label] = expected.get(label, 0) + 1
    with dh.ContinualHistogram.open(tmp_path / "s") as stream:
        assert exact(stream) == expected
        assert stream.time == sum(expected.values())


@pytest.mark.verify
def test_batches_of_spark_that_are_repeated_are_counted_once(tmp_path: Path) -> None:
    """Structured Streaming repeats a batch whose function failed; here after it was counted."""
    from pyspark.sql.streaming.query import StreamingQuery

    files, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    files.mkdir()
    for number in range(4):
        (files / f"{number}.csv").write_text(f"label {number}\n" * (number + 1))
    seen: list[int] = []

    def run(state: Path, fails_in: int | None) -> None:
        with dh.ContinualHistogram.open(state, **GIVEN) as stream:

            def count(batch: Any, number: int) -> None:
                seen.append(number)
                stream.update_many(batch.toArrow(), label="what", key=("spark", number))
                if number == fails_in:
                    raise RuntimeError("the driver is lost")

            rows = spark().readStream.schema("what STRING").option("maxFilesPerTrigger", 1)
            query: StreamingQuery = (
                rows.csv(str(files))
                .writeStream.foreachBatch(count)
                .option("checkpointLocation", str(checkpoint))
                .trigger(availableNow=True)
                .start()
            )
            try:
                query.awaitTermination()
            except Exception:
                assert fails_in is not None
            finally:
                query.stop()

    run(tmp_path / "s", fails_in=2)
    run(tmp_path / "s", fails_in=None)
    assert seen == [0, 1, 2, 2, 3]
    with dh.ContinualHistogram.open(tmp_path / "s") as stream:
        assert exact(stream) == {f"label {number}": number + 1 for number in range(4)}
        assert stream.position("spark") == 3
