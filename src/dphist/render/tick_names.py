"""Released labels as names on the axis of a picture: short, and different from each other."""

import textwrap
from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len

from dphist.render.text_table import in_columns
from dphist.visible import harmless


def distinct_names(labels: Sequence[str], letters: int = 26) -> list[str]:
    """Return labels in up to two lines each, for the axis of a picture.

    Of a long label the end is kept as well as the beginning; labels that still look alike get a
    number.

    >>> distinct_names(["International classification of diseases", "tea"])
    ['International\\nclassification of diseases', 'tea']
    >>> distinct_names(["a" * 60 + "x" + "b" * 60, "a" * 60 + "y" + "b" * 60], 6)
    ['aaaaaa\\n…aaa… 1', 'aaaaaa\\n…aaa… 2']
    """
    return numbered([_in_two_lines(harmless(label, 10 * letters), letters) for label in labels])


def numbered(names: Sequence[str]) -> list[str]:
    """Return names that were cut, with a number where several look alike.

    >>> numbered(["heart dise…", "heart dise…", "tea"])
    ['heart dis… 1', 'heart dis… 2', 'tea']
    """
    found, alike = list(names), Counter(names)
    seen: Counter[str] = Counter()
    for at, name in enumerate(names):
        if alike[name] > 1:
            seen[name] += 1
            found[at] = f"{name[:-2]}… {seen[name]}" if len(name) > 3 else f"{name} {seen[name]}"
    return found


def _in_two_lines(name: str, letters: int) -> str:
    if cell_len(name) <= letters:
        return name
    lines = textwrap.wrap(name, letters, break_on_hyphens=False) or [name]
    if len(lines) == 1:
        return in_columns(lines[0], letters)
    last = lines[1]
    if len(lines) > 2:  # keep the end: it is what sets long names apart
        last = "…" + name[1 - letters :].lstrip()
    return f"{in_columns(lines[0], letters).rstrip()}\n{in_columns(last, letters).rstrip()}"
