"""What a comparison measured: rows, what was left out, styles, and the file that holds them."""

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
from dphist.lab.comparing.measuring import Measured
from dphist.parameters import decimal_text, positive_number, read_number, read_whole_number


def number_text(value: str | float) -> str:
    """Round to three digits or to whole numbers, whichever is finer.

    >>> number_text(1234.5), number_text(0.012345), number_text(7)
    ('1,234', '0.0123', '7')
    """
    if isinstance(value, str):
        return value.replace("|", "\\|")
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def capital(text: str) -> str:
    """Return a text that begins with a capital.

    >>> capital("sorted L1 error")
    'Sorted L1 error'
    """
    return text[:1].upper() + text[1:]


def epsilon_text(epsilon: Fraction) -> str:
    """Write an epsilon as a decimal."""
    return f"{float(epsilon):g}"


def seconds_text(seconds: float) -> str:
    """Write a time.

    >>> seconds_text(0.0012), seconds_text(32.1), seconds_text(1234)
    ('1.2 ms', '32 s', '1,234 s')
    """
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds * 1000:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


NOTICE = "Made by looking at the data, without privacy: do not publish it if the data are secret."


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """What was measured of a mechanism at one epsilon.

    Attributes
    ----------
    mechanism : its name.
    given : what of the data it was given in advance.
    guarantee : in a word or two.
    epsilon : exact.
    measure, unit : what the error is, such as "sorted L1 error" in "records".
    error : mean over the runs, or the root of the mean of squares.
    standard_error : of `error`; None of a single run.
    runs : number of releases.
    seconds : median time of a release.
    parameters : those of the mechanism beside epsilon, as text.
    code : names the code of a mechanism that is not of dphist.
    """

    mechanism: str
    given: str
    guarantee: str
    epsilon: Fraction
    measure: str
    unit: str
    error: float
    standard_error: float | None
    runs: int
    seconds: float
    parameters: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A cell without a result, and why."""

    mechanism: str
    epsilon: Fraction
    reason: str


@dataclass(frozen=True, slots=True)
class Style:
    """How a mechanism is drawn; what the caller put beside published ones stands out."""

    name: str
    told: str
    color: str
    dashed: bool = False
    stands_out: bool = False


FORMAT = 2
COLUMNS = (
    *("mechanism", "parameters", "given", "guarantee", "epsilon", "measure", "unit"),
    *("error", "standard_error", "runs", "seconds", "code"),
)
_SAYS = {
    "format": "another version of the file",
    "dphist": "another version of dphist",
    "kind": "data of another kind",
    "data": "other data",
    "delta": "another delta",
}


def format_text(
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


def read_earlier(path: str | Path, settings: Mapping[str, Any]) -> tuple[ComparedRow, ...]:
    """Return the rows that a file holds; nothing if there is none.

    Raises
    ------
    ParameterError
        If it was made with other settings.
    OutputFileError
        If it is no file of a comparison.
    """
    if not Path(path).exists():
        return ()
    no_file = OutputFileError(
        f"{path} is no result of a comparison that can be continued; name another output"
    )
    failures = (OSError, ArithmeticError, LookupError, TypeError, ValueError, csv.Error)
    try:
        text = read_text(Path(path).read_bytes())
        lines = text.splitlines()
        held = read_json(lines[1].removeprefix("# "))
    except failures:
        raise no_file from None
    is_whole = text.endswith("\n")  # a number may have lost digits
    if not (lines[0].startswith("# dphist compare") and isinstance(held, dict) and is_whole):
        raise no_file
    _check_settings(path, settings, held)
    table = dropwhile(lambda line: line.startswith("# "), lines[2:])  # what was left out
    try:
        return tuple(map(_row, csv.DictReader(table, strict=True)))
    except failures:
        raise no_file from None


def _check_settings(
    path: str | Path, settings: Mapping[str, Any], held: Mapping[str, object]
) -> None:
    """Refuse a file of other settings, such as another version of the file."""
    for name, value in settings.items():
        if held.get(name) != value:
            raise ParameterError(
                "output",
                f"must be of the same settings, and {path} is of {_SAYS[name]}",
                "name another output, or delete that file",
            )


def recall_measured(
    rows: Sequence[ComparedRow], measures: Sequence[Measure]
) -> list[Measured | None]:
    """Return what earlier runs say of each measure, in the units of single runs."""
    by_name = {row.measure: row for row in rows}
    return [_single(by_name.get(one.name), one.root) for one in measures]


def state_error(found: Measured, root: bool) -> tuple[float, float | None]:
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
        runs=read_whole_number(line["runs"]) or 0,
        seconds=_number(line["seconds"]),
        parameters=line["parameters"],
        code=line["code"],
    )
    if found.runs < 1:
        raise ValueError("no row of a comparison")
    return found


def _number(text: str) -> float:
    number = read_number(text)
    if number is None or number < 0:
        raise ValueError("no number of a comparison")
    return float(number)
