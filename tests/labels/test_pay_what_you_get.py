"""PayWhatYouGet: what a session pays, refuses and forgets."""

import copy
import os
import pickle
import threading
from collections.abc import Callable

import pandas as pd
import pytest

from dphist.data.label_counts import LabelCounts
from dphist.errors import BoundsError, DataError, ParameterError, UnsupportedError
from dphist.labels import session as session_module
from dphist.labels.pay_what_you_get import PayWhatYouGet
from dphist.labels.top_labels import TopLabels
from dphist.noise.inversion import Source
from dphist.privacy import ApproxZCDP

Make = Callable[[int], Source]
COMMON = LabelCounts.from_counts(
    [f"w{i}" for i in range(30)], [10**6] * 30, max_labels=None, max_count=1
)
THREE = LabelCounts.from_counts(["a", "b", "c"], [10**9, 10**7, 10**5], max_labels=4, max_count=1)
NOTHING = LabelCounts.from_counts(["a"], [0], max_labels=1, max_count=1)


def session(budget: int = 50, queries: int = 20, **more) -> PayWhatYouGet:
    return PayWhatYouGet(budget, queries, **{"epsilon": 1, "delta": "1e-6", **more})


def test_pays_for_the_labels_returned_and_for_the_null(seeded: Make) -> None:
    asked = session()
    release = asked.top(THREE, k=10, source=seeded(1))
    assert release.value.labels == ["a", "b", "c", None]
    assert asked.remaining == 46
    assert asked.top(THREE, k=2, source=seeded(2)).value.labels == ["a", "b"]
    assert asked.remaining == 44
    assert asked.top(THREE, k=3, source=seeded(3)).value.labels == ["a", "b", "c"]  # no null
    assert asked.remaining == 41
    assert asked.top(NOTHING, k=30, source=seeded(4)).value.labels == [None]
    assert asked.remaining == 40
    assert asked.remaining_queries == 16


def test_the_guarantee_covers_the_session_and_is_known_before_data() -> None:
    asked = session(50, 20, epsilon="0.2")
    assert asked.guarantee == ApproxZCDP("0.25", "2e-5", unit="user")
    asked.top(THREE)
    assert asked.guarantee == ApproxZCDP("0.25", "2e-5", unit="user")
    assert session(epsilon="0.2", max_count=3).guarantee == ApproxZCDP("0.25", "2e-5", unit="user")


def test_a_query_is_that_of_top_labels(seeded: Make) -> None:
    """Law and threshold are those of `TopLabels`, which has tests of its own."""
    asked = session(max_labels=4, max_count=2)
    mechanism = TopLabels(3, 5, epsilon=1, delta="1e-6", max_labels=4, max_count=2)
    release = asked.top(THREE, k=3, candidates=5, source=seeded(1))
    assert release == mechanism.release(THREE, seeded(1))
    assert release.guarantee == mechanism.guarantee


class Untouchable(LabelCounts):
    """Data that must not be looked at."""

    def largest(self, number: int):
        raise AssertionError("looked at data")

    filter_batches = counts_of = largest  # type: ignore[assignment]


def untouchable(max_labels: int | None = None, max_count: int = 1) -> Untouchable:
    return Untouchable(None, max_labels, max_count)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"k": 6}, ParameterError),  # above the budget
        ({"k": 0}, ParameterError),
        ({"k": 5, "candidates": 4}, ParameterError),
        ({"counts": untouchable(max_count=2)}, BoundsError),
    ],
)
def test_what_is_refused_costs_nothing(arguments: dict, error: type) -> None:
    asked = session(5)
    with pytest.raises(error):
        asked.top(**{"counts": untouchable(), "k": 1, **arguments})
    assert (asked.remaining, asked.remaining_queries) == (5, 20)


def test_no_query_is_answered_beyond_the_budget(seeded: Make) -> None:
    asked = session(8)
    asked.top(COMMON, k=5, source=seeded(1))
    with pytest.raises(ParameterError, match="k is 4 but 3"):
        asked.top(untouchable(), k=4)
    assert len(asked.top(COMMON, k=3, source=seeded(2)).value) == 3
    assert asked.remaining == 0
    with pytest.raises(ParameterError):
        asked.top(untouchable(), k=1)


