"""DESIGN, 'What must not leak', for ranges: outputs follow the noisy counts, errors parameters."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.ranges.budget import Budget
from dphist.report import report_html, summary_text, table_csv
from tests.support.command_line import run
from tests.support.refusal import NUMBER

MECHANISMS = ["adaptive", "tree", "leaves"]
EDGES = ("--edges", "0,10,20,30,40,50,60,70,80,90,100")


class Drawn:
    """Noise that brings any true number to the same noisy one."""

    def __init__(self, noisy: int) -> None:
        self.noisy = noisy

    def __radd__(self, true: int) -> int:
        return self.noisy


class Scripted:
    """Noise that brings any true counts to the same noisy ones."""

    __array_ufunc__ = None

    def __init__(self, noisy: np.ndarray) -> None:
        self.noisy = noisy

    def __add__(self, true: np.ndarray) -> np.ndarray:
        assert true.size == self.noisy.size
        return self.noisy.reshape(true.shape).copy()

    __radd__ = __add__

    def tolist(self) -> list[Drawn]:
        return [Drawn(noisy) for noisy in self.noisy.tolist()]


@pytest.fixture
def scripted(monkeypatch) -> Iterator[None]:  # type: ignore[return]
    """Every call for noise gets the noisy counts of its place among the calls."""

    def noise(self: Budget, share: object, size: Any, source: object) -> Scripted:
        chance = np.random.default_rng(np.prod(size))
        return Scripted(chance.integers(-20, 400, size))

    monkeypatch.setattr(Budget, "noise", noise)


def written(values: list[float | None], path: Path, column: str = "x") -> Path:
    pq.write_table(pa.table({column: pa.array(values, pa.float64())}), path)
    return path


# One record more, on either side of each bound; a value or none; the first record of all.
COMMON = [5.0, 15.0, 15.0, 99.0]
MORE = [0.0, -0.001, 100.0, 99.999, 10.0, 9.999, None, float("nan"), 1e300, -1e300, NUMBER]
PAIRS = [*[(COMMON, [*COMMON, value]) for value in MORE], ([], [5.0]), ([], [None])]
ASKED = [(pair, ("--epsilon", "0.1")) for pair in PAIRS]
ASKED += [(pair, ("--rho", "0.1")) for pair in PAIRS[::5]]


def everything(folder: Path, file: Path, options: tuple[object, ...], capsys) -> str:
    """Return all that the command prints and writes, and the summary from the saved release."""
    paths = [folder / name for name in ("r.json", "t.csv", "r.html")]
    outputs = ("--output", paths[0], "--table", paths[1], "--report", paths[2], "--overwrite")
    assert run("ranges", file, *options, *outputs) == 0
    assert run("show", paths[0]) == 0
    captured = capsys.readouterr()
    return "\n".join([captured.out, captured.err, *(path.read_text() for path in paths)])


@pytest.mark.long(every=4)
@pytest.mark.quick("('--epsilon', '0.1')-adaptive", every=7)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("pair", "cost"), ASKED, ids=str)
def test_equal_noisy_counts_give_equal_publications(
    pair, mechanism, cost, scripted, tmp_path, capsys
) -> None:
    """Nothing but noisy counts separates neighbours: no length, no null, no message."""
    options = ("--each-row-is-one-person", "--column", "x", *EDGES, *cost, "--mechanism", mechanism)
    file = tmp_path / "data.parquet"
    published = {everything(tmp_path, written(data, file), options, capsys) for data in pair}
    assert len(published) == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.quick(every=3)
def test_equal_noisy_counts_of_two_columns_give_equal_publications(
    mechanism, scripted, tmp_path, capsys
) -> None:
    options = (
        "--each-row-is-one-person",
        "--column",
        "x",
        "--column",
        "y",
        *EDGES,
        "--edges",
        "0,1,2",
        "--epsilon",
        1,
    )
    published = set()
    for more in ([], [(5, 0)], [(None, 0)], [(5, None)], [(500, 1)], [(5, -1)], [(None, 7)]):
        rows = [(5, 1), (95, 0), *more]
        file = tmp_path / "data.parquet"
        columns = {name: pa.array([row[i] for row in rows]) for i, name in enumerate("xy")}
        pq.write_table(pa.table(columns), file)
        made = (*options, "--mechanism", mechanism)
        published.add(everything(tmp_path, file, made, capsys))
    assert len(published) == 1


def publications(release: dh.Release) -> str:
    shown = release.to_json(), summary_text(release), table_csv(release), report_html(release)
    return "\n".join([*shown, repr(release), repr(release.value)])


@pytest.mark.verify
def test_a_total_without_noise_would_be_noticed(scripted) -> None:
    """Power: the same comparison tells two releases apart that carry the true total."""
    mechanism = dh.LeafCounts(epsilon=1, bins=3)
    sound = {publications(mechanism.release(data)) for data in ([1, 2, 3], [1, 2, 4])}
    assert len(sound) == 1
    leaking = {
        publications(dataclasses.replace(mechanism.release(data), total=sum(data)))
        for data in ([1, 2, 3], [1, 2, 4])
    }
    assert len(leaking) == 2


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.quick(every=3)
def test_sentinels_do_not_reach_what_people_see(mechanism, tmp_path, capsys) -> None:
    values = [float(NUMBER)] * 3 + [-float(NUMBER), None] + [50.0] * 1000
    file = written(values, tmp_path / "data.parquet")
    options = (
        "--each-row-is-one-person",
        "--column",
        "x",
        *EDGES,
        "--epsilon",
        "0.5",
        "--mechanism",
        mechanism,
    )
    seen = everything(tmp_path, file, options, capsys)
    for text in (f"{NUMBER}", f"{NUMBER:,}", "9.18273645"):
        assert text not in seen
    assert "100 or above" in seen


BAD = [
    ("bad.csv", f"x\nSENTINEL-{NUMBER}\n", 1),
    ("bad.csv", f"x\n{NUMBER}.5.5\n", 1),
    ("bad.csv", f"x\n{NUMBER}\n{NUMBER},7\n", 1),
    ("bad.csv", f'x\n"{NUMBER}\n', 1),
    ("bad.csv", f"y\n{NUMBER}\n", 2),
    ("bad.csv", "", 1),
    ("bad.parquet", f"x\n{NUMBER}\n", 1),
    ("bad.csv.gz", f"x\n{NUMBER}\n", 1),
    ("bad.json", f"[{NUMBER}]", 1),
]


@pytest.mark.parametrize(("name", "content", "code"), BAD)
def test_bad_files_show_nothing_and_leave_nothing(name, content, code, capsys, tmp_path) -> None:
    (tmp_path / name).write_text(content)
    outputs = ("--output", tmp_path / "r.json", "--report", tmp_path / "r.html")
    assert (
        run(
            "ranges",
            tmp_path / name,
            "--each-row-is-one-person",
            "--column",
            "x",
            *EDGES,
            "--epsilon",
            1,
            *outputs,
        )
        == code
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dphist: ")
    assert re.search("'x'|bad", captured.err)
    for secret in (str(NUMBER), "SENTINEL", "Traceback"):
        assert secret not in captured.err
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", ["string", "bool", "time", "list"])
def test_columns_of_other_types_are_named_not_shown(kind, tmp_path, capsys) -> None:
    columns = {
        "string": pa.array([str(NUMBER)]),
        "bool": pa.array([True]),
        "time": pa.array([NUMBER], pa.time64("us")),
        "list": pa.array([[NUMBER]]),
    }
    for rows in (1, 0):  # by the schema alone
        pq.write_table(pa.table({"x": columns[kind][:rows]}), tmp_path / "data.parquet")
        code = run(
            "ranges",
            tmp_path / "data.parquet",
            "--each-row-is-one-person",
            "--column",
            "x",
            *EDGES,
            "--epsilon",
            1,
        )
        error = capsys.readouterr().err
        assert code == 2
        assert "'x'" in error
        assert str(NUMBER) not in error


def test_nothing_is_written_if_one_output_fails(tmp_path, capsys, monkeypatch) -> None:
    from dphist.ranges import kind

    def explode(release: dh.Release) -> None:
        raise RuntimeError(str(NUMBER))

    monkeypatch.setattr(kind, "draw_charts", explode)
    file = written(COMMON, tmp_path / "data.parquet")
    outputs = ("--output", tmp_path / "r.json", "--report", tmp_path / "r.html")
    assert (
        run(
            "ranges",
            file,
            "--each-row-is-one-person",
            "--column",
            "x",
            *EDGES,
            "--epsilon",
            1,
            *outputs,
        )
        == 1
    )
    captured = capsys.readouterr()
    assert "RuntimeError" in captured.err
    assert str(NUMBER) not in captured.err + captured.out
    assert [path.name for path in tmp_path.iterdir()] == ["data.parquet"]


@pytest.mark.verify
def test_a_file_without_rows_is_released_like_any(tmp_path, capsys) -> None:
    """Structure: the same lines, names and numbers of rows, whatever the rows are."""
    shapes = set()
    options = (
        "--each-row-is-one-person",
        "--column",
        "x",
        *EDGES,
        "--epsilon",
        1,
        "--mechanism",
        "leaves",
    )
    for data in ([], [5.0] * 50, [1e6] * 50, [None] * 50):
        everything(tmp_path, written(data, tmp_path / "data.parquet"), options, capsys)
        release = dh.Release.load(tmp_path / "r.json")
        lines = (tmp_path / "t.csv").read_text().count("\n")
        shapes.add((lines, release.value.counts.shape, tuple(release.value.outside)))
    assert len(shapes) == 1
