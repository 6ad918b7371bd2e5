"""What dphist compare is given: mechanisms by name, with parameters, and data of any kind."""

import argparse
import inspect
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from dphist.commands.options import UsageError, named_value
from dphist.document.compared import LABEL, DataFile
from dphist.document.kind import kinds
from dphist.document.options import Option
from dphist.errors import ParameterError
from dphist.lab.auditing.named import imported, mechanisms
from dphist.release.mechanisms import ENTRY_POINTS


def files() -> list[DataFile]:
    """Return the files that can be read, of all kinds."""
    declared = (kind.comparing for kind in kinds() if kind.comparing is not None)
    return [each.file for each in declared if each.file is not None]


def columns() -> list[Option]:
    """Return the options for columns and bounds of these files, each name once."""
    return [*{column.name: column for file in files() for column in file.columns}.values()]


def mechanisms_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return what is named, with the parameters that are set."""
    chosen = dict(map(named_value, options.set))
    found: dict[str, Any] = {}
    used: set[str] = set()
    for name in options.mechanism:
        mechanism: Any = imported(name) if ":" in name else _registered(name)
        own = {}
        if inspect.isclass(mechanism):
            accepted = inspect.signature(mechanism).parameters
            own = {key: value for key, value in chosen.items() if key in accepted}
            used |= set(own)
        short = name.rpartition(":")[2]
        found[short if short not in found else name] = (
            partial(mechanism, **own) if own else mechanism
        )
    unused = [key for key in chosen if key not in used]
    if unused:
        raise UsageError(f"--set {unused[0]}: no --mechanism has that parameter")
    return found


def _registered(name: str) -> Any:
    """Return a mechanism of dphist, or of an installed package that has an entry point for it."""
    known = mechanisms()
    if name in known:
        return known[name]
    points = list(entry_points(group=ENTRY_POINTS, name=name))
    if len(points) != 1:
        raise ParameterError(
            "mechanism",
            f"must be one of {', '.join(known)}, one that an installed package registers, "
            "or package.module:name",
        )
    return points[0].load()


def file_of(options: argparse.Namespace) -> DataFile:
    """Return what the data are read as.

    Raises
    ------
    UsageError
        If no file is named, or several; or a column that this one has not.
    """
    known = files()
    given = [file for file in known if file.option.is_present(options)]
    if len(given) != 1:
        *some, last = (file.option.written for file in known)
        raise UsageError(f"give one of {', '.join(some)} and {last}")
    (file,) = given
    for column in columns():
        if column.is_given(options):
            said = f"{column.written} does not go with {file.option.written}"
            if column.name not in [each.name for each in file.columns]:
                raise UsageError(said)
            if LABEL in file.columns and not LABEL.is_given(options):
                raise UsageError(f"{said} without {LABEL.written}")
    return file


def data_of(options: argparse.Namespace) -> Any:
    """Read the data, of whatever kind."""
    file = file_of(options)
    given = {column.name: getattr(options, column.name) for column in file.columns}
    return file.read(getattr(options, file.option.name), **given)
