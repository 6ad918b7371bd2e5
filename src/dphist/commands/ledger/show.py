"""dphist ledger show: what was spent, by whom, and what is left."""

import argparse
import json

from dphist.commands.ledger.opening import opened
from dphist.commands.ledger.options import add_place
from dphist.commands.ledger.writing import add_overwrite, check_output, write_output
from dphist.commands.printing import say


def add(command: argparse.ArgumentParser) -> None:
    """Add options and what the action does."""
    command.epilog = "What is shown is computed from the entries. 'dphist show' shows a release."
    command.set_defaults(run=_show)
    add_place(command)
    command.add_argument(
        "--report", metavar="HTML", help="write a page with tables and a chart here"
    )
    add_overwrite(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _show(options: argparse.Namespace) -> None:
    check_output(options.report, options)
    from dphist.report.ledger.summary import ledger_json, ledger_text

    with opened(options) as ledger:
        if options.report is not None:
            from dphist.report.ledger.page import ledger_html  # draws, which is slow to import

            write_output(options.report, ledger_html(ledger).encode(), options)
        if options.json:
            wrote = {} if options.report is None else {"wrote": {"report": options.report}}
            say(json.dumps({**ledger_json(ledger), **wrote}))
            return
        say(ledger_text(ledger), end="")
    if options.report is not None:
        say(f"\nwrote {options.report} (report)")
