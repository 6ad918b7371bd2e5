"""The file of a comparison: written after each cell, and read to go on from."""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import dropwhile
from pathlib import Path
from typing import Any

from dphist.document.compared import Measure
from dphist.errors import OutputFileError, ParameterError
from dphist.foreign import read_json, read_text
from dphist.lab.comparing.comparison import NOTICE, ComparedRow, LeftOut
from dphist.lab.comparing.measuring import Measured
from dphist.parameters import decimal_text, number_of_text, positive_number, whole_of_text

FORMAT = 1
COLUMNS = (
    *("mechanism", "parameters", "given", "guarantee", "epsilon", "measure", "unit"),
    *("error", "standard_error", "runs", "seconds"),
)
_SAYS = {
    "format": "another version of the file",
    "dphist": "another version of dphist",
    "kind": "data of another kind",
    "data": "other data",
    "delta": "another delta",
}


@dataclass(frozen=True, slots=True)
class Earlier:
    """The rows of a file, in the order of the file."""

    rows: tuple[ComparedRow, ...] = ()

    def of(self, mechanism: str, epsilon: Fraction) -> tuple[ComparedRow, ...]:
        """Return the rows of one cell."""
        found = (row for row in self.rows if row.mechanism == mechanism)
        return tuple(row for row in found if row.epsilon == epsilon)


def text_of(
    rows: Iterable[ComparedRow], settings: Mapping[str, Any], left_out: Iterable[LeftOut] = ()
) -> str:
    """Return the text of the file: what it is, its settings, what is left out, and the rows."""
    text = io.StringIO()
    text.write(f"# dphist compare. {NOTICE}\n# {json.dumps(dict(settings))}\n")
    for one in left_out:
        said = f"left out: {one.mechanism} at epsilon {decimal_text(one.epsilon)}: {one.reason}"
        text.write(f"# {' '.join(said.split())}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        held = {name: getattr(row, name) for name in COLUMNS}
        held["epsilon"] = decimal_text(row.epsilon, 150)
        writer.writerow("" if value is None else value for value in held.values())
    return text.getvalue()


def read_earlier(path: str | Path, settings: Mapping[str, Any]) -> Earlier:
    """Return what a file holds; nothing if there is none.

    Raises
    ------
    ParameterError
        If it was made with other settings.
    OutputFileError
        If it is no file of a comparison.
    """
    if not Path(path).exists():
        return Earlier()
    no_file = OutputFileError(
        f"{path} is no result of a comparison that can be continued; name another output"
    )
    try:
        text = read_text(Path(path).read_bytes())
        lines = text.splitlines()
        held = read_json(lines[1].removeprefix("# "))
        table = dropwhile(lambda line: line.startswith("# "), lines[2:])  # what was left out
        rows = tuple(map(_row, csv.DictReader(table, strict=True)))
    except (OSError, ArithmeticError, LookupError, TypeError, ValueError, csv.Error):
        raise no_file from None
    is_whole = text.endswith("\n")  # a number may have lost digits
    if not (lines[0].startswith("# dphist compare") and isinstance(held, dict) and is_whole):
        raise no_file
    for name, value in settings.items():
        if held.get(name) != value:
            raise ParameterError(
                "output",
                f"must be of the same settings, and {path} is of {_SAYS[name]}",
                "name another output, or delete that file",
            )
    return Earlier(rows)


def kept_of(rows: Sequence[ComparedRow], measures: Sequence[Measure]) -> list[Measured | None]:
    """Return what earlier runs say of each measure, in the units of single runs."""
    by_name = {row.measure: row for row in rows}
    return [_single(by_name.get(one.name), one.root) for one in measures]


def stated(found: Measured, root: bool) -> tuple[float, float | None]:
    """Return error and standard error as they are stated: of a mean of squares their root."""
    doubt = found.standard_error if found.runs > 1 else None
    if not root:
        return found.error, doubt
    error = math.sqrt(found.error)
    return error, doubt if doubt is None or not error else doubt / (2 * error)


def _single(row: ComparedRow | None, root: bool) -> Measured | None:
    if row is None:
        return None
    error, doubt = row.error, row.standard_error
    if doubt is None:
        doubt = math.inf
    if root:
        error, doubt = error**2, 2 * error * doubt
    return Measured(row.runs, error, doubt, row.seconds)


def _row(line: Mapping[str, str]) -> ComparedRow:
    doubt = line["standard_error"]
    found = ComparedRow(
        mechanism=line["mechanism"],
        given=line["given"],
        guarantee=line["guarantee"],
        epsilon=positive_number(line["epsilon"], "epsilon"),
        measure=line["measure"],
        unit=line["unit"],
        error=_number(line["error"]),
        standard_error=_number(doubt) if doubt else None,
        runs=whole_of_text(line["runs"]) or 0,
        seconds=_number(line["seconds"]),
        parameters=line["parameters"],
    )
    if found.runs < 1:
        raise ValueError("no row of a comparison")
    return found


def _number(text: str) -> float:
    number = number_of_text(text)
    if number is None or number < 0:
        raise ValueError("no number of a comparison")
    return float(number)
