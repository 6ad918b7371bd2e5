"""Every public parameter that is a number is read by one grammar, and an error names it."""

import inspect
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import boost_histogram as bh
import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist import noise, properties, sql
from dphist.errors import ParameterError
from dphist.parameters import exact_number, read_number, read_whole_number
from tests.support.parameters.texts import HALVES, NO_NUMBERS, NO_WHOLE_NUMBERS, SOME

PROFILE = dh.Profile.from_counts([9, 7, 4, 2, 1, 1])
FRAME = pd.DataFrame({"label": ["a", "b"], "user": [1, 2], "count": [1, 1], "x": [1, 2]})
LABELS = dh.LabelCounts.from_table(FRAME, label="label")
USERS = {"frame": FRAME, "label": "label", "user": "user"}
PART = {**USERS, "part": 0, "parts": 2}
BINS = {"frame": FRAME, "column": "x", "edges": [0, 2, 4], "user": "user", "max_records": 1}
RELEASE = dh.AdaptiveScan(epsilon=1).release(PROFILE)
_BY_RECORDS = dh.count_user_records(FRAME, user="user", most=9)
USERS_BY_RECORDS = dh.LeafCounts(epsilon=1, bins=_BY_RECORDS.bins).release(_BY_RECORDS)
STREAM: dict[str, Any] = {"epsilon": 1, "delta": "0.1", "horizon": 9, "max_labels": 1}

GROUPS: dict[str, Any] = {"groups": {"a": [1, 2]}, "bins": 4}
# Parameters with which each class is made.
TABLES: dict[str, Any] = {"keys": {"a": [1, 2]}, "tables": ["a"]}
MADE: dict[str, dict[str, Any]] = {
    "AdaptiveScan": {"epsilon": 1},
    "AdaptiveTree": {"epsilon": 1, "bins": 4},
    "ApproxDP": {"epsilon": 1, "delta": "0.1"},
    "ApproxZCDP": {"rho": 1, "delta": "0.1"},
    "AutoThreshold": {"epsilon": 1, "delta": "0.1", "max_labels": 2},
    "ContinualHistogram": STREAM,
    "ContinualMechanism": STREAM,
    "CumulativeCounts": {"epsilon": 1, "largest": 9},
    "DiscoverLabels": {"epsilon": 1, "delta": "0.1", "max_labels": 2},
    "FixedPlan": {"mechanisms": [dh.LeafCounts(epsilon=1, bins=4)], "delta": "0.1"},
    "GroupedHistogram": {"epsilon": 1, **GROUPS},
    "HierarchicalTree": {"epsilon": 1, "bins": 4},
    "LeafCounts": {"epsilon": 1, "bins": 4},
    "PartitionSampler": {"epsilon": 1, "delta": "0.1"},
    "PayWhatYouGet": {"epsilon": 1, "delta": "0.1", "max_labels": 1, "budget": 9, "queries": 2},
    "PrivHist": {"epsilon": 1},
    "PrivacyUnit": {"who": "user"},
    "PureDP": {"epsilon": 1},
    "RankSplit": {"epsilon": 1, "total": 9},
    "RegionalProfile": {"regions": ["a"], "leaves": [((), ())]},
    "RegionalProfiles": {"epsilon": 1, "regions": ["a"]},
    "Resources": {},
    "SortedCounts": {"epsilon": 1, "labels": 9},
    "DiscoverKeys": {"share": "0.3"},
    "Tables": {"rho": 1, **TABLES},
    "Clamp": {"low": 0, "high": 10**6, "step": 1},
    "Weight": {"column": "w", "low": 0, "high": 10**6, "step": 1},
    "ThresholdHistogram": {"epsilon": 1, "delta": "0.1", "max_labels": 1},
    "TopLabels": {"epsilon": 1, "delta": "0.1", "k": 2, "candidates": 3, "max_labels": 1},
    "TopThreshold": {"epsilon": 1, "delta": "0.1", "k": 2, "max_labels": 1},
    "ZCDP": {"rho": 1},
}
# Arguments of the methods of an object, by the method's name.
METHODS: dict[str, dict[str, Any]] = {
    "for_unit": {"unit": "one patient", "has": 1},
    **{name: {"delta": "0.5"} for name in ("dp_event", "epsilon_at", "to_approx_dp")},
    **{name: {"time": 3} for name in ("half_width", "standard_error_at", "find_stated_until")},
    "threshold_at": {"time": 3},
    **{name: {"members": 2} for name in ("for_group", "times")},
    "at": {"cap": 2},
    "likely_count": {"chance": 0.9},
    "reach_of_sum": {"labels": 2},
    "release_chance": {"count": 9},
    "error_after_cut": {"noise": 2.5, "total": 9, "kept": 8},
}


