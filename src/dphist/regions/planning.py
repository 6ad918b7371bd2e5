"""What a plan of histograms by region compares, and what a release of them shows."""

from collections.abc import Iterator
from typing import Any

from dphist.data.region_tree import RegionTree
from dphist.document import planning
from dphist.document.options import Option, Table, make_option
from dphist.document.planning import Asked, Column, Found, Planning, Quantity, Row
from dphist.parameters import Exact, decimal_text, exact_number, whole_number
from dphist.privacy import PrivacyUnit
from dphist.regions.mechanism import RegionalProfiles
from dphist.release.release import Release

_COLUMNS = [
    planning.SENSITIVITY,
    Column(
        "leaves_error",
        "Leaves error",
        "Error to expect of the profiles of all leaves together, in records (sorted L1 distance).",
        holds=float,
        chart="Error of all leaves",
    ),
    planning.RELATIVE_ERROR,
    Column(
        "top_error",
        "Top level error",
        "The same of the regions of the top level, in records.",
        holds=float,
    ),
]
_LIMIT = (
    "Other shapes",
    "The errors are those of leaves of equal size, each a sample from a public power law.",
)


def settings(
    *,
    total: int,
    regions: Any,
    epsilon: Any = planning.EPSILONS,
    sensitivity: Any = 1,
    top_share: Exact = 0,
    shape: Exact = 1,
) -> Iterator[Row]:
    """Yield what histograms by region cost and are worth; see `dphist.plan`."""
    records, tree = whole_number(total, "total", 1), RegionTree(regions)
    for setting in planning.grid_of_records(epsilon, sensitivity):
        made = RegionalProfiles(regions=tree, top_share=top_share, **setting)
        errors = made.expected_errors(records, shape)
        yield {
            **setting,
            "leaves_error": errors[-1],
            "relative_error": errors[-1] / records,
            "top_error": errors[0],
        }


def _command(asked: Asked, row: Row, unit: PrivacyUnit) -> list[str]:
    typed = ["dphist anonymize FILE --label COLUMN --region COLUMN --regions TREE"]
    if asked.get("top_share", "0") != "0":
        typed.append(f"--top-share {asked['top_share']}")
    return [*typed, *planning.bound_of_records(row, unit)]


def _options() -> Table:
    return [
        Option(
            "regions",
            "file of the tree, as for dphist anonymize",
            "FILE",
            RegionTree.read,
            required=True,
        ),
        make_option(RegionalProfiles, "top_share"),
        Option(
            "shape",
            "a public guess of how fast counts fall: the i-th largest is proportional to 1 / i^S "
            "(default: 1)",
            "S",
            typed="--expect-shape",
        ),
        *planning.options_of_records(RegionalProfiles),
    ]


def _leaves_error(release: Release, percent: bool) -> Found | str:
    made: Any = release.mechanism
    error = float(made.expected_error(max(release.total or 0, 0)))
    said = "all leaves together are about {} off, as tried on public profiles of this size"
    return planning.error_in_records(release, error, said, percent)


def _labels(release: Release, _percent: bool) -> Found:
    number = release.value.labels
    return Found(number, f"the released histograms have {number:,} labels, an estimate")


PLANNING = Planning(
    title="How many labels have each count, by region",
    question="how many labels have each count in each region",
    settings=settings,
    columns=_COLUMNS,
    unit=planning.unit_of_records,
    kept={
        "regions": lambda given: RegionTree(given).to_content(),
        "top_share": lambda given: decimal_text(exact_number(given, "top_share")),
    },
    guesses={"total": "records"},
    limit=lambda _asked: _LIMIT,
    quantities={"labels": Quantity(_labels), "leaves error": Quantity(_leaves_error, "may")},
    command=_command,
    options=_options,
)
