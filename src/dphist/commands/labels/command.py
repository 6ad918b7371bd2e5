"""dphist labels: which labels are common, and how common."""

import argparse
import contextlib
from typing import Any

from dphist.commands.labels.known_labels import HOLDS_LABELS, known_labels
from dphist.commands.labels.shared import (
    EPILOG,
    add_data_options,
    bounds_of,
    check_data_options,
    run_labelled,
)
from dphist.commands.meanings import help_of
from dphist.commands.options import Commands, UsageError, add_outputs, whole
from dphist.errors import ParameterError
from dphist.labels import DiscoverLabels, ThresholdHistogram
from dphist.labels.mechanism import LabelsMechanism
from dphist.planning.noise_choice import threshold_histogram
from dphist.privacy.calibration import calibrate


def add_labels(commands: Commands, summary: str) -> None:
    """Add the command; the list of commands shows the summary."""
    command = commands.add_parser(
        "labels",
        help=summary,
        description=(
            "Release the common labels with their counts; no list of labels is needed. Or release "
            "the counts of a public list of labels."
        ),
        epilog=EPILOG,
        allow_abbrev=False,
    )
    command.set_defaults(run=_labels)
    add_data_options(command, ThresholdHistogram)
    command.add_argument(
        "--noise",
        choices=("laplace", "gaussian", "auto"),
        default="auto",
        help=help_of(
            ThresholdHistogram,
            "noise",
            "; auto takes the one with the lower threshold, from the other options, never from "
            "the data (default: auto)",
        ),
    )
    command.add_argument(
        "--known-labels",
        metavar="FILE",
        help=help_of(
            ThresholdHistogram,
            "labels",
            f": {HOLDS_LABELS}; --delta may then be left out",
        ),
    )
    command.add_argument(
        "--correlated",
        action="store_true",
        help="share a part of the noise between all --known-labels where that makes counts more "
        "accurate, which depends on the other options alone; most sums of counts become less "
        "accurate",
    )
    command.add_argument(
        "--sums-of",
        type=whole,
        metavar="N",
        help=help_of(ThresholdHistogram, "sums_of", "; with --correlated (default: 1)"),
    )
    command.add_argument(
        "--count-cut-users",
        action="store_true",
        help="also release the share of users who had more than --max-labels or --max-count "
        "allows; costs as much as one more label per user",
    )
    command.add_argument(
        "--only-labels",
        action="store_true",
        help="release labels without counts, several times as many if users have many; "
        "--max-labels may be in the hundreds",
    )
    add_outputs(command, "label,count, or label with --only-labels")


def _labels(options: argparse.Namespace) -> None:
    check_data_options(options)
    if options.user is not None and options.max_labels is None:
        raise UsageError("--user needs --max-labels: how many labels a user keeps at most")
    if options.delta is None and options.known_labels is None:
        raise UsageError("--delta is needed, such as 1e-6: labels come from the data")
    if options.only_labels:
        _check_only_labels(options)
    _check_correlated(options)
    run_labelled(_mechanism(options), options, _other_caps(options))


def _check_only_labels(options: argparse.Namespace) -> None:
    """Refuse what goes with counts alone."""
    given = {
        "--known-labels": options.known_labels is not None,
        "--count-cut-users": options.count_cut_users,
        "--noise laplace": options.noise == "laplace",
        "--max-count": options.max_count not in (None, 1),
    }
    refused = [name for name, is_given in given.items() if is_given]
    if refused:
        raise UsageError(f"{refused[0]} does not go with --only-labels: no counts are released")


def _check_correlated(options: argparse.Namespace) -> None:
    """Refuse correlated noise where there is none."""
    if options.sums_of is not None and not options.correlated:
        raise UsageError("--sums-of needs --correlated: independent noise does not depend on it")
    if not options.correlated:
        return
    if options.known_labels is None:
        raise UsageError("--correlated needs --known-labels: only listed labels can share noise")
    if options.noise == "laplace":
        raise UsageError("--correlated does not go with --noise laplace: shared noise is Gaussian")


def _other_caps(options: argparse.Namespace) -> dict[int, LabelsMechanism]:
    """For a dry run: the mechanisms with half of --max-labels and with twice as many."""
    if not options.dry_run or options.user is None or options.quiet:
        return {}
    caps = sorted({max(options.max_labels // 2, 1), 2 * options.max_labels} - {options.max_labels})
    found: dict[int, LabelsMechanism] = {}
    for cap in caps:
        with contextlib.suppress(ParameterError):
            found[cap] = _mechanism(argparse.Namespace(**{**vars(options), "max_labels": cap}))
    return found


def _mechanism(options: argparse.Namespace) -> LabelsMechanism:
    """Return the mechanism; the choice of noise looks at the options alone."""
    if options.only_labels:
        labels: DiscoverLabels = calibrate(
            DiscoverLabels,
            epsilon=options.epsilon,
            delta=options.delta,
            max_labels=bounds_of(options)["max_labels"],
        )
        return labels
    parameters: dict[str, Any] = {
        "epsilon": options.epsilon,
        "delta": options.delta or "0",
        **bounds_of(options),
    }
    if options.count_cut_users:
        parameters["count_cut_users"] = True
    if options.correlated:
        parameters["correlated"] = "auto"
        parameters["sums_of"] = 1 if options.sums_of is None else options.sums_of
    if options.known_labels is not None:
        parameters["labels"] = known_labels(options.known_labels)
    return threshold_histogram(noise=options.noise, **parameters)
