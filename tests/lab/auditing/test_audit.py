"""Audits: what is broken is refuted, what is right is not, and both say what was seen."""

import json
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.lab.auditing import subject
from dphist.lab.auditing.replay import replayable
from dphist.lab.auditing.statistical.rounds import run_in_rounds
from dphist.lab.auditing.subject import LineProgram, check_pairs, command
from dphist.lab.auditing.suite import ENTRIES, Entry
from tests.support.storms import handles_signals, wait_until

LONG = 60
SHORT = {
    "half the noise",
    "laplace from floats",
    "noise cut off",
    "shared noise",
    "counts that wrap",
    "noise and no threshold",
    "a bound on all rows",
    "labels named by the first row",
    "a warning that tells",
    "an error that tells",
    "the label that came first",
    "labels without a bound",
    "codes in order of appearance",
    "labels merged by a third row",
}
BY_NAME = {each.name: each for each in ENTRIES}


SURE = 1 - 1e-8
"""Confidence where a false alarm would fail a test: it is the chance that it does."""


def audited(entry: Entry, seconds: float, confidence: float = 0.999) -> dh.AuditResult:
    return dh.audit(
        entry.run, entry.pairs, epsilon=entry.epsilon, delta=entry.delta, seconds=seconds,
        confidence=confidence,
    )  # fmt: skip


def test_the_suite_is_as_large_as_it_says() -> None:
    assert len(BY_NAME) == len(ENTRIES)
    assert sum(each.faulty for each in ENTRIES) >= 36
    assert sum(not each.faulty for each in ENTRIES) >= sum(each.faulty for each in ENTRIES)
    assert set(BY_NAME) >= SHORT
    assert all(each.truth and each.source and each.run.__doc__ for each in ENTRIES)


@pytest.mark.long(every=2)
@pytest.mark.parametrize("name", sorted(SHORT))
@pytest.mark.quick("[a warning that tells]")
def test_what_is_broken_is_refuted_at_once(name: str) -> None:
    result = audited(BY_NAME[name], LONG)  # stops when it has refuted the claim
    assert result.refuted
    assert result.epsilon_lower > float(BY_NAME[name].epsilon)
    assert "is refuted" in str(result)
    assert result.event
    assert result.stopped == "refuted"


@pytest.mark.long(every=6)
@pytest.mark.parametrize("name", sorted(each.name for each in ENTRIES if each.faulty))
def test_what_is_broken_is_refuted(name: str) -> None:
    assert audited(BY_NAME[name], 4 * LONG).refuted


@pytest.mark.long(every=6)
@pytest.mark.parametrize("name", sorted(each.name for each in ENTRIES if not each.faulty))
def test_what_is_right_is_not_refuted(name: str) -> None:
    result = audited(BY_NAME[name], 2, SURE)
    assert not result.refuted
    assert "is not refuted" in str(result)


def fair(source: random.Random) -> Callable[[int], int]:
    """Randomized response with odds 3 to 1, which costs log 3, on the lowest bit of a number."""

    def run(bit: int) -> int:
        return bit if source.random() < 0.75 else 1 - bit

    return run


def test_a_pair_that_shows_nothing_at_first_is_kept() -> None:
    """The second pair seems to show something from the first round on, but keeps the claim."""
    source, asked = random.Random(5), 0

    def run(value: int) -> int:
        nonlocal asked
        if value < 2:
            return fair(source)(value)
        asked += 1
        return value if asked > 500 else 0  # later than the first round

    found = run_in_rounds(
        run, check_pairs([(2, 3), (0, 1)]), epsilon=2, delta=0, error=1e-3, seconds=10,
        tell=lambda _: None,
    )  # fmt: skip
    assert found.stopped == "refuted"


@pytest.mark.verify
def test_false_alarms_are_as_rare_as_stated() -> None:
    """500 audits of a mechanism that keeps its claim exactly, each allowed to err by a tenth."""
    source = random.Random(4)
    pairs = check_pairs([(0, 1)])
    alarms = 0
    for _ in range(500):
        found = run_in_rounds(
            fair(source), pairs, epsilon=1.0986122886681098, delta=0, error=0.1, seconds=0.06,
            tell=lambda _: None,
        )  # fmt: skip
        alarms += found.stopped == "refuted"
    assert alarms <= 75  # of 50 expected at most


def test_a_result_says_what_it_saw() -> None:
    messages: list[str] = []
    result = dh.audit(
        BY_NAME["half the noise"].run, [("none, and one", 0, 1)], epsilon=1, seconds=LONG,
        progress=messages.append,
    )  # fmt: skip
    assert result.refuted
    assert messages
    layers = ("exact: ", "replay: ", "statistical: ")
    runs = [each for each in messages if not each.startswith(layers)]
    assert len(messages) - len(runs) == 3
    assert runs
    assert all("runs: the true epsilon is at least" in each for each in runs)
    assert result.neighbours.startswith("none, and one; the event is likelier on the ")
    content = json.loads(result.to_json())
    assert content["refuted"] is True
    assert content["epsilon_lower"] == result.epsilon_lower
    assert result.curve[0] == (0.0, pytest.approx(result.epsilon_lower))


