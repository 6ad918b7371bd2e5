"""What the examples of a page print, beside what the page shows.

A `text` block right after a `python` block is what that block prints. The page runs twice, with
seeded randomness in place of the operating system's. What is the same in both runs does not depend
on noise, and must be exactly what the page shows. What differs is random:

- a number that differs may be any number;
- a line that differs in its words, such as a list of labels, may be any line.

The number of lines must agree, also of random output. Widths of columns and spaces at the ends of
lines do not matter.
"""

import contextlib
import io
import random
import re
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
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
    # `secrets` and `random.SystemRandom` draw from the second.
    with mock.patch("os.urandom", draw), mock.patch("random._urandom", draw):
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
    for line, *others in zip(lines, *outputs, strict=True):
        words = {NUMBER.sub("#", other) for other in others}
        if len(words) > 1:
            continue
        numbers = list(zip(*(NUMBER.findall(other) for other in others), strict=True))
        mine = NUMBER.findall(line)
        same = NUMBER.sub("#", line) in words and len(mine) == len(numbers)
        if not same or any(
            len(set(values)) == 1 and number != values[0]
            for number, values in zip(mine, numbers, strict=True)
        ):
            yield f"the page shows {line!r}, but {others[0]!r} is printed"


def _plain(line: str) -> str:
    return " ".join(line.split())
