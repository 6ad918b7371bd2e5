"""Comparing needs no clone: the package alone has every mechanism, and the page's template."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "src" / "dphist"


@pytest.mark.verify
def test_the_package_alone_compares_with_every_published_mechanism(tmp_path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "site" / "dphist", ignore=ignored)
    (tmp_path / "bins.csv").write_text("count\n5\n0\n900\n30\n2\n2\n0\n7\n")
    command = [sys.executable, "-m", "dphist", "compare", "--bins", "bins.csv", "--epsilon", "1"]
    command += ["--seconds", "60", "--target", "0.5", "--report", "page.html", "--json"]
    alone = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    names = {row["mechanism"] for row in found["rows"]}
    assert {"HB", "DAWA", "MWEM", "PrivTree", "Privelet", "AdaptiveTree", "LeafCounts"} <= names
    assert not found["left_out"]
    assert "Not private" in (tmp_path / "page.html").read_text()
