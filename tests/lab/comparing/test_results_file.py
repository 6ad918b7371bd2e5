"""Results are kept after each cell, read again, and refused where settings differ."""

import importlib
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.lab.comparing.contenders import digest_code
from dphist.lab.comparing.results import COLUMNS, FORMAT

PROFILE = dh.Profile.from_counts([40, 12, 9, 7, 4, 2, 2, 1])
LINE = np.array([5, 0, 0, 900, 30, 30, 2, 0])


def rows_of(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.startswith("#")][1:]


def test_a_second_run_goes_on_where_the_first_stopped(tmp_path) -> None:
    output = tmp_path / "found.csv"
    few = {"seconds": 20, "target": 0, "output": output}
    first = dh.compare([dh.RankSplit], PROFILE, [1], most=4, **few)
    assert first.rows[0].runs == 4
    assert len(rows_of(output)) == 1
    again = dh.compare([dh.RankSplit], PROFILE, [1], most=4, **few)
    # Recovered from the file, a standard error may differ in its last digit.
    doubt = first.rows[0].standard_error
    assert again.rows[0].standard_error == pytest.approx(doubt)
    assert replace(again.rows[0], standard_error=doubt) == first.rows[0]
    more = dh.compare([dh.RankSplit, dh.PrivHist], PROFILE, [1, 2], most=6, **few)
    assert [row.runs for row in more] == [6] * 4
    assert len(rows_of(output)) == 4


def test_rows_of_mechanisms_that_are_not_asked_for_stay_in_the_file(tmp_path) -> None:
    output = tmp_path / "found.csv"
    dh.compare([dh.RankSplit], PROFILE, [1], most=2, output=output)
    found = dh.compare([dh.PrivHist], PROFILE, [1], most=2, output=output)
    assert [row.mechanism for row in found] == ["PrivHist"]
    assert [line.split(",")[0] for line in rows_of(output)] == ["PrivHist", "RankSplit"]


def test_roots_are_kept_as_well_as_means(tmp_path) -> None:
    output = tmp_path / "found.csv"
    first = dh.compare([dh.LeafCounts], LINE, [1], most=5, target=0, output=output)
    again = dh.compare([dh.LeafCounts], LINE, [1], most=5, target=0, output=output)
    for one, other in zip(first, again, strict=True):
        assert one.error == pytest.approx(other.error)
        assert one.standard_error == pytest.approx(other.standard_error)


@pytest.mark.parametrize(
    ("data", "settings", "said"),
    [
        (dh.Profile.from_counts([1]), {}, "of other data"),
        (dh.Profile.from_counts([40, 12, 9, 7, 4, 2, 2, 1], 2), {}, "of other data"),
        (LINE, {}, "of data of another kind"),
        (PROFILE, {"delta": "1e-5"}, "of another delta"),
    ],
)
def test_a_file_of_other_settings_is_refused(tmp_path, data, settings, said) -> None:
    output = tmp_path / "found.csv"
    dh.compare([dh.RankSplit], PROFILE, [1], most=2, output=output)
    before = output.read_bytes()
    mechanism = dh.LeafCounts if data is LINE else dh.RankSplit
    with pytest.raises(dh.ParameterError, match=f"^output must be .*{said}"):
        dh.compare([mechanism], data, [1], most=2, output=output, **settings)
    assert output.read_bytes() == before


def test_a_file_of_a_development_version_is_of_another_version(tmp_path) -> None:
    output = tmp_path / "found.csv"
    dh.compare([dh.RankSplit], PROFILE, [1], most=2, output=output)
    lines = output.read_text().splitlines()
    rows = [line.rpartition(",")[0] for line in lines[2:]]  # without the column of digests
    output.write_text(
        "\n".join([lines[0], lines[1].replace(f'"format": {FORMAT}', '"format": 1'), *rows, ""])
    )
    with pytest.raises(dh.ParameterError, match="of another version of the file"):
        dh.compare([dh.RankSplit], PROFILE, [1], most=2, output=output)


