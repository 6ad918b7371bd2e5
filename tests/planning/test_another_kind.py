"""A kind of somebody else's is planned, saved, loaded, shown and checked as those of dphist."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.cli import main
from dphist.commands import plan as command
from dphist.document.options import Option, whole
from dphist.document.plan_parts import EPSILONS, grid
from dphist.document.planning import Column, Found, Planning, Quantity, Row
from dphist.parameters import privacy_parameter, whole_number
from dphist.planning.document import document_of, table_csv
from dphist.ranges.kind import KIND as RANGES
from dphist.release import kind_names
from dphist.render.html import page
from dphist.render.text import text
from tests.support.golden import text_of_html


class Mean:
    """A released value."""

    value = 3.0


def settings(*, users: int, epsilon: Any = EPSILONS) -> Iterator[Row]:
    """Yield the error of the mean of numbers from 0 to 1 by Laplace noise."""
    number = whole_number(users, "users", 1)
    for setting in grid(epsilon=(epsilon, privacy_parameter)):
        yield {**setting, "mean_error": float(2**0.5 / (number * setting["epsilon"]))}


MEAN_ERROR = Column(
    name="mean_error",
    title="Mean ±",
    meaning="Standard error of the mean of {users} numbers.",
    holds=float,
    chart="Error of the mean",
)
PLANNING = Planning(
    title="A mean",
    question="what the mean is",
    settings=settings,
    columns=[MEAN_ERROR],
    guesses={"users": "{many}"},
    quantities={"mean": Quantity(lambda release, _percent: Found(release.value.value, "it is"))},
    options=lambda: [Option("users", "a public guess", "N", whole, required=True)],
)
KIND = replace(RANGES, name="mean", title="Mean", value_type=Mean, planning=PLANNING)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_names, "_REGISTERED", {})
    dh.register(KIND)


def made() -> dh.Plan:
    return dh.plan("mean", users=50, epsilon=["0.5", 1], criteria=["mean < 4", "epsilon <= 1"])


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    plan = made()
    plan.save(tmp_path / "plan.json")
    again = dh.Plan.load(tmp_path / "plan.json")
    assert again == plan
    assert again.to_pandas()["mean_error"].tolist() == plan.column("mean_error")
    kind_names._REGISTERED.clear()
    with pytest.raises(dh.ReleaseFileError, match="of a kind that is not registered"):
        dh.Plan.load(tmp_path / "plan.json")


def test_it_is_shown() -> None:
    plan = made()
    shown = text(document_of(plan))
    for said in ("A mean", "50 records", "Mean ±", "Standard error of the mean of 50 numbers."):
        assert said in shown
        assert said in text_of_html(page(document_of(plan)))
    assert "as a command" not in shown, "the kind declares none"
    assert table_csv(plan).splitlines()[0] == "epsilon,mean_error,guessed_right"
    assert "Error of the mean" in plan._repr_html_()


def test_a_release_is_checked() -> None:
    release = replace(dh.LeafCounts(epsilon=1, bins=4).release([9] * 4), value=Mean())
    assert [verdict.holds for verdict in dh.check(release, made())] == [True, True]
    with pytest.raises(dh.ParameterError, match="it is of mean"):
        dh.check(release, dh.plan("ranges", bins=4, total=9, epsilon=1))


def test_a_kind_without_settings_cannot_be_planned() -> None:
    kind_names._REGISTERED.clear()
    dh.register(replace(KIND, planning=None))
    with pytest.raises(dh.ParameterError, match="the kind mean declares no settings of a plan"):
        dh.plan("mean", users=50)
    with pytest.raises(dh.ParameterError, match="one of anonymized, ranges, labels, streams"):
        dh.plan("median")


def test_it_has_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "COMMAND", replace(command.COMMAND, actions=command._actions()))
    assert main(["plan", "mean", "--users", "50", "--epsilon", "1,2", "--json"]) == 0
    asked = dh.plan("mean", users=50, epsilon=["1", "2"])
    assert dh.Plan.from_json(capsys.readouterr().out) == asked
    assert main(["plan", "mean", "--epsilon", "1"]) == 2
    assert "--users" in capsys.readouterr().err
