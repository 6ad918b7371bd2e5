"""dphist add-noise: the same counts for another audience."""

import argparse

from dphist.commands.options import RELEASE, outputs
from dphist.commands.presentation import PRESENTATION, read_presentation, unit_option
from dphist.commands.publishing import check_paths, publish
from dphist.document.options import Command, Option
from dphist.ranges.audiences import add_noise
from dphist.release.release import Release


def _add_noise(options: argparse.Namespace) -> None:
    read_presentation(options)
    check_paths(options)
    publish(add_noise(Release.load(options.file), epsilon=options.epsilon), options)


COMMAND = Command(
    text="Make a release with more noise from one with less, for another audience. It has the law "
    "of a release made from the data at the smaller epsilon; who has both knows no more than the "
    "first tells. No data are read, and no budget is spent. Publish one only: several tell more "
    "than one, and at most what the first does.",
    table=[
        RELEASE,
        Option("epsilon", "of the release that is made, below that of RELEASE", "E", required=True),
        Option("output", "write the release that is made here", "JSON", required=True),
        unit_option("; only where the release calls it a user"),
        PRESENTATION,
        *outputs("start,stop,count,error,low,high"),
    ],
    run=_add_noise,
    defaults={"only_shown": True, "key": None, "ledger": None},
)
