"""dphist rule: a disclosure rule, tested on the table that it is to protect."""

import argparse
import json

from dphist.commands.options import (
    OVERWRITE,
    QUIET_OR_JSON,
    UsageError,
    argument,
)
from dphist.commands.printing import say
from dphist.commands.publishing import check_inputs, check_outputs
from dphist.document.options import (
    Command,
    Excludes,
    Group,
    Needs,
    Option,
    decimal,
    split_parts,
    whole,
)
from dphist.document.reading_options import DELIMITER
from dphist.files import stage_outputs
from dphist.lab.rules.disclosure_rule import NAMED
from dphist.lab.rules.document import make_document
from dphist.lab.rules.rule import rule
from dphist.render.text import content
from dphist.signals import ignore_signals

_PARAMETERS = (
    *("count", "suppress_below", "round_to", "below_is", "show_zeros", "complementary", "keys"),
    *("named", "total", "before", "also", "epsilon", "delta", "max_rows", "seconds", "delimiter"),
)
_OF_A_RULE = ("suppress_below", "round_to", "below_is", "show_zeros", "complementary")


def _rule(options: argparse.Namespace) -> None:
    inputs = [path for path in (options.table, options.before, options.also) if path is not None]
    check_inputs(inputs)
    check_outputs([options.output], inputs, overwrite=options.overwrite)
    if options.output is not None and not options.output.lower().endswith((".html", ".htm")):
        raise UsageError("--output must end in .html: it is a page; --json prints JSON")
    held = {name: getattr(options, name) for name in _PARAMETERS}
    given = {name: value for name, value in held.items() if value is not None}
    found = rule(options.table, margins=not options.no_margins, **given)
    document = make_document(found)
    if options.output is not None:
        from dphist.render.html import page

        with stage_outputs() as staged:
            staged.write(options.output, page(document), replace=options.overwrite)
    if options.json:
        say(json.dumps(content(document)))
    elif not options.quiet:
        say(str(found))
        if options.output is not None:
            say(f"wrote {options.output}")
    ignore_signals()


COMMAND = Command(
    text="Test a disclosure rule, such as suppressing counts below 10, on a table of counts: what "
    "it shows, what a reader can compute from the rest, and what a release with differential "
    "privacy would show instead. The result is NOT private: it is made by looking at the table.",
    epilog="The guide is docs/guides/rules.md.",
    table=[
        argument("table", "the counts, a row for each cell: a file", "TABLE"),
        DELIMITER,
        Option(
            "count",
            "column of counts; suppressed ones such as <10, 1-9 or * are known to be in between",
            "COLUMN",
            required=True,
        ),
        Option(
            "keys",
            "columns that name a cell (default: all others)",
            "COLUMN,...",
            split_parts,
        ),
        Option(
            "total",
            "value of these columns that marks a row as a sum, such as Total; it is published as "
            "it is",
            "TEXT",
        ),
        Group(
            "the rule",
            "",
            [
                Option(
                    "named",
                    "a rule by name: ten-five writes 0 below 10, and rounds others to 5",
                    typed="--rule",
                    choices=tuple(NAMED),
                    rules=(Excludes(_OF_A_RULE, "it is a rule by itself"),),
                ),
                Option(
                    "suppress_below",
                    "suppress smaller counts (default: none)",
                    "N",
                    whole,
                    least=0,
                ),
                Option(
                    "round_to",
                    "round others to a multiple of this, the nearest, halves upwards (default: 1, "
                    "as they are)",
                    "N",
                    whole,
                    least=1,
                ),
                Option(
                    "below_is",
                    "number written for suppressed counts (default: a mark such as <10)",
                    "N",
                    whole,
                    least=0,
                    rules=(Needs(["suppress_below"], "what it is written for"),),
                ),
                Option(
                    "show_zeros",
                    "show counts of 0",
                    rules=(Needs(["suppress_below"], "others are shown anyway"),),
                ),
                Option(
                    "complementary",
                    "suppress the smallest other cell where a row or column has one suppressed "
                    "cell (secondary suppression)",
                    rules=(Needs(["suppress_below"], "the cells that are suppressed first"),),
                ),
            ],
        ),
        Group(
            "what a reader has",
            "",
            [
                Option(
                    "no_margins",
                    "sums are not published (default: those over each column are, unrounded)",
                ),
                Option(
                    "before",
                    "a table of a part of the same records by the same columns, such as last "
                    "month's of counts that only grow",
                    "FILE",
                ),
                Option("also", "a table of the same records by other columns", "FILE"),
                Option("seconds", "time for the attack (default: 60)", "S", decimal, default=60),
            ],
        ),
        Group(
            "a release beside it",
            "",
            [
                Option("epsilon", "total epsilon of a release of the same table", "E"),
                Option(
                    "delta",
                    "total delta of it",
                    "D",
                    rules=(Needs(["epsilon"], "the total of a release"),),
                ),
                Option(
                    "max_rows",
                    "records of one person in the table, at most (default: 1)",
                    "M",
                    whole,
                    least=1,
                    rules=(Needs(["epsilon"], "it decides the noise of a release"),),
                ),
            ],
        ),
        Option("output", "write a page here", "HTML"),
        OVERWRITE,
        QUIET_OR_JSON,
    ],
    run=_rule,
)