def stream(method: str, **arguments: Any) -> Any:
    made = dh.ContinualHistogram(**STREAM, windows=2)
    for _ in range(3):
        made.update(["a"])
    return getattr(made, method)(**arguments)


def ledger(method: str, folder: Path, **arguments: Any) -> Any:
    path = folder / f"{len(list(folder.iterdir()))}.ledger"
    if method == "create":
        return dh.Ledger.create(path, **arguments)
    made = dh.Ledger.create(path, epsilon=2, delta="0.1", unit="one patient")
    made.open_account("rho", rho=2, unit="one patient")
    return getattr(made, method)(**arguments)


def write_page(folder: Path, **given: Any) -> None:
    dh.write_report(dh.Tables(rho=1, **TABLES).release([3, 4]), folder / "r.html", **given)


def write_workbook(folder: Path, **given: Any) -> None:
    dh.Tables(rho=1, **TABLES).release([3, 4]).to_xlsx(folder / "r.xlsx", **given)


def read_profile(folder: Path, **arguments: Any) -> Any:
    path = folder / "profile.csv"
    path.write_text("count,prevalence\n1,2\n")
    return dh.Profile.read(path, **arguments)


def dataset(method: str, folder: Path, **arguments: Any) -> Any:
    FRAME.to_csv(folder / "rows.csv", index=False)
    (folder / "rows.toml").write_text("files = 'rows.csv'\nuser = 'user'\nmax_count = 2\n")
    return getattr(dh.Dataset.open(folder / "rows.toml"), method)(**arguments)