def test_a_delta_is_the_same_however_it_is_written(tmp_path) -> None:
    output = tmp_path / "found.csv"
    for delta in ("1e-6", 1e-6, "0.000001"):
        dh.compare([dh.RankSplit], PROFILE, [1], delta=delta, most=2, output=output)
    assert len(rows_of(output)) == 1


def test_a_file_of_another_version_or_mechanism_is_refused(tmp_path) -> None:
    output = tmp_path / "found.csv"
    dh.compare({"mine": dh.RankSplit}, PROFILE, [1], most=2, output=output)
    with pytest.raises(dh.ParameterError, match="another one named mine"):
        dh.compare({"mine": dh.SortedCounts}, PROFILE, [1], most=2, output=output)
    output.write_text(output.read_text().replace(dh.__version__, "0.0.1"))
    with pytest.raises(dh.ParameterError, match="another version of dphist"):
        dh.compare({"mine": dh.RankSplit}, PROFILE, [1], most=2, output=output)


def test_a_mechanism_that_was_edited_is_measured_anew(tmp_path, monkeypatch) -> None:
    """Else the error of the old code would be stated of the new one."""
    monkeypatch.syspath_prepend(tmp_path)
    code = "import dphist as dh\n\n\nclass Mine(dh.LeafCounts):\n    far = 1\n"
    code += "    def release(self, data):\n        return data + self.far\n"
    errors, output = [], tmp_path / "found.csv"
    for far in (1, 1, 1000):
        (tmp_path / "edited.py").write_text(code.replace("far = 1", f"far = {far}"))
        monkeypatch.delitem(sys.modules, "edited", raising=False)
        importlib.invalidate_caches()
        mine = importlib.import_module("edited").Mine
        found = dh.compare([mine, dh.LeafCounts], LINE, [1], most=2, target=0, output=output)
        errors.append(next(row.error for row in found if row.mechanism == "Mine"))
    assert errors[0] == errors[1] < errors[2] / 100
    mine = {"mine": lambda epsilon: Given(1)}
    assert dh.compare(mine, LINE, [1], most=2, target=0, output=output).rows[0].error < 10
    other = {"mine": lambda epsilon: Given(1000)}
    assert dh.compare(other, LINE, [1], most=2, target=0, output=output).rows[0].error > 900


def test_sets_in_code_are_the_same_in_every_process() -> None:
    """Python orders them differently each time it starts; all would run again."""
    code = """if True:
        from dphist.lab.comparing.contenders import digest_code
        print(digest_code(lambda data: data in {"a", "b", "c", "d", "e", "f", "g", "h"}))
        print(digest_code(lambda data: data in {"a", "b", "c", "d", "e", "f", "g", "i"}))
    """
    printed = {
        subprocess.check_output(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, text=True
        )
        for seed in "123"
    }
    assert len(printed) == 1
    first, second = printed.pop().split()
    assert first != second


def test_code_is_told_apart_and_is_the_same_where_nothing_changed() -> None:
    def make(far: int) -> Any:
        return lambda epsilon: Given(far)

    def one(epsilon: Any, *, far: int = 1) -> Any:
        return Given(far)

    same = [make(1), make(2), partial(one, far=1), partial(one, far=2), one, Given(1), Given(2)]
    names = [digest_code(mechanism) for mechanism in same]
    assert len(set(names)) == len(names)
    assert names == [digest_code(mechanism) for mechanism in same]
    assert digest_code(dh.LeafCounts) == ""
    typed: dict[str, Any] = {"__name__": "typed"}
    exec("class Typed:\n    pass\ndef typed(epsilon):\n    return 1", typed)  # noqa: S102
    assert digest_code(typed["Typed"]) != digest_code(typed["Typed"])  # nobody knows it
    assert digest_code(typed["typed"]) == digest_code(typed["typed"])


