"""What a plan of labels compares, what a release of them shows, and the choice of their noise."""

import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, get_args

from dphist.data.clamp import Clamp, read_share, read_sum, read_sums
from dphist.document import planning
from dphist.document.options import HOLDS_LABELS, Needs, OneOf, Option, Table, make_option, whole
from dphist.document.planning import Asked, Column, Found, Planning, Quantity, Row
from dphist.errors import Argument, ParameterError
from dphist.labels.bounding import read_users, read_users_above
from dphist.labels.examples import EXAMPLES, ExampleName
from dphist.labels.mechanism import LEVEL
from dphist.labels.noise_choice import list_others
from dphist.labels.sum_words import USERS_OF_A_MEAN
from dphist.labels.threshold.checks import Noise
from dphist.labels.threshold.choice import BEST, calibrate_each, list_noises
from dphist.labels.threshold.known_labels import count_listed
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.parameters import optional_whole, privacy_parameter, probability
from dphist.privacy import PrivacyUnit
from dphist.privacy.calibration import calibrate
from dphist.privacy.unit import ONE_USER
from dphist.release.release import Release

_USUAL_LABELS = (1, 3, 10, 30)
_COLUMNS = [
    planning.MAX_LABELS,
    Column(
        "max_count",
        "Count kept",
        "What one {one} adds to a label at most, in records.",
        role="bound",
        counted=("of a label", "of a label"),
    ),
    Column(
        "noise",
        "Noise",
        "The law of the noise; the best one for these settings.",
        holds=str,
        role="choice",
    ),
    Column(
        "correlated",
        "Shared noise",
        "Whether all listed labels share a part of the noise: where that lowers it.",
        holds=bool,
        role="choice",
    ),
    *planning.WORTH_OF_LABELS,
    Column(
        "too_low",
        "Too low",
        "By how much counts are too low on average because of the labels that are dropped, if "
        "{many} have as many labels as in the public example {users_like}.",
        holds=float,
        share=True,
    ),
    Column(
        "sum_error",
        "Sum error",
        "Standard error of the noise of a sum of {sums_of} counts, in records.",
        holds=float,
    ),
    Column(
        "summed",
        "Sum of",
        "The column that is summed for each label, of those that a release sums together.",
        holds=str,
        role="choice",
    ),
    Column(
        "sum_half_width",
        "Sum ±",
        "The noise of the sum of a label is within this with a probability of 95 %, in the unit of "
        "the column.",
        holds=float,
        half=True,
    ),
    Column(
        "mean_half_width",
        "Mean ±",
        f"The noise of a mean over {USERS_OF_A_MEAN} {{many}} is within this, or less, with a "
        "probability of 95 %; none if one {one} counts more often than once.",
        holds=float,
        half=True,
        not_given="none",
    ),
    Column(
        "next_noise",
        "Next noise",
        "The next best noise, and the count from which it releases a label with 95 %; for listed "
        "labels the standard deviation of a count.",
        holds=str,
        role="choice",
        not_given="none",
    ),
]
_CUT = (
    "What is cut",
    "A user who has more labels than are kept counts with some of them only, so counts are too "
    "small even without noise. A plan does not know how many users have more; with a public "
    "example it shows how much too small counts would be, beside the noise.",
)
_LISTED = (
    "What is not listed",
    "Labels that are not in the list are ignored, and a user who has more of "
    "them than are kept counts with some of them only. All listed labels are released, also those "
    "that do not occur.",
)
_OTHERS = (
    "What is not listed",
    "Labels that are not in the list are counted together, as one more label, other. A user who "
    "has more labels than are kept counts with some of them only. All listed labels are released, "
    "also those that do not occur.",
)

_CLAMPED = (
    " A total of a user and label beyond the bounds of its column is added as the bound; no error "
    "here covers that."
)


