"""Answers of released tables: by name and value, adding up, saved, and charged."""

import datetime
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.cli import main
from dphist.document.mechanism_facts import parameters
from dphist.noise.repeatable import repeatable_source
from dphist.report import make_json, report_html, summary_text
from dphist.tables import Keys
from dphist.tables.written_keys import read_keys

SHAPE = (3, 4, 2, 1)
KEYS: dict[str, Any] = {
    "region": ["BE", "UR", "other"],
    "age": dh.Axis.from_edges([0, 20, 40, 65, 120]),
    "sick": [False, True],
    "year": [2024],
}
COUNTS = (np.arange(24).reshape(SHAPE) + 3) * 1000
TABLES = ["region", "age+region", "region+sick+year", "age+sick"]


@pytest.fixture(scope="module")
def release() -> dh.Release:
    return dh.Tables(rho=5, keys=KEYS, tables=TABLES).release(COUNTS)


def test_conditions_are_sums_of_cells(release: dh.Release) -> None:
    t = release.value
    cells = t.table("region", "age").counts
    assert t.count(region="BE", age=(20, 40)) == pytest.approx(cells[0, 1])
    assert t.count(region=["BE", "other"], age=(20, 120)) == pytest.approx(cells[[0, 2], 1:].sum())
    assert t.count(age=[(0, 20), (40, 65)]) == pytest.approx(t.table("age").counts[[0, 2]].sum())
    assert t.count() == t.total == pytest.approx(cells.sum())
    assert t.count(year=2024) == t.total
    assert abs(t.count(sick=True, age=(0, 40)) - COUNTS[:, :2, 1].sum()) < 60
    low, high = t.interval(0.99, region="UR")
    assert high - low == pytest.approx(2 * 2.5758 * t.error(region="UR"), rel=1e-4)
    share = t.share({"region": "BE", "sick": True}, {"region": "BE"}, 1 - 1e-9)
    assert share.low < COUNTS[0, :, 1].sum() / COUNTS[0].sum() < share.high
    assert t.share({"region": "BE", "sick": True}, {"region": "BE"}, 0.5).low > share.low
    assert t.share({"region": "BE"}, {"region": ["BE", "UR"]}).value < 1
    assert t.share({"region": "BE"}, {"sick": [False, True]}).value < 1  # that is no condition


def test_all_tables_add_up(release: dh.Release) -> None:
    t = release.value
    wide = t.table("region", "age").counts
    assert np.allclose(wide.sum(1), t.table("region").counts, rtol=0, atol=1e-7)
    assert np.allclose(t.table("sick", "region").counts.sum(0), wide.sum(1), rtol=0, atol=1e-7)
    assert np.allclose(t.table("age", "sick").counts.sum(1), wide.sum(0), rtol=0, atol=1e-7)
    assert (t.table("age", "region").counts == wide.T).all()
    assert t.table().counts == t.total
    assert t.table("region", "year").counts.shape == (3, 1)


def test_tables_are_frames(release: dh.Release) -> None:
    t = release.value
    frame = t.table("age", "region").to_pandas()
    assert list(frame) == ["age_start", "age_stop", "region", "count", "error", "low", "high"]
    assert len(frame) == len(t.table("age", "region")) == 12
    assert frame["region"].tolist() == ["BE", "UR", "other"] * 4
    assert frame["age_start"].tolist() == np.repeat([0, 20, 40, 65], 3).tolist()
    assert np.allclose(frame["high"] - frame["count"], 1.959964 * frame["error"])
    whole = t.to_arrow()
    assert whole.column_names[:6] == ["table", "region", "age_start", "age_stop", "sick", "year"]
    assert whole.num_rows == 3 + 12 + 6 + 8
    assert release.to_csv().count("\n") == whole.num_rows + 1
    assert release.to_csv().startswith("table,region,age_start,age_stop,sick,year,count,error,")


def test_other_and_times_are_shown_as_they_are() -> None:
    keys = Keys.read(
        {
            "day": dh.Axis.regular("2024-03-30", "2024-04-01", "1d", tz="Europe/Zurich"),
            "n": [7, 8],
        },
        other=["day", "n"],
    )
    t = dh.Tables(rho=9, keys=keys, tables=["day+n"]).release(np.full((3, 3), 50)).value
    found = t.table("day", "n").to_arrow()
    assert found["n"].to_pylist()[:3] == ["7", "8", "other"]
    start = found["day_start"].to_pylist()
    assert start[0] == datetime.datetime.fromisoformat("2024-03-30T00:00:00+01:00")
    assert start[-1] is None
    assert t.count(day="other", n=[7, "other"]) == pytest.approx(
        t.table("day", "n").counts[2, [0, 2]].sum()
    )


