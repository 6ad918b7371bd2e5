"""What the examples of a page print, beside what the page shows.

A `text` block right after a `python` block is what that block prints. The page runs twice, with
seeded randomness in place of the operating system's, and up to three times more if that shows
differences. What is the same in all runs does not depend on noise, and must be exactly what the
page shows. What differs is random:

- a number that differs may be any number;
- a line that differs in its words, such as a list of labels, may be any line;
- a line with a number may stand elsewhere, as rows whose order is random do.

The number of lines must agree, also of random output. Widths of columns and spaces at the ends of
lines do not matter.

    python -m tests.support.printed docs/labels.md

writes what is printed with the first randomness into the text blocks of pages.
"""

import contextlib
import io
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
SEEDS = (1, 2, 3, 4, 5)
"""Seeds of the runs: the first two, and more if these differ from the page."""
NUMBER = re.compile(r"(?<![\w.])-?\d(?:[\d.,_]*\d)?(?:e[+-]?\d+)?")


def shown(page: Path) -> list[str]:
    """Return the output that a page shows, of each python block; empty where it shows none."""
    return [text or "" for _, text in BLOCK.findall(page.read_text())]


def printed(page: Path, seed: int | None = None) -> list[str]:
    """Run the python blocks of a page in the current folder; return what each prints.

    Parameters
    ----------
    page : Path
        A page in Markdown. Its blocks share their names.
    seed : int, optional
        Of the randomness (default: that of the operating system).
    """
    names: dict[str, object] = {}
    found = []
    with _seeded(seed):
        for code, _ in BLOCK.findall(page.read_text()):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(code, str(page), "exec"), names)  # noqa: S102 - our own documentation
            found.append(output.getvalue())
    return found


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
    if any(len(each) != len(lines) for each in outputs):
        lengths = ", ".join(str(len(each)) for each in outputs)
        yield f"the page shows {len(lines)} lines, but {lengths} are printed"
        return
    elsewhere = {NUMBER.sub("#", line) for output in outputs for line in output}
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
        code, text = found.groups()
        output = "".join(f"{line.rstrip()}\n" for line in next(outputs).splitlines())
        return found[0] if text is None else f"```python\n{code}```\n\n```text\n{output}```"

    page.write_text(BLOCK.sub(block, page.read_text()))


if __name__ == "__main__":
    root = Path(__file__).parents[2]
    for name in map(Path.absolute, map(Path, sys.argv[1:])):
        with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
            shutil.copytree(root / "data", "data")
            rewrite(name)
