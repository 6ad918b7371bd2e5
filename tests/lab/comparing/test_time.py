"""The time of a comparison is kept, also within a slow run, and what does not fit is named."""

import functools
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.repeating import TooSlowError, measure

import dphist as dh
from benchmarks import repeating
from dphist.lab.comparing import measuring
from dphist.lab.comparing.compare import open_case
from dphist.lab.comparing.measuring import Effort, Measured, OutOfTimeError, Tally, within
from tests.support.histograms import without_noise

PROFILE = dh.Profile.from_counts([9, 5, 2, 1, 1])
SLACK = 30.0  # seconds, of a busy machine; a run that is not cut takes twice as long


class Slow:
    guarantee = dh.PureDP(1)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def release(self, data):
        begun = time.perf_counter()
        while time.perf_counter() - begun < self.seconds:
            time.sleep(0.01)
        return without_noise(data)


@pytest.mark.verify
def test_a_slow_run_is_cut_when_the_time_is_up() -> None:
    dh.RankSplit(epsilon=1).release(PROFILE)  # imports what it needs
    begun = time.perf_counter()
    found = dh.compare(
        {"slow": lambda epsilon: Slow(60), "quick": dh.RankSplit}, PROFILE, [1, 0.1], seconds=1.2
    )
    assert time.perf_counter() - begun < 1.2 + SLACK
    assert {one.mechanism for one in found.left_out} == {"slow"}
    assert all(one.reason.startswith("no run ended within") for one in found.left_out)
    assert len(found.rows) == 2
    assert found.stopped == "the time was up"


@pytest.mark.verify
def test_time_that_fast_mechanisms_leave_over_goes_to_slow_ones() -> None:
    """An equal share of 0.4 s is too little for two runs of 0.4 s; what is left over is enough."""
    mechanisms = {f"quick {place}": (lambda epsilon: Slow(0)) for place in range(19)}
    mechanisms["slow"] = lambda epsilon: Slow(0.4)
    found = dh.compare(mechanisms, PROFILE, [1], seconds=8, most=3)
    assert not found.left_out
    assert next(row.runs for row in found if row.mechanism == "slow") >= 1


def test_what_draws_too_much_noise_is_not_begun() -> None:
    """Such a release would be one call into NumPy, which nothing can cut."""
    huge = functools.partial(dh.SortedCounts, labels=2**40)
    begun = time.perf_counter()
    found = dh.compare({"huge": huge, "quick": dh.RankSplit}, PROFILE, [1], seconds=20, most=2)
    assert time.perf_counter() - begun < SLACK
    assert [one.reason for one in found.left_out] == ["a release takes 109,951 s or more"]
    assert [row.mechanism for row in found] == ["quick"]
    bins = np.zeros(2**22, np.int64)
    _, case = open_case(bins)
    assert case.foresee(dh.LeafCounts(epsilon=1, bins=2**22)) == pytest.approx(0.126, rel=0.01)
    assert case.foresee(object()) is None


def test_no_run_begins_that_cannot_end_in_time(monkeypatch) -> None:
    clock = [0.0]
    for module in (measuring, repeating):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def run():
        clock[0] += 15
        return (clock[0],), 15

    tally_of = Effort(target=0, fewest=2, most=100, seconds=50)
    assert measure(run, tally_of).runs == 3
    assert clock[0] == 45


@pytest.mark.verify
def test_a_run_of_which_two_do_not_fit_is_too_slow() -> None:
    lengths: list[float] = []

    def run():
        length = lengths.pop(0)
        time.sleep(length)
        return (1.0,), length

    lengths += [0, 60]
    with pytest.raises(TooSlowError, match=r"1 of 2 runs ended in "):
        measure(run, Effort(seconds=0.5))
    lengths += [60]
    with pytest.raises(TooSlowError, match="0 of 2 runs ended in"):
        measure(run, Effort(seconds=0.05))
    lengths += [0.2, 0.2]
    assert measure(run, Effort(seconds=0.05), 60).runs == 2


def test_a_cut_call_cannot_swallow_it_and_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGALRM)

    def stubborn():
        try:
            time.sleep(60)
        except BaseException:
            return 3

    with pytest.raises(OutOfTimeError):
        within(0.05, stubborn)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert within(60, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: 1 / 0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_timer_of_the_caller_goes_on() -> None:
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 60)
        assert within(90, lambda: 7) == 7
        assert not rung
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert within(90, lambda: time.sleep(0.1)) is None
        end = time.monotonic() + SLACK
        while not rung and time.monotonic() < end:  # it was due within the call
            time.sleep(0.001)
        assert rung == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_in_other_threads_calls_run_to_their_end() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(within(0.01, lambda: time.sleep(0.05))))
    thread.start()
    thread.join()
    assert found == [None]


def test_interrupting_keeps_what_is_measured(tmp_path) -> None:
    runs = []

    def interrupting(epsilon):
        class Interrupting:
            guarantee = dh.PureDP(1)

            def release(self, data):
                runs.append(1)
                if len(runs) > 3:
                    raise KeyboardInterrupt
                return without_noise(data)

        return Interrupting()

    output = tmp_path / "found.csv"
    found = dh.compare({"one": interrupting}, PROFILE, [1], seconds=30, output=output)
    assert found.stopped == "interrupted"
    assert found.rows[0].runs == 3
    assert output.read_text().splitlines()[-1].split(",")[-3] == "3"


def test_a_tally_goes_on_from_what_was_measured() -> None:
    """As if all runs had been made at once."""
    errors = [3.0, 5.0, 4.0, 9.0, 1.0, 1.0, 7.5]
    whole, first = Tally(1), Tally(1)
    for error in errors:
        whole.add([error], 0.5, 0.5)
    for error in errors[:4]:
        first.add([error], 0.5, 0.5)
    rest = Tally(1, [first.measured(0)])
    for error in errors[4:]:
        rest.add([error], 0.5, 0.5)
    expected, found = whole.measured(0), rest.measured(0)
    assert found.runs == expected.runs == rest.runs == 7
    assert found.error == pytest.approx(expected.error)
    assert found.standard_error == pytest.approx(expected.standard_error)


def test_a_single_run_has_no_standard_error() -> None:
    tally = Tally(2)
    tally.add([2.0, None], 0.1, 0.1)
    assert tally.measured(0) == Measured(1, 2.0, float("inf"), 0.1)
    assert tally.measured(1) is None
    again = Tally(2, [tally.measured(0), None])
    again.add([4.0, None], 0.1, 0.1)
    assert again.measured(0).error == 3
    assert not tally.is_enough(Effort(fewest=1))


def test_the_target_is_of_the_root_where_a_root_is_stated() -> None:
    """Squares known to 8 % are a root known to 4 %."""
    plain, root = Tally(1), Tally(1, squares=True)
    for tally in (plain, root):
        for place in range(100):
            tally.add([1.8 if place % 2 else 0.2], 0.1, 0.1)
    known = plain.measured(0)
    assert known.standard_error == pytest.approx(0.08, rel=0.02)
    assert not plain.is_enough(Effort(target=0.05))
    assert root.is_enough(Effort(target=0.05))