class Given:
    def __init__(self, far: int) -> None:
        self.far = far

    def release(self, data):
        return np.asarray(data) + self.far


@pytest.mark.verify
def test_names_may_begin_as_comments_do_and_hold_signs_of_formulas(tmp_path) -> None:
    output = tmp_path / "found.csv"
    dh.compare({"#1": dh.LeafCounts}, LINE, [1], most=2, output=output)
    dh.compare([dh.HierarchicalTree], LINE, [1], most=2, output=output)
    assert len(output.read_text().splitlines()) == 2 + 1 + 2 * 2
    found = dh.compare({r"$\nothing$": dh.LeafCounts}, LINE, [1], most=2)
    found.plot()[0].figure.savefig(tmp_path / "picture.png")


def test_events_are_told_apart_whatever_their_labels_hold() -> None:
    def digest(events: list[list[str]]) -> str:
        return dh.compare([], events, [1], delta="1e-6", published=True, seconds=0.1).settings[
            "data"
        ]

    assert len({digest([["a\x1fb"]]), digest([["a", "b"]]), digest([["\ud800"]])}) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: "count,prevalence\n1,2\n",
        lambda text: text.replace("# dphist compare", "# something"),
        lambda text: text.replace('{"format"', "{format"),
        lambda text: text.replace("\nRankSplit,", "\nRankSplit,a,"),
        lambda text: re.sub(r",[^,]*,\n$", ",nan,\n", text),
        lambda text: text.replace("# {", "# [{"),
    ],
)
def test_what_is_no_such_file_is_refused_and_left_alone(tmp_path, change) -> None:
    output = tmp_path / "found.csv"
    dh.compare([dh.RankSplit], PROFILE, [1], most=2, output=output)
    output.write_text(change(output.read_text()))
    before = output.read_bytes()
    with pytest.raises(dh.OutputFileError, match="no result of a comparison"):
        dh.compare([dh.RankSplit], PROFILE, [1], most=2, output=output)
    assert output.read_bytes() == before


def test_to_csv_writes_what_a_comparison_goes_on_from(tmp_path) -> None:
    output = tmp_path / "found.csv"
    found = dh.compare([dh.RankSplit], PROFILE, ["1/3"], most=3, target=0)
    found.to_csv(output)
    assert rows_of(output)[0].split(",")[4:6] == ["1/3", "sorted L1 error"]
    again = dh.compare([dh.RankSplit], PROFILE, ["1/3"], most=3, target=0, output=output)
    (first,), (second,) = found.rows, again.rows
    assert second.standard_error == pytest.approx(first.standard_error, rel=1e-12)
    assert replace(second, standard_error=first.standard_error) == first
    assert len(COLUMNS) == len(rows_of(output)[0].split(","))


def test_a_folder_that_does_not_exist_is_refused_before_runs(tmp_path) -> None:
    with pytest.raises(dh.OutputFileError, match="folder"):
        dh.compare([dh.RankSplit], PROFILE, [1], output=tmp_path / "nowhere" / "found.csv")


KILLED = """
import os, signal, sys, time
import dphist as dh

class Killing:
    guarantee = dh.PureDP(1)
    def release(self, data):
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)

profile = dh.Profile.from_counts([40, 12, 9, 7, 4, 2, 2, 1])
mechanisms = {"RankSplit": dh.RankSplit, "killing": lambda epsilon: Killing()}
dh.compare(mechanisms, profile, [1], most=3, target=0, seconds=30, output=sys.argv[1])
"""


@pytest.mark.verify
def test_a_killed_run_leaves_its_finished_cells(tmp_path) -> None:
    output = tmp_path / "found.csv"
    done = subprocess.run([sys.executable, "-c", KILLED, str(output)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    assert [line.split(",")[0] for line in rows_of(output)] == ["RankSplit"]
    assert list(tmp_path.iterdir()) == [output]
    found = dh.compare([dh.RankSplit], PROFILE, [1], most=3, target=0, output=output)
    assert found.rows[0].runs == 3
