"""Combinations of values that no record can have: proofs/tables.md, Lemma 11."""

import itertools
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.cli import main
from dphist.document.mechanism_facts import parameters
from dphist.errors import ParameterError
from dphist.report import make_json, report_html, summary_text
from dphist.tables import Keys, Tables, impossible
from dphist.tables.command import read_impossible
from dphist.tables.impossible import Impossible, Rules
from dphist.tables.kind import KIND
from dphist.tables.written_keys import read_keys
from tests.support.mechanisms.cases import signed

KEYS: dict[str, Any] = {
    "sex": ["f", "m"],
    "ward": ["maternity", "surgery", "eyes", "teeth"],
    "age": dh.Axis.from_edges([0, 12, 50, 120]),
    "insured": [False, True],
    "year": [2024],
}
SHAPE = (2, 4, 3, 2, 1)
MALE = {"sex": "m", "ward": "maternity"}
NO_MOTHERS = {"ward": "maternity", "age": [(0, 12), (50, 120)], "year": 2024}
RULES = [MALE, NO_MOTHERS]
ASKED = {
    "one in all": ["sex+ward+age", "sex", "ward+age"],
    "pairs": ["sex+ward", "ward+age", "sex+age", "age+insured"],
    "apart": ["sex+age", "ward+insured"],  # no table has two keys of a rule together
    "chain": ["sex+ward", "ward+insured", "insured+age"],
    "one": ["ward"],
    "total": [[]],
}


def counts(seed: int = 1, each: int = 40) -> np.ndarray:
    """Return counts of which impossible cells have as many as others."""
    return np.random.default_rng(seed).poisson(each, SHAPE)


def release_tables(asked: Any, rules: Any, rho: Any = "0.05", seed: int = 1, **given: Any) -> Any:
    made = Tables(rho=rho, keys=KEYS, tables=asked, impossible=rules)
    return made.release(counts(seed, **given), random.Random(seed).randbytes)


def check_whole(value: Any, rules: Any) -> None:
    """Whole numbers are 0 in impossible cells, and add up; no made-up record is impossible."""
    whole = value.to_whole_numbers()
    assert whole.total == max(round(value.total), 0)
    for names in value.tables:
        found = whole.table(*names).counts
        assert (found >= 0).all()
        assert found.sum() == whole.total
        assert not found[value.table(*names).impossible].any()
        for axis in range(len(names)):
            others = [name for place, name in enumerate(names) if place != axis]
            assert (found.sum(axis=axis) == whole.table(*others).counts).all()
    held = Impossible.read(rules, value.keys)
    possible: Any = ~held.mark(tuple(range(len(value.keys))))
    hidden = tuple(i for i in range(len(value.keys)) if i not in whole.used)
    assert possible.any(axis=hidden)[tuple(whole.places.T)].all()
    assert len(whole.to_records()) == whole.total


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_measured_otherwise_and_whole_numbers_are_zero(name: str, seed: int) -> None:
    """With the same random bits all noisy numbers are the same, of data with such records."""
    plain, with_rules = (release_tables(ASKED[name], rules, seed=seed) for rules in (None, RULES))
    assert plain.guarantee == with_rules.guarantee
    assert plain.noisy.keys() == with_rules.noisy.keys()
    for contrasts, numbers in plain.noisy.items():
        assert (numbers == with_rules.noisy[contrasts]).all()
    assert plain.total == with_rules.total
    for names in plain.value.tables:
        one, two = plain.value.table(*names), with_rules.value.table(*names)
        assert (one.counts == two.counts).all()
        assert (one.errors == two.errors).all()
        assert one.impossible is None
    assert plain.value.count(sex="m") == with_rules.value.count(sex="m") if "sex" in name else True
    check_whole(with_rules.value, RULES)


