"""dphist labels and dphist top: which labels are common, and how common."""

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, get_args

from dphist.commands.options import FILE, UsageError, guess, outputs
from dphist.commands.presentation import get_named_unit, get_unit_name, unit_option
from dphist.commands.records import (
    EACH_ROW,
    NAMES_USERS,
    check_protected,
    dry_run_options,
    read_known_labels,
    release_or_quote,
)
from dphist.counting.engine.progress import Progress
from dphist.data.clamp import read_sum
from dphist.data.label_counts import LabelCounts
from dphist.data.weight import Weight, state_weight
from dphist.document.blocks import JSON, Block, Fact, Note
from dphist.document.kind import DataFacts
from dphist.document.options import (
    HOLDS_LABELS,
    NULL_USERS,
    Command,
    Excludes,
    Needs,
    Option,
    Table,
    find_default,
    make_option,
    make_options,
    read_given,
    whole,
)
from dphist.document.reading_options import READING, WIDE, get_files, name_wide_columns
from dphist.document.unit_words import threshold_text
from dphist.errors import ParameterError, phrase
from dphist.labels import AutoThreshold, DiscoverLabels, ThresholdHistogram, TopLabels
from dphist.labels.kind import KIND
from dphist.labels.mechanism import LEVEL, LabelsMechanism
from dphist.labels.noise_choice import noise_in_words
from dphist.labels.threshold.checks import Noise
from dphist.labels.threshold.choice import BEST
from dphist.privacy.calibration import calibrate
from dphist.privacy.unit import unit_of_users
from dphist.sentence import Sentence

_EPILOG = (
    "FILE has one row per record, with a column of labels and, if a user may have several rows, a "
    "column of users. --epsilon and --delta are totals for the whole release. With "
    "--each-row-is-one-person, each row counts as a separate user. CSV, JSON lines, Parquet, "
    "spreadsheets, SQLite and zip are read. In CSV, both read and written, an empty field is a "
    'missing value, and "" is the empty text.'
)


AUTO = "auto"
MOST_FOUND = 1000
"""The largest number of labels of a user that is found."""


def _read_whole_or_auto(text: str) -> int | str:
    """Read a whole number, or the word for a number that is found."""
    try:
        return AUTO if text == AUTO else whole(text)
    except ValueError as error:
        raise ValueError(f"{error}, or auto") from None


def _data_options(
    mechanism: type,
    max_labels: Mapping[str, Any] = MappingProxyType({}),
    of_count: Sequence[Excludes] = (),
    weighted: Sequence[str] = (),
) -> Table:
    """Return the options of which rows count, how each user is bounded, and what a release costs.

    Parameters
    ----------
    mechanism : class of the mechanism.
    max_labels : what is otherwise of ``--max-labels``: attributes, ``more``, and further ``rules``.
    of_count : further rules of ``--max-count``.
    weighted : the option of weights, where rows may have some.
    """
    kept = "; of a user with more, that many are kept, chosen at random (1 without --user)"
    of_labels = dict(max_labels)
    kept += of_labels.pop("more", "")
    who = Needs(["user"], "without it each row is a user, with one label")
    what = Needs(["user", "count", *weighted], "without them each row counts 1")
    each_row = Needs(
        ["user", "max_count"], "without users each row is one, which adds at most that to its label"
    )
    users = guess("expect_users", "the number of users, for the probabilities of a dry run")
    return [
        FILE,
        *READING,
        WIDE,
        Option("label", "column of labels; needed, unless --wide makes it", "COLUMN"),
        Option("user", "column of users: who is protected", "COLUMN"),
        EACH_ROW,
        unit_option(' (default: "user")', NAMES_USERS),
        Option(
            "count",
            "column of counts, if a row stands for several records",
            "COLUMN",
            rules=(each_row,),
        ),
        make_option(
            mechanism,
            "max_labels",
            kept,
            **{
                **{"least": 1, "neutral": 1, **of_labels},
                "rules": [who, *of_labels.get("rules", ())],
            },
        ),
        make_option(mechanism, "max_count", neutral=1, rules=[what, *of_count]),
        Option("epsilon", "total epsilon of the release, such as 1 or 0.1", "E", required=True),
        Option("delta", "total delta of the release, such as 1e-6", "D"),
        NULL_USERS,
        Option(
            "null_labels",
            "rows without a label: refuse them or drop them (default: refuse)",
            choices=("refuse", "drop"),
            default="refuse",
        ),
        *dry_run_options(states="guarantee, threshold and probabilities", total=users),
    ]


