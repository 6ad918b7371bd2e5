"""dphist labels and dphist top: which labels are common, and how common."""

import argparse
import contextlib
from typing import Any

from dphist.commands.labels.known_labels import known_labels
from dphist.commands.labels.shared import (
    EPILOG,
    bounds_of,
    check_data_options,
    data_options,
    run_labelled,
)
from dphist.commands.options import UsageError, outputs
from dphist.document.options import (
    HOLDS_LABELS,
    Command,
    Excludes,
    Needs,
    Option,
    default_of,
    given_parameters,
    options_of,
)
from dphist.errors import Argument, ParameterError
from dphist.labels import DiscoverLabels, ThresholdHistogram, TopLabels
from dphist.labels.mechanism import LabelsMechanism
from dphist.labels.noise_choice import threshold_histogram
from dphist.privacy.calibration import calibrate

_NO_COUNTS = Excludes(["only_labels"], "no counts are released")
_SHARED = ("epsilon", "delta", "max_labels", "max_count")

_LABELS = [
    *data_options(
        ThresholdHistogram,
        [Needs(["max_labels"], "how many labels a user keeps at most")],
        [_NO_COUNTS],
    ),
    *options_of(
        ThresholdHistogram,
        but=_SHARED,
        noise={
            "choices": ("laplace", "gaussian", "auto"),
            "default": "auto",
            "more": "; auto takes the one with the lower threshold, from the other options, never "
            "from the data",
            "rules": [Excludes(["only_labels"], "no counts are released", "laplace")],
        },
        labels={
            "name": "known_labels",
            "value": "FILE",
            "more": f": {HOLDS_LABELS}; --delta may then be left out",
            "rules": [_NO_COUNTS],
        },
        count_cut_users={
            "meaning": "also release the share of users who had more than --max-labels or "
            "--max-count allows; costs as much as one more label per user",
            "rules": [_NO_COUNTS],
        },
        correlated={
            "meaning": "share a part of the noise between all --known-labels where that makes "
            "counts more accurate, which depends on the other options alone; most sums of counts "
            "become less accurate",
        },
        sums_of={"more": "; with --correlated"},
    ),
    Option(
        "only_labels",
        "release labels without counts, several times as many if users have many; --max-labels may "
        "be in the hundreds",
    ),
    *outputs("label,count, or label with --only-labels"),
]
_TOP = [
    *data_options(TopLabels),
    *options_of(
        TopLabels,
        but=_SHARED,
        k={"typed": "-k", "default": default_of(TopLabels, "k")},
        candidates={"default": default_of(TopLabels, "candidates")},
    ),
    *outputs("label"),
]


def _top(options: argparse.Namespace) -> None:
    check_data_options(options)
    _check_delta(options)
    own = given_parameters(options, options.command.options, TopLabels)
    cost = {"epsilon": options.epsilon, "delta": options.delta}
    run_labelled(calibrate(TopLabels, **own | cost | bounds_of(options)), options)


def _labels(options: argparse.Namespace) -> None:
    check_data_options(options)
    if options.known_labels is None:
        _check_delta(options)
    if options.correlated and options.noise == "laplace":
        shared = Argument("correlated") + " does not go with " + Argument("noise", "laplace")
        raise UsageError(shared + ": shared noise is Gaussian")
    run_labelled(_mechanism(options), options, _other_caps(options))


def _check_delta(options: argparse.Namespace) -> None:
    if options.delta is None:
        raise UsageError(Argument("delta") + " is needed, such as 1e-6: labels come from the data")


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
    given = given_parameters(options, options.command.options, ThresholdHistogram)
    parameters: dict[str, Any] = {
        **given,
        **bounds_of(options),
        "epsilon": options.epsilon,
        "delta": options.delta or "0",
    }
    if options.correlated:
        parameters["correlated"] = "auto"
    if options.known_labels is not None:
        parameters["labels"] = known_labels(options.known_labels)
    return threshold_histogram(**parameters)


LABELS = Command(
    text="Release the common labels with their counts; no list of labels is needed. Or release the "
    "counts of a public list of labels.",
    epilog=EPILOG,
    table=_LABELS,
    run=_labels,
)
TOP = Command(
    text="Release the k most common labels in noisy order, without counts. If fewer are found, the "
    "last row is empty.",
    epilog=EPILOG,
    table=_TOP,
    run=_top,
)