def settings(
    *,
    epsilon: Any = planning.EPSILONS,
    delta: Any = None,
    max_labels: Any = _USUAL_LABELS,
    max_count: Any = 1,
    users: int | None = None,
    noise: Any = BEST,
    labels: int | None = None,
    other: bool = False,
    correlated: bool = False,
    sums_of: int | None = None,
    users_like: ExampleName | None = None,
    sums: Any = None,
    sums_share: Any = None,
) -> Iterator[Row]:
    """Yield what labels cost and are worth; see `dphist.plan`."""
    guess = optional_whole(users, "users", 1)
    if users_like is not None and users_like not in EXAMPLES:
        names = ", ".join(f"'{name}'" for name in EXAMPLES)
        raise ParameterError("users_like", f"must be one of {names}")
    given = _read_listed(labels, other, correlated, sums_of) | _summed(sums, sums_share)
    asked = planning.grid(
        max_labels=(max_labels, planning.one_or_more),
        max_count=(max_count, planning.one_or_more),
        delta=(
            planning.delta_or_advised(delta, guess),
            planning.delta_of_labels if labels is None else probability,
        ),
        epsilon=(epsilon, privacy_parameter),
    )
    for setting in asked:
        total = {**setting, **given}
        found = {}
        if noise == BEST:
            found = calibrate_each(ThresholdHistogram, get_args(Noise), total)
        made: ThresholdHistogram | None = next(
            (found[each] for each in found if each in list_noises(total)), None
        )
        if made is None:
            made = calibrate(ThresholdHistogram, **total, noise=noise)
        row = {**setting, "noise": made.noise}
        if noise == BEST:
            others = list_others(made, found)
            row["next_noise"] = others[0] if others else None
        if correlated:
            row["correlated"] = made.correlated
        row |= planning.worth_of_labels(made, setting, guess)
        if users_like is not None:
            row["too_low"] = EXAMPLES[users_like].share_cut(setting["max_labels"])
        if sums_of is not None:
            row["sum_error"] = made.spread
        yield from _rows_of_sums(made, row)


def _read_listed(
    labels: int | None, other: bool, correlated: bool, sums_of: int | None
) -> dict[str, Any]:
    """Return what a threshold histogram takes of a public list; only its length matters."""
    for name, given in ("other", other), ("correlated", correlated):
        if not isinstance(given, bool):
            raise ParameterError(name, "must be True or False")
    if labels is None:
        if other or correlated or sums_of is not None:
            name = "other" if other else "correlated" if correlated else "sums_of"
            raise ParameterError(
                name, "needs " + Argument("labels") + ": a public list, or how many labels it has"
            )
        return {}
    found: dict[str, Any] = {"labels": range(labels + other)}
    if correlated:
        found["correlated"] = "auto"
    if sums_of is not None:
        found["sums_of"] = sums_of
    return found


def _keep_sums(sums: Any) -> list[list[str]]:
    """Return columns to sum as a plan keeps them: name, low, high and step."""
    found = [[name, *clamp.to_content()] for name, clamp in read_sums(sums)]
    if not all(name.isprintable() for name, *_ in found):
        raise ParameterError("sums", "must name columns of one line, without control characters")
    return found


def _summed(sums: Sequence[Sequence[str]] | None, share: Any) -> dict[str, Any]:
    """Return what a threshold histogram takes of columns to sum, as `_keep_sums` returns them."""
    if sums is None:
        if share is not None:
            raise ParameterError("sums_share", "needs " + Argument("sums"))
        return {}
    found: dict[str, Any] = {"sums": {name: Clamp(*ends) for name, *ends in sums}}
    if share is not None:
        found["sums_share"] = read_share(share)
    return found


def _rows_of_sums(made: ThresholdHistogram, row: Row) -> Iterator[Row]:
    """Yield a row for each column that is summed, or the row itself."""
    if not made.sum_answers:
        yield row
    for name, answers in made.sum_answers.items():
        mean = answers.mean_reach(USERS_OF_A_MEAN, LEVEL) if answers.has_means else None
        reach = answers.sum_reach(LEVEL)
        yield {**row, "summed": name, "sum_half_width": reach, "mean_half_width": mean}


def _is_listed(asked: Asked) -> bool:
    return asked.get("labels") is not None


def _say_limit(asked: Asked) -> tuple[str, str]:
    title, said = _CUT
    if _is_listed(asked):
        title, said = _OTHERS if asked.get("other") else _LISTED
    return title, said + (_CLAMPED if asked.get("sums") else "")


