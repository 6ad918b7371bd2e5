"""dphist top: the most common labels, ranked, without counts."""

import argparse

from dphist.commands.labels.shared import (
    EPILOG,
    add_data_options,
    bounds_of,
    check_data_options,
    run_labelled,
)
from dphist.commands.meanings import help_of
from dphist.commands.options import Commands, UsageError, add_outputs, whole
from dphist.labels import TopLabels
from dphist.privacy.calibration import calibrate


def add_top(commands: Commands, summary: str) -> None:
    """Add the command; the list of commands shows the summary."""
    command = commands.add_parser(
        "top",
        help=summary,
        description=(
            "Release the k most common labels in noisy order, without counts. If fewer are found, "
            "the last row is empty."
        ),
        epilog=EPILOG,
        allow_abbrev=False,
    )
    command.set_defaults(run=_top)
    add_data_options(command, TopLabels)
    command.add_argument(
        "-k", type=whole, default=10, metavar="K", help=help_of(TopLabels, "k", " (default: 10)")
    )
    command.add_argument(
        "--candidates",
        type=whole,
        default=100,
        metavar="N",
        help=help_of(TopLabels, "candidates", " (default: 100)"),
    )
    add_outputs(command, "label")


def _top(options: argparse.Namespace) -> None:
    check_data_options(options)
    if options.delta is None:
        raise UsageError("--delta is needed, such as 1e-6: labels come from the data")
    mechanism = calibrate(
        TopLabels,
        epsilon=options.epsilon,
        delta=options.delta,
        k=options.k,
        candidates=options.candidates,
        **bounds_of(options),
    )
    run_labelled(mechanism, options)
