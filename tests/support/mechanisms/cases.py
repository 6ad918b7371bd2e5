"""Every mechanism of dphist with data for it, and what tests do with each."""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.noise import Source
from dphist.regions.selected import ScannedLeaves
from dphist.release.document import checksum
from dphist.release.maker import read_parameters
from dphist.report import report_html, summary_text

ROOT = Path(__file__).parents[3]
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs" / "reference" / "release-1.schema.json").read_text())
)
PROFILE = dh.Profile.from_counts([200, 90, 90, 31, *range(1, 20), *[1] * 30])
LABELS = pa.table({"label": ["x", "y", "z", "u"], "count": [400, 380, 3, 1]})
SETS = dh.LabelCounts.from_table(
    pa.table(
        {
            "user": [*range(400), *range(380), 0, 1, 2, 3],
            "label": ["x"] * 400 + ["y"] * 380 + ["z"] * 3 + ["u"],
        }
    ),
    label="label",
    user="user",
    max_labels=4,
    keep_sets=True,
)
REGIONS = {"north": ["x", "y"], "south": ["z"]}
BY_REGION = dh.RegionalProfile.from_counts(
    {"x": [200, 90, 90, 31, *range(1, 20)], "z": [1] * 30}, regions=REGIONS
)
GRID = np.arange(12).reshape(3, 4)
TEXTS = dh.KeyedCounts.from_table(
    pa.table({"a": ["x", "y", "z", None] * 40 + ["rare"], "b": [True, False] * 80 + [True]}),
    keys={"a": dh.DiscoverKeys(share="0.4"), "b": [False, True]},
)
KEYED = dh.KeyedCounts.from_table(
    pa.table(
        {
            "a": ["x", "y", "z"] * 40,
            "b": [0, 5, 9, 14, 20, None] * 20,
            "c": [True, False] * 60,
        }
    ),
    keys={"a": ["x", "y", "z"], "b": dh.Axis.regular(0, 15, 5), "c": [False, True]},
    other=["b"],
)
FARES = pa.table(
    {
        "place": ["x", "y", "z", None] * 60 + ["rare"],
        "fare": [*range(0, 240, 1), 7],
    }
)
GROUPED = dh.GroupedCounts.from_table(
    FARES,
    groups={"place": ["z", "x", "nowhere"]},
    column="fare",
    bins=dh.Axis.regular(0, 200, 20),
    other=True,
)
FOUND = dh.GroupedCounts.from_table(
    FARES,
    groups={"place": dh.DiscoverKeys(share="0.4")},
    column="fare",
    bins=dh.Axis.regular(0, 200, 20),
)

Make = Callable[..., Any]