def _command(asked: Asked, row: Row, unit: PrivacyUnit) -> list[str]:
    typed = ["dphist labels FILE --label COLUMN --user COLUMN"]
    if _is_listed(asked):
        typed.append("--known-labels LIST" + (" --other" if asked.get("other") else ""))
        if asked.get("correlated"):
            typed.append(f"--correlated --sums-of {asked.get('sums_of') or 1}")
    typed.append(f"--max-labels {row['max_labels']}")
    if row["max_count"] != 1:
        typed.append(f"--max-count {row['max_count']}")
    if asked.get("noise") not in (None, BEST):
        typed.append(f"--noise {asked['noise']}")
    for name, *clamp in asked.get("sums") or ():
        typed.append("--sum " + shlex.quote(f"{name}={':'.join(clamp)}"))
    if asked.get("sums_share") is not None:
        typed.append(f"--sums-share {asked['sums_share']}")
    return [*typed, *planning.make_unit_option(unit)]


_LISTED_OPTIONS = OneOf(
    [
        Option(
            "known_labels",
            "plan for a public list of labels, all of which are released: "
            f"{HOLDS_LABELS}; --delta may then be 0",
            "FILE",
            parameter="labels",
            lists=True,
        ),
        Option(
            "known_labels_count",
            "the same, for a list of N labels: the error depends only on their number",
            "N",
            whole,
            least=1,
            parameter="labels",
        ),
    ]
)


def _options() -> Table:
    return [
        planning.make_compared_option(ThresholdHistogram, "max_labels", " (default: 1,3,10,30)"),
        planning.make_compared_option(ThresholdHistogram, "max_count"),
        planning.DELTA_OPTION,
        make_option(
            ThresholdHistogram,
            "noise",
            "; best takes the one with which labels are released with 95 % from the smallest count "
            "on, or of known labels the one that varies less (default: best)",
            choices=(*get_args(Noise), BEST),
            default=None,
        ),
        planning.USERS_OPTION,
        Option(
            "users_like",
            "a public example of how many labels users have, to show by how much counts are too "
            "low beside their noise: "
            + "; ".join(f"{name}, {example.title}" for name, example in EXAMPLES.items()),
            choices=tuple(EXAMPLES),
        ),
        _LISTED_OPTIONS,
        make_option(ThresholdHistogram, "other"),
        make_option(
            ThresholdHistogram,
            "correlated",
            meaning="share a part of the noise between all known labels where that lowers it, as "
            "'dphist labels --correlated' does",
        ),
        make_option(
            ThresholdHistogram,
            "sums_of",
            "; their error is stated too, and smallest with --correlated",
            default=None,
            rules=[Needs(["labels"], "only listed labels are added up")],
        ),
        make_option(
            ThresholdHistogram,
            "sums",
            ", such as spent=0:500:0.01; may be given several times, a row of the plan each",
            typed="--sum",
            value="COLUMN=LOW:HIGH:STEP",
            read=read_sum,
            repeats=True,
        ),
        make_option(
            ThresholdHistogram, "sums_share", " (default: 1/2)", value="S", read=str, default=None
        ),
    ]


_DRY_RUN = "'dphist labels --dry-run' states the errors with it"


def _share_cut(release: Release, _percent: bool) -> Found | str:
    users = read_users(release) or read_users_above(release)
    if users is None or users.bound < 1:
        return f"{planning.LOOK}; release with users_by_labels, and it is known"
    found = users.share_cut()
    low, high = Fraction(found.low), Fraction(found.high)
    ends = f"{planning.as_percent(low)} to {planning.as_percent(high)}"
    said = f"{ends} of the pairs of a user and a label were dropped, {planning.LEVEL}"
    return Found(Fraction(found.value), said, (low, high))


PLANNING = Planning(
    title="Labels and their counts",
    question="which labels are common, and how common",
    settings=settings,
    columns=_COLUMNS,
    unit=lambda _asked: ONE_USER,
    kept={"labels": count_listed, "sums": _keep_sums},
    guesses={"labels": "labels in a public list", "users": "{many}"},
    limit=_say_limit,
    elsewhere=dict.fromkeys(["users_by_labels", "users_by_totals"], _DRY_RUN),
    quantities={
        **planning.quantities_of_labels(lambda release: release.value),
        "share cut": Quantity(_share_cut, "must"),
    },
    command=_command,
    options=_options,
)