def test_marks_do_not_depend_on_data() -> None:
    """Data with many impossible records, and with none, are released and marked alike."""
    made = Tables(rho=1, keys=KEYS, tables=ASKED["pairs"], impossible=RULES)
    mark = made.impossible.mark((0, 1, 2, 3, 4))
    for true in (counts(), np.where(mark, 0, counts()), np.where(mark, 300, 0)):
        value = made.release(true).value
        assert value.table("ward", "sex").impossible.tolist() == [
            *([[False, True]] + [[False, False]] * 3)
        ]
        assert value.table("age").impossible.tolist() == [False] * 3
        check_whole(value, RULES)


def test_zeros_and_data_with_such_records_are_measured_as_they_are() -> None:
    """Impossible cells keep what the data have: 10**6 records, less or more the noise."""
    true = np.zeros(SHAPE, np.int64)
    true[1, 0] = 10**6
    value = Tables(rho=1, keys=KEYS, tables=["sex+ward"], impossible=[MALE]).release(true).value
    assert abs(value.count(**MALE) - 6 * 10**6) < 100
    assert value.table("sex", "ward").impossible[1, 0]
    assert value.to_whole_numbers().count(**MALE) == 0


def test_what_is_impossible_follows_from_all_combinations() -> None:
    """Brute force: a cell of a table is impossible if all records in it are."""
    draw = random.Random(7)
    refused = 0
    for _ in range(60):
        keys = {f"k{i}": range(draw.choice([2, 2, 3])) for i in range(4)}
        names = sorted(keys)
        rules = []
        for _ in range(draw.randrange(1, 9)):
            some = draw.sample(names, draw.choice([2, 2, 3]))
            rule = {
                n: sorted(draw.sample(keys[n], draw.randrange(1, len(keys[n]))))
                for n in sorted(some)
            }
            rules += [rule] * (rule not in rules)
        records = list(itertools.product(*keys.values()))
        wrong = [
            any(all(r[names.index(n)] in v for n, v in rule.items()) for rule in rules)
            for r in records
        ]
        if all(wrong):
            refused += 1
            with pytest.raises(dh.ParameterError, match="must leave at least one"):
                Impossible.read(rules, Keys.read(keys))
            continue
        held = Impossible.read(rules, Keys.read(keys))
        for most in range(5):
            for table in itertools.combinations(range(4), most):
                expected = np.ones([len(keys[names[i]]) for i in table], bool)
                for record, bad in zip(records, wrong, strict=True):
                    expected[tuple(record[i] for i in table)] &= bad
                assert (held.mark(table) == expected).all()
                shown = np.array(list(np.ndindex(expected.shape)), np.int64)
                assert (Rules.of(held, table).find(shown) == expected.ravel()).all()
        assert Impossible.read(held.to_content(), held.keys) == held
        named = eval(repr(held), {})  # noqa: S307 - what a mechanism prints makes it again
        assert (
            Impossible.read(named, held.keys).mark((0, 1, 2, 3)).tolist()
            == held.mark((0, 1, 2, 3)).tolist()
        )
    assert 0 < refused < 40


def test_many_rules_leave_records_possible() -> None:
    """Of many combinations few remain possible, also where tables share no rule's keys."""
    draw = np.random.default_rng(5)
    for seed in range(4):
        keys = {name: range(int(draw.integers(2, 5))) for name in "abcd"}
        records = list(itertools.product(*keys.values()))
        keep = records[int(draw.integers(len(records)))]
        rules = []
        for pair in itertools.combinations(range(4), 2):
            for cell in itertools.product(*(list(keys.values())[i] for i in pair)):
                if cell != tuple(keep[i] for i in pair) and draw.random() < 0.5:
                    rules.append({"abcd"[i]: v for i, v in zip(pair, cell, strict=True)})
        for asked in (["a+b", "b+c", "c+d", "a+d"], ["a+c", "b+d"], ["a+b+c+d"], ["a+b", "c"]):
            made = Tables(rho="0.1", keys=keys, tables=asked, impossible=rules)
            shape = [len(values) for values in keys.values()]
            value = made.release(draw.poisson(6 if seed % 2 else 0.3, shape)).value
            check_whole(value, rules)