def test_quantiles_and_their_intervals(release: dh.Release) -> None:
    t = release.value
    ages = np.repeat([10.0, 30.0, 52.5, 92.5], COUNTS[0, :, :, 0].sum(1))
    found = t.quantile_interval("age", 0.5, region="BE")
    assert found.low <= np.median(ages) <= found.high or 40 <= found.value <= 65
    assert found.low <= found.value <= found.high
    assert t.quantile("age", 0.5, region="BE") == found.value
    assert t.quantile("age", 0.01) < 20 < t.quantile("age", 0.5) < t.quantile("age", 0.99)
    for call, said in (
        (lambda: t.quantile("region", 0.5), "key of bins"),
        (lambda: t.quantile("age", 1), "share"),
        (lambda: t.quantile("age", 0.5, age=(0, 20)), "condition"),
    ):
        with pytest.raises(dh.ParameterError, match=said):
            call()
    keys = {"age": dh.Axis.regular(0, 100, 10), "sex": ["f", "m"]}
    mechanism = dh.Tables(rho="0.05", keys=keys, tables=["age+sex"])
    cells, held = np.full((10, 2), 40), 0
    for _ in range(60):
        one = mechanism.release(cells).value.quantile_interval("age", 0.5, 0.9, sex="f")
        held += one.low <= 50 <= one.high
    assert held >= 46  # 90 % at least, and intervals end at edges
    empty = mechanism.release(cells * 0, repeatable_source()).value
    assert math.isnan(empty.quantile("age", 0.5, sex="f"))
    assert np.isnan(empty.quantile("age", [0.5, 0.1], sex="f")).all()


def test_several_quantiles_at_once_do_not_fall(release: dh.Release) -> None:
    t, shares = release.value, [0.9, 0.05, 0.5, 0.5, 0.25]
    values = t.quantile("age", shares, region="BE")
    assert values.tolist() == [t.quantile("age", share, region="BE") for share in shares]
    keys = {"age": dh.Axis.regular(0, 20, 1)}
    mechanism, source = dh.Tables(rho="0.01", keys=keys, tables=["age"]), repeatable_source()
    for _ in range(20):
        one = mechanism.release([20] * 20, source).value
        for asked in (False, True):
            found = one.quantile_interval("age", shares, simultaneous=asked)
            held = np.array([tuple(each) for each in found])[np.argsort(shares, kind="stable")]
            assert (np.isnan(held) | (np.diff(held, axis=0, prepend=-1) >= 0)).all()
    # The error that a quantile is found with is that of the sum below less a share of all.
    gap = one.combine([(1, {"age": (0, 5)}), (-0.25, {"age": (0, 20)})])
    under, above, whole = (one.error(age=ends) ** 2 for ends in [(0, 5), (5, 20), (0, 20)])
    squared = 0.75 * under + 0.25 * above - 0.25 * 0.75 * whole
    assert gap.high - gap.low == pytest.approx(2 * 1.96 * np.sqrt(squared), rel=1e-4)
    assert one.quantile("age", np.array([])).tolist() == []
    with pytest.raises(dh.ParameterError, match="simultaneous must be True or False"):
        one.quantile_interval("age", shares, simultaneous="yes")
    with pytest.raises(dh.ParameterError, match="share must be a number above 0"):
        one.quantile("age", [0.5, 1.5])


def test_intervals_of_several_quantiles_hold_at_once() -> None:
    """Nine deciles where records are spread evenly and each edge is in doubt: 95 % of 150 runs."""
    keys, shares = {"x": dh.Axis.regular(0, 100, 1)}, np.arange(1, 10) / 10
    mechanism, source = dh.Tables(rho="0.002", keys=keys, tables=["x"]), repeatable_source()
    counts, held, together = np.full(100, 40), np.zeros(2), []
    true = shares * 100
    for _ in range(150):
        one = mechanism.release(counts, source).value
        for at, asked in enumerate((False, True)):
            found = one.quantile_interval("x", shares, simultaneous=asked)
            held[at] += all(
                each.low <= place - 1 and place <= each.high
                for each, place in zip(found, true, strict=True)
            )
            together.append(asked == ("at once" in found[0].note))
    assert all(together)
    assert held[1] >= 0.92 * 150 > held[0]