ONE = {"unit": "one patient"}
PROPERTIES: dict[str, dict[str, Any]] = {
    "distance_to_uniformity": {"labels": 9},
    "entropy": {},
    "guessing": {"guesses": 2},
    "renyi_entropy": {"order": 2},
    "support_coverage": {"extra": 1},
    "support_size": {"p_min": "0.1"},
}
# What is called for the others, and with what; `folder` is that of a ledger.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Axis.regular": (dh.Axis.regular, {"start": 0, "stop": 8, "bins": 2}),
    "BinnedCounts": (
        partial(dh.BinnedCounts, np.array([1]), (dh.Axis.from_edges([0, 1]),)),
        {"outside": {"below": 0, "above": 0, "null": 0}},
    ),
    "BinnedCounts.from_uhi": (
        partial(dh.BinnedCounts.from_uhi, bh.Histogram(bh.axis.Integer(0, 3))),
        {"edges_are_public": True, "sensitivity": 1},
    ),
    "BinnedCounts.partial": (dh.BinnedCounts.partial, {**BINS, "part": 0, "parts": 2}),
    "ContinualHistogram.top": (partial(stream, "top"), {"k": 2}),
    "ContinualHistogram.window": (partial(stream, "window"), {"start": 1, "end": 2}),
    "Dataset.bins": (
        partial(dataset, "bins"),
        {"column": "x", "edges": [0, 2, 4], "max_records": 1},
    ),
    "Dataset.groups": (
        partial(dataset, "groups"),
        {"groups": {"label": ["a"]}, "column": "x", "bins": [0, 9], "max_rows": 1},
    ),
    "Dataset.regions": (
        partial(dataset, "regions"),
        {"label": "count", "region": "label", "regions": {"all": ["a", "b"]}, "max_records": 1},
    ),
    "Dataset.labels": (partial(dataset, "labels"), {"label": "label", "max_labels": 1}),
    "Dataset.profile": (partial(dataset, "profile"), {"label": "label", "max_records": 1}),
    "Dataset.tables": (
        partial(dataset, "tables"),
        {"keys": {"label": ["a", "b"]}, "max_rows": 1},
    ),
    "LabelCounts.from_counts": (
        partial(dh.LabelCounts.from_counts, ["a"], [1]),
        {"max_labels": 1, "max_count": 1},
    ),
    "LabelCounts.from_table": (dh.LabelCounts.from_table, {**USERS, "max_labels": 1}),
    "LabelCounts.largest": (LABELS.largest, {"number": 1}),
    "LabelCounts.partial": (dh.LabelCounts.partial, {**PART, "max_labels": 1}),
    "LabelCounts.promised": (
        dh.LabelCounts.promised,
        {"frame": FRAME[["label", "count"]], "max_labels": 1, "max_count": 1},
    ),
    "Ledger.allow": (partial(ledger, "allow"), {"by": "ann", "epsilon": 1, "account": "main"}),
    "Ledger.create": (partial(ledger, "create"), {"epsilon": 1, "delta": "0.1", **ONE}),
    "Ledger.open_account": (
        partial(ledger, "open_account"),
        {"name": "b", "epsilon": 1, "delta": "0.1", **ONE},
    ),
    "KeyedCounts": (
        partial(dh.KeyedCounts, dh.Tables(rho=1, **TABLES).keys, np.array([1]), np.array([3])),
        {},
    ),
    "GroupedCounts.from_counts": (
        partial(dh.GroupedCounts.from_counts, [[1, 2], [3, 4]]),
        {"groups": {"a": [1, 2]}},
    ),
    "KeyedCounts.from_counts": (
        partial(dh.KeyedCounts.from_counts, [1, 2]),
        {"keys": {"a": [1, 2]}},
    ),
    "GroupedCounts.partial": (
        dh.GroupedCounts.partial,
        {
            "frame": FRAME,
            "groups": {"label": ["a", "b"]},
            "column": "x",
            "bins": [0, 2, 4],
            "user": "user",
            "max_rows": 1,
            "part": 0,
            "parts": 2,
        },
    ),
    "KeyedCounts.partial": (
        dh.KeyedCounts.partial,
        {
            "frame": FRAME,
            "keys": {"label": ["a", "b"]},
            "user": "user",
            "max_rows": 1,
            "part": 0,
            "parts": 2,
        },
    ),
    "GroupedCounts.from_table": (
        dh.GroupedCounts.from_table,
        {
            "frame": FRAME,
            "groups": {"label": ["a"]},
            "column": "x",
            "bins": [0, 9],
            "user": "user",
            "max_rows": 1,
        },
    ),
    "KeyedCounts.from_table": (
        dh.KeyedCounts.from_table,
        {
            "frame": FRAME,
            "keys": {"x": [1, 2]},
            "user": "user",
            "max_rows": 1,
        },
    ),
    "PayWhatYouGet.expected_error": (dh.PayWhatYouGet(**MADE["PayWhatYouGet"]).expected_error, {}),
    "PayWhatYouGet.top": (
        dh.PayWhatYouGet(**MADE["PayWhatYouGet"]).top,
        {"counts": LABELS, "k": 2},
    ),
    "Profile": (partial(dh.Profile, np.array([1]), np.array([1])), {}),
    "Profile.from_counts": (partial(dh.Profile.from_counts, [1]), {}),
    "Profile.from_prevalences": (partial(dh.Profile.from_prevalences, [1], [1]), {}),
    "Profile.from_table": (dh.Profile.from_table, {**USERS, "max_records": 1}),
    "Profile.partial": (dh.Profile.partial, {**PART, "max_records": 1}),
    "Profile.read": (read_profile, {}),
    "RegionTree.level": (dh.RegionTree([*map(str, range(9))]).level, {"level": 0}),
    "RegionalHistograms.level": (
        dh.RegionalHistograms(dh.RegionTree(["a"]), [dh.AnonymizedHistogram([], [])]).level,
        {"level": 0},
    ),
    "RegionalProfile.partial": (
        dh.RegionalProfile.partial,
        {**PART, "region": "count", "regions": [1], "max_records": 1},
    ),
    "RegionalProfile.from_counts": (
        partial(dh.RegionalProfile.from_counts, {"a": [1]}, regions=["a"]),
        {},
    ),
    "RegionalProfile.from_table": (
        dh.RegionalProfile.from_table,
        {**USERS, "region": "count", "regions": [1], "max_records": 1},
    ),
    "Release.plot": (RELEASE.plot, {}),
    "RunningCounts.at": (dh.RunningCounts([1], [{"a": 1}]).at, {"time": 1}),
    "RunningCounts.top": (dh.RunningCounts([1], [{"a": 1}]).top, {"k": 1}),
    "ThresholdHistogram.calibration_forms": (dh.ThresholdHistogram.calibration_forms, {}),
    "anonymize": (dh.anonymize, {"profile": PROFILE, "epsilon": 1}),
    "audit": (partial(dh.audit, lambda x: x, [(0, 1)]), {"epsilon": 1, "delta": "0.1"}),
    "bin_counts": (dh.bin_counts, BINS),
    "calibrate": (
        partial(dh.calibrate, dh.ThresholdHistogram),
        {"epsilon": 1, "delta": "0.1", "max_labels": 1},
    ),
    "count_user_records": (
        dh.count_user_records,
        {"frame": FRAME, "user": "user", "most": 9, "max_records": 2},
    ),
    "share_cut": (partial(dh.share_cut, USERS_BY_RECORDS), {"max_records": 2}),
    "compare": (partial(dh.compare, dh.AdaptiveScan, PROFILE), {"epsilons": [1]}),
    "for_error": (partial(dh.for_error, dh.AdaptiveScan), {"total": 99, "relative_error": "0.1"}),
    "add_noise": (
        partial(dh.add_noise, dh.LeafCounts(epsilon=2, bins=2).release([4, 5])),
        {"epsilon": 1},
    ),
    "noise.rounded_gaussian": (noise.rounded_gaussian, {"sigma": 2, "size": 3}),
    "noise.two_sided_geometric": (noise.two_sided_geometric, {"epsilon": 2, "size": 3}),
    "plot": (partial(dh.plot, RELEASE), {}),
    "sql.count_labels": (
        sql.count_labels,
        {"dialect": "duckdb", "table": "t", "label": "l", "user": "u", "max_labels": 1},
    ),
    "sql.count_keys": (
        sql.count_keys,
        {"dialect": "duckdb", "table": "t", "keys": {"label": ["a"]}, "user": "u", "max_rows": 1},
    ),
    "sql.keyed_counts": (
        partial(sql.keyed_counts, FRAME[["label", "count"]], keys={"label": ["a", "b"]}),
        {"max_rows": 1},
    ),
    "sql.label_counts": (
        partial(sql.label_counts, FRAME[["label", "count"]]),
        {"max_labels": 1},
    ),
    "Release.to_csv": (
        dh.Tables(rho=1, **TABLES).release([3, 4]).to_csv,
        {"show_below": 10},
    ),
    "Release.to_xlsx": (write_workbook, {"show_below": 10}),
    "write_report": (write_page, {"show_below": 10}),
    "lab.rule": (
        partial(dh.lab.rule, {"label": ["a", "b"], "count": [1, 9]}, count="count"),
        {"suppress_below": 5, "round_to": 5, "epsilon": 1},
    ),
    **{
        f"properties.{name}": (getattr(properties, name), {"source": PROFILE, **k})
        for name, k in PROPERTIES.items()
    },
}
# Parameters that need others, or exclude those with which the rest is called.
INSTEAD: dict[tuple[str, str], dict[str, Any]] = {
    **{
        (name, "rho"): {"rho": 1, "bins": 4}
        for name in ("AdaptiveTree", "HierarchicalTree", "LeafCounts")
    },
    ("GroupedHistogram", "rho"): {"rho": 1, **GROUPS},
    ("GroupedHistogram", "delta"): {"epsilon": 1, "delta": "0.1", **GROUPS},
    ("Tables", "epsilon"): {"epsilon": 1, "delta": "0.1", **TABLES},
    ("Tables", "delta"): {"epsilon": 1, "delta": "0.1", **TABLES},
    ("Tables", "sums_share"): {
        **{"rho": 1, "sums": {"x": dh.Clamp(0, 1, 1)}},
        **{"keys": {"a": [1, 2]}, "tables": ["a"]},
    },
    ("ThresholdHistogram", "sums_of"): {"epsilon": 1, "max_labels": 1, "labels": ["a", "b"]},
    ("RegionalProfile.from_table", "sensitivity"): {
        "frame": FRAME,
        "label": "label",
        "region": "user",
        "regions": [1, 2, 3],
    },
    ("Profile.from_table", "sensitivity"): {"frame": FRAME, "label": "label"},
    **{
        (f"Ledger.{name}", "rho"): {**arguments, "rho": 1}
        for name, arguments in {
            "allow": {"by": "ann", "account": "rho"},
            "create": ONE,
            "open_account": {"name": "b", **ONE},
        }.items()
    },
    ("for_error", "appears_from"): {},
    ("for_error", "error"): {},
    ("for_error", "half_width"): {},
    ("for_error", "range_rmse"): {"total": 9},
    ("properties.guessing", "share"): {"source": PROFILE},
}
# Values of reports that are made by the library, not by its callers.
NOT_ASKED = (
    *(
        "AuditResult",
        "Release",
        "LabelCounts",
        "sql.whole_number",
        "sql.LabelCounts",
        "sql.KeyedCounts",
    ),
    *("ThresholdHistogram.calibration_forms", "ContinualMechanism.threshold_units_at"),
)