def _read_bounds(options: argparse.Namespace) -> dict[str, Any]:
    """Return max_labels and max_count as a mechanism takes them."""
    kept = MOST_FOUND if _is_found(options) else options.max_labels
    weight = _get_weight(options)
    most = 1 if weight is None else weight.max_records
    return {
        "max_labels": 1 if options.user is None else kept,
        "max_count": most if options.max_count is None else options.max_count,
    }


def _get_weight(options: argparse.Namespace) -> Weight | None:
    """Return how rows are weighted; a ranking has no such option."""
    return getattr(options, "weight", None)


def _release_or_quote(
    mechanism: LabelsMechanism,
    options: argparse.Namespace,
    others: Mapping[int, LabelsMechanism] | None = None,
) -> None:
    """Release the labels of a file, or say what that would cost.

    Parameters
    ----------
    others : mechanisms of the same cost with other `max_labels`, for the dry run to compare.
    """
    bounds = _read_bounds(options)
    named, rows = get_named_unit(options), options.null_users == "separate"
    data = DataFacts(
        unit=unit_of_users(options.user, named, or_rows=rows),
        bounds=_state_bounds(options, bounds),
        guesses=() if options.expect_users is None else (options.expect_users,),
    )
    why: list[Block] = []
    chosen = getattr(options, "noise", None) == BEST
    if options.dry_run and chosen and isinstance(mechanism, ThresholdHistogram):
        why = [Note(noise_in_words(mechanism))]
    likely = {str(cap): _likely(other) for cap, other in (others or {}).items()}
    caps: list[Block] = [*why, *(Note(line) for line in _caps_in_words(mechanism, others or {}))]
    caps.append(Fact("", "", "other_max_labels", likely, on=frozenset({JSON})))
    labels, count = bounds.values()
    release_or_quote(
        KIND,
        mechanism,
        options,
        data,
        partial(_read, options, {**bounds, "other_than": mechanism.other_than}),
        records=None if labels is None else labels * count,
        more=caps,
    )


def _read(
    options: argparse.Namespace, bounds: dict[str, Any], progress: Progress | None
) -> LabelCounts:
    return LabelCounts.from_table(
        get_files(options),
        label=options.label,
        user=options.user,
        count=_get_weight(options) or options.count,
        null_users=options.null_users or "refuse",
        null_labels=options.null_labels,
        progress=progress,
        delimiter=options.delimiter,
        users_by_labels=None if _is_found(options) else getattr(options, "users_by_labels", None),
        keep_sets=bool(getattr(options, "only_labels", False)) or _is_found(options),
        sums=getattr(options, "sums", None),
        users_by_totals=bool(getattr(options, "users_by_totals", False)),
        unit=get_unit_name(options),
        **bounds,
    )


def _is_found(options: argparse.Namespace) -> bool:
    """Whether the number of labels of a user is found; the options alone decide it."""
    is_top = not hasattr(options, "only_labels")
    return not is_top and options.user is not None and options.max_labels in (None, AUTO)


