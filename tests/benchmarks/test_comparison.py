"""The comparison measures each cell once, whatever interrupts it, and ranks rightly."""

import csv
import json
import math
import signal
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from benchmarks.comparison import cells, tables
from benchmarks.comparison.journal import Journal
from benchmarks.comparison.ranking import rows_of, summaries
from benchmarks.repeating import TooSlowError, measure

from benchmarks import anonymized
from dphist import Profile, RankSplit, SortedCounts
from dphist.anonymized.comparing import CONTENDERS
from dphist.data.open_data import open_profile
from dphist.document.compared import NOTHING, Contender
from dphist.lab.comparing.compare import open_case
from dphist.lab.comparing.measuring import Effort, Measured, guarantee_text

ROOT = Path(__file__).parents[2]
EFFORT = Effort()
SOME = Measured(runs=5, error=12.5, standard_error=0.5, seconds=1e-3)


@pytest.fixture
def profiles(tmp_path, monkeypatch) -> Path:
    """A folder with one profile, which the benchmarks take for the only data there is."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "stairs.csv").write_text("count,prevalence\n1,30\n2,10\n7,3\n40,1\n")
    monkeypatch.setenv("DPHIST_PROFILES", str(folder))
    return folder


def dataset(name: str, counts: list[int]) -> cells.Dataset:
    profile = Profile.from_counts(counts)
    return cells.Dataset(name, profile, cells.digest(profile))


# Measuring


def runs_of(errors):
    return lambda: ((next(errors),), 0.25)


def test_measuring_stops_when_the_mean_is_known() -> None:
    found = measure(runs_of(cycle([90, 110])), Effort(target=0.05, fewest=2, most=1000))
    assert found.error == pytest.approx(100, rel=0.05)
    assert found.standard_error <= 5 < 3 * found.standard_error
    assert found.seconds == 0.25


def test_measuring_makes_the_fewest_runs_even_if_they_agree() -> None:
    assert measure(runs_of(cycle([100])), Effort(fewest=7)).runs == 7


def test_measuring_stops_at_the_most_runs() -> None:
    assert measure(runs_of(cycle([0, 100])), Effort(target=0.001, most=30)).runs == 30


def test_measuring_does_not_take_an_error_never_seen_for_known() -> None:
    assert measure(runs_of(cycle([0])), Effort(most=30)).runs == 30


@pytest.mark.parametrize(("seconds", "runs"), [(1 / 128, 2), (3 / 64, 3), (101 / 64, 101)])
def test_measuring_stops_when_the_time_is_up_but_not_before_two_runs(
    seconds, runs, monkeypatch
) -> None:
    """With a clock that only runs, of 1/64 s each, move on."""
    now = [5.0]

    class Clock:
        @staticmethod
        def perf_counter() -> float:
            return now[0]

    def slow() -> tuple[tuple[float], float]:
        now[0] += 1 / 64
        return (int(now[0] * 64) % 2,), 1 / 64

    monkeypatch.setattr("dphist.lab.comparing.measuring.time", Clock)
    monkeypatch.setattr("benchmarks.repeating.time", Clock)
    # The timer that cuts runs is not of this clock.
    monkeypatch.setattr("dphist.lab.comparing.measuring.within", lambda seconds, call: call())
    effort = Effort(target=0, most=10**9, seconds=seconds)
    assert measure(slow, effort, math.inf).runs == runs
    if seconds > 2 / 64:
        assert measure(slow, effort).runs == runs
        return
    with pytest.raises(TooSlowError, match="1 of 2 runs ended in"):
        measure(slow, effort)


def test_standard_error_is_that_of_the_mean() -> None:
    found = measure(runs_of(cycle([1, 2, 3, 4])), Effort(target=0, most=4))
    assert found.standard_error == pytest.approx((5 / 3) ** 0.5 / 2)


def test_a_run_measures_the_released_profile() -> None:
    _, case = open_case(Profile.from_counts([5, 3, 1]))
    assert case.run(SortedCounts(epsilon=60, labels=3))()[0] == (0,)
    assert case.run(SortedCounts(epsilon=60, labels=2))()[0] == (1,)


# Contenders and cells


@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda c: c.name)
@pytest.mark.parametrize("counts", [[], [1], [9, 9, 4, 1, 1, 1]], ids=len)
def test_every_contender_releases(contender, counts) -> None:
    profile = Profile.from_counts(counts)
    mechanism = contender.make(Fraction(1), open_profile(profile))
    assert mechanism.guarantee == mechanism.release(profile).guarantee
    assert guarantee_text(mechanism.guarantee) in ("pure", "approximate, δ = 1e-09")


def test_contenders_are_drawn_apart() -> None:
    assert len({c.name for c in CONTENDERS}) == len(CONTENDERS)
    assert len({(c.color, c.dashed) for c in CONTENDERS}) == len(CONTENDERS)


def keys(counts=(3, 1), epsilon="1", total=None, effort=EFFORT) -> str:
    contender = Contender("split", NOTHING, lambda e, p: RankSplit(epsilon=e, total=total), "")
    (cell,) = cells.plan([dataset("a", list(counts))], [Fraction(epsilon)], [contender], effort)
    return cell.key


def test_a_key_names_all_a_result_depends_on(monkeypatch) -> None:
    usual = keys()
    assert usual == keys()
    assert usual == keys(epsilon="1.0")
    changed = {
        keys(counts=(3, 2)),
        keys(epsilon="0.9999999999999999999999"),
        keys(total=5),
        keys(effort=Effort(target=0.04)),
        keys(effort=Effort(seconds=1)),
    }
    monkeypatch.setattr(cells, "__version__", "next")
    changed.add(keys())
    assert usual not in changed
    assert len(changed) == 6


def test_digest_is_of_the_content_and_not_of_the_file(tmp_path) -> None:
    for name, text in {
        "a.csv": "count,prevalence\n1,2\n5,1\n",
        "b.csv": "count,prevalence\n5,1\n1,2\n",
        "c.csv": "count,prevalence\n1,2\n5,2\n",
    }.items():
        (tmp_path / name).write_text(text)
    read = {d.name: d.digest for d in cells.read_datasets(tmp_path.iterdir())}
    assert read["a"] == read["b"] != read["c"]


def test_files_of_one_name_are_told_apart_and_one_file_is_read_once(tmp_path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.csv").write_text("count,prevalence\n1,2\n")
    paths = [tmp_path / folder / "same.csv" for folder in ("x", "y", "x")]
    assert [d.name for d in cells.read_datasets(paths)] == ["x/same", "y/same"]


# The journal


def test_journal_keeps_what_was_measured(tmp_path) -> None:
    Journal(tmp_path / "new" / "cells.jsonl").add("key", "what", SOME)
    again = Journal(tmp_path / "new" / "cells.jsonl")
    assert again.get("key") == SOME
    assert again.get("other") is None


@pytest.mark.parametrize("kept", range(0, 100, 7))
def test_a_torn_last_line_is_measured_again(tmp_path, kept) -> None:
    path = tmp_path / "cells.jsonl"
    journal = Journal(path)
    journal.add("first ε", "what", SOME)
    whole = path.read_bytes()
    journal.add("second ε", "what", SOME)
    path.write_bytes(path.read_bytes()[: len(whole) + kept])
    again = Journal(path)
    assert again.get("first ε") == SOME
    assert again.get("second ε") is None
    again.add("third", "what", SOME)
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == [
        "first ε",
        "third",
    ]


def test_lines_that_cannot_be_read_are_passed_over(tmp_path) -> None:
    path = tmp_path / "cells.jsonl"
    Journal(path).add("key", "what", SOME)
    path.write_bytes(b'\xff\x00\n{"key": "other"}\n[]\n' + path.read_bytes())
    assert Journal(path).get("key") == SOME


# Ranks and tables


def contender(name: str, told: str = NOTHING, delta: bool = False) -> Contender:
    """A mechanism that is never run."""
    sampler = CONTENDERS[-1].make(Fraction(1), open_profile(NONE))
    guarantee = sampler if delta else RankSplit(epsilon=1)
    return Contender(name, told, lambda e, p: guarantee, "")


NONE = Profile.from_counts([])
FOUR = [contender("worst"), contender("told", "n"), contender("best"), contender("δ", delta=True)]


def ranked(tmp_path, errors: dict[str, list[float]]) -> list:
    """Rows of made-up errors: by profile, those of FOUR."""
    datasets = [dataset(name, [10 + place]) for place, name in enumerate(errors)]
    planned = cells.plan(datasets, [Fraction(1)], FOUR, EFFORT)
    journal = Journal(tmp_path / "cells.jsonl")
    for cell, error in zip(planned, [e for some in errors.values() for e in some], strict=True):
        if error >= 0:
            journal.add(cell.key, "", Measured(10, error, 1, 1))
    return rows_of(planned, journal)


def test_ranks_among_all_and_among_those_anyone_could_use(tmp_path) -> None:
    rows = ranked(tmp_path, {"a": [8, 2, 4, 1]})
    assert [row.rank for row in rows] == [4, 2, 3, 1]
    assert [row.fair_rank for row in rows] == [2, None, 1, None]
    assert [row.relative for row in rows] == [2, 0.5, 1, 0.25]


def test_equal_errors_share_a_rank(tmp_path) -> None:
    assert [row.rank for row in ranked(tmp_path, {"a": [3, 3, 1, 5]})] == [2, 2, 1, 4]


def test_an_error_never_seen_counts_as_half_of_one_in_all_runs(tmp_path) -> None:
    rows = ranked(tmp_path, {"a": [1, 0, 0, 0.1]})
    assert [row.relative for row in rows] == pytest.approx([20, 1, 1, 2])


def test_summary_is_a_geometric_mean_and_a_mean_rank(tmp_path) -> None:
    rows = ranked(tmp_path, {"a": [8, 4, 4, 9], "b": [2, -1, 4, 9]})
    worst, told, *_ = summaries(rows)
    assert (worst.relative, worst.rank, worst.profiles) == (pytest.approx(2**0.5), 2, 2)
    assert (told.relative, told.rank, told.profiles) == (1, 1, 1)
    assert "1.41 (2.0)" in tables.summary_table(rows)
    assert "1.00 (1.0, 1 profiles)" in tables.summary_table(rows)


def test_table_states_the_standard_errors_reached(tmp_path) -> None:
    rows = ranked(tmp_path, {"a": [8, 4, 0, 100]})  # standard errors are 1
    text = " ".join(tables.markdown_text(rows, 4, EFFORT).split())
    assert "5.0% of the mean, 10 to 400 of them; after 20 seconds two were enough" in text
    assert "2 of 4 cells above the target, the worst at 25.0%" in text


def test_table_is_unbroken_by_odd_file_names(tmp_path) -> None:
    rows = ranked(tmp_path, {'a|b,"c"': [8, 2, 4, 1]})
    assert next(csv.DictReader(tables.csv_text(rows).splitlines()))["profile"] == 'a|b,"c"'
    assert r"| a\|b" in tables.markdown_text(rows, 4, EFFORT)


# The program


def read_table(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "table.csv").read_text().splitlines()))


@pytest.mark.verify
def test_fast_comparison_of_a_given_file(tmp_path, profiles, capsys, monkeypatch) -> None:
    given, out = tmp_path / "given.csv", tmp_path / "out"
    given.write_text("count,prevalence\n1,500\n3,20\n60,2\n")
    # The first run of a mechanism also imports what it needs, on a machine that others use.
    patient = ["--fast", "--limit", "300", "--output", str(out), str(given)]
    assert anonymized.main(patient) == 0
    rows = read_table(out)
    assert len(rows) == 2 * 2 * len(CONTENDERS)
    assert {row["profile"] for row in rows} == {"stairs", "given"}
    assert {row["epsilon"] for row in rows} == {"1", "0.1"}
    one = next(row for row in rows if row["profile"] == "given")
    assert (one["n"], one["labels"], one["maximum"]) == ("680", "522", "60")
    assert float(one["error/n"]) == pytest.approx(float(one["sorted L1 error"]) / 680)
    for picture in ("errors", "summary", "seconds"):
        assert (out / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
    markdown = (out / "table.md").read_text()
    assert "cells are finished" not in markdown
    assert all(f"| {c.name} | {c.told} |" in markdown for c in CONTENDERS)
    monkeypatch.setattr(anonymized, "write_figures", lambda *_: None)  # drawn above
    capsys.readouterr()
    assert anonymized.main(["--fast", "--output", str(out), str(given), "--mechanisms", "Sp"]) == 0
    assert "8 of 8 cells were finished before" in capsys.readouterr().out
    assert read_table(out) != rows  # only the cells asked for
    given.write_text("count,prevalence\n1,500\n3,20\n61,2\n")
    arguments = ["--fast", "--output", str(out), str(given), "--tables-only"]
    assert anonymized.main(arguments) == 0
    assert [row for row in rows if row["profile"] == "stairs"] == read_table(out)
    assert f"{len(rows) // 2} of {len(rows)} cells are finished" in (out / "table.md").read_text()


def test_one_mechanism_is_measured_anew_and_the_others_are_kept(
    tmp_path, profiles, capsys, monkeypatch
) -> None:
    monkeypatch.setattr(anonymized, "CONTENDERS", CONTENDERS[3:6:2])  # PrivHist and RankSplit
    monkeypatch.setattr(anonymized, "write_figures", lambda *_: None)
    first, second = (["--fast", "--output", str(tmp_path / name)] for name in "ab")
    assert anonymized.main(first) == 0
    earlier = tmp_path / "a" / "table.csv"
    capsys.readouterr()
    arguments = ["--mechanisms", "Split", "--earlier", str(earlier)]
    assert anonymized.main([*second, *arguments]) == 0
    assert "2 cells of" in (said := capsys.readouterr().out)
    assert "0 of 2 cells were finished before" in said
    before, after = (read_table(tmp_path / name) for name in "ab")
    assert len(before) == len(after) == 4
    measured = ("runs", "sorted L1 error", "standard error", "seconds per release")
    kept = {
        row["mechanism"]
        for row, other in zip(before, after, strict=True)
        if all(row[name] == other[name] for name in measured)
    }
    assert kept == {"PrivHist"}
    assert anonymized.main([*second, *arguments]) == 0
    assert "0 cells of" in capsys.readouterr().out
    # Data with another number of records are other data, whatever they are called.
    (profiles / "stairs.csv").write_text("count,prevalence\n1,30\n2,10\n7,3\n41,1\n")
    assert anonymized.main([*second, *arguments]) == 0
    assert "0 cells of" in capsys.readouterr().out
    assert {row["mechanism"] for row in read_table(tmp_path / "b")} == {"RankSplit"}


@pytest.mark.verify
def test_a_mechanism_that_fails_does_not_end_the_run(
    tmp_path, profiles, capsys, monkeypatch
) -> None:
    class Broken:
        guarantee = RankSplit(epsilon=1).guarantee

        def release(self, profile: Profile) -> None:
            np.zeros(2**34, np.int8)  # more than the limit, though less than some machines have

    broken = Contender("Broken", NOTHING, lambda e, p: Broken(), "#000000")
    monkeypatch.setattr(anonymized, "CONTENDERS", (broken, *CONTENDERS[:1]))
    assert anonymized.main(["--fast", "--output", str(tmp_path / "out")]) == 1
    assert {row["mechanism"] for row in read_table(tmp_path / "out")} == {CONTENDERS[0].name}
    assert "stairs, ε = 1, Broken: MemoryError: Unable to allocate" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--epsilons", "0"], "epsilon"),
        (["--mechanisms", "nobody"], "SortedCounts"),
        (["--profiles", "nothing"], "stairs"),
        (["missing.csv"], "missing.csv"),
        (["--earlier", "missing.csv"], "--earlier"),
    ],
)
def test_wrong_arguments_are_explained(tmp_path, profiles, capsys, arguments, said) -> None:
    with pytest.raises(SystemExit) as stopped:
        anonymized.main(["--output", str(tmp_path / "out"), *arguments])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


KILLED_IN_THE_FIFTH_CELL = """
import os, signal
from benchmarks import anonymized

