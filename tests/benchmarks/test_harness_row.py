"""The row for the harness of others runs on its interface: its modules, its data, its outputs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

pytestmark = pytest.mark.verify

ROOT = Path(__file__).parents[2]
NUMBERS = [-3.07, 0.5, 1.25, 2.0, 9.99] * 40
NAMES = """\
COUNT, SUM, MEAN, VARIANCE = "count", "sum", "mean", "variance"
DEFAULT_COLUMN_NAME = "values"
EPSILON_VALUES = [1, 1000]
SIZES_DICT = {"1k": 1000, "10k": 10000, "100k": 100000}
"""
SAVING = """\
import json

def save_synthetic_data_query_ouput(lib_name, query, epsilon, filename, error, relative_errors,
                                    scaled_errors, time_used, memory_used, output_folder):
    row = [lib_name, query, epsilon, filename, error, relative_errors, scaled_errors, time_used,
           memory_used, output_folder]
    with open(f"{output_folder}.jsonl", "a") as rows:
        rows.write(json.dumps(row) + chr(10))
"""


@pytest.fixture
def harness(tmp_path: Path) -> Path:
    """A folder with what the row uses of the harness, and our module where theirs are."""
    for name in ("commons", "dp_tools", "data/synthetic_data/size_1000"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "commons/stats_vals.py").write_text(NAMES)
    (tmp_path / "commons/utils.py").write_text(SAVING)
    shutil.copy(ROOT / "benchmarks/harness_row.py", tmp_path / "dp_tools/run_dphist.py")
    data = tmp_path / "data/synthetic_data/size_1000/data_1000_50_0.csv"
    pd.DataFrame({"values": NUMBERS}).to_csv(data, index=False)
    return tmp_path


def ask(harness: Path, query: str) -> subprocess.CompletedProcess[str]:
    words = ["-m", "dp_tools.run_dphist", "--query", query, "--size", "1k", "--runs", "3"]
    return subprocess.run(
        [sys.executable, *words, "--output_folder", "found"],
        cwd=harness,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("query", ["count", "sum", "mean"])
def test_a_query_is_answered_and_saved_as_the_harness_saves(harness: Path, query: str) -> None:
    done = ask(harness, query)
    assert (done.returncode, done.stderr) == (0, "")
    rows = pd.read_json(harness / "found.jsonl", lines=True)
    assert rows[[0, 1, 2, 3, 9]].to_numpy().tolist() == [
        ["dphist", query, epsilon, "data_1000_50_0.csv", "found"] for epsilon in (1, 1000)
    ]
    true = {"count": len(NUMBERS), "sum": sum(NUMBERS), "mean": sum(NUMBERS) / len(NUMBERS)}[query]
    for errors, relative, scaled, seconds, memory in rows[[4, 5, 6, 7, 8]].to_numpy():
        assert len(errors) == len(seconds) == len(memory) == 3
        assert relative == pytest.approx([error / true for error in errors])
        assert scaled == pytest.approx([error / len(NUMBERS) for error in errors])
        assert min(seconds) > 0
        assert min(memory) > 1e6
    least = rows[4][1]  # noise at epsilon 1000 is less than a step in sums, and none in counts
    assert max(least) < (1 if query == "sum" else 0.01)


def test_variance_is_refused(harness: Path) -> None:
    done = ask(harness, "variance")
    assert done.returncode == 2
    assert "invalid choice: 'variance'" in done.stderr