def test_a_value_may_be_impossible_by_a_key_that_no_table_has() -> None:
    rules = [{"insured": False, "sex": sex, "year": 2024} | {"ward": "eyes"} for sex in "fm"]
    value = release_tables(["ward+age", "age+insured", "ward+insured"], rules).value
    assert value.table("insured", "ward").impossible.tolist() == [
        [False, False, True, False],
        [False] * 4,
    ]
    check_whole(value, rules)
    wards = KEYS["ward"][1:]
    rules = [{"sex": sex, "ward": ward} for sex in "fm" for ward in wards]  # leaves maternity
    value = release_tables(["ward+age", "age+insured"], rules).value
    assert value.table("ward").impossible.tolist() == [False, True, True, True]
    check_whole(value, rules)
    assert value.to_whole_numbers().count(ward="maternity") == round(value.total)


def test_a_cell_that_everybody_knows_is_empty_makes_whole_numbers_closer() -> None:
    errors = np.zeros(2)
    mark = Impossible.read(RULES, Keys.read(KEYS)).mark((0, 1, 2, 3, 4))
    for seed in range(4):
        true = np.where(mark, 0, counts(seed))
        for place, rules in enumerate((None, RULES)):
            made = Tables(rho="0.01", keys=KEYS, tables=ASKED["pairs"], impossible=rules)
            value = made.release(true, random.Random(seed).randbytes).value
            found = value.to_whole_numbers().table("sex", "ward").counts
            errors[place] += np.abs(found - true.sum(axis=(2, 3, 4))).sum()
    assert errors[1] < 0.95 * errors[0]


LARGE = {"a": range(5000), "b": range(5000), "c": [1, 2]}
GIVEN: dict[str, Any] = {"rho": 1, "keys": KEYS, "tables": ["sex+ward"]}
BAD: dict[str, tuple[Any, str]] = {
    "mapping": (MALE, "must be a list of mappings"),
    "text": ("sex=m", "must be a list of mappings"),
    "number": (3, "must be a list of mappings"),
    "no list": ([["sex", "m"]], "must be a list of mappings"),
    "none": ([], "must list 1 to 10,000"),
    "many": ([MALE] * 10_001, "must list 1 to 10,000"),
    "unknown": ([{"sex": "m", "room": 1}], "'room' is none"),
    "no name": ([{"sex": "m", 1: 1}], "1 is none"),
    "value": ([{"sex": "m", "ward": "brain"}], "that of 'ward' must be a value of the key"),
    "type": ([{"sex": "m", "insured": 1}], "that of 'insured' must be a value of the key"),
    "other": ([{"sex": "other", "ward": "eyes"}], "that of 'sex' must be a value of the key"),
    "bins": ([{"sex": "m", "age": 12}], "that of 'age' must be a range of bins"),
    "no edge": ([{"sex": "m", "age": (0, 13)}], "that of 'age'"),
    "year": ([{**MALE, "year": 2023}], "that of 'year' must be a value of the key"),
    "no value": ([{"sex": "m", "ward": []}], "at least one value of each key"),
    "one key": ([{"sex": "m"}], "at least two keys"),
    "one key of several values": ([{"sex": "m", "year": 2024}], "at least two keys"),
    "all values": ([{"sex": "m", "insured": [False, True]}], "not all of their values"),
    "twice": ([MALE, {"ward": ["maternity"], "sex": ["m"], "year": 2024}], "combination once"),
    "all": ([{"sex": ["f", "m"], "year": 2024}], "at least one combination of all keys possible"),
    "all by parts": (
        [{"sex": sex, "insured": insured} for sex in "fm" for insured in (False, True)],
        "at least one combination of all keys possible",
    ),
    "file": ({"combinations": [{"sex": [2], "ward": [0]}]}, "must be a list of mappings"),
    "no file": ({"combinations": [3]}, "must be a list of mappings"),
    "key of a file": ({"combinations": [{"room": [0]}]}, "must be a list of mappings"),
}


