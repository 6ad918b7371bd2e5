"""The commands over labels, and bounding users, as a user types them."""

import json
import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.commands.records import read_known_labels
from tests.support.command_line import run
from tests.support.refusal import SENTINEL

BUDGET = ("--epsilon", 1, "--delta", "1e-6")
USERS = ("--label", "word", "--user", "who", "--max-labels", 3)


@pytest.fixture
def records(tmp_path, repeatable) -> Path:
    """900 users with two common words each and one of their own; 100 with twice the same.

    In one release of a thousand, one of their own words is released.
    """
    rows = [f"{i},common\n{i},also\n{i},own{i}\n" for i in range(900)]
    rows += [f"u{i},common\n" * 2 for i in range(100)]
    path = tmp_path / "records.csv"
    path.write_text("who,word\n" + "".join(rows))
    return path


def test_summary_states_the_total_first(records, capsys) -> None:
    assert run("labels", records, *USERS, *BUDGET) == 0
    out = " ".join(capsys.readouterr().out.split())
    total = out.index("(1, 1e-6)-differential privacy in all, for one user")
    assert total < out.index("zero-concentrated")
    assert "at most 1 to each of at most 3 labels" in out
    assert "Rows without a user are refused." in out
    assert "common" in out
    assert "also" in out
    assert not re.search(r"\bown\d", out)
    assert "95 % interval" in out


def test_all_outputs(records, tmp_path, capsys) -> None:
    paths = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "html")}
    code = run(
        "labels", records, *USERS, *BUDGET,
        "--output", paths["json"], "--table", paths["csv"], "--report", paths["html"],
    )  # fmt: skip
    assert code == 0
    out = capsys.readouterr().out
    assert "(1, 1e-6)-differential privacy in all" in out
    assert all(str(path) in out for path in paths.values())
    release = dh.Release.load(paths["json"])
    assert release.budget == dh.ApproxDP(1, "1e-6", unit="user")
    nulls = {"null_users": "refuse", "null_labels": "refuse"}
    assert release.provenance == {
        "unit": dh.PrivacyUnit("user"),
        **nulls,
        "max_labels": "3",
        "max_count": "1",
    }
    assert release.mechanism.to_approx_dp("1e-6").epsilon <= 1
    assert release.value.labels == ["common", "also"]
    assert abs(int(release.value.counts[0]) - 1000) < 100  # not 1,100: each user counts once
    bounds = release.mechanism.intervals(release)
    columns = (release.value.labels, release.value.counts, bounds.lower, bounds.upper)
    rows = [f"{','.join(map(str, row))}\n" for row in zip(*columns, strict=True)]
    assert paths["csv"].read_text() == "label,count,low,high\n" + "".join(rows)
    assert "common" in paths["html"].read_text()


def test_show_knows_labels(records, tmp_path, capsys) -> None:
    saved, table, page = (tmp_path / name for name in ("r.json", "t.csv", "r.html"))
    assert run("labels", records, *USERS, *BUDGET, "--quiet", "--output", saved) == 0
    assert capsys.readouterr().out == ""
    assert run("show", saved, "--table", table, "--report", page) == 0
    assert "(1, 1e-6)-differential privacy in all, for one user" in capsys.readouterr().out
    assert table.read_text().startswith("label,count,low,high\ncommon,")
    assert page.exists()
    assert run("show", saved, "--json") == 0
    assert capsys.readouterr().out == saved.read_text()


