"""What the commands over labels share: options, counting, the dry run."""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dphist.commands.ledger.options import PAYMENT
from dphist.commands.options import DELIMITER, FILE, UsageError, dry_run, guess
from dphist.commands.presenting import (
    PRESENTATION,
    check_presentation,
    presentation_of,
    unit_name,
    unit_option,
)
from dphist.commands.publishing import Protected, release_file
from dphist.commands.records import NAMES_USERS, say_dry_run
from dphist.commands.resources import RESOURCES
from dphist.commands.user_unit import user_unit
from dphist.data.label_counts import LabelCounts
from dphist.document.blocks import JSON, Block, Fact, Note, Section
from dphist.document.kind import DataFacts
from dphist.document.options import Excludes, Needs, Option, Table, option_of
from dphist.document.unit_words import threshold_text
from dphist.errors import Argument, join_arguments
from dphist.labels.kind import KIND
from dphist.labels.mechanism import LEVEL, LabelsMechanism
from dphist.privacy.unit import unit_of_users
from dphist.sentence import Sentence
from dphist.tables.engine.progress import Progress

EPILOG = (
    "FILE has one row per record, with a column of labels and, if a user may have several rows, a "
    "column of users. --epsilon and --delta are totals for the whole release. Without --user, each "
    "row counts as a separate user. CSV, TSV (also gzip) and Parquet are read. In CSV, both read "
    'and written, an empty field is a missing value, and "" is the empty text.'
)
_WHO = Needs(["user"], "without it each row is a user, with one label")
_WHAT = Needs(["user", "count"], "without them each row counts 1")


def data_options(
    mechanism: type, of_user: Sequence[Needs] = (), of_count: Sequence[Excludes] = ()
) -> Table:
    """Return the options of which rows count, how each user is bounded, and what a release costs.

    Parameters
    ----------
    mechanism : class of the mechanism.
    of_user, of_count : further rules of ``--user`` and ``--max-count``.
    """
    kept = "; of a user with more, that many are kept, chosen at random (1 without --user)"
    return [
        FILE,
        DELIMITER,
        Option("label", "column of labels", "COLUMN", required=True),
        Option("user", "column of users: who is protected", "COLUMN", rules=(*of_user,)),
        unit_option(' (default: "user")', NAMES_USERS),
        Option("count", "column of counts, if a row stands for several records", "COLUMN"),
        option_of(mechanism, "max_labels", kept, least=1, neutral=1, rules=[_WHO]),
        option_of(mechanism, "max_count", neutral=1, rules=[_WHAT, *of_count]),
        Option("epsilon", "total epsilon of the release, such as 1 or 0.1", "E", required=True),
        Option("delta", "total delta of the release, such as 1e-6", "D"),
        Option(
            "null_users",
            "rows without a user: refuse them, drop them, or keep each as a separate user "
            "(default: refuse)",
            choices=("refuse", "drop", "separate"),
            rules=(Needs(["user"], "the column of users"),),
        ),
        Option(
            "null_labels",
            "rows without a label: refuse them or drop them (default: refuse)",
            choices=("refuse", "drop"),
            default="refuse",
        ),
        *dry_run(
            "guarantee, threshold and probabilities",
            guess("expect_users", "the number of users, for the probabilities of a dry run"),
        ),
        RESOURCES,
        PRESENTATION,
        PAYMENT,
    ]


