"""dphist anonymize: how many labels have each count, perhaps in each of several regions."""

import argparse
from functools import partial
from typing import Any

from dphist.anonymized import AdaptiveScan
from dphist.anonymized.kind import KIND as ANONYMIZED
from dphist.commands.options import FILE, guess, outputs
from dphist.commands.presentation import get_unit_name
from dphist.commands.records import (
    check_protected,
    dry_run_options,
    get_guesses,
    get_missing,
    get_protected,
    get_sensitivity,
    release_or_quote,
    unit_options,
)
from dphist.commands.users_look import check_found, make_users_look
from dphist.counting.engine.progress import Progress
from dphist.data.profile import Profile
from dphist.data.region_tree import RegionTree
from dphist.data.regional_profile import RegionalProfile, make_leaves, state_bounds
from dphist.document.kind import DataFacts, Kind
from dphist.document.options import NULL_USERS, Command, Excludes, Needs, Option, make_option
from dphist.document.reading_options import READING, get_files
from dphist.errors import ColumnError, phrase
from dphist.regions import RegionalProfiles
from dphist.regions.kind import KIND as REGIONS


def _anonymize(options: argparse.Namespace) -> None:
    if options.label is not None:
        check_protected(options)
    check_found(options)
    tree = None if options.region is None else _read_tree(options)
    look, budget = make_users_look(options, partial(_read_bounded, options, tree))
    parameters = {**budget, "sensitivity": get_sensitivity(options, look)}
    kind, mechanism, bounds = _choose_mechanism(options, tree, parameters)
    unit, records = get_protected(options, look)
    if unit is not None:
        bounds |= {"max_records": records, **get_missing(options)}
    data = DataFacts(
        unit=unit,
        bounds=bounds,
        guesses=get_guesses(options),
        shape=options.expect_shape,
    )
    read = partial(_read, options, tree)
    release_or_quote(kind, mechanism, options, data, read, records=records, look=look)


def _read_tree(options: argparse.Namespace) -> RegionTree:
    """Return the tree of regions; a description that lists leaves has read the file before."""
    if isinstance(options.regions, RegionTree):
        return options.regions
    return RegionTree.read(options.regions, options.region)


def _choose_mechanism(
    options: argparse.Namespace, tree: RegionTree | None, parameters: dict[str, Any]
) -> tuple[Kind, Any, dict[str, Any]]:
    """Return the kind, the mechanism, and what is stated of rows of other regions."""
    if tree is None:
        return ANONYMIZED, AdaptiveScan(**parameters), {}
    unlisted = options.unlisted or "error"
    make_leaves(tree, options.other, unlisted)  # refuses them before data are read
    share = 0 if options.top_share is None else options.top_share
    mechanism = RegionalProfiles(**parameters, regions=tree, top_share=share)
    return REGIONS, mechanism, dict(state_bounds(unlisted, options.other))


def _read(
    options: argparse.Namespace, tree: RegionTree | None, progress: Progress | None
) -> Profile | RegionalProfile:
    if options.label is None:
        try:
            return Profile.read(get_files(options), delimiter=options.delimiter)
        except ColumnError as error:
            remedy = ". If FILE has a row per record or label, give {label}, the column of labels"
            raise error.within("", phrase(remedy)) from None
    return _read_bounded(options, tree, progress, options.max_records)


def _read_bounded(
    options: argparse.Namespace,
    tree: RegionTree | None,
    progress: Progress | None,
    max_records: int | None,
) -> Profile | RegionalProfile:
    given: dict[str, Any] = {
        "label": options.label,
        "count": options.count,
        "user": options.user,
        "null_users": options.null_users or "refuse",
        "max_records": max_records,
        "unit": get_unit_name(options),
        "progress": progress,
        "delimiter": options.delimiter,
    }
    if tree is None:
        return Profile.from_table(get_files(options), **given)
    return RegionalProfile.from_table(
        get_files(options),
        region=options.region,
        regions=tree,
        other=options.other,
        unlisted=options.unlisted or "error",
        **given,
    )


_BY_REGION = Needs(["region"], "it is for histograms by region")
_REGION_OPTIONS = [
    Option(
        "region",
        "column of the region that each row lies in: a histogram of each region, which add up; "
        "needs --label and --regions",
        "COLUMN",
        rules=(
            Needs(["label"], "the column of labels that are counted"),
            Needs(["regions"], "the public file of all regions"),
        ),
    ),
    Option(
        "regions",
        "public file of the regions, without a header: each line is a leaf, as it stands in the "
        "column, then the region that it lies in, and so on to the top. Never take it from the "
        "data",
        "FILE",
        rules=(_BY_REGION,),
    ),
    Option(
        "other",
        "the leaf that also gets the rows of all other regions, and of none",
        "LEAF",
        rules=(_BY_REGION,),
    ),
    Option(
        "unlisted",
        "what is done with rows of other regions, without --other: refuse them, or leave them out "
        "(default: error)",
        choices=("error", "drop"),
        rules=(_BY_REGION, Excludes(["other"], "that leaf gets such rows", "drop")),
    ),
    make_option(RegionalProfiles, "top_share", rules=(_BY_REGION,), default=None),
]


COMMAND = Command(
    text="Release an anonymized histogram: how many labels have each count, such as how many "
    "passwords are used by exactly 7 people.",
    epilog="FILE is a profile with columns count,prevalence. With --label and --count, it has "
    "labels with their counts. With --label and "
    "--each-row-is-one-person, it has one row per record. With --label and --user, all records of "
    "a user are protected together. CSV, JSON lines, Parquet, "
    "spreadsheets, SQLite and zip are read.",
    table=[
        FILE,
        *READING,
        make_option(AdaptiveScan, "epsilon", " (such as 1, 0.1 or 1/3)", required=True),
        Option("label", "column of labels", "COLUMN"),
        Option(
            "count",
            "column of counts; needs --label",
            "COLUMN",
            rules=(Needs(["label"], "the column of labels that are counted"),),
        ),
        *unit_options(
            AdaptiveScan,
            "column of users: who is protected; needs --label",
            Needs(["user"], "whose records are kept"),
            Needs(["label"], "the column of labels that users have"),
            Excludes(["count"], "users need raw records, one a row"),
        ),
        NULL_USERS,
        *_REGION_OPTIONS,
        *dry_run_options(),
        guess(
            "expect_shape",
            "how fast counts fall: the i-th largest is proportional to 1 / i^S (default: 1)",
            value="S",
            read=str,
            default="1",
            parameter="shape",
        ),
        *outputs("count,prevalence,low,high, after region with --region"),
    ],
    run=_anonymize,
)
