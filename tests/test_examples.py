"""The examples run as their docstrings say, on real data where they are there."""

import gzip
import random
import subprocess
import sys
from pathlib import Path

import pytest

import dphist as dh
from benchmarks import data

ROOT = Path(__file__).parents[1]
FACEBOOK = "facebook_combined"
SENTINEL = "SENTINEL-7f3a"


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    """A graph that grew as social networks do: whoever has friends finds more of them."""
    chance = random.Random(5)
    ends = [0, 1]
    for new in range(2, 400):
        for friend in {chance.choice(ends) for _ in range(3)}:
            ends += [friend, new]
    pairs = zip(ends[::2], ends[1::2], strict=True)
    lines = ["u,v", *(f"{SENTINEL}-{u},{SENTINEL}-{v}" for u, v in pairs)]
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_degree_sequence(edges: Path, directed: bool, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = run("degree_sequence.py", edges, folder, *(["--directed"] if directed else []))
    assert (done.returncode, done.stderr) == (0, "")
    release = dh.Release.load(folder / "degrees.json")
    assert release.guarantee == dh.PureDP(1)
    assert release.mechanism.sensitivity == (1 if directed else 2)
    report = (folder / "degrees.html").read_text()
    assert f"sensitivity={release.mechanism.sensitivity})" in report
    assert ("contribution of up to 2 records" in report) != directed
    assert "1-differential privacy (pure)" in done.stdout
    assert f"{release.value.labels:,}" in done.stdout
    for shown in (done.stdout, report, (folder / "degrees.json").read_text()):
        assert SENTINEL not in shown


def test_degree_sequence_of_no_edges(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    path.write_text("u,v\n")
    done = run("degree_sequence.py", path, tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")


def test_degree_sequence_says_how_to_call_it() -> None:
    done = run("degree_sequence.py")
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert "EDGES OUTPUT_FOLDER" in done.stderr
    assert "two cells" in run("degree_sequence.py", "--help").stdout


def test_degree_sequence_refuses_what_it_cannot_read(edges: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = run("degree_sequence.py", edges, folder, "--source", "x")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "'x'" in done.stderr
    assert "Traceback" not in done.stderr
    assert SENTINEL not in done.stderr
    assert not folder.exists()


def test_degree_sequence_of_a_real_graph(tmp_path: Path) -> None:
    place = data.folder("edges")
    path = place / f"{FACEBOOK}_edges.csv.gz" if place else None
    if path is None or not path.exists():
        pytest.skip(f"needs edges/{FACEBOOK}_edges.csv.gz in the folder DPHIST_DATA")
    done = run("degree_sequence.py", path, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    release = dh.Release.load(tmp_path / "degrees.json")
    truth = dh.Profile.from_edges(path, source="u", target="v")
    # Ten times what is expected: that noise does this by chance is out of the question.
    allowed = 10 * release.mechanism.expected_error(truth.total)
    assert 0 < release.value.distance(truth) < allowed < truth.total / 10
    assert "sensitivity=2)" in (tmp_path / "degrees.html").read_text()