def test_json_is_the_release_or_what_was_written(records, tmp_path, capsys) -> None:
    assert run("labels", records, *USERS, *BUDGET, "--json") == 0
    assert dh.Release.from_json(capsys.readouterr().out).budget == dh.ApproxDP(
        1, "1e-6", unit="user"
    )
    out = tmp_path / "r.json"
    assert run("labels", records, *USERS, *BUDGET, "--json", "--output", out) == 0
    assert json.loads(capsys.readouterr().out) == {
        "guarantee": {"name": "ApproxDP", "epsilon": "1", "delta": "0.000001", "unit": "one user"},
        "exchanged": {
            "name": "ApproxZCDP",
            "rho": "825702064623/1250000000000",
            "delta": "0.0000183880991166",
            "unit": "one user, exchanged for another",
        },
        "bounding": None,
        "labels": 2,
        "largest_error": dh.Release.load(out).mechanism.largest_error,
        "counts_of": "records, after each user was bounded to at most 3 labels and 1 record of "
        "each",
        "zcdp": str(dh.Release.load(out).guarantee),
        "warnings": [],
        "wrote": {"release": str(out)},
    }


@pytest.mark.parametrize("command", ["labels", "top"])
def test_dry_run_reads_no_data(command, capsys, tmp_path) -> None:
    """A named pipe would hang if anybody opened it."""
    pipe = tmp_path / "data.csv"
    os.mkfifo(pipe)
    dry = (*USERS, *BUDGET, "--dry-run")
    for file in (pipe, tmp_path / "no-such-file.csv"):
        assert run(command, file, *dry, "--expect-users", 10_000) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "Guarantee (1, 1e-6)-differential privacy in all, for one user" in out
        assert "of 50 %" in out
        assert "of 95 %" in out
        assert "of 10,000 users are" in out
        assert "Threshold A label is released if its count, with noise" in out
        assert "not opened" in out
        assert ("Counts and intervals are of" in out) == (command == "labels")  # ranks have none
    assert run(command, pipe, *dry, "--json", "--expect-users", 10_000) == 0
    shown = json.loads(capsys.readouterr().out)
    chances = shown["released_with_chance"]
    assert shown["threshold"] <= chances["0.5"] < chances["0.95"]
    assert shown["shares"]["0.5"] == chances["0.5"] / 10_000


def test_the_chances_are_those_of_the_mechanism(capsys) -> None:
    assert run("labels", "none", *USERS, *BUDGET, "--dry-run", "--json", "--noise", "laplace") == 0
    shown = json.loads(capsys.readouterr().out)
    made = dh.calibrate(dh.ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=3)
    assert shown["threshold"] == made.threshold
    for chance in (0.5, 0.95):
        count = shown["released_with_chance"][f"{chance:g}"]
        assert made.release_chance(count) >= chance > made.release_chance(count - 1)


@pytest.mark.quick("[1]", "[2]")
@pytest.mark.parametrize("max_labels", [1, 2, 30])
def test_the_best_noise_shows_labels_from_the_least_count_on(max_labels, capsys) -> None:
    """By public parameters alone: the file does not exist."""
    found, noises = {}, ("laplace", "truncated", "optimal", "gaussian")
    for noise in (*noises, "best"):
        bound = ("--label", "word", "--user", "who", "--max-labels", max_labels)
        assert run("labels", "none", *bound, *BUDGET, "--dry-run", "--json", "--noise", noise) == 0
        found[noise] = json.loads(capsys.readouterr().out)
        del found[noise]["other_max_labels"]  # whose noise may be another
    points = {noise: found[noise]["released_with_chance"]["0.95"] for noise in noises}
    assert found["best"] == found[found["best"]["noise"]]
    assert points[found["best"]["noise"]] == min(points.values())


def test_without_users_each_row_is_one(records, tmp_path) -> None:
    out = tmp_path / "r.json"
    assert (
        run(
            "labels",
            records,
            "--each-row-is-one-person",
            "--label",
            "word",
            *BUDGET,
            "--quiet",
            "--output",
            out,
        )
        == 0
    )
    release = dh.Release.load(out)
    assert release.provenance["unit"] == dh.PrivacyUnit("row")
    assert (release.mechanism.max_labels, release.mechanism.max_count) == (1, 1)
    assert abs(int(release.value.counts[0]) - 1100) < 50


