"""dphist cite: what to cite for a release."""

import argparse

from dphist.commands.ending import settle
from dphist.commands.options import RELEASE
from dphist.commands.printing import say
from dphist.document.options import Command
from dphist.release.release import Release
from dphist.report import citation


def _cite(options: argparse.Namespace) -> None:
    say(citation(Release.load(options.file)), end="")
    settle()


COMMAND = Command(
    text="Print BibTeX entries for a release: this library, and its mechanism's paper.",
    table=[RELEASE],
    run=_cite,
)
