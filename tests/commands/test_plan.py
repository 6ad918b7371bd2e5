"""`dphist plan` and `dphist check`."""

import json
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main


def test_a_plan_is_printed_written_and_loaded(tmp_path: Path, capsys) -> None:
    paths = {name: str(tmp_path / f"plan.{name}") for name in ("json", "csv", "html")}
    command = ["plan", "labels", "--epsilon", "0.5,1", "--max-labels", "1,10", "--delta", "1e-6"]
    command += ["--expect-users", "9000", "--unit", "one patient", "--criterion", "labels >= 5"]
    written = ["--output", paths["json"], "--table", paths["csv"], "--report", paths["html"]]
    assert main([*command, *written]) == 0
    printed = capsys.readouterr().out
    plan = dh.Plan.load(paths["json"])
    same = dh.plan(
        "labels",
        epsilon=["0.5", "1"],
        max_labels=[1, 10],
        delta=["1e-6"],
        users=9000,
        unit="one patient",
        criteria=["labels >= 5"],
    )
    assert plan.rows == same.rows
    assert plan.digest == same.digest
    assert "Planned for     9,000 patients, public numbers" in printed
    assert plan.digest in printed
    assert Path(paths["csv"]).read_text().count("\n") == 5
    assert "<svg" in Path(paths["html"]).read_text()
    assert main([*command, *written]) == 2, "outputs are not replaced"
    assert "--overwrite" in capsys.readouterr().err
    assert main([*command, "--json"]) == 0
    assert dh.Plan.from_json(capsys.readouterr().out).digest == plan.digest


def test_a_public_list_of_labels_is_planned_as_it_is_released(tmp_path: Path, capsys) -> None:
    genes = tmp_path / "genes.txt"
    genes.write_text("".join(f"gene{n}\n" for n in range(50)))
    shared = ["plan", "labels", "--epsilon", "1", "--max-labels", "50", "--delta", "1e-6"]
    assert main([*shared, "--known-labels", str(genes), "--correlated", "--json"]) == 0
    plan = dh.Plan.from_json(capsys.readouterr().out)
    (row,) = plan
    assert row["correlated"] is True
    assert main([*shared, "--known-labels-count", "50", "--correlated", "--json"]) == 0
    assert dh.Plan.from_json(capsys.readouterr().out).rows == plan.rows
    assert main([*shared, "--known-labels", str(genes), "--correlated"]) == 0
    printed = capsys.readouterr().out
    assert "50 labels in a public list" in printed
    assert "Labels that are not in the list are ignored" in printed
    # The release has the error that was planned.
    data = tmp_path / "rows.csv"
    data.write_text("who,gene\n" + "".join(f"p{n},gene{n % 50}\n" for n in range(99)))
    release = ["labels", str(data), "--user", "who", "--label", "gene", *shared[2:]]
    release += ["--known-labels", str(genes), "--correlated"]
    assert main([*release, "--output", str(tmp_path / "r.json"), "--quiet"]) == 0
    made = dh.Release.load(tmp_path / "r.json")
    assert made.mechanism.expected_error().half_width == row["half_width"]


@pytest.mark.parametrize("text", ["", "a\nb\na\n", "\n\n"])
def test_a_list_that_is_none_is_refused_by_its_name(text: str, tmp_path: Path, capsys) -> None:
    path = tmp_path / "genes.txt"
    path.write_text(text)
    assert main(["plan", "labels", "--epsilon", "1", "--known-labels", str(path)]) == 1
    assert f"{path} must list at least one label, and each once" in capsys.readouterr().err


def test_the_command_of_a_prefix_plan_gives_the_total(capsys) -> None:
    shared = ["--bins", "64", "--expect-total", "9000", "--workload", "prefix"]
    assert main(["plan", "ranges", *shared, "--epsilon", "0.1"]) == 0
    printed = capsys.readouterr().out
    assert "Total given" in printed
    assert "--expected-total 9000" in printed


