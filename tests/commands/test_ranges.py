"""The command over ordered columns, as a user types it."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dphist as dh
from benchmarks import data
from tests.support.command_line import run

BINS = ("--column", "age", "--edges", "0,18,65,120")
AGES = (*BINS, "--each-row-is-one-person")
DAYS = ("--start", "2024-01-01", "--stop", "2024-03-01", "--width", "1d")


@pytest.fixture
def records(tmp_path) -> Path:
    """1,000 records: ages 0 to 99, days of January and February 2024, a few without one."""
    rows = [f"{i % 100},2024-0{1 + i % 2}-{1 + i % 28:02}\n" for i in range(990)]
    path = tmp_path / "records.csv"
    path.write_text("age,day\n" + "".join(rows) + ",2024-01-01\n" * 7 + "130,2024-01-01\n" * 3)
    return path


def test_spaces_around_commas_are_no_part_of_edges(records, capsys) -> None:
    for edges in ("0,18,65,120", " 0, 18 ,65,120 "):
        words = (
            "ranges",
            records,
            "--each-row-is-one-person",
            "--column",
            "age",
            "--edges",
            edges,
            "--epsilon",
            1,
        )
        assert run(*words, "--dry-run", "--json") == 0
    one, other = capsys.readouterr().out.splitlines()
    assert one == other


def test_the_summary_says_how_far_off_counts_are(records, capsys) -> None:
    assert run("ranges", records, *AGES, "--epsilon", 20) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "20-differential privacy (pure), for one record" in out
    assert "7 ± 1 (95 %), without a value of age" in out
    assert "3 ± 1 (95 %), 120 or above" in out
    assert "3, age from 0 to 120" in out
    assert "0 to 18 180 179 to 181" in out
    assert "50 % below" in out


def test_all_outputs(records, tmp_path, capsys) -> None:
    paths = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "html")}
    code = run(
        "ranges", records, *AGES, "--epsilon", 20,
        "--output", paths["json"], "--table", paths["csv"], "--report", paths["html"],
    )  # fmt: skip
    assert code == 0
    out = capsys.readouterr().out
    assert out.startswith("Released under 20-differential privacy (pure).\n")
    assert all(str(path) in out for path in paths.values())
    release = dh.Release.load(paths["json"])
    assert release.value.counts.tolist() == [180, 470, 340]
    assert release.value.outside == {"below": 0, "above": 3, "null": 7}
    lines = paths["csv"].read_text().splitlines()
    assert lines[0] == "start,stop,count,error,low,high"
    assert [line.rsplit(",", 3)[0] for line in lines[1:]] == [
        "0,18,180",
        "18,65,470",
        "65,120,340",
    ]
    assert "<h1><bdi>Records by " in paths["html"].read_text()


def test_days_and_the_same_again_from_the_saved_release(records, tmp_path, capsys) -> None:
    saved, table, page = (tmp_path / name for name in ("r.json", "t.csv", "r.html"))
    column = ("--each-row-is-one-person", "--column", "day", *DAYS)
    assert run("ranges", records, *column, "--rho", 100, "--quiet", "--output", saved) == 0
    assert capsys.readouterr().out == ""
    assert run("show", saved, "--table", table, "--report", page) == 0
    assert "100-zero-concentrated differential privacy" in capsys.readouterr().out
    lines = table.read_text().splitlines()
    assert len(lines) == 61
    assert lines[1].startswith("2024-01-01,2024-01-02,")
    assert page.exists()
    assert run("show", saved, "--json") == 0
    assert capsys.readouterr().out == saved.read_text()


def test_several_columns_in_order(records, tmp_path) -> None:
    saved, table = tmp_path / "r.json", tmp_path / "t.csv"
    two = ("--each-row-is-one-person", "--column", "age", "--column", "day", "--edges", "0,50,120")
    code = run(
        "ranges", records, *two, "--edges", "2024-01-01,2024-02-01,2024-03-01",
        "--epsilon", 30, "--output", saved, "--table", table,
    )  # fmt: skip
    assert code == 0
    value = dh.Release.load(saved).value
    assert [axis.name for axis in value.axes] == ["age", "day"]
    assert value.counts.sum() == 990
    assert value.counts[0].sum() == 500
    assert value.outside == {"outside": 3, "null": 7}
    header = table.read_text().splitlines()[0]
    assert header == "start_age,stop_age,start_day,stop_day,count,error,low,high"
    regular = ("--start", 0, "--start", "2024-01-01", "--stop", 100, "--stop", "2024-03-01")
    widths = ("--width", 10, "--width", "30d")
    saved = tmp_path / "regular.json"
    code = run("ranges", records, *two[:5], *regular, *widths, "--epsilon", 1, "--output", saved)
    assert code == 0
    assert dh.Release.load(saved).value.counts.shape == (10, 2)


@pytest.mark.quick(every=3)
@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (("--edges", "-5,0,5"), "i"),
        (("--edges", "-inf,0,inf"), "f"),
        (("--edges=-inf,0.5,inf",), "f"),
        (("--edges", "0, 1e3"), "f"),
        (("--start", "-5", "--stop", "100", "--width", "5"), "i"),
        (("--start", "-0.5", "--stop", "1", "--width", "0.1"), "f"),
    ],
)
def test_numbers_as_they_are_typed(given, kind, records, tmp_path) -> None:
    saved = tmp_path / "r.json"
    assert (
        run(
            "ranges",
            records,
            "--each-row-is-one-person",
            "--column",
            "age",
            *given,
            "--epsilon",
            1,
            "--output",
            saved,
        )
        == 0
    )
    assert dh.Release.load(saved).value.edges[0].dtype.kind == kind


@pytest.mark.quick(every=3)
@pytest.mark.parametrize(
    ("options", "mechanism"),
    [
        ((), dh.AdaptiveTree(epsilon="1/3", bins=3)),
        (("--workload", "prefix"), dh.AdaptiveTree(epsilon="1/3", bins=3, workload="prefix")),
        (("--mechanism", "adaptive"), dh.AdaptiveTree(epsilon="1/3", bins=3)),
        (
            ("--expected-total", 500),
            dh.AdaptiveTree(epsilon="1/3", bins=3, expected_total=500),
        ),
        (("--mechanism", "tree"), dh.HierarchicalTree(epsilon="1/3", bins=3)),
        (
            ("--mechanism", "leaves", "--sensitivity", 4),
            dh.LeafCounts(epsilon="1/3", bins=3, sensitivity=4),
        ),
    ],
)
def test_the_mechanism_is_what_was_asked_for(options, mechanism, records, tmp_path) -> None:
    saved = tmp_path / "r.json"
    assert run("ranges", records, *AGES, "--epsilon", "1/3", *options, "--output", saved) == 0
    assert dh.Release.load(saved).mechanism == mechanism


def test_dry_run_reads_no_data(capsys, tmp_path) -> None:
    """A named pipe would hang if anybody opened it."""
    pipe = tmp_path / "data.csv"
    os.mkfifo(pipe)
    for file in (pipe, tmp_path / "no-such-file.csv"):
        code = run(
            "ranges", file, *AGES, "--epsilon", "0.1", "--dry-run", "--expect-total", 10**6,
        )  # fmt: skip
        assert code == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "0.1-differential privacy" in out
        assert "Adaptive tree" in out
        assert "Bins 3 " in out
        assert re.search(r"a range is about \d+ records off if there are 1,000,000 records", out)
        assert "not opened" in out
    tuned = ("--epsilon", "0.1", "--expected-total", 400)
    assert run("ranges", pipe, *AGES, *tuned, "--dry-run", "--json") == 0
    assert list(json.loads(capsys.readouterr().out)["expected_error"]) == ["400"]
    assert run("ranges", pipe, *AGES, "--rho", "0.1", "--dry-run", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["guarantee"] == {
        "name": "ZCDP",
        "rho": "0.1",
        "sensitivity": 1,
        "unit": "one record",
    }
    assert printed["bins"] == [3]
    assert list(printed["expected_error"]) == ["10000", "1000000", "100000000"]


def test_json_is_the_release_or_what_was_written(records, tmp_path, capsys) -> None:
    assert run("ranges", records, *AGES, "--epsilon", 1, "--json") == 0
    assert dh.Release.from_json(capsys.readouterr().out).guarantee == dh.PureDP(1)
    out = tmp_path / "r.json"
    assert run("ranges", records, *AGES, "--epsilon", 30, "--json", "--output", out) == 0
    assert json.loads(capsys.readouterr().out) == {
        "guarantee": {
            "name": "PureDP",
            "epsilon": "30",
            "sensitivity": 1,
            "unit": "one record",
        },
        "exchanged": {
            "name": "PureDP",
            "epsilon": "60",
            "unit": "one record, exchanged for another",
        },
        "total": 990,
        "intervals": {"total": [989, 991]},
        "bins": [3],
        "counts_of": "records",
        "warnings": [],
        "wrote": {"release": str(out)},
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--each-row-is-one-person", "--column", "age", "--epsilon", 1],
            "without looking at the data: give --edges 0,18",
        ),
        (
            ["--each-row-is-one-person", "--column", "age", "--epsilon", 1, "--start", 1],
            "--stop and --width are needed too",
        ),
        (
            ["--each-row-is-one-person", "--column", "age", "--epsilon", 1, "--edges", 5],
            "at least two",
        ),
        (
            ["--each-row-is-one-person", "--column", "age", "--epsilon", 1, "--edges", "auto"],
            "edges must be",
        ),
        (
            ["--each-row-is-one-person", "--column", "age", "--epsilon", 1, "--edges", "5,4"],
            "increasing",
        ),
        (
            ["--each-row-is-one-person", "--column", "age", "--epsilon", 1, "--edges", "0,nan"],
            "missing values",
        ),
        (
            ["--each-row-is-one-person", "--column", "age", "--epsilon", 1, "--edges", "0,1e400"],
            "edges must be",
        ),
        (
            ["--each-row-is-one-person", "--column", "age", "--epsilon", 1, "--edges", "0,"],
            "edges must be",
        ),
        (
            [
                "--each-row-is-one-person",
                "--column",
                "age",
                "--epsilon",
                1,
                "--edges",
                "0,2024-01-01",
            ],
            "edges must be",
        ),
        ([*AGES, "--epsilon", 1, "--width", 5], "--edges must be given alone"),
        ([*AGES, "--epsilon", 1, "--edges", "1,2"], "--edges must be given once for each"),
        (
            [*AGES, "--column", "day", "--epsilon", 1],
            "--edges must be given once for each",
        ),
        ([*AGES, *BINS, "--epsilon", 1], "--column must name each column once"),
        (
            [
                "--each-row-is-one-person",
                "--column",
                "age",
                "--epsilon",
                1,
                *DAYS[:4],
                "--width",
                "7d",
            ],
            "whole number of widths",
        ),
        (["--edges", "0,1", "--epsilon", 1], "--column"),
        ([*AGES], "--epsilon --rho"),
        ([*AGES, "--epsilon", 1, "--rho", 1], "--rho"),
        ([*AGES, "--epsilon", 0], "epsilon"),
        ([*AGES, "--epsilon=-1"], "epsilon"),
        ([*AGES, "--rho", "nan"], "rho"),
        ([*AGES, "--rho", "1e-300"], "rho"),
        ([*AGES, "--epsilon", 1, "--sensitivity", 0], "sensitivity"),
        ([*AGES, "--epsilon", 1, "--max-records", "auto", "--count", "n"], "--user"),
        ([*AGES, "--epsilon", 1, "--max-records", 2], "--user"),
        ([*BINS, "--epsilon", 1, "--user", "day", "--max-records", 0], "--max-records"),
        (
            [*BINS, "--epsilon", 1, "--user", "day", "--max-records", 2, "--sensitivity", 2],
            "--sensitivity",
        ),
        ([*BINS, "--epsilon", 1, "--user", "who", "--max-records", 2], "who"),
        ([*AGES, "--epsilon", 1, "--sensitivity", "1.5"], "whole number"),
        ([*AGES, "--epsilon", 1, "--mechanism", "best"], "--mechanism"),
        ([*AGES, "--epsilon", 1, "--mechanism", "tree", "--workload", "prefix"], "--workload"),
        ([*AGES, "--epsilon", 1, "--expect-total", 5], "--expected-total divides the budget"),
        ([*AGES, "--epsilon", 1, "--expected-total", -5], "--expected-total must be at least 0"),
        (
            [*AGES, "--epsilon", 1, "--mechanism", "tree", "--expected-total", 5],
            "--expected-total is for --mechanism auto",
        ),
        ([*AGES, "--epsilon", 1, "--dry-run", "--expect-total", -5], "total"),
        ([*AGES, "--epsilon", 1, "--quiet"], "--quiet"),
        ([*AGES, "--epsilon", 1, "--eps", 1], "--eps"),
        (
            ["--each-row-is-one-person", "--column", "aeg", "--edges", "0,1", "--epsilon", 1],
            "2 fields, separated by commas",
        ),
        ([*AGES, "--epsilon", 1, "--output", "no/such/folder/r.json"], "folder"),
    ],
)
@pytest.mark.quick(every=2)
def test_bad_use_exits_2_with_a_reason(arguments, said, records, capsys) -> None:
    assert run("ranges", records, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dphist: ")
    assert said in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("edges", ["0,1", "2024-01-01,2024-02-01"])
def test_edges_that_do_not_suit_the_column_exit_as_its_type_tells(
    edges, records, tmp_path, capsys
) -> None:
    """By the schema, bad use; in a text file, which has none, by a field."""
    column = {"0,1": "day", "2024-01-01,2024-02-01": "age"}[edges]
    asked = ("--each-row-is-one-person", "--column", column, "--edges", edges, "--epsilon", 1)
    typed = tmp_path / "typed.parquet"
    pq.write_table(pa.csv.read_csv(records), typed)
    for file, code in ((records, 1), (typed, 2)):
        assert run("ranges", file, *asked) == code
        assert f"'{column}'" in capsys.readouterr().err


def test_too_many_bins_are_refused_before_anything_is_made(records, capsys) -> None:
    wide = (
        "--each-row-is-one-person",
        "--column",
        "age",
        "--start",
        0,
        "--stop",
        10**12,
        "--width",
        1,
    )
    assert run("ranges", records, *wide, "--epsilon", 1) == 2
    assert "at most" in capsys.readouterr().err


def test_writing_over_the_input_is_called_that(records, capsys) -> None:
    assert run("ranges", records, *AGES, "--epsilon", 1, "--table", records) == 2
    assert "is an input; writing there would destroy it" in capsys.readouterr().err


def test_a_file_without_rows_is_released(tmp_path) -> None:
    path, table = tmp_path / "none.parquet", tmp_path / "t.csv"
    pq.write_table(pa.table({"age": pa.array([], pa.int64())}), path)
    assert run("ranges", path, *AGES, "--epsilon", 1, "--quiet", "--table", table) == 0
    assert len(table.read_text().splitlines()) == 4


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (MemoryError, 1)])
def test_interruptions_leave_nothing(error, code, records, capsys, monkeypatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(dh.AdaptiveTree, "release", stop)
    out = records.with_name("r.json")
    assert run("ranges", records, *AGES, "--epsilon", 1, "--output", out) == code
    assert "nothing was written" in capsys.readouterr().err
    assert [path.name for path in records.parent.iterdir()] == [records.name]


@pytest.mark.quick("streams/")
@pytest.mark.parametrize(
    ("file", "column", "start", "stop", "records"),
    [
        ("streams/nycflights13.parquet", "ts_hour", 376_944, 385_728, 336_776),
        ("streams/seattle_pets.parquet", "day", 12_000, 18_000, 52_519),
        ("labelled/online_retail.parquet", "ts", 1_288_569_600, 1_325_376_000, 541_909),
    ],
)
def test_real_data(file, column, start, stop, records, tmp_path, capsys) -> None:
    folder, name = file.split("/")
    place = data.folder(folder)
    if place is None or not (place / name).exists():
        pytest.skip(f"needs {file} in the folder DPHIST_DATA")
    saved, page = tmp_path / "r.json", tmp_path / "r.html"
    width = (stop - start) // 6000 if (stop - start) % 6000 == 0 else 24
    code = run(
        "ranges", place / name, "--each-row-is-one-person", "--column", column,
        "--start", start, "--stop", stop,
        "--width", width, "--epsilon", "0.1", "--output", saved, "--report", page,
    )  # fmt: skip
    assert code == 0
    release = dh.Release.load(saved)
    value = release.value
    binned = dh.bin_counts(place / name, column=column, start=start, stop=stop, width=width)
    truth = binned.counts
    assert truth.sum() == records
    asked = np.sort(np.random.default_rng(1).integers(0, len(truth) + 1, (2, 500)), axis=0)
    sums = np.append(0, np.cumsum(truth))
    off = np.abs(value.count_bins(*asked) - (sums[asked[1]] - sums[asked[0]]))
    # Known errors are those of the release: twice as far off on average is out of the question.
    assert np.mean(off) < 2 * np.mean(value.error_bins(*asked))
    assert f">{release.total:,}</span>" in page.read_text()


def test_users_are_cut_to_their_records_and_protected_with_all_of_them(
    tmp_path, records, capsys
) -> None:
    path = tmp_path / "r.json"
    users = ("--user", "day", "--max-records", 2)
    assert run("ranges", records, *BINS, "--epsilon", 2000, *users, "--output", path) == 0
    release = dh.Release.load(path)
    days = len({line.split(",")[1] for line in records.read_text().splitlines()[1:]})
    inside = release.value.counts.sum() + sum(release.value.outside.values())
    assert inside <= 2 * days
    assert release.mechanism.sensitivity == 2
    assert release.provenance == {"unit": dh.PrivacyUnit("user"), "max_records": "2"}
    assert run("show", path) == 0
    assert "for one user" in " ".join(capsys.readouterr().out.split())
    assert run("ranges", "nowhere.csv", *BINS, "--epsilon", 1, *users, "--dry-run") == 0
    assert "for one user, who counts with up to 2 records" in " ".join(
        capsys.readouterr().out.split()
    )


COUNTED = "age,n,who\n3,200,a\n17,100,a\n18,5,b\n70,2,b\n"


@pytest.mark.parametrize(
    ("options", "bins", "unit"),
    [
        ((), [300, 5], "for one record"),
        (("--max-records", 60), [120, 5], "for one row, which counts with up to 60 records"),
        (
            ("--user", "who", "--max-records", 150, "--unit", "one patient"),
            [150, 5],
            "for one patient, who counts with up to 150 records",
        ),
    ],
)
@pytest.mark.quick(every=3)
def test_a_table_that_is_counted_already(options, bins, unit, tmp_path, capsys) -> None:
    path, saved, page = (tmp_path / name for name in ("t.csv", "r.json", "r.html"))
    path.write_text(COUNTED)
    counted = ("ranges", path, "--column", "age", "--edges", "0,18,65", "--count", "n", *options)
    budget = ("--epsilon", 20_000, "--mechanism", "leaves")
    assert run(*counted, *budget, "--output", saved, "--report", page) == 0
    assert dh.Release.load(saved).value.counts.tolist() == bins
    capsys.readouterr()
    assert run("show", saved) == 0
    assert unit in " ".join(capsys.readouterr().out.split())
    assert run(*counted, *budget, "--dry-run") == 0
    assert unit in " ".join(capsys.readouterr().out.split())


def test_records_of_rows_are_bounded_where_rows_have_counts(records, capsys) -> None:
    assert run("ranges", records, *AGES, "--epsilon", 1, "--max-records", 3) == 2
    assert "--max-records needs --user or --count" in capsys.readouterr().err
    counted = ("ranges", records, *AGES, "--epsilon", 1, "--count", "day")
    assert run(*counted, "--max-records", 3, "--sensitivity", 3) == 2
    assert "--sensitivity" in capsys.readouterr().err
    assert run(*counted) == 1
    assert "'day' must hold whole numbers" in capsys.readouterr().err


# --- Time zones


@pytest.fixture
def taps(tmp_path: Path) -> Path:
    """A tap every hour around the change to summer time, with the offsets of two places."""
    first = np.datetime64("2024-03-28T00:00")
    taps = [first + np.timedelta64(hour, "h") for hour in range(200)]
    offsets = [f"{tap}Z" if place % 2 else f"{tap + 120}+02:00" for place, tap in enumerate(taps)]
    path = tmp_path / "taps.csv"
    path.write_text("tap,n\n" + "".join(f"{text},1\n" for text in offsets))
    return path


SPRING = (
    "--each-row-is-one-person",
    "--column",
    "tap",
    "--start",
    "2024-03-30",
    "--stop",
    "2024-04-02",
    "--width",
    "1d",
)


def test_days_of_a_time_zone(taps: Path, tmp_path: Path, capsys) -> None:
    paths = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "html")}
    zone = ("--tz", "Europe/Zurich", "--epsilon", 10_000, "--mechanism", "leaves")
    written = ("--output", paths["json"], "--table", paths["csv"], "--report", paths["html"])
    assert run("ranges", taps, *SPRING, *zone, *written) == 0
    rows = paths["csv"].read_text().splitlines()
    assert rows[2].startswith("2024-03-31T00:00:00+01:00,2024-04-01T00:00:00+02:00,23,")
    assert [row.split(",")[2] for row in rows[1:]] == ["24", "23", "24"]
    assert json.loads(paths["json"].read_text())["value"]["axes"][0]["zone"] == "Europe/Zurich"
    assert "Europe/Zurich" in paths["html"].read_text()
    capsys.readouterr()
    assert run("show", paths["json"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "tap from 2024-03-30 to 2024-04-02 Time zone Europe/Zurich" in out
    assert "2024-03-31 to 2024-04-01 23" in out
    two = ("--column", "n", "--start", 0, "--stop", 2, "--width", 1)
    assert run("ranges", taps, *SPRING, *two, "--tz", "UTC", "--tz", "none", "--epsilon", 1) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give --tz, the time zone of the edges"),
        (("--tz", "Europe/Zürich"), "--tz must be the name of a time zone"),
        (("--tz", "UTC", "--tz", "UTC"), "--tz must be given once, or once for each --column"),
    ],
)
def test_time_zones_that_are_refused(taps: Path, capsys, options, said) -> None:
    assert run("ranges", taps, *SPRING, *options, "--epsilon", 1) != 0
    assert said in " ".join(capsys.readouterr().err.split())
