"""dphist compare: error and time of mechanisms, side by side on data that may be looked at."""

import argparse
import contextlib
import io
import json
import signal
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from dphist.atomic_files import check_distinct, check_output_path, staged_outputs
from dphist.commands import ending
from dphist.commands.options import QUIET_OR_JSON, UsageError, overwrite
from dphist.commands.printing import complain, say
from dphist.commands.resources import MEASURED
from dphist.document.compared import MissingParameterError
from dphist.document.options import Command, Group, Option, Table, decimal
from dphist.errors import OutputFileError
from dphist.lab.commands.compare_inputs import columns, data_of, file_of, files, mechanisms_of
from dphist.lab.comparing.compare import compare
from dphist.lab.comparing.comparison import Comparison
from dphist.lab.comparing.document import document_of
from dphist.parameters import positive_number
from dphist.render.as_json import content

_PICTURES = (".png", ".svg", ".pdf")


def _compare(options: argparse.Namespace) -> None:
    _check(options)
    for text in options.epsilon:
        positive_number(text, "epsilon")
    mechanisms = mechanisms_of(options)
    data = data_of(options)
    try:
        with _interruptible():
            found = compare(
                mechanisms,
                data,
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
    ending.settle()
    if options.json:
        say(json.dumps(content(document_of(found))))
    elif not options.quiet:
        say(str(found))
        for kind in ("output", "plot", "report"):
            if getattr(options, kind):
                say(f"wrote {getattr(options, kind)}")
    if found.stopped == "interrupted":
        kept = f"in {options.output}" if options.output else "shown"
        raise ending.Interrupted(f"interrupted; what was measured is {kept}")


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Have Ctrl-C end the measuring alone: what was measured is written and printed."""
    before = signal.getsignal(signal.SIGINT)
    here = threading.current_thread() is threading.main_thread()
    if not here or before == signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _check(options: argparse.Namespace) -> None:
    data = getattr(options, file_of(options).option.name)
    if options.only and not options.mechanism:
        raise UsageError("--only needs --mechanism")
    if not Path(data).is_file():
        raise UsageError(f"{data} does not exist, or is not a file")
    if options.plot is not None and Path(options.plot).suffix.lower() not in _PICTURES:
        raise UsageError(f"--plot must end in {', '.join(_PICTURES[:2])} or {_PICTURES[2]}")
    outputs = [path for path in (options.output, options.plot, options.report) if path is not None]
    try:
        check_distinct([data, *outputs])
        for path in outputs:
            check_output_path(path)
    except OutputFileError as error:
        raise UsageError(*error.args) from None
    there = [path for path in (options.plot, options.report) if path and Path(path).exists()]
    if there and not options.overwrite:
        raise UsageError(f"{there[0]} exists; name another output, or replace it with --overwrite")


def _tell(options: argparse.Namespace, text: str) -> None:
    if options.output is not None:
        ending.say(f"interrupted; what was measured is in {options.output}")
    shown = not (options.quiet or options.json)
    if shown and sys.stderr is not None and sys.stderr.isatty():
        complain(text, flush=True)


def _write(found: Comparison, options: argparse.Namespace) -> None:
    with staged_outputs() as staged:
        if options.plot is not None:
            content = _picture(found, Path(options.plot).suffix.lower()[1:])
            staged.write_bytes(options.plot, content, replace=options.overwrite)
        if options.report is not None:
            from dphist.render.html import page

            staged.write_text(options.report, page(document_of(found)), replace=options.overwrite)
        staged.commit()


def _picture(found: Comparison, kind: str) -> bytes:
    picture = io.BytesIO()
    found.plot()[0].figure.savefig(picture, format=kind, dpi=130)
    return picture.getvalue()


def _measured() -> Table:
    with_delta = ", ".join(
        file.option.written
        for file in files()
        if any("delta" in rule.others for rule in file.option.rules)
    )
    return [
        Option(
            "epsilon",
            "total epsilons of a release (default: 1 0.1)",
            "E",
            many=True,
            default=["1", "0.1"],
        ),
        Option("delta", f"total delta, such as 1e-6; needed with {with_delta}", "D"),
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
    overwrite("replace a picture or page that exists already"),
    QUIET_OR_JSON,
]


def command() -> Command:
    """Return the command, with an option for each kind of data that can be read."""
    return Command(
        text="Measure error and time of mechanisms, yours beside all others of the kind, on the "
        "same data. The result is NOT private: it is made by looking at the data. Use public data, "
        "or your own where looking is allowed.",
        epilog="With --output, results are kept after each cell: run the same command again, with "
        "more --seconds or other mechanisms, and it goes on where it stopped. The guide is "
        "docs/guides/compare.md.",
        table=[
            Option(
                "mechanism",
                "a mechanism of dphist, such as AdaptiveScan, or one that an installed package "
                "registers; package.module:name of a class of mechanisms or of a function of "
                "epsilon; may be repeated",
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
            Option("only", "compare the mechanisms named with each other alone"),
            Group("data, one of", "", [file.option for file in files()]),
            Group("columns and bounds", "", columns()),
            Group("what is measured", "", _measured()),
            MEASURED,
            Group("what is written", "", _WRITTEN),
        ],
        run=_compare,
    )
