"""dphist show: a saved release again."""

import argparse

from dphist.commands.options import Commands, add_outputs
from dphist.commands.publishing import check_paths, publish
from dphist.release.release import Release


def add_show(commands: Commands, summary: str) -> None:
    """Add the command; the list of commands shows the summary."""
    command = commands.add_parser(
        "show",
        help=summary,
        description="Summarize a saved release, or write its table or report again.",
        allow_abbrev=False,
    )
    command.set_defaults(run=_show, output=None)
    command.add_argument("file", metavar="RELEASE", help="a release that dphist wrote (JSON)")
    add_outputs(
        command, "count,prevalence or label,count or start,stop,count,error or time,label,count"
    )


def _show(options: argparse.Namespace) -> None:
    check_paths(options)
    publish(Release.load(options.file), options)
