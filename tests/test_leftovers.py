"""Temporary files go, however the process ends."""

import subprocess
import sys
from pathlib import Path

from dphist import leftovers

KEPT = """
import os, sys
from dphist import leftovers
for name in ("file", "folder"):
    leftovers.remember(os.path.abspath(name))
open("file", "w").close()
os.makedirs("folder/below")
open("folder/below/file", "w").close()
"""


def test_files_and_folders_go_at_the_end(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KEPT], cwd=tmp_path, check=True)
    assert list(tmp_path.iterdir()) == []


def test_a_forked_process_leaves_those_of_its_parent(tmp_path: Path) -> None:
    forked = KEPT + "if os.fork() == 0: sys.exit()\nos.wait()\nprint(sorted(os.listdir()))"
    done = subprocess.run(
        [sys.executable, "-c", forked], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout == "['file', 'folder']\n"
    assert list(tmp_path.iterdir()) == []


def test_what_is_forgotten_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    leftovers.remember(str(path))
    path.touch()
    leftovers.forget(str(path))
    leftovers.remove_all()
    assert path.exists()


def test_a_folder_that_is_written_into_goes_too(tmp_path: Path, monkeypatch) -> None:
    """As by the threads of a query, while the process is ended."""
    folder, real, tries = tmp_path / "folder", leftovers.shutil.rmtree, []

    def slow(path: str, **options: bool) -> None:
        tries.append(path)
        if len(tries) < 3:
            (folder / f"late{len(tries)}").touch()
            return
        real(path, **options)

    monkeypatch.setattr(leftovers.shutil, "rmtree", slow)
    leftovers.remember(str(folder))
    folder.mkdir()
    leftovers.remove(str(folder))
    assert not folder.exists()
    assert len(tries) == 3
    assert str(folder) not in leftovers._paths