def _public() -> Iterator[tuple[str, Any]]:
    """Yield every public function, class and method by its name."""
    for name in dh.__all__:
        found = getattr(dh, name)
        if inspect.ismodule(found):
            named = vars(found).items()
            yield from (
                (f"{name}.{n}", f) for n, f in named if n in found.__all__ and inspect.isroutine(f)
            )
        elif inspect.isclass(found) and not issubclass(found, Exception):
            yield name, found
            methods = inspect.getmembers(found, callable)
            yield from ((f"{name}.{n}", method) for n, method in methods if not n.startswith("_"))
        elif callable(found):
            yield name, found


def _numbers() -> Iterator[tuple[str, str, bool]]:
    """Yield every public parameter that is a number, and whether it is a whole one."""
    for name, found in _public():
        for parameter in inspect.signature(found).parameters.values():
            kind = inspect.formatannotation(parameter.annotation)
            exact = "Fraction" in kind
            if name not in NOT_ASKED and (exact or "int" in kind.split(" | ")):
                yield name, parameter.name, not exact


ASKED = sorted(set(_numbers()))


def call(name: str, parameter: str, folder: Path, **changes: Any) -> Any:
    owner, _, method = name.partition(".")
    if name in CALLS:
        function, arguments = CALLS[name]
    elif not method:
        function, arguments = getattr(dh, name), MADE[name]
    else:
        made = getattr(dh, owner)(**MADE[owner])
        function, arguments = getattr(made, method), METHODS.get(method, {})
        if "total" in {*inspect.signature(function).parameters} - {*arguments}:
            arguments = {"total": 9}
    if owner in {"Dataset", "Ledger"} or function in (read_profile, write_page, write_workbook):
        function = partial(function, folder)
    return function(**{**INSTEAD.get((name, parameter), arguments), **changes})