def test_top_labels(records, tmp_path, capsys) -> None:
    out, table = tmp_path / "r.json", tmp_path / "t.csv"
    code = run(
        "top", records, "--label", "word", "--user", "who", *BUDGET, "-k", 5, "--candidates", 20,
        "--output", out, "--table", table, "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert code == 0
    release = dh.Release.load(out)
    assert set(release.value.labels) == {"common", "also", None}
    assert (release.mechanism.k, release.mechanism.candidates) == (5, 20)
    assert release.mechanism.to_approx_dp("1e-6").epsilon <= 1
    lines = table.read_text().split("\n")
    assert sorted(lines[1:3]) == ["also", "common"]
    assert (lines[0], lines[3:]) == ("label", ["", ""])  # the null label: an empty line
    capsys.readouterr()
    assert run("show", out) == 0
    shown = capsys.readouterr().out
    assert "2, in the release, known exactly, fewer than wanted" in shown


def test_only_labels(records, tmp_path, capsys) -> None:
    paths = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "html")}
    outputs = (
        "--output", paths["json"], "--table", paths["csv"], "--report", paths["html"],
    )  # fmt: skip
    assert run("labels", records, *USERS, *BUDGET, "--only-labels", *outputs) == 0
    assert "(1, 1e-6)-differential privacy in all" in capsys.readouterr().out
    assert paths["csv"].read_text() == "label\nalso\ncommon\n"
    release = dh.Release.load(paths["json"])
    assert isinstance(release.mechanism, dh.DiscoverLabels)
    assert release.mechanism.max_labels == 3
    assert release.budget == dh.ApproxDP(1, "1e-6", unit="user")
    nulls = {"null_users": "refuse", "null_labels": "refuse"}
    assert release.provenance == {
        "unit": dh.PrivacyUnit("user"),
        **nulls,
        "max_labels": "3",
        "max_count": "1",
    }
    page = paths["html"].read_text()
    assert "without counts" in page
    assert "Rank" not in page
    assert run("show", paths["json"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "2, in the release" in out
    assert "users who have one label each" in out
    assert "interval" not in out


def test_a_dry_run_of_only_labels(capsys) -> None:
    asked = ("labels", "nothing.csv", *USERS, *BUDGET, "--only-labels", "--dry-run")
    assert run(*asked) == 0
    out = capsys.readouterr().out
    assert "FILE was not opened." in out
    assert "--max-labels 6: threshold" in out
    assert run(*asked, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    made = dh.calibrate(dh.DiscoverLabels, epsilon=1, delta="1e-6", max_labels=3)
    assert shown["threshold"] == pytest.approx(float(made.threshold))
    assert "counts_of" not in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--noise", "laplace"), "--noise laplace"),
        (("--users-by-labels", 100), "--users-by-labels"),
        (("--max-count", 2), "--max-count"),
        (("--known-labels", "list.txt"), "--known-labels"),
    ],
)
def test_only_labels_have_no_counts(arguments, said, records, capsys) -> None:
    assert run("labels", records, *USERS, *BUDGET, "--only-labels", *arguments) == 2
    assert f"{said} does not go with --only-labels" in capsys.readouterr().err


@pytest.mark.parametrize("noise", ["best", "gaussian"])
def test_labels_that_are_not_listed_count_together(noise, records, tmp_path, capsys) -> None:
    listed, out = tmp_path / "known.txt", tmp_path / "r.json"
    listed.write_text("common\nnever\n")
    known = (*USERS, *BUDGET, "--known-labels", listed, "--other", "--noise", noise)
    assert run("labels", "none", *known, "--dry-run") == 0
    assert "counted together, as other" in " ".join(capsys.readouterr().out.split())
    assert run("labels", records, *known, "--quiet", "--output", out) == 0
    release = dh.Release.load(out)
    assert release.mechanism.other
    assert release.mechanism.labels == ("common", "never")
    assert set(release.value.labels) == {"common", "never", "other"}
    listed.write_text("common\nother\n")
    assert run("labels", "none", *known) == 2
    assert "--known-labels must not list 'other'" in capsys.readouterr().err


def test_known_labels_need_no_delta(records, tmp_path, capsys) -> None:
    listed, out = tmp_path / "known.txt", tmp_path / "r.json"
    listed.write_text("common\r\nnever\r\n")
    known = (*USERS, "--epsilon", 1, "--known-labels", listed)
    assert run("labels", records, *known, "--quiet", "--output", out) == 0
    release = dh.Release.load(out)
    assert release.budget == dh.PureDP(1, unit="user")
    assert release.mechanism.epsilon_guarantee.epsilon <= 1
    assert set(release.value.labels) == {"common", "never"}
    assert run("labels", "none", *known, "--dry-run") == 0
    text = capsys.readouterr().out
    assert "1-differential privacy (pure) in all" in text
    assert "all listed labels are released" in text


def test_known_labels_of_a_parquet_file_have_its_type(tmp_path) -> None:
    path = tmp_path / "known.parquet"
    pq.write_table(pa.table({"any": [3, 4]}), path)
    assert read_known_labels(str(path)) == [3, 4]
    pq.write_table(pa.table({"any": [3], "other": [4]}), path)
    with pytest.raises(dh.InputFileError, match="of one column"):
        read_known_labels(str(path))


def test_missing_users_and_labels_are_a_choice(tmp_path, capsys) -> None:
    path, out = tmp_path / "r.csv", tmp_path / "r.json"
    path.write_text(f"who,word\n,{SENTINEL}\n1,\n2,{SENTINEL}\n" * 300)
    for options in ([], ["--null-users", "drop"], ["--null-labels", "drop"]):
        assert run("labels", path, *USERS, *BUDGET, *options, "--output", out) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "column 'w" in captured.err
        assert SENTINEL not in captured.err
        assert not out.exists()
    both = ("--null-users", "separate", "--null-labels", "drop", "--output", out)
    assert run("labels", path, *USERS, *BUDGET, *both) == 0
    release = dh.Release.load(out)
    assert release.provenance == {
        "unit": dh.PrivacyUnit("user", or_rows=True),
        "null_users": "separate",
        "null_labels": "drop",
        "max_labels": "3",
        "max_count": "1",
    }
    assert abs(int(release.value.counts[0]) - 301) < 60
    capsys.readouterr()
    assert run("show", out) == 0
    assert "each count as a separate user" in " ".join(capsys.readouterr().out.split())


def test_empty_and_missing_labels_differ_in_the_table(tmp_path) -> None:
    path, table = tmp_path / "r.csv", tmp_path / "t.csv"
    path.write_text("word\n" + '""\n' * 2000 + '"a,""b"""\n' * 1000)
    top = (
        "--each-row-is-one-person",
        "--label",
        "word",
        "--epsilon",
        5,
        "--delta",
        "1e-6",
        "-k",
        5,
        "--table",
        table,
    )
    assert run("top", path, *top, "--quiet") == 0
    assert table.read_text() == 'label\n""\n"a,""b"""\n\n'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--label", "word"], "--epsilon"),
        (["--label", "word", "--epsilon", 1], "--delta"),
        (["--epsilon", 1, "--delta", "1e-6"], "--label"),
        (
            ["--each-row-is-one-person", "--label", "word", "--epsilon", 1, "--delta", 1],
            "delta must be",
        ),
        (
            ["--each-row-is-one-person", "--label", "word", "--epsilon", 1, "--delta", 1.5],
            "delta must be",
        ),
        (
            ["--each-row-is-one-person", "--label", "word", "--epsilon", 1, "--delta", 0],
            "delta must be greater than 0",
        ),
        (
            ["--each-row-is-one-person", "--label", "word", "--epsilon", 1, "--delta", "nan"],
            "delta must be",
        ),
        (
            ["--each-row-is-one-person", "--label", "word", "--epsilon", 0, "--delta", "1e-6"],
            "epsilon must be",
        ),
        (
            ["--each-row-is-one-person", "--label", "word", "--epsilon", "inf", "--delta", "1e-6"],
            "epsilon must be",
        ),
        (["--label", "word", "--user", "who", "--max-labels", 0, *BUDGET], "--max-labels must be"),
        ([*USERS, "--max-count", 0, *BUDGET], "--max-count must be"),
        ([*USERS, "--max-count", 1.5, *BUDGET], "whole number"),
        (["--label", "word", "--max-labels", 2, *BUDGET], "needs --user"),
        (["--label", "word", "--max-count", 2, *BUDGET], "needs --user or --count"),
        (["--label", "word", "--count", "who", *BUDGET], "needs --user or --max-count"),
        (["--label", "word", "--null-users", "drop", *BUDGET], "needs --user"),
        ([*USERS, "--null-users", "keep", *BUDGET], "--null-users"),
        (["--label", "word", "--user", "word", "--max-labels", 2, *BUDGET], "different columns"),
        ([*USERS, "--count", "word", *BUDGET], "column of its own"),
        (["--each-row-is-one-person", "--label", "wrod", *BUDGET], "wrod"),
        ([*USERS, *BUDGET, "--expect-users", 5], "--dry-run"),
        ([*USERS, *BUDGET, "--dry-run", "--expect-users", 0], "at least 1"),
        ([*USERS, *BUDGET, "--output", "no/such/folder/r.json"], "folder"),
        ([*USERS, *BUDGET, "--output", "x", "--table", "x"], "twice"),
        ([*USERS, *BUDGET, "--quiet"], "--quiet"),
    ],
)
@pytest.mark.parametrize("command", ["labels", "top"])
@pytest.mark.quick(every=3)
def test_bad_use_exits_2_with_a_reason(command, arguments, said, records, capsys) -> None:
    assert run(command, records, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dphist: ")
    assert said in captured.err
    assert sorted(path.name for path in records.parent.iterdir()) == ["records.csv"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["labels", "records.csv", "--label", "word", "--user", "who", *BUDGET, "--only-labels"],
            "--max-labels",
        ),
        (["labels", "records.csv", *USERS, *BUDGET, "--known-labels", "none.txt"], "none.txt"),
        (["labels", "records.csv", *USERS, *BUDGET, "--noise", "cauchy"], "--noise"),
        (["labels", "none.csv", *USERS, *BUDGET], "none.csv does not exist"),
        (["top", "none.csv", *USERS, *BUDGET], "none.csv does not exist"),
        (["top", "records.csv", *USERS, *BUDGET, "-k", 0], "k must be"),
        (["top", "records.csv", *USERS, *BUDGET, "-k", 11, "--candidates", 10], "candidates"),
        (
            ["labels", "records.csv", *USERS, *BUDGET, "--table", "records.csv"],
            "is an input; writing there would destroy it",
        ),
    ],
)
def test_bad_use_of_one_command(arguments, said, records, capsys, monkeypatch) -> None:
    monkeypatch.chdir(records.parent)
    before = records.read_text()
    assert run(*arguments) == 2
    assert said in capsys.readouterr().err
    assert records.read_text() == before
    assert sorted(path.name for path in records.parent.iterdir()) == ["records.csv"]