def test_no_query_is_answered_beyond_their_number() -> None:
    asked = session(50, 2)
    asked.top(THREE, k=1)
    asked.top(THREE, k=1)
    with pytest.raises(UnsupportedError, match="all queries"):
        asked.top(untouchable(), k=1)
    assert asked.remaining == 48


class Failing(LabelCounts):
    def largest(self, number: int):
        raise self.max_labels  # type: ignore[misc] # an exception kept where a bound would be


@pytest.mark.parametrize("failure", [DataError("the engine failed"), KeyboardInterrupt()])
def test_a_query_that_fails_pays_for_all_it_asked(failure: BaseException) -> None:
    asked = session()
    with pytest.raises(type(failure)):
        asked.top(Failing(None, failure, 1), k=7)  # type: ignore[arg-type]
    assert (asked.remaining, asked.remaining_queries) == (43, 19)


def test_randomness_that_fails_is_paid_for() -> None:
    asked = session()

    def dry(size: int) -> bytes:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        asked.top(THREE, k=7, source=dry)
    assert asked.remaining == 43


def test_a_frame_that_cannot_be_read_is_paid_for() -> None:
    asked = session()
    with pytest.raises(DataError):
        asked.top(pd.DataFrame({"label": ["a"], "count": [-1]}), k=7)
    assert asked.remaining == 43
    frame = pd.DataFrame({"label": ["a"], "count": [10**6]})
    assert asked.top(frame, k=1).value.labels == ["a"]


class Slow(LabelCounts):
    """Holds every query inside until as many as can be are there."""

    inside: list[int]
    gate: threading.Event

    def largest(self, number: int):
        self.inside.append(1)
        self.gate.wait(600)  # a session that lets one in at a time fails then, and does not hang
        return COMMON.largest(number)


def test_threads_do_not_overspend() -> None:
    """Ten threads want 4 of 20 labels each: five get in, though none has paid finally yet."""
    asked = session(20, 20)
    data = Slow(None, None, 1)
    data.inside, data.gate = [], threading.Event()
    refused = []

    def run() -> None:
        try:
            asked.top(data, k=4)
        except ParameterError:
            refused.append(1)

    threads = [threading.Thread(target=run) for _ in range(10)]
    for thread in threads:
        thread.start()
    while len(data.inside) + len(refused) < 10:
        threading.Event().wait(0.01)
    data.gate.set()
    for thread in threads:
        thread.join()
    assert (len(data.inside), len(refused)) == (5, 5)
    assert asked.remaining == 0


def test_a_session_cannot_be_copied() -> None:
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copied(session())


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 0},
        {"budget": 1.0},
        {"queries": 0},
        {"queries": 10**6},  # times delta is 1
        {"epsilon": 0},
        {"epsilon": "1e-40"},
        {"epsilon": 10**6},
        {"delta": 0},
        {"delta": 1},
        {"max_labels": 0},
        {"max_count": 0},
    ],
)
def test_bad_parameters_are_refused_at_once(wrong: dict) -> None:
    with pytest.raises(ParameterError):
        session(**wrong)


def test_the_repr_says_what_is_left_and_no_data() -> None:
    asked = session()
    asked.top(THREE, k=2)
    assert "48 labels, 19 queries" in repr(asked)


def test_no_query_unmarks_what_another_one_marked(monkeypatch) -> None:
    """One that began before is still looking at its randomness when the mark is set."""
    session = PayWhatYouGet(epsilon=1, delta="1e-6", max_labels=1)
    table = LabelCounts.from_counts(["a"], [500], max_labels=1, max_count=1)
    began, marked = threading.Event(), threading.Event()
    real = session_module.is_for_tests

    def slow(source: object, data: object = None) -> bool:
        if source is None:
            began.set()
            assert marked.wait(20)
        return real(source, data)  # type: ignore[arg-type]

    monkeypatch.setattr(session_module, "is_for_tests", slow)
    other = threading.Thread(target=session.top, args=(table,), kwargs={"k": 1})
    other.start()
    assert began.wait(20)
    session.top(table, k=1, source=os.urandom)
    marked.set()
    other.join(20)
    assert session.for_tests