def check_data_options(options: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is calibrated."""
    user_unit(options)
    check_presentation(options)
    if options.user is None and options.count is not None and options.max_count is None:
        needed = Argument("count") + " without " + Argument("user") + " needs "
        needed = needed + Argument("max_count") + ": each row is then a user, who adds at "
        raise UsageError(needed + "most that to the row's label")
    if options.user is not None and options.user == options.label:
        raise UsageError(join_arguments(["user", "label"]) + " must be different columns")
    if options.count is not None and options.count in (options.user, options.label):
        raise UsageError(Argument("count") + " must be a column of its own")
    if _counts_cut_users(options) and (options.user is None or options.null_users == "separate"):
        needed = Argument("count_cut_users") + " needs " + Argument("user") + ", and "
        other = Argument("null_users") + " other than separate: it is users that are counted"
        raise UsageError(needed + other)


def bounds_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return max_labels and max_count as a mechanism takes them."""
    return {
        "max_labels": 1 if options.user is None else options.max_labels,
        "max_count": 1 if options.max_count is None else options.max_count,
    }


def run_labelled(
    mechanism: LabelsMechanism,
    options: argparse.Namespace,
    others: Mapping[int, LabelsMechanism] | None = None,
) -> None:
    """Release the labels of a file, or say what that would cost.

    Parameters
    ----------
    others : mechanisms of the same cost with other `max_labels`, for the dry run to compare.
    """
    if options.dry_run:
        _say_dry_run(mechanism, options, others or {})
        return
    release_file(mechanism, options, partial(_counted, options), _protected(options))


def _counted(options: argparse.Namespace, progress: Progress | None) -> LabelCounts:
    return LabelCounts.from_table(
        options.file,
        label=options.label,
        user=options.user,
        count=options.count,
        null_users=options.null_users or "refuse",
        null_labels=options.null_labels,
        progress=progress,
        delimiter=options.delimiter,
        count_users=_counts_cut_users(options),
        keep_sets=bool(getattr(options, "only_labels", False)),
        unit=unit_name(options),
        **bounds_of(options),
    )


def _counts_cut_users(options: argparse.Namespace) -> bool:
    """Whether users who are cut are counted; `dphist top` has no such option."""
    return bool(getattr(options, "count_cut_users", False))


def _protected(options: argparse.Namespace) -> Protected:
    """Return whom the data will protect, as they will say themselves."""
    labels, count = bounds_of(options)["max_labels"], bounds_of(options)["max_count"]
    return Protected(_stated(options)["unit"], None if labels is None else labels * count)


def _stated(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the release would state, as `LabelCounts.from_table` words it."""
    bounds = bounds_of(options)
    cut = {name: "none" if bound is None else str(bound) for name, bound in bounds.items()}
    named = None if options.user is None else user_unit(options)
    unit = unit_of_users(options.user, named, or_rows=options.null_users == "separate")
    if options.user is None:
        counted = {} if options.count is None else cut
        return {"unit": unit, "null_labels": options.null_labels, **counted}
    return {
        "unit": unit,
        "null_users": options.null_users or "refuse",
        "null_labels": options.null_labels,
        **cut,
    }


def _say_dry_run(
    mechanism: LabelsMechanism, options: argparse.Namespace, others: Mapping[int, LabelsMechanism]
) -> None:
    """Print what a release costs and which labels it is likely to hold; FILE is not opened."""
    stated = _stated(options)
    guesses = () if options.expect_users is None else (options.expect_users,)
    data = DataFacts(
        unit=stated["unit"],
        bounds=stated,
        presentation=presentation_of(options),
        guesses=guesses,
    )
    likely = {str(cap): _likely(other) for cap, other in others.items()}
    caps: list[Block] = [Note(line) for line in _caps_in_words(mechanism, others)]
    caps.append(Fact("", "", "other_max_labels", likely, on=frozenset({JSON})))
    document = KIND.document(mechanism, data, None).with_section(Section("caps", "", caps))
    say_dry_run(document, mechanism, options, _protected(options))


def _likely(mechanism: LabelsMechanism) -> int | None:
    """Return the count that is released with 95 %; None where all listed labels are."""
    return None if mechanism.threshold is None else mechanism.likely_count(LEVEL)


def _caps_in_words(
    mechanism: LabelsMechanism, others: Mapping[int, LabelsMechanism]
) -> list[Sentence]:
    """Say how to choose --max-labels without a look at the data, and what other values would do."""
    if not others:
        return []
    lines = [
        Sentence(
            "Choose --max-labels from public knowledge, such as the number of {labels} per person "
            "in a survey or an older release. Trying several values on the data costs the sum of "
            "all trials. A smaller value cuts more {users}, and their surplus is missing from the "
            "counts. A larger value needs more noise. If nothing is known, 10 to 50 is a usual "
            "choice; take the middle of what people have rather than the maximum."
        )
    ]
    for cap, other in others.items():
        count, width = _likely(other), other.half_width()
        if width is None:
            said = f"threshold {threshold_text(other.threshold)}"
        else:
            released = "" if count is None else f", and released from {count:,} on"
            said = f"counts are within ± {width:,}{released}"
        lines.append(Sentence("--max-labels {cap:,}: {said}.", cap=cap, said=said))
    compare = "'dphist plan labels --max-labels 10,20,50' compares more values, for several ε."
    lines.append(Sentence("{compare}", compare=compare))
    if getattr(mechanism, "count_cut_users", None) is False:
        lines.append(
            Sentence(
                "With --count-cut-users, the release also states the share of {users} who were cut."
            )
        )
    return lines
