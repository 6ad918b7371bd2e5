"""Plan: a table of what a release would cost and be worth, with acceptance criteria."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.document.planning import Column
from dphist.errors import ParameterError, ReleaseFileError
from dphist.files import write_text
from dphist.parameters import decimal_text, exact_number
from dphist.planning.criteria import Criterion, criterion
from dphist.planning.declared import find_columns, find_planning, list_planned_kinds
from dphist.privacy import PrivacyUnit
from dphist.release.document import (
    check_document,
    checksum,
    is_later,
    read_document,
    unreadable,
    with_checksum,
)
from dphist.release.kind_names import KINDS, kind_name
from dphist.release.release import VERSION
from dphist.release.tabular import Tabular

FORMAT = "dphist plan"
FORMAT_VERSION = 1
_WHOLE = {int, type(None)}
_TYPES = {
    Fraction: pa.float64(),
    float: pa.float64(),
    int: pa.int64(),
    bool: pa.bool_(),
    str: pa.string(),
}


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Tabular):
    """What releases would cost and be worth, for several settings; no data were read.

    Attributes
    ----------
    kind : such as "labels"; a plan that version 0.2 made of streams has "stream".
    asked : what all settings share, by name: public guesses and parameters.
    unit : what is protected, such as "one patient".
    columns : names of the columns; `dphist.planning.declared.find_columns` says what each means.
    rows : a tuple of values for each setting, in the order of `columns`. epsilon, delta and
        their products are exact.
    criteria : acceptance criteria.
    version : version of dphist that computed it.
    description : digest of the description of the data that it was planned for, if there is one.
    """

    kind: str
    asked: Mapping[str, Any]
    unit: PrivacyUnit
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    criteria: tuple[Criterion, ...] = ()
    version: str = VERSION
    description: str | None = None

    def __repr__(self) -> str:
        said = f", {len(self.criteria)} criteria" if self.criteria else ""
        return f"Plan({self.kind!r}, {len(self.rows)} settings{said})"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def column(self, name: str) -> list[Any]:
        """Return the values of a column, one for each setting."""
        if name not in self.columns:
            raise ParameterError("name", f"must be one of {', '.join(self.columns)}")
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def to_arrow(self) -> pa.Table:
        """Return the table; epsilon and delta are rounded to floats."""
        known = find_columns(self.kind)
        columns = {
            name: pa.array(map(_convert_fraction, self.column(name)), _TYPES[known[name].holds])
            for name in self.columns
        }
        return pa.table(columns)

    @property
    def digest(self) -> str:
        """SHA-256 of the content: note it down to show later that the plan came first."""
        return checksum(self._content())

    def to_json(self) -> str:
        """Return the plan as a JSON document (format 1, see `docs/guides/planning.md`)."""
        return with_checksum(self._content())

    def save(self, path: str | Path) -> None:
        """Write the plan to a JSON file, whole or not at all."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """Read a plan that `save` wrote.

        Raises
        ------
        ReleaseFileError
            If the file is missing, damaged, edited or written by a later version.
        """
        return cls.from_json(read_document(path, "plan"), str(path))

    @classmethod
    def from_json(cls, text: str, name: str = "the text") -> "Plan":
        """Read a plan from the text of `to_json`; error messages use `name`."""
        content = check_document(text, name, "plan", FORMAT_VERSION, "make the plan again")
        plan: Plan | None
        try:
            kind, columns = content["kind"], tuple(content["columns"])
            known = [find_columns(kind)[name] for name in columns]
            plan = cls(
                kind=kind,
                asked=dict(content["asked"]),
                unit=PrivacyUnit.from_content(content["unit"]),
                columns=columns,
                rows=tuple(_read(known, row) for row in content["rows"]),
                criteria=tuple(criterion(each, kind) for each in content["criteria"]),
                version=str(content["library_version"]),
                description=content.get("description"),
            )
            _check(plan)
        except Exception:  # of whatever its parts may be
            plan = None
        if plan is None:
            raise _unreadable(content, name)
        return plan

    def _content(self) -> dict[str, Any]:
        described = {} if self.description is None else {"description": self.description}
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "library_version": self.version,
            "kind": self.kind,
            "unit": str(self.unit),
            "asked": dict(self.asked),
            "columns": list(self.columns),
            "rows": [[_write_fraction(value) for value in row] for row in self.rows],
            "criteria": [each.text for each in self.criteria],
            **described,
        }


def _unreadable(content: dict[str, Any], name: str) -> ReleaseFileError:
    """Return the error for a plan that is not understood, perhaps as its kind is not known here."""
    kind = content.get("kind")
    ours = not isinstance(kind, str) or kind_name(kind) in KINDS
    if not ours and not is_later(content) and kind not in list_planned_kinds():
        return ReleaseFileError(
            f"{name} is a plan of a kind that is not registered; import the package that has it"
        )
    return unreadable(content, name, "plan")


def _check(plan: Plan) -> None:
    """Refuse a plan whose columns or values are not those of its kind; ValueError and others."""
    if not plan.rows:
        raise ValueError("no plan")
    parameters = signature(find_planning(plan.kind).settings).parameters
    if not (set(plan.asked) <= set(parameters) and all(map(_is_plain, plan.asked.values()))):
        raise ValueError("no parameters of a plan")
    if not isinstance(plan.description, str | None):
        raise ValueError("no digest")
    known = find_columns(plan.kind)
    for name in plan.columns:
        if known[name].holds is Fraction and not all(each >= 0 for each in plan.column(name)):
            raise ValueError("a number is negative")
    if not all(plan.column("epsilon")):
        raise ValueError("epsilon is positive")
    table = plan.to_arrow()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and not known[name].not_given:
            raise ValueError("a value is missing")
        if pa.types.is_integer(column.type) and not set(map(type, plan.column(name))) <= _WHOLE:
            raise ValueError("a number is not whole")  # Arrow cuts 1.5 to 1
        if pa.types.is_string(column.type) and not all(map(_is_plain, plan.column(name))):
            raise ValueError("a text is not one line")
        if (
            pa.types.is_floating(column.type)
            and not np.isfinite(column.drop_null().to_numpy()).all()
        ):
            raise ValueError("a number is not finite")


def _is_plain(value: object) -> bool:
    """Whether a value is one that `dphist.plan` notes of what it was asked for."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value.isprintable() if isinstance(value, str) else isinstance(value, int | None)


def _write_fraction(value: Any) -> Any:
    return decimal_text(value, 150) if isinstance(value, Fraction) else value


def _read(columns: Sequence[Column], row: list[Any]) -> tuple[Any, ...]:
    return tuple(
        exact_number(value, column.name) if column.holds is Fraction else value
        for column, value in zip(columns, row, strict=True)
    )


def _convert_fraction(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value