def test_lists_may_have_what_is_no_number() -> None:
    def run(one: float) -> list[float]:
        return [one + random.randrange(3), random.choice([1.0, float("nan"), float("inf")]), one]

    assert dh.audit(run, [(0.0, float("nan"))], epsilon=1, seconds=LONG).refuted
    assert dh.audit(run, [(0.0, float("inf"))], epsilon=1, seconds=LONG).refuted


@pytest.mark.verify
def test_what_is_not_refuted_says_what_would_have_been() -> None:
    result = dh.audit(BY_NAME["a count"].run, [(0, 1)], epsilon=1, seconds=1, confidence=SURE)
    assert not result.refuted
    assert result.stopped == "the time was up"
    assert result.power is None or result.power > 1
    assert result.covered.startswith("1 pair of neighbors in ")
    assert result.seconds < 10


@pytest.mark.verify
def test_mechanisms_bring_their_neighbors_and_their_claim() -> None:
    result = dh.audit(dh.SortedCounts(epsilon=1, labels=4), seconds=1, confidence=SURE)
    assert not result.refuted
    assert result.epsilon == pytest.approx(1)
    assert "pairs of neighbors" in result.covered


class HalfTheNoise(dh.SortedCounts):
    __slots__ = ()

    @property
    def cell_epsilon(self):
        return 4 * self.epsilon


def test_a_mechanism_with_too_little_noise_is_refuted() -> None:
    assert dh.audit(HalfTheNoise(epsilon=1, labels=2), seconds=LONG).refuted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": None}, "epsilon must be given"),
        ({"epsilon": -1}, "epsilon must be"),
        ({"neighbours": None}, "neighbours must be given"),
        ({"neighbours": [1, 2]}, "neighbours must be pairs"),
        ({"neighbours": []}, "neighbours must be pairs"),
        ({"seconds": 0}, "seconds must be"),
        ({"seconds": float("nan")}, "seconds must be"),
        ({"confidence": 1}, "confidence must be"),
        ({"delta": 2}, "delta must be"),
        ({"mechanism": 3}, "mechanism must be"),
        ({"mechanism": dict}, "mechanism must be"),
    ],
)
def test_parameters_are_checked(arguments: dict, message: str) -> None:
    given = {
        "mechanism": BY_NAME["a count"].run, "neighbours": [(0, 1)], "epsilon": 1, "seconds": 0.1,
    } | arguments  # fmt: skip
    with pytest.raises(dh.ParameterError, match=message):
        dh.audit(given.pop("mechanism"), given.pop("neighbours"), **given)


def test_an_interrupted_audit_tells_what_it_found() -> None:
    calls = []

    def run(count: int) -> int:
        calls.append(count)
        if len(calls) == 900:
            raise KeyboardInterrupt
        return count + random.randrange(9)

    result = dh.audit(run, [(0, 1)], epsilon=9, seconds=LONG)
    assert result.stopped == "interrupted"
    assert result.samples >= 800


def test_programs_in_other_languages_are_run(tmp_path: Path) -> None:
    script = tmp_path / "count.sh"
    script.write_text('#!/bin/sh\nread count\necho "{\\"noisy\\": $((count + $$ % 2))}"\n')
    run = command(["sh", str(script)])
    assert run(5)["noisy"] in (5, 6)
    failing = command([sys.executable, "-c", "raise SystemExit(3)"])
    assert failing(5) == {"printed": "", "status": 3, "errors": ""}
    with pytest.raises(dh.ParameterError, match="words must be"):
        command("sh count.sh")


COUNTING = """\
while read count; do
    if [ "$count" = 13 ]; then exit 7; fi
    if [ "$count" = 14 ]; then echo "fourteen" >&2; fi
    if [ "$count" = 15 ]; then echo "no JSON"; continue; fi
    runs=$((runs + 1))
    echo "{\\"noisy\\": $((count + runs % 2)), \\"process\\": $$}"
done
"""


def test_programs_that_stay_running_answer_lines(tmp_path: Path) -> None:
    script = tmp_path / "counting.sh"
    script.write_text(COUNTING)
    run = command(["sh", str(script)], lines=True)
    assert run(5)["noisy"] in (5, 6)  # in a process of its own
    first, second = run(5), run(5)
    assert first["process"] == second["process"]
    assert {first["noisy"], second["noisy"]} == {5, 6}
    told = run(14)
    assert told["errors"] == "fourteen\n"
    assert told["printed"]["noisy"] in (14, 15)
    assert run(15) == "no JSON"
    assert run(13) == {"printed": "", "status": 7, "errors": ""}
    again = run(5)
    assert again["process"] != first["process"]  # started again
    result = dh.audit(run, [(0, 9)], epsilon=1, seconds=LONG)
    assert result.refuted
    assert result.name == "sh"