def _state_bounds(options: argparse.Namespace, bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the release would state, as `LabelCounts.from_table` words it."""
    missing = {"null_labels": options.null_labels}
    weight = _get_weight(options)
    if options.user is not None:
        missing["null_users"] = options.null_users or "refuse"
    elif options.count is None and weight is None:
        return missing
    cut = {name: "none" if bound is None else str(bound) for name, bound in bounds.items()}
    return missing | cut | state_weight(weight)


def _likely(mechanism: LabelsMechanism) -> float | None:
    """Return the count that is released with 95 %; None if all listed labels are."""
    return None if mechanism.threshold is None else mechanism.likely_count(LEVEL)


def _caps_in_words(
    mechanism: LabelsMechanism, others: Mapping[int, LabelsMechanism]
) -> list[Sentence]:
    """Say how to choose --max-labels without a look at the data, and what other values would do."""
    if not others:
        return []
    lines = [
        Sentence(
            "--max-labels auto finds the number with the smallest expected error, for 1/32 of the "
            "budget. A number of your own must come from public knowledge: trying several on the "
            "data costs the sum of all trials. With a smaller one, more of what {users} have is "
            "missing from the counts, which no interval shows; a larger one needs more noise. What "
            "most {users} have is too small: the few who have many hold much of each count."
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
    lines.append(
        Sentence("'dphist plan labels --max-labels 10,20,50' compares more values, for several ε.")
    )
    if getattr(mechanism, "users_by_labels", 0) is None:
        known = "With --users-by-labels 1000, the release also states how much too low counts are."
        lines.append(Sentence(known))
    if getattr(mechanism, "sums", None) and not getattr(mechanism, "users_by_totals", True):
        known = "With --users-by-totals, the release also states what clamping took from the sums."
        lines.append(Sentence(known))
    return lines


_NOT_FOUND = {
    "known_labels": "with a public list, say how many labels of a user count",
    "only_labels": "labels without counts are found with a fixed number",
    "users_by_labels": "users are counted anyway, up to 1,000 labels",
    "users_by_totals": "users are counted by their totals of a fixed number of labels",
    "weight": "a number of labels is found where each user counts 1",
}
_NOT_OPTIMAL = Excludes(["weight"], "it is for users who count 1", "optimal")
_NO_COUNTS = Excludes(["only_labels"], "no counts are released")
_SHARED = ("epsilon", "delta", "max_labels", "max_count", "step")

_LABELS = [
    *_data_options(
        ThresholdHistogram,
        {
            "read": _read_whole_or_auto,
            "value": "N",
            "more": "; auto, as without it, finds the number with the smallest expected error, for "
            "1/32 of the budget",
            "rules": [Excludes([other], why, AUTO) for other, why in _NOT_FOUND.items()],
        },
        [_NO_COUNTS],
        ["weight"],
    ),
    Option(
        "weight",
        "column of weights, such as those of a survey, if a row counts as its weight, with their "
        "bounds and their unit, all public, such as w=0:20:0.01: others count as the bounds. A "
        "row is protected, or with --user a user, whose weights of a label add up to at most "
        "--max-count (default: the upper bound, rounded up)",
        "COLUMN=LOW:HIGH:STEP",
        Weight.from_text,
        rules=[
            Excludes(["count"], "a weight is how many records a row is"),
            Excludes(["wide"], "its columns are of counts"),
            Excludes(["sums"], "sums are of rows that count once"),
            Excludes(["users_by_labels"], "users are counted where each row is a record"),
            Excludes(["correlated"], "shared noise is for whole records"),
            _NO_COUNTS,
        ],
    ),
    *make_options(
        ThresholdHistogram,
        but=_SHARED,
        noise={
            "choices": (*get_args(Noise), BEST),
            "default": BEST,
            "more": "; best takes the one with which labels are released with 95 % from the "
            "smallest count on, or of known labels the one that varies less, by the other options, "
            "never by the data",
            "rules": [
                rule
                for noise in get_args(Noise)
                if noise != "gaussian"
                for rule in (
                    *([_NOT_OPTIMAL] if noise == "optimal" else []),
                    Excludes(["only_labels"], "no counts are released", noise),
                    Excludes(["correlated"], "shared noise is Gaussian", noise),
                )
            ],
        },
        labels={
            "name": "known_labels",
            "value": "FILE",
            "more": f": {HOLDS_LABELS}; --delta may then be left out",
            "rules": [_NO_COUNTS],
        },
        other={"rules": [_NO_COUNTS]},
        users_by_labels={
            "more": "; tells how much too low counts are because of --max-labels; about ten times "
            "--max-labels; costs as much as one more label per user",
            "rules": [_NO_COUNTS],
        },
        correlated={
            "meaning": "share a part of the noise between all --known-labels where that makes "
            "counts more accurate, which depends on the other options alone; most sums of counts "
            "become less accurate"
        },
        sums_of={"more": "; with --correlated"},
        sums={
            "typed": "--sum",
            "value": "COLUMN=LOW:HIGH:STEP",
            "read": read_sum,
            "repeats": True,
            "more": ", such as spent=0:500:0.01, all public; each user's total is clamped, and the "
            "mean over the users is released too; may be given several times",
            "rules": [_NO_COUNTS, Excludes(["wide"], "a row of FILE is several")],
        },
        sums_share={"value": "S"},
        users_by_totals={
            "more": "; tells what clamping took from the sums; costs as much as one more label per "
            "user for each --sum",
            "rules": [_NO_COUNTS],
        },
    ),
    Option(
        "only_labels",
        "release labels without counts, several times as many if users have many; --max-labels may "
        "be in the hundreds",
    ),
    *outputs("label,count,low,high, or label with --only-labels", below=[_NO_COUNTS]),
]
_TOP = [
    *_data_options(TopLabels),
    *make_options(
        TopLabels,
        but=_SHARED,
        k={"typed": "-k", "default": find_default(TopLabels, "k")},
        candidates={"default": find_default(TopLabels, "candidates")},
    ),
    *outputs("label"),
]


def _top(options: argparse.Namespace) -> None:
    _check_data(options)
    own = read_given(options, options.command.options, TopLabels)
    cost = {"epsilon": options.epsilon, "delta": options.delta}
    _release_or_quote(calibrate(TopLabels, **own | cost | _read_bounds(options)), options)


def _labels(options: argparse.Namespace) -> None:
    _check_data(options)
    for name in ("users_by_labels", "users_by_totals"):
        asked = getattr(options, name)
        if asked and (options.user is None or options.null_users == "separate"):
            users = f"{{{name}}} needs {{user}}, and {{null_users}} other than separate"
            raise UsageError(phrase(users) + ": it is users that are counted")
    if _is_found(options):
        _check_found(options)
    _release_or_quote(_mechanism(options), options, _other_caps(options))


def _check_found(options: argparse.Namespace) -> None:
    """Refuse to find the number of labels where only a number that is given serves."""
    for name, why in _NOT_FOUND.items():
        if getattr(options, name):
            raise UsageError(phrase(f"{{user}} with {{{name}}} needs {{max_labels}}") + f": {why}")
    if options.max_count not in (None, 1):
        counted = ": a number of labels is found where each user counts 1"
        raise UsageError(phrase("{max_count} with {user} needs {max_labels}") + counted)
    if options.noise not in ("gaussian", BEST):
        gaussian = ": where the number of labels is found, noise is Gaussian"
        needed = f"{{noise}} {options.noise} with {{user}} needs {{max_labels}}"
        raise UsageError(phrase(needed) + gaussian)


def _check_data(options: argparse.Namespace) -> None:
    """Refuse one column for two purposes, and labels of the data without a delta."""
    if options.label is None and options.wide is None:
        raise UsageError(phrase("{label} is needed, the column of labels"))
    options.label = options.label or "label"
    name_wide_columns(options, [options.label])
    if options.user is not None and options.user == options.label:
        raise UsageError(phrase("{user} and {label} must be different columns"))
    weight = _get_weight(options)
    amounts = {"count": options.count, "weight": weight and weight.column}
    for name, column in amounts.items():
        if column is not None and column in (options.user, options.label):
            raise UsageError(phrase(f"{{{name}}} must be a column of its own"))
    if options.delta is None and getattr(options, "known_labels", None) is None:
        raise UsageError(phrase("{delta} is needed, such as 1e-6: labels come from the data"))
    check_protected(options)


def _other_caps(options: argparse.Namespace) -> dict[int, LabelsMechanism]:
    """For a dry run: the mechanisms with half of --max-labels and with twice as many."""
    if not options.dry_run or options.user is None or options.quiet or _is_found(options):
        return {}
    caps = sorted({max(options.max_labels // 2, 1), 2 * options.max_labels} - {options.max_labels})
    found: dict[int, LabelsMechanism] = {}
    for cap in caps:
        with contextlib.suppress(ParameterError):
            found[cap] = _mechanism(argparse.Namespace(**{**vars(options), "max_labels": cap}))
    return found


def _mechanism(options: argparse.Namespace) -> LabelsMechanism:
    """Return the mechanism; the choice of noise looks at the options alone."""
    cost = {"epsilon": options.epsilon, "delta": options.delta or "0"}
    if _is_found(options):
        held = {name: getattr(options, name) for name in ("sums", "sums_share")}
        given = {name: value for name, value in held.items() if value is not None}
        auto: AutoThreshold = calibrate(AutoThreshold, max_labels=MOST_FOUND, **cost, **given)
        return auto
    if options.only_labels:
        labels: DiscoverLabels = calibrate(
            DiscoverLabels, max_labels=_read_bounds(options)["max_labels"], **cost
        )
        return labels
    parameters = read_given(options, options.command.options, ThresholdHistogram)
    parameters |= cost | _read_bounds(options)
    if options.weight is not None:
        parameters["step"] = options.weight.step
    if options.correlated:
        parameters["correlated"] = "auto"
    if options.known_labels is not None:
        parameters["labels"] = read_known_labels(options.known_labels, options.label)
    made: ThresholdHistogram = calibrate(ThresholdHistogram, **parameters)
    return made


LABELS = Command(
    text="Release the common labels with their counts; no list of labels is needed. Or release the "
    "counts of a public list of labels.",
    epilog=_EPILOG,
    table=_LABELS,
    run=_labels,
)
TOP = Command(
    text="Release the k most common labels in noisy order, without counts. If fewer are found, the "
    "last row is empty.",
    epilog=_EPILOG,
    table=_TOP,
    run=_top,
)
