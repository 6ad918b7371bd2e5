"""The page of the documentation that lists the mutants."""

from collections.abc import Iterable
from posixpath import relpath

from mutants.catalogue import Mutant

_HEAD = """\
# Mutants

A mutant is one small edit of the library that weakens a guarantee, such as somebody could make by
mistake. `make mutants` applies each of them to a copy of the repository and runs the tests named
here, of which at least one must fail. It prints which mutants are caught and which are missed, and
fails if any is missed. The set is in `mutants/*.toml`. A mutant marked *long* is caught by a test
of `make verify` only.

All 685 were last run on 27 November 2026, on two quiet cores, in 22 minutes: each was caught.

`python -m mutants --page > docs/understand/mutants.md` writes this page.
"""


def page(mutants: Iterable[Mutant]) -> str:
    """Return the page, a table a family."""
    held = list(mutants)
    parts = [_HEAD]
    for family in dict.fromkeys(mutant.family for mutant in held):
        own = [mutant for mutant in held if mutant.family == family]
        parts.append(f"## {family}\n")
        parts.append(
            "| mutant | what a reader could learn | lemma | caught by |\n|---|---|---|---|"
        )
        parts += [_row(mutant) for mutant in own]
        parts.append("")
    return "\n".join(parts)


def _row(mutant: Mutant) -> str:
    name = f"{mutant.name} (*long*)" if mutant.long else mutant.name
    tests = "<br>".join(f"`{test}`" for test in mutant.tests)
    return f"| {name} | {mutant.learns} | {_link(mutant.lemma)} | {tests} |"


def _link(lemma: str) -> str:
    """Return the lemma with a link to its page, seen from `docs/understand/`."""
    name, _, place = lemma.partition(", ")
    target = relpath(name, "docs/understand") if name.endswith(".md") else f"proofs/{name}.md"
    return f"[{name}]({target}){f', {place}' if place else ''}"