# How a mechanism is made from epsilon (and delta), and what it is given.
CASES: dict[str, tuple[Make, object]] = {
    "AdaptiveScan": (dh.AdaptiveScan, PROFILE),
    "AdaptiveScan, users": (lambda **k: dh.AdaptiveScan(sensitivity=3, **k), PROFILE),
    "RankSplit": (dh.RankSplit, PROFILE),
    "RankSplit, public total": (lambda **k: dh.RankSplit(total=900, **k), PROFILE),
    "SortedCounts": (lambda **k: dh.SortedCounts(labels=60, **k), PROFILE),
    "CumulativeCounts": (lambda **k: dh.CumulativeCounts(largest=300, **k), PROFILE),
    "PrivHist, split": (lambda **k: dh.PrivHist(shares=(1, 9, 0), **k), PROFILE),
    "PrivHist, blocks": (lambda **k: dh.PrivHist(shares=(1, 1, 1), **k), PROFILE),
    "PrivHist, empty": (dh.PrivHist, dh.Profile.from_counts([])),
    "PartitionSampler": (dh.PartitionSampler, PROFILE),
    "RegionalProfiles": (lambda **k: dh.RegionalProfiles(regions=REGIONS, **k), BY_REGION),
    "RegionalProfiles, top": (
        lambda **k: dh.RegionalProfiles(regions=REGIONS, top_share="0.2", sensitivity=2, **k),
        BY_REGION,
    ),
    "ScannedLeaves": (lambda **k: ScannedLeaves(sizes=[900, 100], parents=[1, 1], **k), PROFILE),
    "AdaptiveTree": (lambda **k: dh.AdaptiveTree(bins=12, **k), GRID.ravel()),
    "AdaptiveTree, two axes": (lambda **k: dh.AdaptiveTree(bins=(3, 4), **k), GRID),
    "AdaptiveTree, rho": (
        lambda epsilon, **k: dh.AdaptiveTree(rho=epsilon, bins=12, **k),
        GRID.ravel(),
    ),
    "HierarchicalTree": (lambda **k: dh.HierarchicalTree(bins=12, **k), GRID.ravel()),
    "HierarchicalTree, least squares": (
        lambda **k: dh.HierarchicalTree(bins=12, nonnegative=False, **k),
        GRID.ravel(),
    ),
    "HierarchicalTree, zero subtrees": (
        lambda **k: dh.HierarchicalTree(bins=12, nonnegative="subtrees", **k),
        GRID.ravel(),
    ),
    "HierarchicalTree, inconsistent": (
        lambda **k: dh.HierarchicalTree(bins=12, consistent=False, **k),
        GRID.ravel(),
    ),
    "LeafCounts": (lambda **k: dh.LeafCounts(bins=12, **k), GRID.ravel()),
    "LeafCounts, rho": (
        lambda epsilon, **k: dh.LeafCounts(rho=epsilon, bins=12, **k),
        GRID.ravel(),
    ),
    "Tables": (
        lambda epsilon: dh.Tables(
            rho=epsilon, keys={"a": ["x", "y", "z"], "b": [1, 2, 3, 4]}, tables=["a", "a+b"]
        ),
        GRID,
    ),
    "Tables, overlapping": (
        lambda epsilon: dh.Tables(
            rho=epsilon, keys=KEYED.keys, tables=["a+b", "b+c"], weights={"a+b": 2}, max_rows=2
        ),
        KEYED,
    ),
    "Tables, found": (
        lambda epsilon, delta: dh.Tables(
            rho=epsilon, delta=delta, keys=TEXTS.keys, tables=["a+b", "b"]
        ),
        TEXTS,
    ),
    "Tables, pure": (
        lambda epsilon: dh.Tables(
            epsilon=epsilon, keys=KEYED.keys, tables=["a+b", "b+c"], max_rows=2
        ),
        KEYED,
    ),
    "Tables, pure, on contrasts": (
        lambda epsilon: dh.Tables(
            epsilon=epsilon, keys={"a": range(64), "b": range(16)}, tables=["a+b"]
        ),
        np.arange(1024).reshape(64, 16),
    ),
    "GroupedHistogram": (
        lambda **k: dh.GroupedHistogram(groups={"a": ["x", "y", "z"]}, bins=4, **k),
        GRID,
    ),
    "GroupedHistogram, rows of users": (
        lambda **k: dh.GroupedHistogram(
            groups=GROUPED.groups, bins=10, max_rows=2, inner="HierarchicalTree", **k
        ),
        GROUPED,
    ),
    "GroupedHistogram, rho": (
        lambda epsilon: dh.GroupedHistogram(
            rho=epsilon, groups={"a": [1, 2, 3]}, bins=4, expected_total=30
        ),
        GRID,
    ),
    "GroupedHistogram, single bins": (
        lambda **k: dh.GroupedHistogram(
            groups={"a": ["x", "y", "z"]}, bins=4, inner="LeafCounts", **k
        ),
        GRID,
    ),
    "GroupedHistogram, found": (
        lambda epsilon, delta: dh.GroupedHistogram(
            rho=epsilon, delta=delta, groups=FOUND.groups, bins=10
        ),
        FOUND,
    ),
    "ThresholdHistogram, laplace": (
        lambda **k: dh.ThresholdHistogram(max_labels=2, **k),
        LABELS,
    ),
    "ThresholdHistogram, gaussian": (
        lambda **k: dh.ThresholdHistogram(max_labels=2, noise="gaussian", **k),
        LABELS,
    ),
    "ThresholdHistogram, truncated": (
        lambda **k: dh.ThresholdHistogram(max_labels=2, noise="truncated", **k),
        LABELS,
    ),
    "ThresholdHistogram, optimal": (
        lambda **k: dh.ThresholdHistogram(max_labels=2, noise="optimal", **k),
        LABELS,
    ),
    "ThresholdHistogram, known, truncated": (
        lambda epsilon: dh.ThresholdHistogram(
            epsilon=epsilon, delta="1e-6", max_labels=2, noise="truncated", labels=["x", "q"]
        ),
        LABELS,
    ),
    "ThresholdHistogram, known": (
        lambda epsilon: dh.ThresholdHistogram(epsilon=epsilon, max_labels=2, labels=["x", "q"]),
        LABELS,
    ),
    "ThresholdHistogram, known, correlated": (
        lambda epsilon: dh.ThresholdHistogram(
            epsilon=epsilon, max_labels=3, noise="gaussian", correlated=True, labels=["x", "q", "u"]
        ),
        dh.LabelCounts.from_counts(
            ["x", "y", "u"], [400, 380, 1], max_labels=3, max_count=1, only_adds=True
        ),
    ),
    "TopThreshold": (lambda **k: dh.TopThreshold(k=3, max_labels=2, **k), LABELS),
    "TopLabels": (lambda **k: dh.TopLabels(k=3, candidates=4, **k), LABELS),
    "DiscoverLabels": (lambda **k: dh.DiscoverLabels(max_labels=2, **k), LABELS),
    "AutoThreshold": (lambda **k: dh.AutoThreshold(max_labels=4, **k), SETS),
    "ContinualMechanism": (lambda **k: dh.ContinualMechanism(horizon=100, **k), None),
    "ContinualMechanism, known": (
        lambda epsilon: dh.ContinualMechanism(epsilon=epsilon, horizon=100, labels=["x", "q"]),
        None,
    ),
    "ContinualMechanism, known, pure": (
        lambda epsilon: dh.ContinualMechanism(
            epsilon=epsilon, delta=0, horizon=100, labels=["x", "q"]
        ),
        None,
    ),
}
WITHOUT_DELTA = {
    "GroupedHistogram, found",
    "Tables, found",
    "PartitionSampler",
    "TopThreshold",
    "TopLabels",
    "DiscoverLabels",
    "AutoThreshold",
}
NOISY_BESIDE = {"AutoThreshold"}
"""Those whose value does not come from the noisy numbers that stand beside it."""
KEEPING_NOISY = {
    *("AdaptiveScan", "AdaptiveScan, users", "RankSplit", "RankSplit, public total"),
    *("PrivHist, split", "PrivHist, blocks", "PrivHist, empty"),
    *("RegionalProfiles", "RegionalProfiles, top", "ScannedLeaves"),
    *("Tables", "Tables, overlapping", "Tables, found"),
    *("Tables, pure", "Tables, pure, on contrasts"),
    *("GroupedHistogram", "GroupedHistogram, rows of users"),
    *("GroupedHistogram, rho", "GroupedHistogram, found"),
    *(name for name in CASES if name.startswith(("AdaptiveTree", "HierarchicalTree"))),
}


