"""dphist compare: error and time of mechanisms, side by side on data that may be looked at."""

import argparse
import inspect
import io
import json
import signal
import sys
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from dphist import signals
from dphist.commands.options import OVERWRITE, QUIET_OR_JSON, UsageError, read_named_value
from dphist.commands.printing import complain, say
from dphist.commands.publishing import check_outputs
from dphist.commands.resources import MEASURED
from dphist.document.compared import LABEL, DataFile, MissingParameterError
from dphist.document.kind import kinds
from dphist.document.options import Command, Group, Needs, OneOf, Option, Table, decimal
from dphist.errors import ParameterError
from dphist.files import stage_outputs
from dphist.lab.auditing.named import import_attribute, mechanisms
from dphist.lab.comparing.compare import compare
from dphist.lab.comparing.comparison import Comparison
from dphist.lab.comparing.document import make_document
from dphist.parameters import positive_number
from dphist.release.mechanisms import ENTRY_POINTS
from dphist.render.text import content

_PICTURES = (".png", ".svg", ".pdf")


def _compare(options: argparse.Namespace) -> None:
    file = _find_file(options)
    data = getattr(options, file.option.name)
    _check(options, data)
    for text in options.epsilon:
        positive_number(text, "epsilon")
    mechanisms = _read_mechanisms(options)
    given = {column.name: getattr(options, column.name) for column in file.columns}
    read = file.read(data, **given)
    try:
        # Ctrl-C ends the measuring alone: what was measured is written and printed.
        with signals.handled_by(signal.default_int_handler, [signal.SIGINT]):
            found = compare(
                mechanisms,
                read,
                options.epsilon,
                delta=options.delta,
                published=not options.only,
                seconds=options.seconds,
                target=options.target,
                output=options.output,
                progress=partial(_tell, options),
            )
    except MissingParameterError as error:
        raise UsageError(
            f"{error.mechanism} needs {error.needed}, which does not follow from the data: add "
            f"--set {error.needed}=VALUE"
        ) from None
    _write(found, options)
    signals.ignore_signals()
    if options.json:
        say(json.dumps(content(make_document(found))))
    elif not options.quiet:
        say(str(found))
        for kind in ("output", "plot", "report"):
            if getattr(options, kind):
                say(f"wrote {getattr(options, kind)}")
    if found.stopped == "interrupted":
        kept = f"in {options.output}" if options.output else "shown"
        raise signals.Interrupted(f"interrupted; what was measured is {kept}")


def _check(options: argparse.Namespace, data: str) -> None:
    """Find what is wrong with the paths before anything is measured."""
    if not Path(data).is_file():
        raise UsageError(f"{data} does not exist, or is not a file")
    if options.plot is not None and Path(options.plot).suffix.lower() not in _PICTURES:
        raise UsageError(f"--plot must end in {', '.join(_PICTURES[:2])} or {_PICTURES[2]}")
    check_outputs([options.output, options.plot, options.report], [data], overwrite=True)
    check_outputs([options.plot, options.report], overwrite=options.overwrite)


def _tell(options: argparse.Namespace, text: str) -> None:
    if options.output is not None:
        signals.set_line(f"interrupted; what was measured is in {options.output}")
    shown = not (options.quiet or options.json)
    if shown and sys.stderr is not None and sys.stderr.isatty():
        complain(text, flush=True)


def _write(found: Comparison, options: argparse.Namespace) -> None:
    with stage_outputs() as staged:
        if options.plot is not None:
            picture = io.BytesIO()
            ending = Path(options.plot).suffix.lower()[1:]
            found.plot()[0].figure.savefig(picture, format=ending, dpi=130)
            staged.write(options.plot, picture.getvalue(), replace=options.overwrite)
        if options.report is not None:
            from dphist.render.html import page

            staged.write(options.report, page(make_document(found)), replace=options.overwrite)
        staged.commit()


def _read_mechanisms(options: argparse.Namespace) -> dict[str, Any]:
    """Return what is named, with the parameters that are set."""
    chosen = dict(map(read_named_value, options.set))
    found: dict[str, Any] = {}
    used: set[str] = set()
    for name in options.mechanism:
        mechanism: Any = import_attribute(name) if ":" in name else _find_registered(name)
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


def _find_registered(name: str) -> Any:
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


def _find_file(options: argparse.Namespace) -> DataFile:
    """Return what the data are read as; UsageError if a column is given that this one has not."""
    (file,) = [each for each in _files() if each.option.is_present(options)]
    for column in _columns():
        if column.is_given(options):
            said = f"{column.written} does not go with {file.option.written}"
            if column.name not in [each.name for each in file.columns]:
                raise UsageError(said)
            if LABEL in file.columns and not LABEL.is_given(options):
                raise UsageError(f"{said} without {LABEL.written}")
    return file


def _files() -> list[DataFile]:
    """Return the files that can be read, of all kinds."""
    declared = (kind.comparing for kind in kinds() if kind.comparing is not None)
    return [each.file for each in declared if each.file is not None]


def _columns() -> list[Option]:
    """Return the options for columns and bounds of these files, each name once."""
    return [*{column.name: column for file in _files() for column in file.columns}.values()]


_MECHANISMS = [
    Option(
        "mechanism",
        "a mechanism of dphist, such as AdaptiveScan, or one that an installed package registers; "
        "package.module:name of a class of mechanisms or of a function of epsilon; may be repeated",
        "NAME",
        repeats=True,
        default=[],
    ),
    Option(
        "set",
        "a parameter of those mechanisms that have it, such as k=10; may be repeated",
        "NAME=VALUE",
        repeats=True,
        default=[],
    ),
    Option(
        "only",
        "compare the mechanisms named with each other alone",
        rules=(Needs(["mechanism"], "what is compared"),),
    ),
]
_EFFORT: Table = [
    Option(
        "seconds",
        "time for everything; what does not end in time is left out (default: 60)",
        "S",
        decimal,
        default=60,
    ),
    Option(
        "target",
        "standard error over error at which a cell is finished (default: 0.05)",
        "P",
        decimal,
        default=0.05,
    ),
]
_WRITTEN: Table = [
    Option("output", "write results here after each cell, and go on from them", "CSV"),
    Option("plot", "draw error against epsilon and time: .png, .svg or .pdf", "PICTURE"),
    Option("report", "write a page with pictures and tables", "HTML"),
    OVERWRITE,
    QUIET_OR_JSON,
]


def command() -> Command:
    """Return the command, with an option for each kind of data that can be read."""
    files = [file.option for file in _files()]
    needs_delta = [each for each in files if any("delta" in rule.others for rule in each.rules)]
    with_delta = ", ".join(each.written for each in needs_delta)
    epsilons = "total epsilons of a release (default: 1 0.1)"
    cost: Table = [
        Option("epsilon", epsilons, "E", many=True, default=["1", "0.1"]),
        Option("delta", f"total delta, such as 1e-6; needed with {with_delta}", "D"),
    ]
    return Command(
        text="Measure error and time of mechanisms, yours beside all others of the kind, on the "
        "same data. The result is NOT private: it is made by looking at the data. Use public data, "
        "or your own where looking is allowed.",
        epilog="With --output, results are kept after each cell: run the same command again, with "
        "more --seconds or other mechanisms, and it goes on where it stopped. The guide is "
        "docs/guides/compare.md.",
        table=[
            *_MECHANISMS,
            Group("data, one of", "", [OneOf(files, required=True)]),
            Group("columns and bounds", "", _columns()),
            Group("what is measured", "", [*cost, *_EFFORT]),
            MEASURED,
            Group("what is written", "", _WRITTEN),
        ],
        run=_compare,
    )
