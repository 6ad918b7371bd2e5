"""What a plan of anonymized histograms compares, and what a release of them shows."""

from collections.abc import Iterator
from typing import Any

from dphist.anonymized.adaptive_scan.mechanism import AdaptiveScan
from dphist.document import planning
from dphist.document.options import Option, Table
from dphist.document.planning import Asked, Column, Found, Planning, Quantity, Row
from dphist.parameters import Exact, whole_number
from dphist.privacy import PrivacyUnit
from dphist.release.release import Release

_PROFILE_ERROR = Column(
    "profile_error",
    "Profile error",
    "Error to expect of the whole profile, in records (sorted L1 distance).",
    holds=float,
    chart="Error of the whole profile",
)
_LIMIT = (
    "Other shapes",
    "The error is that of a sample from a public power law of this size. On 13 real profiles it "
    "was 0.2 to 1.6 times that.",
)


def settings(
    *,
    total: int,
    epsilon: Any = planning.EPSILONS,
    sensitivity: Any = 1,
    shape: Exact = 1,
) -> Iterator[Row]:
    """Yield what anonymized histograms cost and are worth; see `dphist.plan`."""
    records = whole_number(total, "total", 1)
    for setting in planning.grid_of_records(epsilon, sensitivity):
        error = AdaptiveScan(**setting).expected_error(records, shape)
        yield {**setting, "profile_error": error, "relative_error": error / records}


def _command(_asked: Asked, row: Row, unit: PrivacyUnit) -> list[str]:
    return ["dphist anonymize FILE --label COLUMN", *planning.bound_of_records(row, unit)]


def _options() -> Table:
    return [
        Option(
            "shape",
            "a public guess of how fast counts fall: the i-th largest is proportional to 1 / i^S "
            "(default: 1)",
            "S",
            typed="--expect-shape",
        ),
        *planning.options_of_records(AdaptiveScan),
    ]


def _labels(release: Release, _percent: bool) -> Found:
    number = release.value.labels
    return Found(number, f"the released histogram has {number:,} labels, an estimate")


def _profile_error(release: Release, percent: bool) -> Found | str:
    error = float(release.mechanism.expected_error(shape=release))
    said = "the profile is about {} off in all, as tried on the released one"
    return planning.error_in_records(release, error, said, percent)


PLANNING = Planning(
    title="How many labels have each count",
    question="how many labels have each count",
    settings=settings,
    columns=[planning.SENSITIVITY, _PROFILE_ERROR, planning.RELATIVE_ERROR],
    unit=planning.unit_of_records,
    guesses={"total": "records"},
    limit=lambda _asked: _LIMIT,
    quantities={"labels": Quantity(_labels), "profile error": Quantity(_profile_error, "may")},
    command=_command,
    options=_options,
)
