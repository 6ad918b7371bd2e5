"""`dphist stream` counts no person twice because a file writes users as numbers and as text.

A user that is a number in JSON is an integer, everything else is text, as in Python; the users of a
state are of one type. `docs/understand/proofs/streams.md`, Lemma 1.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dphist.cli import main
from dphist.errors import DataError
from dphist.streams import ContinualHistogram
from dphist.streams.events import forms as module
from dphist.streams.events.forms import Objects, Rows
from dphist.streams.state import stored

NEW = (
    *("--epsilon", "20", "--delta", "1e-6", "--horizon", "500"),
    *("--max-events-per-user", "1"),
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def objects(*users: Any) -> str:
    return "".join(json.dumps({"label": "a", "who": user}) + "\n" for user in users)


def rows(*users: Any) -> str:
    return "label,who\n" + "".join(f"a,{user}\n" for user in users)


class Run:
    """Runs the command in this process, over one state."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, content: str, *options: str) -> int:
        form = "csv" if content.startswith("label,") else "ndjson"
        path = Path("input.tmp")
        path.write_text(content)
        given = ["--state", "s", "--json", "--format", form, "--user", "who", *options]
        with path.open() as file:
            self._monkeypatch.setattr(sys, "stdin", file)
            return main(["stream", *given])


@pytest.fixture
def run_stream(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch)


def held() -> tuple[int, list[int], str | None]:
    """Return the number of events, the counts, and the type of the users."""
    with ContinualHistogram.open("s") as stream:
        return stream.time, stream._state.counts, stream.user_type


@pytest.mark.parametrize(
    ("content", "value", "kind"),
    [
        *((objects(user, user), user, "integer") for user in (17, -(2**63), 2**63 - 1)),
        *((objects(user, user), user, "text") for user in ("17", "017")),
        (rows("017", "017"), "017", "text"),
    ],
    ids=["17", "smallest", "largest", "text", "zero", "csv"],
)
@pytest.mark.quick("[17]")
def test_a_user_is_the_same_in_the_shell_and_in_python(
    content: str, value: Any, kind: str, run_stream: Run
) -> None:
    assert run_stream(content, *NEW) == 0
    assert held() == (2, [1], kind)
    with ContinualHistogram.open("s") as stream:
        stream.update(["a"], user=value)
    assert run_stream(content) == 0
    assert held() == (5, [1], kind)
    other = "17" if kind == "integer" else 17
    with ContinualHistogram.open("s") as stream, pytest.raises(DataError, match="one person"):
        stream.update(["a"], user=other)
    assert run_stream(objects(other)) == 1
    assert held() == (5, [1], kind)


@pytest.mark.parametrize("users", [(17, "17"), ("17", 17), (17, "017"), ("x", "x", 17)])
def test_lines_of_two_types_are_refused(
    users: tuple[Any, ...], run_stream: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_stream(objects(*users, users[0]), *NEW) == 1
    said = capsys.readouterr().err
    given, wrong = ("text", "integer") if isinstance(users[0], str) else ("integer", "text")
    assert f"type {given}, but the user of line {len(users)} is of the type {wrong}" in said
    assert "17" not in said
    assert held() == (len(users) - 1, [1], given)


def test_a_column_of_text_does_not_continue_a_state_of_numbers(
    run_stream: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_stream(objects(17), *NEW) == 0
    assert run_stream(rows(17)) == 1
    assert "but those of column 'who' are of the type text" in capsys.readouterr().err
    assert held() == (1, [1], "integer")


def test_labels_of_other_types_have_users_of_one_type_too(run_stream: Run) -> None:
    content = "".join(f'{{"label": {label}, "who": 17}}\n' for label in ("[7, 12]", "null", "7"))
    assert run_stream(content, *NEW, "--label-type", "integer", "--max-labels", "2") == 0
    assert held() == (3, [1, 1], "integer")


@pytest.mark.verify
def test_numbers_that_python_does_not_take_are_no_users(
    run_stream: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    for user in ("9223372036854775808", "-9223372036854775809", "17.0", "1e1", "true", '""'):
        assert run_stream(f'{{"label": "a", "who": {user}}}\n', *NEW) == 1
        assert "line 1 must have a user in field 'who'" in capsys.readouterr().err


def test_the_users_of_an_earlier_state_are_text(
    run_stream: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It made text of numbers, and kept no type: 17 would have its events again."""
    step_rows = stored.step_rows

    def earlier(state: Any, step: Any) -> Any:
        found = step_rows(state, step)
        found.pop("user type", None)
        return found

    with monkeypatch.context() as changed:
        changed.setattr("dphist.streams.state.live.step_rows", earlier)
        assert run_stream(objects("17"), *NEW) == 0
    assert held() == (1, [1], None)
    assert run_stream(objects(17)) == 1
    assert "type text, but the user of line 1 is of the type integer" in capsys.readouterr().err
    assert run_stream(objects("17")) == 0
    assert held() == (2, [1], "text")


@pytest.mark.parametrize("size", [1, 7, 60])
@pytest.mark.parametrize("more", [0, 1])
def test_how_long_a_line_may_be_depends_on_it_alone(
    more: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not on how the bytes arrive, or on what stands before it."""
    monkeypatch.setattr(module, "LONGEST", 20)
    for before in ("", '{"label": ""}\n' * 3):
        line = '{"label": "' + "x" * (7 + more) + '"}'
        assert len(line) == 20 + more
        assert is_accepted(Objects("label", None), f"{before}{line}\n", size) == (not more)
    for quoted in ('"' + "x" * (18 + more) + '"', '"\n' + "x" * (18 + more) + '"'):
        content = f"label\na\n{quoted}\nb\n"
        assert is_accepted(Rows("label", None, None), content, size) == (not more)


def is_accepted(form: Any, content: str, size: int) -> bool:
    try:
        for start in range(0, len(content), size):
            list(form.events(content[start : start + size].encode()))
        list(form.last())
    except DataError:
        return False
    return True