@pytest.mark.verify
@pytest.mark.parametrize(
    "command",
    [
        ["ranges", "--bins", "8,8", "--expect-total", "900", "--epsilon", "1"],
        ["anonymized", "--expect-total", "900", "--epsilon", "1", "--expect-shape", "0.8"],
        ["streams", "--horizon", "90", "--epsilon", "1", "--max-events-per-user", "1,2"],
        ["stream", "--horizon", "90", "--epsilon", "1", "--max-events-per-user", "1,2"],
    ],
    ids=lambda command: command[0],
)
def test_the_other_kinds(command: list[str], capsys) -> None:
    assert main(["plan", *command, "--json"]) == 0
    plan = dh.Plan.from_json(capsys.readouterr().out)
    assert plan.kind == {"stream": "streams"}.get(command[0], command[0])
    assert len(plan) == (2 if plan.kind == "streams" else 1)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["labels", "--epsilon", "0"], "--epsilon must be greater than 0"),
        (["labels", "--max-labels", "1,x"], "must be a whole number"),
        (["ranges", "--bins", "8"], "--expect-total"),
        (["labels", "--criterion", "range error < 3"], "releases of labels have no range error"),
        (["labels", "--quiet"], "--quiet without --output"),
        (["labels", "--known-labels", "none.txt"], "none.txt does not exist"),
        (["labels", "--known-labels-count", "0"], "--known-labels-count must be at least 1"),
        (["labels", "--known-labels-count", "1000000000000"], "must be at most 10,000,000"),
        (["labels", "--correlated"], "--correlated needs --known-labels"),
        (["labels", "--sums-of", "3"], "--sums-of needs --known-labels"),
        (["labels", "--known-labels", "a", "--known-labels-count", "3"], "not allowed with"),
        (["labels", "--unit", "a\nb"], "--unit must be one line"),
        (["nothing"], "invalid choice"),
    ],
)
def test_wrong_commands(command: list[str], message: str, capsys) -> None:
    assert main(["plan", *command]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def release_file(tmp_path: Path) -> str:
    release = dh.LeafCounts(epsilon=1, bins=8).release([100] * 8)
    release.save(tmp_path / "release.json")
    return str(tmp_path / "release.json")


@pytest.mark.parametrize(
    ("criteria", "code", "says"),
    [
        (["range error < 100 %", "epsilon <= 1"], 0, "holds: epsilon <= 1"),
        (["range error < 0.01 %", "epsilon <= 1", "data: x"], 4, "does not hold: range error"),
        (["epsilon <= 1", "data: the clinic agrees"], 5, "open: data: the clinic agrees"),
    ],
)
def test_check_says_what_holds(
    criteria: list[str], code: int, says: str, release_file: str, tmp_path: Path, capsys
) -> None:
    path = str(tmp_path / "plan.json")
    dh.plan("ranges", bins=8, total=800, epsilon=1, criteria=criteria).save(path)
    assert main(["check", release_file, "--plan", path]) == code
    assert says in capsys.readouterr().out
    assert main(["check", release_file, "--plan", path, "--json"]) == code
    shown = json.loads(capsys.readouterr().out)
    assert [each["criterion"] for each in shown["criteria"]] == criteria
    assert main(["check", release_file, "--plan", path, "--quiet"]) == code
    assert capsys.readouterr().out == ""


def test_check_refuses_what_it_cannot_compare(release_file: str, tmp_path: Path, capsys) -> None:
    path = str(tmp_path / "plan.json")
    dh.plan("ranges", bins=8, total=800, epsilon=1).save(path)
    assert main(["check", release_file, "--plan", path]) == 2
    assert "holds no criteria" in capsys.readouterr().err
    for missing in (["none.json", "--plan", path], [release_file, "--plan", "none.json"]):
        assert main(["check", *missing]) == 2
        assert "none.json does not exist" in capsys.readouterr().err
    assert main(["check", release_file, "--plan", release_file]) == 1
    assert "is not a dphist plan" in capsys.readouterr().err
    dh.plan("labels", epsilon=1, criteria=["labels > 1"]).save(path)
    assert main(["check", release_file, "--plan", path]) == 2
    assert "dphist: RELEASE must be of labels" in capsys.readouterr().err