@pytest.mark.long(every=4)
@pytest.mark.quick("[one")
@pytest.mark.parametrize(("name", "parameter", "whole"), ASKED, ids=str)
@pytest.mark.parametrize("tried", ["one", "all"])
def test_every_public_number_is_read_alike(tried, name, parameter, whole, tmp_path) -> None:
    texts = ["1", "0.5", *SOME] if whole else SOME
    others = [b"1", True, float("nan"), Decimal("NaN"), Decimal(1).sqrt, [[1]]]
    for value in SOME[:1] if tried == "one" else [*texts, *others]:
        with pytest.raises(ParameterError) as refused:
            call(name, parameter, tmp_path, **{parameter: value})
        assert str(refused.value).startswith(parameter), value


@pytest.mark.verify
def test_what_is_tried_is_right_otherwise(tmp_path) -> None:
    """An error is of the number that is tried, and of nothing else."""
    for name in sorted({name for name, _, _ in ASKED} - {"audit", "compare"}):
        call(name, "", tmp_path)


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: ascii(text)[:20])
def test_text_that_is_no_number(text) -> None:
    assert read_number(text) is None
    with pytest.raises(ParameterError, match="epsilon must be a") as refused:
        exact_number(text, "epsilon")
    assert ("400 digits" in str(refused.value)) == (len(text) > 400)


@pytest.mark.parametrize("text", NO_WHOLE_NUMBERS, ids=lambda text: ascii(text)[:20])
def test_text_that_is_no_whole_number(text) -> None:
    assert read_whole_number(text) is None


def test_one_number_however_it_is_written() -> None:
    half: list[Any] = [
        *HALVES,
        0.5,
        np.float32(0.5),
        np.float64(0.5),
        np.array(0.5),
        Decimal("0.50"),
    ]
    for value in [*half, Fraction(1, 2), np.str_("0.5")]:
        assert exact_number(value, "epsilon") == Fraction(1, 2)
        assert dh.PureDP(value).epsilon == Fraction(1, 2)
    wholes: list[Any] = ["10", "+10", "010", 10, np.int8(10), np.array(10), 1e1, "1e1", "10/1"]
    for whole in [*wholes, Decimal(10)]:
        assert exact_number(whole, "epsilon") == 10
    assert [read_whole_number(text) for text in ("10", "-10", "+0", "007")] == [10, -10, 0, 7]
