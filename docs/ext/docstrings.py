"""Docstrings in the form that numpydoc reads.

numpydoc drops a section that it does not know, as **Guarantee** is. It also takes the text of a
line `name : text` for a type, where ours is often the description. Pages of `docs` that a docstring
names become links, and the signature of a class is that of its `__init__`, without types.
"""

import inspect
import re
from typing import Any

from numpydoc.docscrape import NumpyDocString

HEADING = re.compile(r"-{3,}\s*$")
FIELDS = ("Parameters", "Returns", "Raises", "Attributes", "Yields")
PAGE = re.compile(r"`docs/([\w/-]+)\.md`")
PARAMETER = re.compile(r"([*\w]+(?:, [*\w]+)*) : (.*)$")


def sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return the sections of a docstring, each with its heading; the first has none."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for position, line in enumerate(lines):
        if HEADING.match(line) and position and lines[position - 1].strip():
            name = found[-1][1].pop().strip()
            found.append((name, []))
        else:
            found[-1][1].append(line)
    return found


def with_guarantee(lines: list[str]) -> list[str]:
    """Move the section on the guarantee before the parameters, where numpydoc keeps it."""
    parts = sections(lines)
    guarantee = [body for name, body in parts if name == "Guarantee"]
    result: list[str] = []
    for name, body in parts:
        if name == "Guarantee":
            continue
        if name:
            body, examples = body_and_examples(body) if name in FIELDS else (body, [])
            result += [name, "-" * len(name), *(described(body) if name in FIELDS else body)]
            result += examples
        else:
            result += body
            for each in guarantee:
                result += ["", ".. rubric:: Guarantee", "", *each, ""]
    return result


def body_and_examples(body: list[str]) -> tuple[list[str], list[str]]:
    """Cut the examples that follow the last field into a section of their own."""
    first = next((i for i, line in enumerate(body) if line.startswith(">>>")), len(body))
    return body[:first], ["Examples", "--------", *body[first:]] if body[first:] else []


def described(body: list[str]) -> list[str]:
    """Put a description that begins where a type would stand below its parameter."""
    result: list[str] = []
    for position, line in enumerate(body):
        found = PARAMETER.match(line)
        after = body[position + 1] if position + 1 < len(body) else ""
        goes_on = after.startswith(" ") and not after.strip()[:1].isupper()
        alone = not after.startswith(" ") and " " in line.split(" : ", 1)[-1]
        if found and (goes_on or alone or found[2].endswith(".")):
            text = found[2]
            result += [found[1], f"    {text[:1].upper()}{text[1:]}"]
        else:
            result.append(line)
    return result


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Change a docstring before numpydoc reads it."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in with_guarantee(lines)]


def signature(
    app: Any, what: str, name: str, obj: Any, options: Any, written: str | None, result: str | None
) -> tuple[str, str] | None:
    """Return what a class is called with, also where it checks that in `__new__`."""
    if what != "class" or not inspect.isfunction(obj.__init__):
        return None
    empty = inspect.Parameter.empty
    found = inspect.signature(obj.__init__)
    given = [each.replace(annotation=empty) for each in found.parameters.values()][1:]
    if any(each.name.startswith("_") for each in given):  # made by its class methods only
        return "", ""
    return str(inspect.Signature(given)), ""


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx, before numpydoc."""
    NumpyDocString.sections["Guarantee"] = ""  # signatures are read from docstrings as written
    app.connect("autodoc-process-docstring", process, priority=100)
    app.connect("autodoc-process-signature", signature, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
