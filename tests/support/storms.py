"""Runs of the command line that a signal stops at any moment, and what must hold of each."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dphist as dh

# Waits as long as it likes and stops a run, whose outputs appear in a folder.
Stop = Callable[[subprocess.Popen[str], Path], None]

OUTPUTS = {"--output": "r.json", "--table": "t.csv", "--report": "r.html"}
_PATIENCE = 300  # seconds until a run counts as hanging


@dataclass(frozen=True)
class Ended:
    """How a run ended: exit code, standard error, files in its folder, and left temporary ones."""

    code: int
    said: str
    files: frozenset[str]
    left: frozenset[str]
    folder: Path

    def phase(self) -> str:
        """Check that the run was stopped as it should be; return when that was.

        It is stopped with one line and nothing written, or everything is there.
        """
        whole = frozenset(OUTPUTS.values())
        assert self.left == frozenset(), self
        if self.code == 0:
            assert (self.said, self.files) == ("", whole), self
            dh.Release.load(self.folder / "r.json")
            return "done"
        assert self.code == 130, self
        if self.files:
            assert self.files == whole, self
            dh.Release.load(self.folder / "r.json")
            assert self.said.endswith(" written, but not all was printed\n"), self
            assert self.said.count("\n") == 1, self
            return "published"
        assert self.said == "dphist: interrupted; nothing was written\n", self
        return "stopped"


def handles_signals(child: subprocess.Popen[str]) -> bool:
    """Whether the child has come so far: before that, it is Python's start and none of ours."""
    try:
        status = Path(f"/proc/{child.pid}/status").read_text()
    except OSError:  # it has ended, or this system tells nothing: then all of its start is waited
        return child.poll() is not None or not Path("/proc/self/status").exists()
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def wait_until(child: subprocess.Popen[str], condition: Callable[[], bool]) -> bool:
    """Wait until something is so or the child has ended, and return whether it still runs."""
    while not condition() and child.poll() is None:
        time.sleep(0.0005)
    return child.poll() is None


class Storm:
    """Many runs of one command, in new folders below `place`."""

    def __init__(self, command: list[object], place: Path, seed: int) -> None:
        self._command = [sys.executable, "-m", "dphist", *map(str, command), "--quiet"]
        self._place = place
        self._chance = random.Random(seed)
        self._runs = 0
        self._seconds = float("inf")
        self.phases: Counter[str] = Counter()

    def undisturbed(self) -> None:
        """Run once, to know how long that takes."""
        begun = time.monotonic()
        assert self._run(lambda _, __: None).phase() == "done"
        self._seconds = time.monotonic() - begun

    def at_random(self, signals: int) -> None:
        """Send one signal to each of some runs, at a moment between its start and its end."""
        for _ in range(signals):
            delay = self._chance.uniform(0, self._seconds)

            def stop(child: subprocess.Popen[str], _: Path, delay: float = delay) -> None:
                begun = time.monotonic()
                wait_until(child, lambda: time.monotonic() - begun > delay)

            self._count(stop)

    def at_publication(self, signals: int) -> None:
        """Send one signal to each of a number of runs while its outputs are being written."""
        for _ in range(signals):
            delay = self._chance.uniform(0, 0.02)
            pattern = self._chance.choice([".*.part", ".*.part", "*"])

            def stop(
                child: subprocess.Popen[str],
                folder: Path,
                delay: float = delay,
                pattern: str = pattern,
            ) -> None:
                if wait_until(child, lambda: any(folder.glob(pattern))):
                    time.sleep(delay)

            self._count(stop)

    def stopped_by(self, number: int) -> Ended:
        """Send a signal to a run as soon as it handles signals; return how it ended."""
        return self._run(lambda child, _: child.send_signal(number))

    def _count(self, stop: Stop) -> None:
        begun = time.monotonic()

        def stopped(child: subprocess.Popen[str], folder: Path) -> None:
            stop(child, folder)
            child.send_signal(signal.SIGINT)  # to one that has ended nothing is sent

        phase = self._run(stopped).phase()
        if phase == "done":  # the machine is quicker by now
            self._seconds = min(self._seconds, time.monotonic() - begun)
        self.phases[phase] += 1

    def _run(self, stop: Stop) -> Ended:
        self._runs += 1
        folder = self._place / f"run{self._runs}"
        out, temporary = folder / "out", folder / "temporary"
        out.mkdir(parents=True)
        temporary.mkdir()
        outputs = [text for name, file in OUTPUTS.items() for text in (name, str(out / file))]
        with subprocess.Popen(
            [*self._command, *outputs],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(temporary)},
        ) as child:
            try:
                wait_until(child, lambda: handles_signals(child))
                stop(child, out)
                _, said = child.communicate(timeout=_PATIENCE)
            finally:
                child.kill()
        files, left = (frozenset(path.name for path in each.iterdir()) for each in (out, temporary))
        return Ended(child.returncode, said, files, left, out)
