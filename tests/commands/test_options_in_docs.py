"""Every option that a page names is one of a command."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dphist.commands.registry import find_commands, make_parser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[gsr]*/*.md"))]
OTHERS = {"--xattrs", "--inplace"}  # of tar, cp and rsync
# Of benchmarks, of an example, and of the kind that a guide writes.
OTHERS |= {"--dask", "--durable", "--heap", "--kinds", "--log", "--longest", "--messages", "--most"}
OTHERS |= {"--runs", "--turns"}


def list_options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the options of a command and its subcommands."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from list_options(below)


KNOWN = {option for command in find_commands() for option in list_options(make_parser([command]))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_that_pages_name_exist(page: Path) -> None:
    named = re.findall(r"(?<![-\w])--[a-z][a-z-]+", page.read_text())
    assert sorted({*named} - KNOWN - OTHERS) == []