begun, measure = [], anonymized.measure

def killed(run, effort, limit):
    begun.append(1)
    if len(begun) == 5:
        run()
        os.kill(os.getpid(), signal.SIGKILL)
    return measure(run, effort, limit)

anonymized.measure = killed
anonymized.main()
"""


@pytest.mark.verify
def test_a_killed_run_continues_and_runs_no_cell_twice(tmp_path, profiles) -> None:
    out = tmp_path / "out"
    chosen = [
        *("--mechanisms", "RankSplit", "SortedCounts", "--epsilons", "2", "1", "0.5"),
        *("--target", "0", "--most", "5", "--output", str(out)),
    ]
    planned = 3 * 4
    journal = out / "cells.jsonl"
    command = [sys.executable, "-c", KILLED_IN_THE_FIFTH_CELL, *chosen]
    killed = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    assert killed.returncode == -signal.SIGKILL
    finished = lines(journal)
    assert len(finished) == 4
    assert not (out / "table.csv").exists()
    with journal.open("ab") as file:  # as if killed while it wrote
        file.write(finished[-1][:40])

    command = [sys.executable, "-m", "benchmarks.anonymized", *chosen]
    again = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert f"{len(finished)} of {planned} cells were finished before" in again.stdout
    assert lines(journal)[: len(finished)] == finished
    every = [json.loads(line)["key"] for line in lines(journal)]
    assert len(every) == len(set(every)) == planned
    shown = Counter((row["mechanism"], row["epsilon"]) for row in read_table(out))
    assert len(shown) == planned
    assert set(shown.values()) == {1}
