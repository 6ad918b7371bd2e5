"""No label, user or count of a stream in an error, a log, a repr or a warning."""

import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dphist.errors import DphistError, HorizonError
from dphist.streams.events.reading import read_events
from dphist.streams.stream import ContinualHistogram
from tests.support.refusal import SENTINEL

COUNT = 4729  # events of the sentinel's user, with the sentinel; a number found nowhere else
SECRETS = (SENTINEL, f"user-{SENTINEL}", f"{COUNT}")
METHODS: tuple[Any, ...] = ("toeplitz", "autoregressive", "binary")


def a_stream(path: Path | None = None, **changed: Any) -> ContinualHistogram:
    parameters = {
        "epsilon": "0.01",
        "delta": "1e-6",
        "horizon": 8192,
        "max_labels": 2,
        "max_events_per_user": 5000,
        "windows": 1000,
        **changed,
    }
    if path is None:
        return ContinualHistogram(**parameters)
    return ContinualHistogram.open(path, **parameters)


def filled(stream: ContinualHistogram) -> ContinualHistogram:
    rows = pd.DataFrame({"label": [SENTINEL], "user": [f"user-{SENTINEL}"]})
    stream.update_many(rows.loc[[0] * COUNT], user="user")
    stream.counts()
    stream.release()
    return stream


def texts_of(error: BaseException) -> Iterator[str]:
    """All that a traceback would show of an error."""
    held: BaseException | None = error
    while held is not None:
        yield f"{held} {held!r} {getattr(held, '__notes__', '')}"
        held = held.__cause__ or (None if held.__suppress_context__ else held.__context__)


def check_silent(text: str) -> None:
    for secret in SECRETS:
        assert secret not in text


Act = Callable[[ContinualHistogram], object]
REFUSED: list[Act] = [
    lambda s: s.update([SENTINEL, 3], user="u"),
    lambda s: s.update([SENTINEL, None], user=f"user-{SENTINEL}"),
    lambda s: s.update(SENTINEL, user=f"user-{SENTINEL}"),
    lambda s: s.update([SENTINEL + "\ud800"], user="u"),
    lambda s: s.update([SENTINEL]),
    lambda s: s.update([SENTINEL], user=[SENTINEL]),
    lambda s: s.update([SENTINEL], user=SENTINEL + "\ud800"),
    lambda s: s.update_many([[SENTINEL]]),
    lambda s: s.update_many(pd.DataFrame({"label": [SENTINEL], "who": [None]}), user="who"),
    lambda s: s.update_many(pd.DataFrame({"label": [SENTINEL], "who": ["u"]}), user="missing"),
    lambda s: s.update_many(
        pd.DataFrame({"label": [SENTINEL] * 2, "e": [1, 1], "who": [f"user-{SENTINEL}", "v"]}),
        user="who",
        event="e",
    ),
    lambda s: s.update_many(
        pd.DataFrame({"label": [SENTINEL] * 4000, "who": [f"user-{SENTINEL}"] * 4000}), user="who"
    ),
    lambda s: s.window(1, 1500),
    lambda s: s.window(4001, 5000),
    lambda s: s.top(0),
]


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("act", range(len(REFUSED)))
@pytest.mark.quick(every=2)
def test_errors_show_no_secret(
    act: int, durable: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), filled(a_stream(tmp_path / "s" if durable else None)) as s:
        before = s.time
        with pytest.raises(DphistError) as refused:
            REFUSED[act](s)
        for text in texts_of(refused.value):
            check_silent(text.replace(str(s.time), "time"))
        assert s.time == before
    check_silent(caplog.text.replace(str(s.time), "time"))


@pytest.mark.parametrize("method", METHODS)
def test_no_repr_log_or_warning_shows_a_secret(
    method: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        stream = filled(a_stream(method=method))
        stream.update([], user="v")  # the time is now another number than the count
        state = stream._state
        events = read_events([[SENTINEL]] * COUNT)
        step, _ = state.reading()
        shown = [stream, state, state.noise, state.users, events, step, stream.mechanism]
        shown += [state.noise.counter, stream.guarantee]
        stream.save(tmp_path / "s")
        loaded = ContinualHistogram.load(tmp_path / "s")
        with pytest.raises(DphistError) as again:
            ContinualHistogram.load(tmp_path / "s")
        shown += [loaded, loaded._state, again.value]
    assert not warned
    for each in shown:
        check_silent(repr(each) + str(each) + f"{each}")
    check_silent(caplog.text)


def refusal(stream: ContinualHistogram, act: Act) -> str:
    with pytest.raises(HorizonError) as refused:
        act(stream)
    return str(refused.value)


def test_the_horizon_is_reached_whatever_the_events_hold() -> None:
    """Empty, cut, of known users or new ones: it depends on how many there were."""
    said = set()
    for labels, users in (([], 1), (["a"], 1), (["a", "b", "c"], 2), (["x"], 64), ([SENTINEL], 64)):
        stream = a_stream(max_events_per_user=1, horizon=64, windows=5)
        for i in range(64):
            stream.update(labels, user=f"{i % users}")
            assert stream.remaining == 63 - i
        for further in ([], [SENTINEL]):
            said.add(refusal(stream, lambda s, further=further: s.update(further, user="u")))  # type: ignore[misc]
    assert len(said) == 1


def test_the_bound_of_readings_is_reached_whatever_is_read() -> None:
    said = set()
    for labels in ([], ["a"], [SENTINEL, "b"]):
        stream = a_stream(readings=3, max_events_per_user=None)
        for _ in range(3):
            stream.update_many([labels] * 10)
            stream.counts()
        stream.update(labels)
        said.add(refusal(stream, lambda s: s.counts()))
        said.add(refusal(stream, lambda s: s.release()))
    assert len(said) == 1


def test_what_a_user_sees_of_the_bound_is_nothing() -> None:
    """An event beyond a user's bound is taken as any other."""
    for method in METHODS:
        bounded = a_stream(method=method, max_events_per_user=1)
        for _ in range(20):
            assert bounded.update(["a"], user="u") is None  # type: ignore[func-returns-value]
        assert bounded.time == 20
        assert repr(bounded) == repr(filled_with_nothing(method))


def filled_with_nothing(method: Any) -> ContinualHistogram:
    stream = a_stream(method=method, max_events_per_user=1)
    for i in range(20):
        stream.update([], user=f"{i}")
    return stream


def test_a_secret_in_an_error_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: an error that names a label, in its text or in what it was raised from."""

    def counting(self: Any, events: Any, source: Any) -> Any:
        try:
            return {}[events.vocabulary[0]]
        except KeyError:
            raise DphistError("events must be others") from None

    def chained(self: Any, events: Any, source: Any) -> Any:
        try:
            return {}[events.vocabulary[0]]
        except KeyError as problem:
            raise DphistError("events must be others") from problem

    for wrong, seen in ((counting, False), (chained, True)):
        monkeypatch.setattr("dphist.streams.state.state.StreamState.counting", wrong)
        with pytest.raises(DphistError) as refused:
            a_stream().update([SENTINEL], user="u")
        assert any(SENTINEL in text for text in texts_of(refused.value)) == seen