def test_quantile_intervals_hold_the_quantile_between_two_humps() -> None:
    """Few records around the median: many edges are possible, and some are misjudged."""
    edges = np.arange(65)
    humps = np.exp(-((edges[:64] - 10.5) ** 2) / 10) + np.exp(-((edges[:64] - 53.5) ** 2) / 10)
    counts = np.rint(humps * 200).astype(np.int64) + (edges[:64] % 8 == 0)
    keys = {"x": dh.Axis.from_edges(edges.tolist())}
    mechanism, source = dh.Tables(rho="0.005", keys=keys, tables=["x"]), repeatable_source()
    place = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    held, releases = 0, 120
    for _ in range(releases):
        one = mechanism.release(counts, source).value.quantile_interval("x", 0.5)
        held += one.low <= edges[place] and edges[place + 1] <= one.high
    assert held >= 0.95 * releases


WRONG: dict[str, tuple[Any, str]] = {
    "value": (lambda t: t.count(region="ZH"), "region must be a value"),
    "type": (lambda t: t.count(sick=1), "sick must be a value"),
    "key": (
        lambda t: t.count(canton="BE"),
        "canton must be a key of the tables; the keys are 'region'",
    ),
    "keyword": (lambda t: t.interval(region="BE", level=0.9), "a level goes first"),
    "one text": (lambda t: t.table("age+sick"), "give each by itself"),
    "letters": (lambda t: t.cell_error("age"), "names must be a list of names"),
    "no conditions": (lambda t: t.share(0.5, {}), "part must be the conditions of a count"),
    "edge": (lambda t: t.count(age=(0, 30)), "age must be an edge"),
    "empty": (lambda t: t.count(age=(20, 20)), "below its stop"),
    "bin": (lambda t: t.count(age=20), "must be a range"),
    "twice": (lambda t: t.count(region=["BE", "BE"]), "each value once"),
    "not asked": (lambda t: t.table("region", "age", "sick"), "region+age+sick"),
    "same": (lambda t: t.table("age", "age"), "different keys"),
    "level": (lambda t: t.interval(1.5, region="BE"), "level"),
    "part": (lambda t: t.share({"region": "BE"}, {"sick": True}), "part must be part of the whole"),
    "wide": (lambda t: t.share({"age": (0, 40)}, {"age": (0, 20)}), "values of 'age'"),
    "term": (lambda t: t.combine([("x", {"region": "BE"})]), "terms must be pairs"),
    "no pair": (lambda t: t.combine([{"region": "BE"}]), "terms must be pairs"),
    "factor": (lambda t: t.combine([(math.nan, {"region": "BE"})]), "finite number"),
    "self": (lambda t: t.count(**{"self": "a"}), "self must be a key"),
    "self's error": (lambda t: t.error(**{"self": "a"}), "self must be a key"),
    "whole": (lambda t: t.to_whole_numbers().count(**{"self": "a"}), "self must be a key"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_release_can_answer_is_refused(name: str, release: dh.Release) -> None:
    call, said = WRONG[name]
    with pytest.raises(dh.ParameterError, match=re.escape(said)):
        call(release.value)


GIVEN: dict[str, Any] = {"rho": 1, "keys": {"a": [1, 2], "b": [1, 2]}, "tables": ["a"]}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "both": ({"epsilon": 1, "delta": "1e-6"}, "rho must be given, or epsilon with or without"),
    "neither": ({"rho": None}, "rho must be given"),
    "delta alone": ({"rho": None, "delta": "1e-6"}, "rho must be given"),
    "small epsilon": (
        {"rho": None, "epsilon": "1e-9", "max_rows": 9},
        "epsilon is too small for tables of this size",
    ),
    "no table": ({"tables": []}, "at least one table"),
    "text": ({"tables": "a"}, "at least one table"),
    "unknown": ({"tables": ["a+c"]}, "'c' is none"),
    "twice": ({"tables": ["a+b", ["b", "a"]]}, "'a+b' is asked twice"),
    "number": ({"tables": [1]}, "tables must each be text"),
    "none": ({"tables": ["a", None]}, "tables must each be text"),
    "set": ({"tables": [{"a"}]}, "tables must each be text"),
    "name of no key": ({"tables": [["a", 1]]}, "tables must each be text"),
    "surrogate": ({"keys": {"a\ud800": [1]}}, "keys must have names and values of UTF-8"),
    "surrogate value": ({"keys": {"a": ["\ud800"]}}, "keys must have names and values of UTF-8"),
    "key twice": ({"tables": ["a+a"]}, "each key once"),
    "rows": ({"max_rows": 0}, "max_rows must be at least 1"),
    "weights": ({"weights": {"b": 1}}, "weights must name tables that are asked: 'b'"),
    "small weight": ({"weights": {"a": "1e-300"}}, "weights must be at least 1e-6"),
    "large error": ({"errors": {"a": 10**7}}, "errors must be at most 1000000"),
    "far errors": (
        {"rho": "1e-20", "tables": ["a", "b"], "errors": {"a": "1e-6", "b": 10**6}},
        "epsilon and rho is too small for tables of this size, with such errors",
    ),
    "weight": ({"weights": {"a": 0}}, "weights must be greater than 0"),
    "errors": ({"errors": {"a": 1}, "weights": {"a": 1}}, "must not both be given"),
    "large": (
        {"keys": {k: range(1000) for k in "abc"}, "tables": ["a+b+c"]},
        "tables are too large",
    ),
    "many": (
        {
            "keys": {f"k{i}": [1, 2] for i in range(20)},
            "tables": ["+".join(f"k{i}" for i in range(20))],
        },
        "too large",
    ),
    "noise": ({"rho": "1e-25"}, "too small"),
}


@pytest.mark.parametrize("name", BAD)
def test_faults_of_parameters_are_found_before_data(name: str) -> None:
    given, said = BAD[name]
    with pytest.raises(dh.ParameterError, match=re.escape(said)):
        dh.Tables(**{**GIVEN, **given})


def test_data_of_other_keys_or_bounds_are_refused() -> None:
    mechanism = dh.Tables(**GIVEN)
    held = dh.KeyedCounts.from_counts([[1, 2], [3, 4]], keys=GIVEN["keys"], max_rows=2)
    with pytest.raises(dh.BoundsError, match="max_rows=2"):
        mechanism.release(held)
    for keys in (
        {"a": [2, 1], "b": [1, 2]},
        {"b": [1, 2], "a": [1, 2]},
        {"a": [True, False], "b": [1, 2]},
    ):
        with pytest.raises(dh.ParameterError, match="same order"):
            mechanism.release(dh.KeyedCounts.from_counts([[1, 2], [3, 4]], keys=keys))
    with pytest.raises(dh.ParameterError, match="KeyedCounts"):
        mechanism.release(pa.table({"a": [1]}).to_pandas())
    with pytest.raises(dh.UnsupportedError, match="passed to Tables"):
        np.asarray(held)


def test_releases_are_saved_and_charged(release: dh.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "t.json")
    loaded = dh.Release.load(tmp_path / "t.json")
    assert loaded == release
    assert loaded.value.count(region="BE") == release.value.count(region="BE")
    for total in (release.total + 1, None):
        with pytest.raises(dh.ReleaseFileError):
            dh.Release.from_json(replace(release, total=total).to_json())
    table = pa.table({"who": [1, 1, 2], "sex": ["f", "f", "m"]})
    held = dh.KeyedCounts.from_table(table, keys={"sex": ["f", "m"]}, user="who", max_rows=2)
    mechanism = dh.Tables(epsilon=1, delta="1e-6", keys=held.keys, tables=["sex"], max_rows=2)
    ledger = dh.Ledger.create(tmp_path / "l", epsilon=2, delta="1e-5", unit="one user")
    paid = ledger.release(mechanism, held, by="x", key="1")
    assert str(paid.guarantee.unit) == "one user"
    spent = ledger.spent
    assert spent.rho == mechanism.guarantee.rho
    assert str(mechanism.target) == "(1, 1e-6)-differential privacy"
    with pytest.raises(dh.BoundsError):
        ledger.release(dh.Tables(rho=1, keys=held.keys, tables=["sex"]), held, by="x", key="2")
    assert ledger.spent == spent


def test_releases_say_that_rows_outside_the_keys_are_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, keys = tmp_path / "rows.csv", {"a": ["x", "y"], "b": [1, 2]}
    path.write_text("a,b\nx,1\nz,1\ny,3\n")
    counts = dh.KeyedCounts.from_table(path, keys=keys, other=["b"], unlisted="drop")
    made = dh.Tables(rho=1, keys=counts.keys, tables=["a+b"]).release(counts)
    said = "those whose a is not listed, in no bin, or missing"
    for shown in (made, dh.Release.from_json(made.to_json())):
        assert shown.provenance["unlisted"] == "drop"
        assert said in " ".join(summary_text(shown).split())
        assert said in report_html(shown)
        assert make_json(shown)["unlisted"] == "drop"
    every = dh.KeyedCounts.from_table(path, keys=keys, other=["a", "b"], unlisted="drop")
    all_counted = dh.Tables(rho=1, keys=every.keys, tables=["a"]).release(every)
    assert "not counted" not in summary_text(all_counted)
    asked = ["tables", str(path), "--axis=a=x,y", "--axis=b=1,2", "--tables=a+b", "--rho=1"]
    asked += ["--each-row-is-one-person", "--unlisted=drop"]
    assert main([*asked, "--dry-run"]) == 0
    dry = capsys.readouterr().out
    assert "not counted, those whose a or b" in " ".join(dry.split())
    assert main([*asked, "--json"]) == 0
    assert '"unlisted": "drop"' in capsys.readouterr().out


def test_calibration_to_a_total_for_several_releases() -> None:
    made = dh.calibrate(
        dh.Tables, epsilon=1, delta="1e-6", releases=4, keys={"a": [1, 2]}, tables=["a"]
    )
    assert made.epsilon_at("1e-6", 4) <= 1 < made.epsilon_at("1e-6", 4) * (1 + 1e-6)


def test_what_is_said_states_each_error(release: dh.Release) -> None:
    """Documents name the errors of cells, also where tables have several, and keys left out."""
    weighted = dh.Tables(rho="0.01", keys=KEYS, tables=["region+sick", "age"], errors={"age": 3})
    said = summary_text(weighted.release(COUNTS))
    errors = weighted.errors_of_cells()
    assert errors["age"] == pytest.approx(3 * errors["region+sick"], rel=0.05)
    for error in errors.values():
        assert f"± {math.ceil(1.959964 * error)}" in said
    assert "year has one value" in re.sub(r"\s+", " ", said)
    told = {each.name: each.value for each in parameters(weighted)}
    assert told["tables"] == "region+sick; age"
    assert told["errors"] == "region+sick: 1; age: 3"
    page = report_html(release)
    assert re.search('colspan="2">sick</th>.*<th scope="col">True</th>', page, re.DOTALL)
    assert "Together" in page
    content = make_json(release)
    assert content["errors"].keys() == {"region", "region+age", "region+sick+year", "age+sick"}
    assert content["total"] == release.total


LINE = "tables rows.csv --axis sex=f,m --axis age=0:100:50 --axis n=text:1,2 --tables sex,sex+age+n"


def test_the_command_releases_what_python_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("who,sex,age,n\n" + "ann,f,30,1\nbob,m,70,2\nann,f,31,2\n" * 50)
    given = [*LINE.split(), "--user", "who", "--max-rows", "3", "--epsilon", "1", "--delta", "1e-6"]
    assert main([*given, "--dry-run"]) == 0
    assert "by sex, age and n: each cell ±" in capsys.readouterr().out
    written = ["--output", "r.json", "--table", "r.csv", "--report", "r.html"]
    assert main([*given, *written]) == 0
    release = dh.Release.load("r.json")
    keys = {"sex": ["f", "m"], "age": dh.Axis.regular(0, 100, 50), "n": ["1", "2"]}
    total: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "max_rows": 3}
    assert release.mechanism == dh.Tables(keys=keys, tables=["sex", "sex+age+n"], **total)
    assert str(release.guarantee.unit) == "one user"
    assert Path("r.csv").read_text().count("\n") == 1 + 2 + 8
    for wrong, named in (
        ("--axis region=", "--axis"),
        ("--axis sex=f", "--axis"),
        ("--other canton", "--other"),
        ("--axis region=BE,", "'region' that are not empty; leave out the comma"),
        ("--errors sex", "--errors"),
        ("--axis year=0:100", "--axis must give 'year' bins as START:STOP:WIDTH"),
        ("--axis day=2024-01-01:2024-02-01", "day=text:A,B,C"),
        ("--axis year=0:100:0", "--axis must give 'year' bins as START:STOP:WIDTH: width"),
        ("--axis year=edges:3,2", "--axis must give 'year' bins as edges:E0,E1,...: edges"),
        ("--axis year=@none.txt", "none.txt, with the values of a key, does not exist"),
    ):
        assert main([*given, "--dry-run", *wrong.split(" ", 1)]) != 0
        assert named in re.sub(r"\s+", " ", capsys.readouterr().err)
    Path("listed.txt").write_bytes("\ufeffBern\r\n  \r\n\r\nGenève\r\n".encode())
    listed = Keys.read({"place": ["Bern", "Genève"], "rich": [True, False], "poor": [False]})
    assert read_keys(["place=@listed.txt", "rich=True,False", "poor=false"], None) == listed
    times = Keys.read({"time": ["12:30", "b"]})
    assert read_keys(["time=text:12:30,b"], None) == times
    assert main([*LINE.split(), "--rho", "1"]) != 0
    assert "--each-row-is-one-person" in capsys.readouterr().err