def test_gaussian_noise_with_known_labels_needs_a_delta(records, tmp_path, capsys) -> None:
    listed = tmp_path / "known.txt"
    listed.write_text("common\n")
    known = (*USERS, "--epsilon", 1, "--known-labels", listed, "--noise", "gaussian")
    assert run("labels", records, *known) == 2
    assert "delta" in capsys.readouterr().err
    assert run("labels", records, *known, "--delta", "1e-6") == 0


@pytest.mark.verify
@pytest.mark.parametrize(
    "labels",
    [[1.5, 918273645.0], [[SENTINEL]], [{"a": SENTINEL}]],
    ids=["float", "list", "struct"],
)
@pytest.mark.parametrize("command", ["labels", "top"])
def test_a_label_column_without_exact_equality_is_refused(
    command, labels, tmp_path, capsys
) -> None:
    path, out = tmp_path / "r.parquet", tmp_path / "r.json"
    pq.write_table(pa.table({"word": labels}), path)
    assert (
        run(command, path, "--each-row-is-one-person", "--label", "word", *BUDGET, "--output", out)
        == 2
    )
    err = capsys.readouterr().err
    assert "column 'word'" in err
    assert "cast it" in err
    assert SENTINEL not in err
    assert "918273645" not in err
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.csv", f"who,word\n1,{SENTINEL},x\n"),
        ("bad.parquet", f"who,word\n1,{SENTINEL}\n"),
        ("bad.csv.gz", f"who,word\n1,{SENTINEL}\n"),
    ],
)
def test_bad_data_exit_1_and_show_nothing(name, content, capsys, tmp_path) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert run("labels", path, *USERS, *BUDGET, "--output", tmp_path / "r.json") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert SENTINEL not in captured.err
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize("command", ["labels", "top"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.quick(every=4)
def test_an_engine_that_fails_mid_way_leaves_nothing(command, kind, tmp_path, capsys) -> None:
    """The last line, or a page in the middle, is broken: most rows are read by then."""
    path = tmp_path / f"r.{kind}"
    rows = 200_000
    if kind == "csv":
        sound = "".join(f"{i % 997},w{i % 50}\n" for i in range(rows))
        path.write_text(f"who,word\n{sound}1,{SENTINEL},x\n")
    else:
        words = [f"{SENTINEL}{i}" for i in range(rows)]
        table = pa.table({"who": list(range(rows)), "word": words})
        pq.write_table(table, path, row_group_size=20_000, use_dictionary=False)
        content = bytearray(path.read_bytes())
        middle = len(content) * 2 // 3
        content[middle : middle + 4096] = b"\xff" * 4096
        path.write_bytes(content)
    outputs = ["--output", tmp_path / "r.json", "--table", tmp_path / "t.csv"]
    assert run(command, path, *USERS, *BUDGET, *outputs, "--report", tmp_path / "r.html") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert path.name in captured.err
    assert SENTINEL not in captured.err
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt, 130), (MemoryError, 1), (RuntimeError, 1)]
)
def test_interruptions_leave_nothing(error, code, records, capsys, monkeypatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise error(SENTINEL)

    monkeypatch.setattr(dh.ThresholdHistogram, "release", stop)
    assert run("labels", records, *USERS, *BUDGET, "--output", records.parent / "r.json") == code
    assert SENTINEL not in capsys.readouterr().err
    assert [path.name for path in records.parent.iterdir()] == ["records.csv"]


def test_a_table_without_rows_is_released(tmp_path, capsys) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("who,word\n")
    table, page = tmp_path / "t.csv", tmp_path / "r.html"
    assert run("labels", path, *USERS, *BUDGET, "--table", table, "--report", page) == 0
    assert table.read_text() == "label,count,low,high\n"
    assert "No label was released: the table is empty." in capsys.readouterr().out
    assert "No label was released" in page.read_text()


@pytest.mark.verify
def test_anonymize_bounds_users(records, tmp_path, capsys) -> None:
    bounded = ("--label", "word", "--user", "who", "--max-records", 2, "--epsilon", 2)
    out, page = tmp_path / "r.json", tmp_path / "r.html"
    assert run("anonymize", records, *bounded, "--output", out, "--report", page) == 0
    release = dh.Release.load(out)
    assert release.mechanism.sensitivity == 2
    assert release.provenance == {"unit": dh.PrivacyUnit("user"), "max_records": "2"}
    capsys.readouterr()
    assert run("show", out) == 0
    assert "one user, who counts with up to 2 records" in " ".join(capsys.readouterr().out.split())
    assert "one user, who counts with up to 2 records" in page.read_text()
    assert run("anonymize", "none", *bounded, "--dry-run") == 0
    assert "one user, who counts with up to 2 records" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--label", "word", "--max-records", "auto"], "--user"),
        (["--label", "word", "--max-records", 2], "--user"),
        (["--user", "who", "--max-records", 2], "--label"),
        (["--label", "word", "--user", "who", "--max-records", 0], "--max-records must be"),
        (["--label", "word", "--user", "word", "--max-records", 2], "different columns"),
        (
            ["--label", "word", "--user", "who", "--max-records", 2, "--sensitivity", 2],
            "--sensitivity",
        ),
        (["--label", "word", "--user", "who", "--max-records", 2, "--count", "n"], "--count"),
    ],
)
def test_anonymize_refuses_half_a_bound(arguments, said, records, capsys) -> None:
    assert run("anonymize", records, "--epsilon", 1, *arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.verify
def test_correlated_noise_of_known_labels(records, tmp_path, capsys) -> None:
    listed, out = tmp_path / "known.txt", tmp_path / "r.json"
    listed.write_text("common\nalso\nrare\nnobody\nnothing\nnever\n")
    asked = ("--label", "word", "--user", "who", "--max-labels", 6, *BUDGET)
    shared = (*asked, "--known-labels", listed, "--correlated")
    assert run("labels", records, *shared, "--noise", "gaussian", "--output", out) == 0
    capsys.readouterr()
    assert run("show", out) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Sums A part of the noise is the same for all labels" in said
    release = dh.Release.load(out)
    assert release.mechanism.correlated
    assert release.budget == dh.ApproxDP(1, "1e-6", unit="user")
    assert len(release.value) == 6
    assert run("labels", "none", *shared, "--noise", "gaussian", "--dry-run", "--json") == 0
    shown = json.loads(capsys.readouterr().out)["noise_of_counts"]
    assert shown["variance"] == pytest.approx(float(release.mechanism.noise_scale) ** 2)
    assert 0 < shown["covariance"] < shown["variance"]
    assert run("labels", "none", *shared, "--noise", "gaussian", "--sums-of", 6, "--dry-run") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the sum of all 6 counts" in said
    assert run("labels", "none", *shared, "--dry-run") == 0  # the better of the two kinds of noise
    by_itself = " ".join(capsys.readouterr().out.split())
    best = dh.calibrate(
        dh.ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=6, correlated="auto",
        labels=["common", "also", "rare", "nobody", "nothing", "never"],
    )  # fmt: skip
    assert best.description in by_itself


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--correlated",), "--known-labels"),
        (("--correlated", "--known-labels", "k.txt", "--noise", "laplace"), "--noise laplace"),
        (("--known-labels", "k.txt", "--sums-of", 2), "--correlated"),
        (("--correlated", "--known-labels", "k.txt", "--sums-of", 3), "sums-of"),
    ],
)
def test_correlated_noise_where_there_is_none(
    options, named, records, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.txt").write_text("common\nalso\n")
    assert run("labels", records, *USERS, *BUDGET, *options) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("given", [(), ("--max-labels", "auto")])
def test_the_number_of_labels_is_found_where_none_is_given(
    given: tuple[str, ...], records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "found.json"
    asked = ("labels", records, "--label", "word", "--user", "who", *given, *BUDGET)
    assert run(*asked, "--output", saved) == 0
    mechanism = dh.calibrate(dh.AutoThreshold, epsilon=1, delta="1e-6", max_labels=1000)
    assert dh.Release.load(saved).mechanism == mechanism
    capsys.readouterr()
    assert run(*asked, "--dry-run", "--json") == 0
    by_cap = json.loads(capsys.readouterr().out)["by_cap"]
    assert by_cap["10"]["half_width"] == mechanism.at(10).half_width()
