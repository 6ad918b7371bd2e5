"""Temporary files go, however the process ends."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from dphist import files
from dphist.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs locks on files")

OURS = ("dphist-0123456789abcdef", ".r.json.0123456789ab.part")

KILLED = """
import os, signal, sys
from dphist import files
for name in sys.argv[1:]:
    files.register_temporary(os.path.abspath(name))
os.makedirs(os.path.join(sys.argv[1], "below"))
for name in (os.path.join(sys.argv[1], "below", "file"), *sys.argv[2:]):
    open(name, "w").close()
"""

KEPT = """
import os, sys
from dphist import files
for name in ("file", "folder"):
    files.register_temporary(os.path.abspath(name))
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


def test_a_signal_while_the_journal_is_made_leaves_none(tmp_path: Path, monkeypatch) -> None:
    """Between its creation and the note of its path, and right after."""
    real = os.open

    def interrupted(*given: object) -> int:
        descriptor = real(*given)  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGINT)
        return descriptor

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(files.os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.register_temporary(str(tmp_path / "file"))
    files.remove_all()
    assert list(tmp_path.iterdir()) == []


def test_what_is_forgotten_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.register_temporary(str(path))
    path.touch()
    files.forget_temporary(str(path))
    files.remove_all()
    assert path.exists()


def test_a_folder_that_is_written_into_goes_too(tmp_path: Path, monkeypatch) -> None:
    """As by the threads of a query, while the process is ended."""
    folder, real, tries = tmp_path / "folder", files.shutil.rmtree, []

    def slow(path: str, **options: bool) -> None:
        tries.append(path)
        if len(tries) < 3:
            (folder / f"late{len(tries)}").touch()
            return
        real(path, **options)

    monkeypatch.setattr(files.shutil, "rmtree", slow)
    files.register_temporary(str(folder))
    folder.mkdir()
    files.remove_temporary(str(folder))
    assert not folder.exists()
    assert len(tries) == 3
    assert str(folder) not in files._paths


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An output folder; journals are kept in another, ``tmp_path / "temporary"``."""
    for name in ("temporary", "out"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "out"


def killed(folder: Path, names: Sequence[str], more: str = "") -> None:
    """Run a process that remembers and makes these, and is killed."""
    code = KILLED + more + "os.kill(os.getpid(), signal.SIGKILL)"
    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder.parent / "temporary")},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


def journals(folder: Path) -> list[Path]:
    return list((folder.parent / "temporary").iterdir())


def test_no_path_is_noted_in_a_journal_that_another_thread_ends(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would stay if the process is killed, or be written into somebody else's file."""
    first, second = (str(elsewhere / name) for name in OURS)
    end = files._journal.end
    other = threading.Thread(target=files.register_temporary, args=(second,))

    def end_late() -> None:
        other.start()
        other.join(0.2)
        end()

    files.register_temporary(first)
    with monkeypatch.context() as patched:
        patched.setattr(files._journal, "end", end_late)
        files.forget_temporary(first)
    other.join()
    (journal,) = journals(elsewhere)
    assert second in journal.read_text()
    files.forget_temporary(second)
    assert journals(elsewhere) == []


def test_what_was_killed_is_cleared_by_the_next_start(elsewhere: Path) -> None:
    """Wherever it is, as below the folder of --temp or beside an output."""
    killed(elsewhere, OURS)
    assert len(list(elsewhere.iterdir())) == 2
    assert len(journals(elsewhere)) == 1
    files.remove_abandoned()
    assert list(elsewhere.iterdir()) == journals(elsewhere) == []


def test_the_first_temporary_file_of_a_program_clears_too(elsewhere: Path) -> None:
    killed(elsewhere, OURS)
    path = elsewhere / OURS[0]
    files.register_temporary(str(path.with_name("dphist-" + "0" * 16)))
    files.forget_temporary(str(path.with_name("dphist-" + "0" * 16)))
    assert list(elsewhere.iterdir()) == journals(elsewhere) == []


def test_what_had_become_permanent_or_has_another_name_stays(elsewhere: Path) -> None:
    """The names are checked as well: nothing but what dphist itself names is ever removed."""
    names = [*OURS, "records.csv", "dphist-notes"]
    killed(elsewhere, names, f"files.forget_temporary(os.path.abspath({OURS[1]!r}))\n")
    files.remove_abandoned()
    assert {path.name for path in elsewhere.iterdir()} == {OURS[1], "records.csv", "dphist-notes"}


def test_what_a_running_process_has_stays(elsewhere: Path) -> None:
    """Also where it forked, and its child ended: the child lets go of the journal alone."""
    code = KILLED + (
        "if os.fork() == 0: os._exit(0)\nos.wait()\nprint(flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *OURS],
        cwd=elsewhere,
        env={**os.environ, "TMPDIR": str(elsewhere.parent / "temporary")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        files.remove_abandoned()
        assert len(list(elsewhere.iterdir())) == 2
        child.kill()
    files.remove_abandoned()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.verify
@pytest.mark.parametrize("content", [b"", b"[1]\n", b"3\n", b'["+", 3]\n', b'["+", "x', b"\xff\n"])
def test_a_damaged_journal_stops_nobody(content: bytes, elsewhere: Path) -> None:
    killed(elsewhere, OURS)
    (journal,) = journals(elsewhere)
    journal.write_bytes(content)
    files.remove_abandoned()
    assert len(list(elsewhere.iterdir())) == 2


def test_a_journal_that_others_could_have_written_is_not_believed(elsewhere: Path) -> None:
    killed(elsewhere, OURS)
    (journal,) = journals(elsewhere)
    journal.chmod(0o622)
    files.remove_abandoned()
    assert len(list(elsewhere.iterdir())) == 2
    journal.chmod(0o600)
    aside = journal.rename(elsewhere.parent / "aside")
    journal.symlink_to(aside)
    files.remove_abandoned()
    assert len(list(elsewhere.iterdir())) == 2


def test_a_command_clears_at_its_start(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    killed(elsewhere, OURS)
    assert (
        main(
            [
                "labels",
                "--each-row-is-one-person",
                "--label",
                "x",
                "x.csv",
                "--epsilon",
                "1",
                "--dry-run",
            ]
        )
        == 2
    )
    assert list(elsewhere.iterdir()) == journals(elsewhere) == []
    capsys.readouterr()


CREATED = {
    "stream": "dh.ContinualHistogram.open('kept', epsilon=1, delta='1e-6', horizon=9)",
    "ledger": "dh.Ledger.create('kept', epsilon=1, unit='one patient')",
}
WHEN = {"before": "", "after": "link(*names); "}


@pytest.mark.parametrize("kind", CREATED)
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.long(every=2)
def test_a_state_whose_maker_was_killed_leaves_nothing(
    kind: str, when: str, elsewhere: Path
) -> None:
    """It gets its name once it is whole; then it stays, and only its other name goes."""
    killed(
        elsewhere,
        [OURS[0]],
        "import dphist as dh\nlink = os.link\n"
        f"def die(*names): {WHEN[when]}os.kill(os.getpid(), signal.SIGKILL)\n"
        f"os.link = die\n{CREATED[kind]}\n",
    )
    assert len([path for path in elsewhere.iterdir() if path.suffix == ".part"]) == 1
    files.remove_abandoned()
    left = ["kept"] if when == "after" else []
    assert [path.name for path in elsewhere.iterdir()] == left
    assert journals(elsewhere) == []
