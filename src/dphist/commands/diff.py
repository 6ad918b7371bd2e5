"""dphist diff: what changed between two releases."""

import argparse

from dphist.commands.options import JSON, OVERWRITE, QUIET, argument
from dphist.commands.printing import say
from dphist.commands.publishing import check_inputs, check_outputs, say_written
from dphist.document.options import Command, OneOf, Option, decimal
from dphist.files import stage_outputs
from dphist.release.release import Release
from dphist.report.difference import difference
from dphist.signals import ignore_signals


def _diff(options: argparse.Namespace) -> None:
    inputs = [options.before, options.after]
    check_inputs(inputs)
    paths = {"report": options.output} if options.output else {}
    check_outputs(paths.values(), inputs, overwrite=options.overwrite)
    before, after = (Release.load(path) for path in inputs)
    found = difference(before, after, level=options.level)
    if paths:
        with stage_outputs() as staged:
            staged.write(options.output, found.to_html(), replace=options.overwrite)
    if options.json:
        say(found.to_json())
    elif options.csv:
        say(found.to_csv(), end="")
    elif not options.quiet:
        say(str(found))
        say_written(paths)
    ignore_signals()


COMMAND = Command(
    text="Compare two releases of one kind: each change with its interval, from the noise of both, "
    "and which of all changes stand. No data are read, and no budget is spent.",
    epilog="The releases need the same unit, bounds, and edges or type of labels; epsilon may "
    "differ. Exit code 0 says that they were compared, not that anything changed.",
    table=[
        argument("before", "the earlier release (JSON)", "BEFORE"),
        argument("after", "the later release (JSON)", "AFTER"),
        Option(
            "level",
            "probability of each interval, and that nothing stands if nothing changed "
            "(default: 0.95)",
            "P",
            decimal,
            default=0.95,
        ),
        Option("output", "write a page about the difference here", "HTML"),
        OVERWRITE,
        OneOf([QUIET, JSON, Option("csv", "print the table as CSV")]),
    ],
    run=_diff,
)