def needs_delta(name: str) -> bool:
    return name in WITHOUT_DELTA or (
        name.startswith(("ThresholdHistogram", "ContinualMechanism")) and "known" not in name
    )


def made(name: str) -> Any:
    """The mechanism, as made by hand."""
    delta = {"delta": "1e-6"} if needs_delta(name) else {}
    return CASES[name][0](epsilon="0.7", **delta)


@lru_cache
def calibrated(name: str, **asked: Any) -> Any:
    """The mechanism, made from a total."""
    make = CASES[name][0]
    if needs_delta(name):

        def with_delta(epsilon: Any, delta: Any) -> Any:
            return make(epsilon=epsilon, delta=delta)

        return dh.calibrate(with_delta, epsilon=2, delta="1e-5", **asked)
    return dh.calibrate(lambda epsilon: make(epsilon=epsilon), epsilon=2, delta="1e-5", **asked)


def released(mechanism: Any, data: object, source: Source | None = None) -> dh.Release:
    if not isinstance(mechanism, dh.ContinualMechanism):
        release: dh.Release = mechanism.release(data, source)
        return release
    stream = dh.ContinualHistogram(**read_parameters(mechanism))
    if mechanism.target is not None:
        stream = stream.calibrated_to(mechanism.target)
    stream.update_many([["x"]] * 90, source=source)
    return stream.release(source=source)


def check_saved(release: dh.Release, path: Path) -> dh.Release:
    release.save(path)
    loaded = dh.Release.load(path)
    assert loaded == release
    assert loaded.to_json() == release.to_json()
    assert loaded.guarantee == release.guarantee
    assert loaded.guarantee.unit.bounds == release.guarantee.unit.bounds
    assert loaded.mechanism == release.mechanism
    assert hash(loaded.mechanism) == hash(release.mechanism)
    assert repr(loaded) == repr(release)
    assert summary_text(loaded) == summary_text(release)
    SCHEMA.validate(json.loads(release.to_json()))
    return loaded


def page(release: dh.Release) -> str:
    return re.sub(r"<[^>]*>", " ", report_html(release)).replace("\u00a0", " ")


def signed(content: dict[str, Any]) -> str:
    """Return an edited release with a checksum that fits."""
    content = {name: part for name, part in content.items() if name != "checksum"}
    return json.dumps({**content, "checksum": checksum(content)})


every_mechanism = pytest.mark.parametrize("name", CASES)