@pytest.mark.verify
def test_programs_that_do_not_answer_end_the_audit() -> None:
    with pytest.raises(dh.UnsupportedError, match=r"sh must answer each line .* ended instead"):
        dh.audit(command(["sh", "-c", "read count"], lines=True), [(0, 1)], epsilon=1)
    silent = LineProgram([sys.executable, "-c", "import sys; sys.stdin.read()"], patience=0.5)
    with pytest.raises(dh.UnsupportedError, match=r"has not in 0\.5 seconds"):
        dh.audit(silent, [(0, 1)], epsilon=1)


@pytest.mark.parametrize(
    "program",
    [
        "echo ready; while read count; do echo $count; done",
        "while read count; do sleep .1; echo $count; done; echo bye",
        "while read count; do echo $count; sleep .1; echo $count; done",
    ],
)
def test_programs_that_answer_with_more_than_a_line_end_the_audit(program: str) -> None:
    """Else the answer to one count would be taken for that to the next."""
    run = command(["sh", "-c", program], lines=True)
    with pytest.raises(dh.UnsupportedError, match=r"must answer each line .* more than one line"):
        dh.audit(run, [(0, 1)], epsilon=1, seconds=LONG)


@pytest.mark.verify
def test_programs_that_stop_in_the_middle_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that closes its output and stays; one that reads nothing of much data."""
    monkeypatch.setattr(subject, "_END", 0.01)
    wait = subprocess.Popen.wait
    closing = LineProgram(["sh", "-c", "read count; exec >&-; sleep 99"])
    with monkeypatch.context() as hasty:  # only with the program, not with its answer
        hasty.setattr(
            subprocess.Popen, "wait", lambda process, seconds=None: wait(process, seconds and 0.1)
        )
        with pytest.raises(dh.UnsupportedError, match="it has closed its output"):
            closing(1)
    deaf = LineProgram(["sleep", "99"], patience=0.5)
    with pytest.raises(dh.UnsupportedError, match=r"has not in 0\.5 seconds"):
        deaf("x" * 10**6)


def test_after_an_interrupt_answers_are_to_their_questions() -> None:
    echo = "while read count; do if [ $count = 3 ]; then kill -INT $PPID; fi; echo $count; done"
    run = command(["sh", "-c", echo], lines=True)
    assert [run(1), run(2)] == [1, 2]
    with pytest.raises(KeyboardInterrupt):
        run(3)
    assert [run(4), run(5)] == [4, 5]


def test_a_line_too_many_is_also_seen_later() -> None:
    twice = "while read count; do echo $count; if [ $count = 7 ]; then echo $count; fi; done"
    run = LineProgram(["sh", "-c", twice])
    assert [run(5), run(6), run(7)] == [5, 6, 7]
    running = run._running
    assert running is not None
    assert running.unread or select.select([running.output], [], [], LONG)[0]
    with pytest.raises(dh.UnsupportedError, match="more than one line"):
        run(8)


def test_layers_are_some_of_three() -> None:
    run = BY_NAME["a count"].run
    for wrong in ("exact", [], ["exact", "guess"]):
        with pytest.raises(dh.ParameterError, match="layers must be some of"):
            dh.audit(run, [(0, 1)], epsilon=1, layers=wrong)


@pytest.mark.parametrize("layer", ["exact", "replay"])
def test_an_interrupt_ends_every_layer(layer: str) -> None:
    calls = []

    def counted() -> None:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt

    def enumerated(count: int, source: Any) -> int:
        counted()
        return count + source.bits(4)

    def replayed(count: int) -> int:
        counted()
        return count + noise(1)

    noise = replayable(lambda scale: random.randrange(9), epsilon=lambda scale: 1 / scale)
    run = enumerated if layer == "exact" else replayed
    result = dh.audit(run, [(0, 1)], epsilon=9, seconds=LONG)
    assert result.stopped == "interrupted"
    assert result.layers[-1].layer == layer
    assert result.layers[-1].verdict == "interrupted"
    assert len(calls) == 5


@pytest.mark.verify
def test_ctrl_c_ends_a_command_with_what_was_found(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "dphist",
        "audit",
        "SortedCounts",
        "--seconds",
        "300",
        "--json",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    wait_until(process, lambda: handles_signals(process))
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    assert process.returncode in (0, 130)
    if process.returncode == 0:
        assert json.loads(out)["stopped"] == "interrupted"
