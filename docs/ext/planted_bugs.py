"""The list of planted bugs, from `mutants/*.toml`.

The line `<!-- planted bugs -->` of a page becomes a table for each family of them.
"""

from collections.abc import Iterable
from posixpath import dirname, relpath
from typing import Any

from mutants.catalogue import Mutant, load

PLACE = "<!-- planted bugs -->"


def tables(mutants: Iterable[Mutant], folder: str) -> str:
    """Return a table for each family as Markdown, with links as seen from `folder`."""
    listed = list(mutants)
    lines = []
    for family in dict.fromkeys(mutant.family for mutant in listed):
        lines += [f"## {family}", ""]
        lines += ["| mutant | what a reader could learn | lemma | caught by |", "|---|---|---|---|"]
        lines += [_row(mutant, folder) for mutant in listed if mutant.family == family]
        lines.append("")
    return "\n".join(lines)


def _row(mutant: Mutant, folder: str) -> str:
    name = f"{mutant.name} (*long*)" if mutant.long else mutant.name
    tests = "<br>".join(f"`{test}`" for test in mutant.tests)
    return f"| {name} | {mutant.learns} | {_link(mutant.lemma, folder)} | {tests} |"


def _link(lemma: str, folder: str) -> str:
    """Return the lemma with a link to its page."""
    name, _, place = lemma.partition(", ")
    page = name if name.endswith(".md") else f"docs/understand/proofs/{name}.md"
    return f"[{name}]({relpath(page, folder)}){f', {place}' if place else ''}"


def read(app: Any, name: str, source: list[str]) -> None:
    """Put the tables into a page that Sphinx has read."""
    if PLACE in source[0]:
        source[0] = source[0].replace(PLACE, tables(load(), dirname(f"docs/{name}")))


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