@pytest.mark.parametrize("name", BAD)
def test_faults_are_found_before_data(name: str) -> None:
    given, said = BAD[name]
    with pytest.raises(dh.ParameterError, match=re.escape(said)) as found:
        Tables(**GIVEN, impossible=given)
    assert str(found.value).startswith("impossible ")


def test_sizes_are_bounded_and_names_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(dh.ParameterError, match="at most 16,777,216 combinations of values"):
        Tables(rho=1, keys=LARGE, tables=["a"], impossible=[{"a": 1, "b": 1}])
    Tables(rho=1, keys=LARGE, tables=["a"], impossible=[{"a": 1, "c": 1}])
    keys = {"impossible": [1, 2], "b": [1, 2]}
    Tables(rho=1, keys=keys, tables=["b"]).release([[1, 2], [3, 4]]).value.to_arrow()
    with pytest.raises(dh.ParameterError, match="tables have a column of it"):
        Tables(rho=1, keys=keys, tables=["b"], impossible=[{"impossible": 1, "b": 1}])
    other = {"a": dh.tables.Keys.read({"a": [1, 2]}, ["a"])["a"], "b": [1, 2]}
    held = Tables(rho=1, keys=other, tables=["a+b"], impossible=[{"a": "other", "b": 1}])
    assert repr(held.impossible) == "[{'a': ['other'], 'b': [1]}]"
    assert impossible.MAX_LINKED == 2**24


def test_releases_are_saved_and_files_of_before_are_read(tmp_path: Path) -> None:
    release = release_tables(ASKED["pairs"], RULES)
    release.save(tmp_path / "r.json")
    loaded = dh.Release.load(tmp_path / "r.json")
    assert loaded.mechanism == release.mechanism
    assert loaded.value == release.value
    assert loaded.value != release_tables(ASKED["pairs"], None).value
    assert loaded.value.table("ward", "sex").impossible[0, 1]
    whole = (each.value.to_whole_numbers().to_records() for each in (release, loaded))
    assert len({str(each.to_arrow().to_pydict()) for each in whole}) == 1
    old = release_tables(ASKED["pairs"], None)
    old.save(tmp_path / "old.json")
    content = json.loads((tmp_path / "old.json").read_text())
    assert content["mechanism"]["parameters"].pop("impossible") is None
    (tmp_path / "old.json").write_text(signed(content))
    assert dh.Release.load(tmp_path / "old.json").value == old.value
    assert "impossible" not in old.value.to_arrow().column_names


def test_what_is_shown_marks_them_with_a_word(tmp_path: Path) -> None:
    release = release_tables(["sex+ward", "ward+age"], [MALE, {**NO_MOTHERS, "sex": ["f", "m"]}])
    said, page = (re.sub(r"\s+", " ", show(release)) for show in (summary_text, report_html))
    assert "Impossible 3 cells, as the publisher says" in said
    assert ">3 cells</span>" in page, "the rest is a note: numbers are not broken"
    assert said.count("(impossible)") == 3
    assert len(re.findall(r"\d \(impossible\)", page)) == 3
    assert "sex=m, ward=maternity; ward=maternity, age=0 to 12 or 50 to 120" in said
    assert "whole numbers are 0 there" in said
    public = "".join(map(str, KIND.disclosed(release.mechanism, release.value).public))
    assert "sex=m, ward=maternity" in public
    told = {each.name: each.value for each in parameters(release.mechanism)}
    assert told["impossible"] == ("sex=m, ward=maternity; ward=maternity, age=0 to 12 or 50 to 120")
    assert make_json(release)["impossible"] == [
        {"sex": [1], "ward": [0]},
        {"ward": [0], "age": [0, 2]},
    ]
    table = release.value.to_arrow()
    assert table.column_names[-5:] == ["count", "error", "low", "high", "impossible"]
    assert sum(table["impossible"].to_pylist()) == 3
    apart = release_tables(ASKED["apart"], [MALE])
    assert "no cell, though the publisher says" in " ".join(summary_text(apart).split())
    assert not any(apart.value.to_arrow()["impossible"].to_pylist())
    assert (
        "impossible" not in summary_text(release_tables(ASKED["apart"], None)).split("Mechanism")[0]
    )


