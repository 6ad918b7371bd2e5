"""What the examples of a page print, beside what the page shows.

A `text` block right after a `python` or `bash` block is what that block prints; of commands, also
what they write to standard error. The blocks of a page run in their order and in one folder, as a
reader runs them. The page runs twice, with seeded randomness in place of the operating system's,
and up to three times more if that shows differences. What is the same in all runs does not depend
on noise, and must be exactly what the page shows. What differs is random:

- a number that differs may be any number;
- a line that differs in its words, such as a list of labels, may be any line;
- a line with a number may stand elsewhere, as rows whose order is random do.

The number of lines must agree, also of random output. Widths of columns and spaces at the ends of
lines do not matter. A line `...` stands for lines that the page leaves out; it shows those before
and after. What depends on the place and time of a run is shown as in `_FIXED`.

    python -m tests.support.printed docs/guides/labels.md

writes what is printed with the first randomness into the text blocks of pages.
"""

import contextlib
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import dphist as dh

BLOCK = re.compile(
    r"^```(python|bash)\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)
SEEDS = (1, 2, 3, 4, 5)
"""Seeds of the runs: the first two, and more if these differ from the page."""
NUMBER = re.compile(r"(?<![\w.])-?\d(?:[\d.,_]*\d)?(?:e[+-]?\d+)?")


LEFT_OUT = "..."
FOLDER, DAY, VERSION = "/home/ana", "2026-11-30", "0.2.0"
"""The folder and the day of all commands, and the version of dphist, as pages show them."""
_FIXED = (
    (re.compile(rf"({DAY}[ T])\d\d:\d\d"), r"\g<1>10:00"),
    (re.compile(rf"({DAY}T10:00):\d\d\.\d+"), r"\1:00.000"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "0123456789abcdef" * 4),  # a hash
    (re.compile(r"\b[0-9a-f]{16}\b"), "0123456789abcdef"),  # the name of a ledger
)
_SEEDED = Path(__file__).with_name("seeded")


def languages(page: Path) -> list[str]:
    """Return the language of each block that runs: python or bash."""
    return [language for language, _, _ in BLOCK.findall(page.read_text())]


def shown(page: Path) -> list[str]:
    """Return the output that a page shows, of each block that runs; empty where it shows none."""
    return [text or "" for _, _, text in BLOCK.findall(page.read_text())]


def shows_commands(page: Path) -> bool:
    """Return whether a page shows what some of its commands print."""
    return any(text for language, _, text in BLOCK.findall(page.read_text()) if language == "bash")


def printed(page: Path, seed: int | None = None) -> list[str]:
    """Run the blocks of a page in the current folder; return what each prints.

    Commands run if the page shows what any of them prints.

    Parameters
    ----------
    page : Path
        A page in Markdown. Its python blocks share their names.
    seed : int, optional
        Of the randomness (default: that of the operating system).
    """
    names: dict[str, object] = {}
    found = []
    with _seeded(seed):
        for language, code, _ in BLOCK.findall(page.read_text()):
            if language == "bash":
                found.append(_commands(code, seed) if shows_commands(page) else "")
                continue
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(code, str(page), "exec"), names)  # noqa: S102 - our own documentation
            found.append(output.getvalue())
    return found


def _commands(code: str, seed: int | None) -> str:
    """Run commands; return what they print, and fail if one of them fails."""
    environment = dict(os.environ)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment["COLUMNS"] = "100"
    if seed is not None:
        given = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(_SEEDED), *([given] if given else [])])
        environment["PRINTED_SEED"] = str(seed)
    began = datetime.now(UTC)
    done = subprocess.run(
        ["bash", "-euc", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}"
    text = done.stdout.replace(str(Path.cwd()), FOLDER).replace(dh.__version__, VERSION)
    for day in (began, datetime.now(UTC)):
        text = text.replace(f"{day:%Y-%m-%d}", DAY)
    for pattern, fixed in _FIXED:
        text = pattern.sub(fixed, text)
    return text


@contextlib.contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    if seed is None:
        yield
        return
    draw = random.Random(seed).randbytes
    # `secrets` and `random.SystemRandom` draw from the second. So do names of temporary files,
    # which are the same in each run: so each run has a folder of its own for these.
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("tempfile.tempdir", folder),
        mock.patch("os.urandom", draw),
        mock.patch("random._urandom", draw),
    ):
        yield


def differences(text: str, *runs: str) -> Iterator[str]:
    """Yield what is wrong with the text that a page shows, given what its block prints.

    >>> list(differences("5 of 24 hours", "7 of 24 hours", "4 of 24 hours"))
    []
    >>> list(differences("5 of 12 hours", "7 of 24 hours", "4 of 24 hours"))
    ["the page shows '5 of 12 hours', but '7 of 24 hours' is printed"]
    """
    lines, *outputs = ([_plain(line) for line in each.splitlines()] for each in (text, *runs))
    elsewhere = {NUMBER.sub("#", line) for output in outputs for line in output}
    if LEFT_OUT in lines:
        before = lines.index(LEFT_OUT)
        after = len(lines) - before - 1
        del lines[before]
        if any(len(each) <= before + after for each in outputs):
            yield f"the page leaves lines out, but no more than {before + after} are printed"
            return
        outputs = [each[:before] + each[len(each) - after :] for each in outputs]
    if any(len(each) != len(lines) for each in outputs):
        lengths = ", ".join(str(len(each)) for each in outputs)
        yield f"the page shows {len(lines)} lines, but {lengths} are printed"
        return
    for line, *others in zip(lines, *outputs, strict=True):
        mine, words = NUMBER.sub("#", line), {NUMBER.sub("#", other) for other in others}
        if len(words) > 1 or ("#" in mine and mine not in words and mine in elsewhere):
            continue
        values = zip(*(NUMBER.findall(each) for each in (line, *others)), strict=False)
        if mine not in words or any(
            len(set(printed)) == 1 and number not in printed for number, *printed in values
        ):
            yield f"the page shows {line!r}, but {others[0]!r} is printed"


def _plain(line: str) -> str:
    return " ".join(line.split())


def rewrite(page: Path) -> None:
    """Put what the blocks of a page print into the text blocks that follow them."""
    outputs = iter(printed(page, SEEDS[0]))

    def block(found: re.Match[str]) -> str:
        language, code, text = found.groups()
        lines = [line.rstrip() for line in next(outputs).splitlines()]
        if text is None:
            return found[0]
        if LEFT_OUT in (old := text.splitlines()):
            before = old.index(LEFT_OUT)
            after = len(old) - before - 1
            lines = [*lines[:before], LEFT_OUT, *lines[len(lines) - after :]]
        output = "".join(f"{line}\n" for line in lines)
        return f"```{language}\n{code}```\n\n```text\n{output}```"

    page.write_text(BLOCK.sub(block, page.read_text()))


if __name__ == "__main__":
    root = Path(__file__).parents[2]
    for name in map(Path.absolute, map(Path, sys.argv[1:])):
        with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
            shutil.copytree(root / "data", "data")
            rewrite(name)
