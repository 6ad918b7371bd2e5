"""dphist cite: what to cite for a release."""

import argparse

from dphist.commands.ending import settle
from dphist.commands.options import Commands
from dphist.commands.printing import say
from dphist.release.release import Release
from dphist.report.citation import citation


def add_cite(commands: Commands, summary: str) -> None:
    """Add the command; the list of commands shows the summary."""
    command = commands.add_parser(
        "cite",
        help=summary,
        description="Print BibTeX entries for a release: this library, and its mechanism's paper.",
        allow_abbrev=False,
    )
    command.set_defaults(run=_cite)
    command.add_argument("file", metavar="RELEASE", help="a release that dphist wrote (JSON)")


def _cite(options: argparse.Namespace) -> None:
    say(citation(Release.load(options.file)), end="")
    settle()