LINE = (
    "tables rows.csv --axis sex=f,m --axis age=0:100:50 --axis ill=true,false --tables sex+age "
    "--rho 1 --each-row-is-one-person"
)


def test_the_command_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("sex,age,ill\n" + "f,30,true\nm,70,false\n" * 50)
    given = [*LINE.split(), "--impossible", "sex=m,age=50:100", "--impossible", "ill=true,sex=f"]
    assert main([*given, "--dry-run"]) == 0
    assert "1 cell, as the publisher says" in capsys.readouterr().out
    assert main([*given, "--output", "r.json", "--table", "r.csv"]) == 0
    release = dh.Release.load("r.json")
    rules = [{"sex": "m", "age": (50, 100)}, {"ill": True, "sex": "f"}]
    assert repr(release.mechanism.impossible) == repr(
        Impossible.read(rules, release.mechanism.keys)
    )
    lines = Path("r.csv").read_text().splitlines()
    assert lines[0].endswith(",count,error,low,high,impossible")
    assert [line.rpartition(",")[2] for line in lines[1:]] == ["false"] * 3 + ["true"]
    Path("c.toml").write_text(
        '[[release]]\ncommand = "tables"\nfile = "rows.csv"\naxis = ["sex=f,m", "ill=true,false"]\n'
        'tables = "sex"\nrho = 1\neach-row-is-one-person = true\nimpossible = ["sex=f,ill=true"]\n'
        'output = "s.json"\n'
    )
    for wrong, named in (
        ("sex=m,age=50:99", "--impossible must name values of the keys: that of 'age'"),
        ("sex=m,sex=f", "--impossible must be written as NAME=VALUE,NAME=VALUE"),
        ("sex=m,age", "--impossible must be written as NAME=VALUE,NAME=VALUE"),
        ("sex=M,ill=true", "--impossible must name values of the keys: that of 'sex'"),
        ("room=1,ill=true", "--impossible must name keys: 'room' is none"),
        ("sex=m", "two keys each time, such as sex=m,ward=maternity; leave a value that no"),
        ("sex=m,age=50", "--impossible must give a range of bins of 'age' as age=START:STOP"),
        ("sex=m,age=:50", "--impossible must give a range of bins of 'age' as age=START:STOP"),
    ):
        assert main([*given, "--dry-run", "--impossible", wrong]) != 0
        assert named in re.sub(r"\s+", " ", capsys.readouterr().err)
    keys = read_keys(["sex=f,m", "age=0:100:50"], ["age"])
    assert read_impossible(["sex=m,age=other"], keys) == [{"sex": "m", "age": "other"}]


def test_a_mechanism_with_them_is_replaced() -> None:
    keys = {
        "sex": ["f", "m"],
        "ward": ["maternity", "surgery"],
        "age": dh.Axis.from_edges(["2024-01-01", "2024-01-02", "2024-01-05", "2024-01-09"]),
        "size": dh.Axis.from_edges([0, 0.1, 7]),
    }
    impossible = [
        {"sex": "m", "ward": "maternity"},
        {"ward": "maternity", "age": [("2024-01-01", "2024-01-02"), ("2024-01-05", "2024-01-09")]},
        {"age": ("2024-01-01", "2024-01-05"), "size": (0.1, 7)},
    ]
    made: Any = dh.Tables(rho=1, keys=keys, tables=["sex+ward+age"], impossible=impossible)
    more = replace(made, rho=2)
    assert more == dh.Tables(rho=2, keys=keys, tables=["sex+ward+age"], impossible=impossible)
    turned = dict(reversed([*keys.items()])) | {"sex": ["m", "f", "x"]}
    other = replace(made, keys=turned)
    assert other == dh.Tables(rho=1, keys=turned, tables=["sex+ward+age"], impossible=impossible)
    with pytest.raises(ParameterError, match="impossible"):
        replace(made, keys={**keys, "ward": ["eyes", "surgery"]})
