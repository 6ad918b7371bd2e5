"""Rounds of runs: what is counted is fresh, errors add up, and the time is used."""

import itertools
import random
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import pytest

from dphist.lab.auditing.outcome import Watch
from dphist.lab.auditing.statistical import rounds
from dphist.lab.auditing.statistical.choosing import Choice
from dphist.lab.auditing.statistical.events import Condition, Event
from dphist.lab.auditing.statistical.rounds import Progress, run_in_rounds
from dphist.lab.auditing.subject import check_pairs

PAIRS = check_pairs([(0, 1), (4, 5)])


@dataclass
class Clock:
    """Stands for `time`: seconds go by as runs say, so that a busy machine changes nothing."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(rounds, "time", clock)
    return clock


def ended(run: Any, **options: Any) -> Progress:
    claim: dict[str, Any] = {"epsilon": 50, "delta": 0, "error": 0.01, "seconds": 1.0} | options
    return run_in_rounds(run, PAIRS, tell=lambda _: None, **claim)


def test_no_run_is_counted_that_chose_its_event(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event is that a run came after the choice."""
    numbers = itertools.count()
    latest = 0

    def run(_: int) -> int:
        nonlocal latest
        clock.now += 1e-3
        latest = next(numbers)
        return latest

    def choose(*_: Any) -> list[Choice]:
        return [Choice(Event((Condition("the outcome", "more than", latest),)), 1.0, False)]

    monkeypatch.setattr(rounds, "choose", choose)
    found = ended(run, seconds=2).found
    assert len(found) >= 3
    assert all(each.hits == each.other_hits == each.runs for each in found)


@pytest.mark.parametrize("seconds", [0.2, 1.0, 4.0])
def test_errors_of_all_looks_add_up(clock: Clock, seconds: float) -> None:
    """The last round has the time that is left, in two looks, and the error that is left."""
    draw = random.Random(3)

    def run(data: int) -> int:
        clock.now += 1e-3
        return data % 2 + draw.randrange(5)

    progress = ended(run, seconds=seconds)
    assert progress.stopped == "the time was up"
    *earlier, first, second = progress.found
    assert [each.error for each in earlier] == [
        pytest.approx(0.01 / (r * (r + 1))) for r in range(1, len(earlier) + 1)
    ]
    assert sum(each.error for each in progress.found) == pytest.approx(0.01)
    assert first.runs == second.runs // 2
    assert second.runs >= max((2 * each.runs for each in earlier), default=0)
    assert 0.85 * seconds < clock.now < seconds


def test_a_look_that_is_not_finished_is_dropped(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many of its runs there are may depend on what they show: here one hit ends the time."""
    chosen = 0
    event = Event((Condition("the outcome", "more than", 0),))

    def run(data: int) -> int:
        clock.now += 100 if chosen == 2 * len(PAIRS) and data % 2 else 1e-3
        return data % 2

    def choose(*_: Any) -> list[Choice]:
        nonlocal chosen
        chosen += 1
        return [Choice(event, 1.0, True)]

    monkeypatch.setattr(rounds, "choose", choose)
    progress = ended(run, seconds=2)
    assert (progress.rounds, len(progress.found)) == (2, 1)
    assert progress.stopped == "the time was up"
    first = progress.found[0]
    assert (first.hits, first.other_hits) == (first.runs, 0)


def test_the_direction_of_an_event_is_that_of_its_counts() -> None:
    for answer in ((0, 1), (1, 0)):
        found = ended(lambda data, answer=answer: answer[data % 2], epsilon=1, seconds=60).found[-1]
        assert found.epsilon > 1
        assert (found.hits, found.other_hits) == (found.runs, 0)
        assert found.event.holds({"the outcome": answer[found.swapped]})


def test_one_watch_sees_each_run_alone() -> None:
    """Also after a run that has left filters of warnings, and the output, changed."""

    def run(data: int) -> int:
        print("printed", data)
        print("logged", data, file=sys.stderr)
        warnings.warn(f"warned {data}", stacklevel=1)
        if data == 1:
            warnings.simplefilter("ignore")
            sys.stdout = sys.stderr = None
        if data == 2:
            warnings.showwarning = lambda *_, **__: None
        return data

    before = list(warnings.filters), warnings.showwarning, sys.stdout, sys.stderr
    with Watch() as watch:
        for data in (0, 1, 2, 3, 3):
            shown = watch.see(run, data)
            assert shown == (data, "", f"warned {data}", f"printed {data}\n", f"logged {data}\n")
        failed = watch.see(lambda _: 1 // 0, 4)
        assert failed.error == "ZeroDivisionError: integer division or modulo by zero"
    assert (list(warnings.filters), warnings.showwarning, sys.stdout, sys.stderr) == before
