"""What the commands' options share."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dphist.document.options import Excludes, Needs, OneOf, Option, Table, whole
from dphist.errors import DphistError
from dphist.foreign import read_json

_NEGATIVE = re.compile(r"-([0-9.]|inf)")


class UsageError(DphistError):
    """The command was typed wrongly; the message says how, and a second line where to read on."""


def argument(name: str, meaning: str, typed: str, *, required: bool = True, **more: Any) -> Option:
    """Return what is typed without dashes, which help calls by `typed`."""
    return Option(name, meaning, typed=typed, positional=True, required=required, **more)


def _path(text: str) -> Path:
    if not text:
        raise ValueError("must be the name of a file")
    return Path(text)


FILE = argument(
    "file",
    "the data: one file, or several of the same columns, a folder or a pattern in quotes, counted "
    "as one table; a dry run opens none",
    "FILE",
    read=_path,
    repeats=True,
)
RELEASE = argument("file", "a release that dphist wrote (JSON)", "RELEASE", parameter="release")
OVERWRITE = Option("overwrite", "replace outputs that exist already (default: refuse)")
QUIET = Option("quiet", "print nothing but errors")
JSON = Option("json", "print JSON")
QUIET_OR_JSON = OneOf([QUIET, JSON])


def dry_run(states: str, guess: Option, output: str = "") -> list[Option]:
    """Return the options of a dry run, and where the release is written.

    Parameters
    ----------
    states : what a dry run prints.
    guess : the option of a public guess.
    output : what is released, beyond a release.
    """
    return [
        Option("dry_run", f"only print {states}; read no data"),
        guess,
        Option(
            "output",
            f"write the release {output}here; without it, or a ledger, the release is not kept",
            "JSON",
        ),
    ]


_FORMS = "; the ending .xlsx, .parquet or .sdmx.csv makes a workbook, Parquet or SDMX-CSV of it"
_STRUCTURE = Option(
    "structure",
    "the dataflow that a table in SDMX-CSV is of (default: DPHIST: and the kind)",
    "AGENCY:ID(VERSION)",
    rules=(Needs(["table"], "the file that it stands in"),),
)


def outputs(
    columns: str,
    *,
    more: str = "",
    safe: bool = True,
    below: Sequence[Needs | Excludes] | None = None,
    what: str = "release",
    json: str = "print JSON: the release itself, or with --output the files that were written",
    forms: bool = True,
) -> Table:
    """Return the options that say what is written and printed.

    Parameters
    ----------
    columns : of the table.
    more : on what is replaced.
    safe : whether the table may be made for a spreadsheet.
    below : rules of ``--show-below``, where small estimates may be left out of the table.
    what : what the page explains.
    forms : whether the table may be of another format than CSV.
    """
    about_table = Needs(["table"], "the file that it changes")
    return [
        Option("table", f"write {_name_columns(columns)} here{_FORMS if forms else ''}", "CSV"),
        *([_STRUCTURE] if forms else []),
        *([spreadsheet_safe("in --table", about_table)] if safe else []),
        *([] if below is None else [show_below(*below)]),
        Option("report", f"write a page that explains the {what} here", "HTML"),
        replace(OVERWRITE, meaning=f"{OVERWRITE.meaning}{more}"),
        OneOf([QUIET, Option("json", json)]),
    ]


def _name_columns(columns: str) -> str:
    """Return columns as help calls them: a single name is marked as one.

    >>> _name_columns("label,count"), _name_columns("label")
    ('columns label,count', 'the column "label"')
    """
    return f'the column "{columns}"' if columns.isidentifier() else f"columns {columns}"


def spreadsheet_safe(where: str, *rules: Needs | Excludes) -> Option:
    """Return the option that keeps a spreadsheet from running or changing text."""
    return Option(
        "spreadsheet_safe",
        f"write text {where} so that a spreadsheet runs none as a formula and changes none: "
        "quoted, with an apostrophe ahead unless it begins with a letter and has no digit",
        rules=rules,
    )


def show_below(*rules: Needs | Excludes) -> Option:
    """Return the option that writes no small estimate."""
    return Option(
        "show_below",
        'write each estimate below this as "<N" in --table, in --report, which then has no '
        "pictures, and where it is printed, without what would tell it; JSON and the saved release "
        "keep every number; it adds no privacy",
        "N",
        whole,
        least=1,
        rules=rules,
    )


def guess(name: str, meaning: str, **more: Any) -> Option:
    """Return the option of a public guess for a dry run."""
    read: dict[str, Any] = {"value": "N", "read": whole, "least": 1, "dry_run": True}
    return Option(name, f"a public guess of {meaning}", **read | more)


def read_named_value(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE of --set; a value that is no JSON is text.

    >>> read_named_value("max_labels=3"), read_named_value("noise=laplace")
    (('max_labels', 3), ('noise', 'laplace'))
    """
    name, found, value = text.partition("=")
    if not found or not name.isidentifier():
        raise UsageError("--set must be NAME=VALUE, such as max_labels=3")
    try:
        return name, read_json(value) if value == value.strip() else value
    except ValueError:
        return name, value


# Options of which a value may begin with a minus sign.
EDGE_OPTIONS = ("--edges", "--start", "--stop")


def with_negative_values(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Join options with values such as ``-inf,0,5``, which argparse would take for options.

    >>> with_negative_values(["ranges", "--edges", "-5,0", "--json"], ["--edges"])
    ['ranges', '--edges=-5,0', '--json']
    """
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in options and _NEGATIVE.match(argument):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined
