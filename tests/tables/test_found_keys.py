"""Tables of keys whose values are found: what they say, save and refuse."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.cli import main
from dphist.document.blocks import PlusMinus
from dphist.errors import ParameterError
from dphist.planning.document import make_document
from dphist.render.text import text
from dphist.report import make_json, report_html, summary_text
from tests.support.abouts import ABOUT

KEYS: dict[str, Any] = {"drug": dh.DiscoverKeys(share="0.3"), "sex": ["f", "m"]}
TABLES = ["drug+sex", "sex"]
ROWS = pd.DataFrame(
    {
        "drug": ["zolpidem"] * 4000 + ["<b>"] * 3000 + ["aspirin"] * 2000 + [None] * 500 + ["rare"],
        "sex": ["f", "m"] * 4750 + ["f"],
    }
)


def make(**asked: Any) -> dh.Tables:
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "keys": KEYS, "tables": TABLES}
    return dh.Tables(**given | asked)


@pytest.fixture(scope="module")
def release() -> dh.Release:
    return make().release(dh.KeyedCounts.from_table(ROWS, keys=KEYS))


def test_tables_are_those_of_the_values_found(release: dh.Release) -> None:
    t = release.value
    assert t.table("drug", "sex").to_pandas()["drug"].unique().tolist() == [
        "<b>",
        "aspirin",
        "zolpidem",
        "other",
    ]
    assert abs(t.count(drug="zolpidem") - 4000) < 100
    assert abs(t.count(drug="other", sex="f") - 251) < 100
    assert abs(t.count(drug=["aspirin", "other"]) - 2501) < 100
    assert t.error(drug="aspirin", sex="f") <= release.mechanism.errors_of_cells()["drug+sex"]
    whole = t.to_whole_numbers()
    assert whole.count(sex="f") == sum(whole.count(sex="f", drug=d) for d in t.keys["drug"].labels)
    with pytest.raises(ParameterError, match="drug"):
        t.count(drug="rare")


def test_a_release_is_saved_and_loaded(release: dh.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.json")
    held = dh.Release.load(tmp_path / "r.json")
    assert held.value == release.value
    assert held.mechanism == release.mechanism
    assert held.guarantee == release.guarantee
    assert held.total == release.total
    text = release.to_json()
    assert "rare" not in text
    content = json.loads(text)
    values = content["value"]["keys"]["drug"]["values"]
    for wrong in (values[::-1], [*values, "zz"], [*map(str, range(1001))], values[:-1]):
        content["value"]["keys"]["drug"]["values"] = wrong
        with pytest.raises(dh.errors.ReleaseFileError):
            dh.Release.from_json(json.dumps(content))
    assert release.redecode().value == release.value
    for wrong in ([1, 98, 1, 97], [2, 97], [1, 97, 1, 97], [1, -5], [1, 0xD800], [-1], [1] * 2002):
        with pytest.raises(ParameterError, match="noisy"):
            release.mechanism.decode({**release.noisy, "+drug": np.array(wrong)})
    with pytest.raises(ParameterError, match="noisy"):
        release.mechanism.decode({k: v for k, v in release.noisy.items() if k != "+drug"})


def test_nothing_is_found_of_rare_labels() -> None:
    """The key is then dropped: all rows are others."""
    rows = pd.DataFrame({"drug": [f"d{i}" for i in range(1000)], "sex": ["f", "m"] * 500})
    held = dh.KeyedCounts.from_table(rows, keys=KEYS)
    made = make().release(held)
    assert made.value.keys["drug"].labels == ("other",)
    assert made.value.table("drug", "sex").to_pandas()["drug"].tolist() == ["other"] * 2
    assert abs(made.value.total - 1000) < 100
    assert dh.Release.from_json(made.to_json()).value == made.value
    assert "0 values" in summary_text(made)
    assert report_html(made)


def test_pages_say_how_values_were_found(release: dh.Release) -> None:
    said = " ".join(summary_text(release).split())
    assert "Values of drug 3 values, those with a noisy number of records above" in said
    assert "all other records are other" in said
    held = make_json(release)["found_keys"]["drug"]
    search = release.mechanism.searches["drug"]
    assert held["threshold"] == float(search.threshold)
    assert held["found_from"] == search.likely_count(0.95)
    page = report_html(release)
    assert "<b>" not in page.replace("<b></b>", "") or "&lt;b&gt;" in page
    shown = dh.disclose(release, about=ABOUT).to_yaml()
    assert "above a threshold" in shown
    assert "that values are found, at most" in shown  # which ones is protected
    assert "values found in the data" not in shown
    assert "It covers the values that were found." in page


def test_the_likely_count_is_found_with_95_percent(seeded: Any) -> None:
    search, draws = make().searches["drug"], 4000
    labels = [f"{i:04}" for i in range(draws)]
    for more, low, high in ((0, 0.93, 0.97), (-5, 0.5, 0.93)):
        counts = np.full(draws, search.likely_count(0.95) + more, np.int64)
        wide = type(search)(search.sigma, search.threshold, draws)
        assert low < len(wide.find(labels, counts, seeded(2))) / draws < high


def test_the_command_finds_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    asked = [
        *("tables", str(tmp_path / "rows.csv"), "--each-row-is-one-person", "--axis", "sex=f,m"),
        *("--tables", "drug+sex", "--epsilon", "1", "--delta", "1e-6"),
    ]
    assert main([*asked, "--axis", "drug=discover:0.3", "--dry-run", "--json"]) in (0, None)
    dry = json.loads(capsys.readouterr().out)
    assert {"found_keys", "largest_errors"} <= {*dry}
    assert "errors" not in dry
    out = tmp_path / "r.json"
    given = [*asked, "--axis", "drug=discover:3/10:2", "--output", str(out)]
    assert main(given) in (0, None)
    value = dh.Release.load(out).value
    assert value.keys["drug"].labels == ("<b>", "zolpidem", "other")
    capsys.readouterr()
    for wrong in (
        "discover",
        "discover:",
        "discover:2",
        "discover:0.3:x",
        "discover:0.3:4:5",
        "discover:x",
    ):
        assert main([*asked, "--axis", f"drug={wrong}", "--dry-run"]) == 2
        assert "drug" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "parameter"),
    [
        ({"epsilon": None, "delta": None, "rho": 1}, "delta"),
        ({"ranges": ["drug"]}, "ranges"),
        ({"ranges": ["sex"], "errors": {"sex": 2}}, "errors"),
        ({"impossible": [{"sex": "m", "drug": "x"}]}, "impossible"),
        ({"epsilon": "1e-30", "delta": "1e-60"}, "rho"),
        ({"keys": {**KEYS, "b": dh.DiscoverKeys(share="0.7")}}, "keys"),
    ],
)
def test_what_does_not_go_with_finding_is_refused(asked: Any, parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make(**asked)
    assert parameter in str(caught.value)


@pytest.mark.parametrize("share", [0, 1, "-0.1", "1.5"])
def test_a_share_is_between_0_and_1(share: Any) -> None:
    with pytest.raises(ParameterError, match="share"):
        dh.DiscoverKeys(share=share)


def test_data_and_mechanism_agree_about_what_is_found() -> None:
    listed = {"drug": ["aspirin"], "sex": ["f", "m"]}
    found = dh.KeyedCounts.from_table(ROWS, keys=KEYS)
    held = dh.KeyedCounts.from_table(ROWS, keys=listed, other=["drug"])
    with pytest.raises(ParameterError, match="keys"):
        make().release(held)
    with pytest.raises(ParameterError, match="keys"):
        dh.Tables(rho=1, keys=held.keys, tables=TABLES).release(found)
    with pytest.raises(ParameterError, match="keys"):
        make().release([[1, 2]])


def test_a_ledger_charges_before_values_are_found(tmp_path: Path) -> None:
    ledger = dh.Ledger.create(tmp_path / "a.ledger", epsilon=2, delta="1e-5", unit="one record")
    data = dh.KeyedCounts.from_table(ROWS, keys=KEYS, ledger=ledger)
    release = ledger.release(make(), data, by="ann", key="one")
    assert release.value.keys["drug"].labels[-1] == "other"
    again = ledger.release(make(), data, by="ann", key="one")
    assert again.value == release.value


SHARED: dict[str, dict[str, Any]] = {
    "weights": {"weights": {"sex": 20}},
    "errors": {"errors": {"drug+sex": 3}},
    "ranges": {
        "keys": {**KEYS, "age": dh.Axis.regular(0, 80, 10)},
        "tables": [*TABLES, "drug+age"],
        "ranges": ["age"],
    },
}
AGED = ROWS.assign(age=[*range(80)] * 118 + [*range(61)])


@pytest.mark.parametrize("shared", SHARED)
def test_found_values_go_with_what_shares_the_cost(shared: str) -> None:
    asked = SHARED[shared]
    mechanism = make(**asked)
    release = mechanism.release(dh.KeyedCounts.from_table(AGED, keys=mechanism.keys))
    assert release.guarantee.rho == make().guarantee.rho
    found, t = {"drug": ("<b>", "aspirin", "zolpidem")}, release.value
    listed = dh.Tables(
        rho=mechanism.rho_of_tables,
        **{**asked, "keys": mechanism.keys.with_found(found), "tables": mechanism.tables},
    )
    assert mechanism.with_found(found) == listed
    errors = [t.error(drug="<b>", sex="f"), t.error(sex="f")]
    assert errors == pytest.approx([*listed.errors_of_cells().values()][:2], rel=1e-2)
    plain = make().errors_of_cells().values()
    if shared != "ranges":
        assert errors[1] < 0.9 * min(plain) < errors[0]
    else:
        assert mechanism.errors_of_ranges()["drug+age"] >= listed.errors_of_ranges()["drug+age"]
        assert abs(t.count(drug="zolpidem", age=(0, 40)) - 2000) < 120
    assert dh.Release.from_json(release.to_json()).value == t
    assert dh.Release.from_json(release.to_json()).mechanism == mechanism
    assert release.redecode().value == t
    assert report_html(release)
    assert summary_text(release)
    plan = dh.plan(
        "tables", keys=mechanism.keys, tables=[*map("+".join, mechanism.tables)], epsilon=1,
        delta="1e-6", found={"drug": 3}, **{k: v for k, v in asked.items() if k == shared},
    )  # fmt: skip
    expected = [PlusMinus.of(each).half_width for each in listed.errors_of_cells().values()]
    assert plan.column("cell_error") == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("shared", ["weights", "errors"])
def test_errors_of_fewer_values_are_hardly_larger(shared: str) -> None:
    """Where tables share the cost unequally, that of the most values is not the largest."""
    for strength in (1, 20, 400):
        asked = {shared: {"sex": strength}}
        most = make(**asked).errors_of_cells()
        for number in (0, 1, 2, 5, 30):
            own = make(**asked).with_found({"drug": tuple(map(str, range(10, 10 + number)))})
            for table, error in own.errors_of_cells().items():
                assert error < 1.25 * most[table]


def test_margins_may_be_known_of_values_found(release: dh.Release, tmp_path: Path) -> None:
    t = release.value
    known = {"": 9501, "sex": {"f": 4751, "m": 4750}}
    exact = t.with_known(known)
    assert exact.count(sex="f") == 4751
    assert exact.error(sex="f") == 0
    assert exact.count(drug="other") + sum(
        exact.count(drug=value) for value in t.keys["drug"].values
    ) == pytest.approx(9501)
    drugs = {"<b>": 3000, "aspirin": 2000, "zolpidem": 4000, "other": 501}
    assert t.with_known({"drug": drugs}).count(drug="other") == 501
    with pytest.raises(ParameterError, match="margins"):
        t.with_known({"drug": {"rare": 1, **drugs}})
    exact.to_whole_numbers()


def test_a_plan_has_the_errors_of_a_guessed_number_of_values() -> None:
    asked: dict[str, Any] = {"keys": KEYS, "tables": TABLES, "epsilon": [1, 2], "delta": "1e-6"}
    most = dh.plan("tables", **asked)
    plan = dh.plan("tables", **asked, found={"drug": 3}, total=900)
    for planned, number in ((most, 1000), (plan, 3)):
        for row in planned:
            made = make(epsilon=row["epsilon"])
            if number == 3:
                made = made.with_found({"drug": ("a", "b", "c")})
            error = PlusMinus.of(made.errors_of_cells()[row["table"]]).half_width
            assert row["cell_error"] == pytest.approx(error, rel=1e-3)
            assert row["cells"] == {"drug+sex": 2 * (number + 1), "sex": 2}[row["table"]]
            search = make(epsilon=row["epsilon"]).searches["drug"]
            expected = search.likely_count(0.95) if row["table"] != "sex" else None
            assert row["found_from"] == expected
    assert max(plan.column("cell_error")) < max(most.column("cell_error"))
    assert dh.Plan.from_json(plan.to_json()).rows == plan.rows
    said = " ".join(text(make_document(plan)).split())
    assert "drug is planned with 3 values found, a public guess" in said
    assert "--axis drug=discover:0.3 --axis sex=VALUES" in said
    said = " ".join(text(make_document(most)).split())
    assert "drug is planned with the most values that may be found, 1,000" in said


@pytest.mark.parametrize(
    "found", [{}, {"sex": 2}, {"drug": 1001}, {"drug": -1}, {"drug": "x"}, ["drug"]]
)
def test_guesses_that_no_plan_takes_are_refused(found: Any) -> None:
    with pytest.raises(ParameterError, match="found"):
        dh.plan("tables", keys=KEYS, tables=TABLES, epsilon=1, delta="1e-6", found=found)


def test_the_command_plans_with_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["plan", "tables", "--axis", "drug=discover:0.3:50", "--axis", "sex=f,m"]
    typed += ["--tables", "drug+sex,sex", "--epsilon", "1", "--json"]
    assert main([*typed, "--expect-found", "drug=7"]) == 0
    plan = dh.Plan.from_json(capsys.readouterr().out)
    assert plan.column("cells") == [16, 2]
    for wrong in ("sex=7", "drug=51", "drug=x", "drug", "drug=1,drug=2"):
        assert main([*typed, "--expect-found", wrong]) == 2
        assert "--expect-found" in capsys.readouterr().err


def test_an_error_is_reached_whatever_is_found() -> None:
    data = dh.KeyedCounts.from_table(ROWS, keys=KEYS)
    with pytest.raises(ParameterError, match="listed"):
        dh.compare(dh.Tables, data, epsilons=[1], delta="1e-6", seconds=1)
    made = dh.for_error(dh.Tables, error=20, delta="1e-6", keys=KEYS, tables=TABLES)
    assert made.expected_error() <= 20
    for number in (0, 1, 2, 7, 1000):
        found = {"drug": tuple(f"{i:04}" for i in range(number))}
        assert made.with_found(found).expected_error() <= 20
