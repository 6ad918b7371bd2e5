"""Only modules of the trusted base read what is secret, whatever is made of data and releases."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.base import modules_of_base

import dphist as dh
from dphist.cli import main
from dphist.ledger import Deferred
from dphist.properties.overview import estimate_properties
from dphist.report import make_json, report_html, summary_text
from tests.support.abouts import ABOUT
from tests.support.mechanisms.cases import CASES, made, released
from tests.support.secret_reads import Reads, watch_reads

BASE = modules_of_base()
ROWS = pd.DataFrame(
    {
        "who": [*range(60), *range(60)],
        "word": ["a", "b"] * 30 + ["a", "c", "d"] * 20,
        "age": [*range(60), *range(20, 80)],
    }
)
PARTS = {"user": "who", "parts": 2}


@pytest.fixture
def reads() -> Iterator[Reads]:
    """All reads of a test, which must be by modules of the base."""
    with watch_reads(BASE) as found:
        yield found
    assert found, "nothing secret was read: the test watches nothing"
    assert [read for read in sorted(found) if read[0] not in BASE] == []


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("DPHIST_LEDGER", "DPHIST_BY", "DPHIST_SIGNING_KEY"):
        monkeypatch.delenv(name, raising=False)


def profile() -> dh.Profile:
    return dh.Profile.from_table(ROWS, label="word", user="who", max_records=2)


def labels(**asked: Any) -> dh.LabelCounts:
    return dh.LabelCounts.from_table(ROWS, label="word", user="who", max_labels=2, **asked)


def bins() -> dh.BinnedCounts:
    return dh.bin_counts(ROWS, column="age", start=0, stop=80, width=10, user="who", max_records=2)


def groups() -> dh.GroupedCounts:
    listed = {"word": ["a", "b", "c"]}
    return dh.GroupedCounts.from_table(ROWS, groups=listed, column="age", bins=[0, 40, 80])


def regions() -> dh.RegionalProfile:
    tree = ["a", "b", "c", "d"]
    return dh.RegionalProfile.from_table(ROWS, label="age", region="word", regions=tree)


def merged() -> list[Any]:
    """Data of each kind, counted in two parts."""
    given: dict[Any, dict[str, Any]] = {
        dh.Profile: {"label": "word", "max_records": 2},
        dh.LabelCounts: {"label": "word", "max_labels": 2},
        dh.BinnedCounts: {"column": "age", "edges": [0, 40, 80], "max_records": 2},
        dh.RegionalProfile: {
            "label": "age", "region": "word", "regions": ["a", "b", "c", "d"], "max_records": 2,
        },
        dh.KeyedCounts: {"keys": {"age": dh.Axis.regular(0, 80, 40)}, "max_rows": 2},
    }  # fmt: skip
    return [
        kind.merge([kind.partial(ROWS, part=part, **PARTS, **named) for part in range(2)])
        for kind, named in given.items()
    ]


def stream(**asked: Any) -> dh.ContinualHistogram:
    given: dict[str, Any] = {"epsilon": 5, "delta": "1e-6", "horizon": 400, **asked}
    return dh.calibrate(dh.ContinualHistogram, **given)


@pytest.mark.parametrize("name", CASES)
def test_every_mechanism(name: str, reads: Reads) -> None:
    mechanism = made(name)
    release = released(mechanism, CASES[name][1])
    mechanism.intervals(release)
    mechanism.restore(release.value, release.noisy)
    assert all([repr(release), mechanism.description, release.to_json()])


@pytest.mark.long(every=2)
@pytest.mark.quick("[RankSplit]", "[LeafCounts]", "[ContinualMechanism]")
@pytest.mark.parametrize("name", CASES)
def test_every_surface(name: str, reads: Reads, tmp_path: Path) -> None:
    release = released(made(name), CASES[name][1])
    assert all([summary_text(release), report_html(release), make_json(release)])
    assert all([release._repr_html_(), release.mechanism._repr_html_()])
    if name != "DiscoverLabels":  # labels alone have no plot
        release.plot()
    release.save(tmp_path / "release.json")
    assert dh.disclose(dh.Release.load(tmp_path / "release.json"), about=ABOUT).to_yaml()


@pytest.mark.parametrize("secret", [profile, labels, bins], ids=lambda each: each.__name__)
def test_what_a_notebook_shows_of_data(secret: Callable[[], Any], reads: Reads) -> None:
    data = secret()
    assert all([repr(data), data._repr_html_()])
    dh.Ledger.create("a.ledger", epsilon=9, delta="1e-6", unit="one user").guard(data)
    # What is shown of data gives out nothing.
    assert reads == set()
    dh.anonymize(profile(), epsilon=1)


def test_data_counted_in_parts(reads: Reads) -> None:
    parts, labeled, binned, by_region, keyed = merged()
    assert reads == set()
    dh.anonymize(parts, epsilon=1, sensitivity=2)
    dh.TopLabels(k=1, candidates=2, epsilon=1, delta="1e-6", max_labels=2).release(labeled)
    dh.LeafCounts(epsilon=1, bins=2, sensitivity=2).release(binned)
    dh.RegionalProfiles(epsilon=1, regions=by_region.regions, sensitivity=2).release(by_region)
    dh.Tables(rho=1, keys=keyed.keys, tables=["age"], max_rows=2).release(keyed)


def test_labels_by_sets_users_and_sessions(reads: Reads) -> None:
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "max_labels": 2}
    dh.DiscoverLabels(**given).release(labels(keep_sets=True))
    counted = dh.ThresholdHistogram(**given, users_by_labels=20)
    summary_text(counted.release(labels(users_by_labels=20)))
    session = dh.PayWhatYouGet(budget=9, queries=2, **given)
    session.top(labels(), k=2)
    assert repr(session)


def test_data_that_a_ledger_opens(reads: Reads) -> None:
    ledger = dh.Ledger.create("a.ledger", epsilon=90, delta="1e-3", unit="one user")
    scan = dh.AdaptiveScan(epsilon=1, sensitivity=2)
    paying: dict[str, Any] = {"by": "ana"}
    ledger.release(scan, profile(), key="a", **paying)
    ledger.release(scan, ledger.guard(profile()), key="b", **paying)
    ledger.release(scan, Deferred(profile, "one user", 2), key="c", **paying)
    tree = dh.AdaptiveTree(epsilon=1, bins=8, sensitivity=2)
    ledger.release(tree, bins(), key="d", **paying)
    session = dh.PayWhatYouGet(budget=9, queries=2, epsilon=1, delta="1e-6", max_labels=2)
    ledger.session(session, labels(), key="e", **paying).top(labels(), k=2)
    assert all([repr(ledger), ledger._repr_html_(), ledger.entries().to_arrow(), ledger.verify()])


def test_streams(reads: Reads, tmp_path: Path) -> None:
    running = stream(max_events_per_user=2, windows=60)
    running.update_many(ROWS, label="word", user="who", key=("file", 1))
    read = running.counts(), running.window(1, 60)  # may be empty, by chance
    assert None not in read
    assert repr(running)
    assert report_html(running.release())
    running.save(tmp_path / "state")
    with dh.ContinualHistogram.load(tmp_path / "state") as loaded:
        loaded.update(["a"], user=1)
        loaded.top(1)


def test_properties_of_data(reads: Reads) -> None:
    assert estimate_properties(profile(), labels=9, p_min="0.01")


@pytest.mark.quick("[profile]")
@pytest.mark.parametrize("kind", ["profile", "labels", "bins", "streams", "groups", "regions"])
def test_comparing(kind: str, reads: Reads) -> None:
    classes, data, delta = {
        "profile": (dh.RankSplit, profile(), None),
        "labels": (dh.ThresholdHistogram, labels(), "1e-6"),
        "bins": (dh.LeafCounts, bins(), None),
        "streams": (dh.ContinualMechanism, [["a"], ["a", "b"]] * 20, "1e-6"),
        "groups": (dh.GroupedHistogram, groups(), None),
        "regions": (dh.RegionalProfiles, regions(), None),
    }[kind]
    found = dh.compare([classes], data, [1], delta=delta, seconds=2, most=2)
    assert all([repr(found), found._repr_html_()])


@pytest.mark.quick("[profile]")
@pytest.mark.parametrize("kind", ["profile", "labels", "bins"])
def test_auditing(kind: str, reads: Reads) -> None:
    one = ROWS[ROWS.who > 0]
    cases: dict[str, tuple[Any, list[Any]]] = {
        "profile": (
            dh.RankSplit(epsilon=1),
            [dh.Profile.from_counts([3, 2, 1]), dh.Profile.from_counts([3, 2])],
        ),
        "labels": (
            dh.ThresholdHistogram(epsilon=1, delta="1e-2", max_labels=2),
            [
                dh.LabelCounts.from_table(rows, label="word", user="who", max_labels=2)
                for rows in (ROWS, one)
            ],
        ),
        "bins": (dh.LeafCounts(epsilon=1, bins=3), [[1, 2, 3], [1, 2, 2]]),
    }
    mechanism, pair = cases[kind]
    claim: dict[str, Any] = {"epsilon": 9, "delta": "0.1"} if kind == "labels" else {}
    assert not dh.audit(mechanism, [tuple(pair)], seconds=2, **claim).refuted


BOUNDED = ("--user", "who", "--epsilon", 1)
COMMANDS: dict[str, tuple[object, ...]] = {
    "anonymize": ("anonymize", "rows.csv", "--label", "word", *BOUNDED, "--max-records", 2),
    "ranges": (
        *("ranges", "rows.csv", "--column", "age", "--start", 0, "--stop", 80, "--width", 10),
        *(*BOUNDED, "--max-records", 2),
    ),
    "labels": (
        *("labels", "rows.csv", "--label", "word", *BOUNDED, "--delta", "1e-6"),
        *("--max-labels", 2),
    ),
    "top": (
        *("top", "rows.csv", "--label", "word", *BOUNDED, "--delta", "1e-6"),
        *("--max-labels", 2, "-k", 2, "--candidates", 3),
    ),
    "stream": ("stream", "--state", "s.db", "--epsilon", 9, "--delta", "1e-6", "--horizon", 900),
}
WRITTEN = ("--output", "r.json", "--table", "r.csv", "--report", "r.html")


@pytest.mark.quick("[ranges]", "[stream]")
@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str, reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    ROWS.to_csv("rows.csv", index=False)
    Path("events.txt").write_text("a\nb\n" * 200)
    paid = ("--ledger", "a.ledger", "--by", "ana", "--key", "k")
    check_command(
        "ledger", "create", "a.ledger", "--epsilon", 90, "--delta", "1e-2", "--unit", "one user"
    )
    with Path("events.txt").open() as events:
        monkeypatch.setattr(sys, "stdin", events)
        check_command(*COMMANDS[name], *WRITTEN, *(() if name == "stream" else paid))
    check_command("show", "r.json")
    check_command("ledger", "log", "a.ledger")


@pytest.mark.verify
def test_commands_that_look_at_data(reads: Reads) -> None:
    pd.DataFrame({"count": [9, 3, 1], "prevalence": [2, 3, 9]}).to_csv("p.csv", index=False)
    check_command("properties", "p.csv")
    check_command("compare", "--mechanism", "RankSplit", "--profile", "p.csv", "--seconds", 2)
    check_command("audit", "RankSplit", "--seconds", 2)


def check_command(*arguments: object) -> None:
    assert main([str(each) for each in arguments]) == 0


def test_data_in_plain_arrays(reads: Reads) -> None:
    release = dh.HierarchicalTree(epsilon=1, bins=12).release(np.arange(12))
    assert release._repr_html_()
