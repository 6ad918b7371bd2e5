"""ARCHITECTURE.md: its picture is drawn from the code, and what it names is there."""

import re
from pathlib import Path

from benchmarks.architecture import PICTURE, draw

ROOT = Path(__file__).parents[1]


def test_the_picture_is_that_of_the_code() -> None:
    assert PICTURE.read_text() == draw(), "draw it again: make architecture"


def test_what_is_named_is_there() -> None:
    named = re.findall(
        r"`((?:src|tests|docs|mutants)/[\w./]*)`", (ROOT / "ARCHITECTURE.md").read_text()
    )
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_functions_of_walks_are_in_their_files() -> None:
    """`name` (`file`) is a function, method or class of that file."""
    text = " ".join((ROOT / "ARCHITECTURE.md").read_text().split())
    named = re.findall(r"`([A-Za-z_.]+)`,? \(`(src/[\w./]+\.py)`\)", text)
    assert len(named) > 15
    for name, path in named:
        source = (ROOT / path).read_text()
        for part in name.split("."):
            assert re.search(rf"(?:def|class) {part}\b", source), (name, path)
