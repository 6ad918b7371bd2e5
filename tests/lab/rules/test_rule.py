"""What a rule writes in place of counts, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.lab.rules.disclosure_rule import DisclosureRule

TABLE = {
    "town": ["A", "A", "B", "B", "C", "C"],
    "sex": ["f", "m", "f", "m", "f", "m"],
    "n": [25, 3, 30, 14, 7, 52],
}


def written(**parameters: Any) -> list[str]:
    found = dh.lab.rule(TABLE, count="n", **parameters).to_arrow()
    texts: list[str] = found["written"].to_pylist()
    return texts


@pytest.mark.parametrize(
    ("parameters", "texts"),
    [
        ({"suppress_below": 10}, ["25", "<10", "30", "14", "<10", "52"]),
        ({"suppress_below": 10, "round_to": 5}, ["25", "<10", "30", "15", "<10", "50"]),
        ({"named": "ten-five"}, ["25", "0", "30", "15", "0", "50"]),
        ({"suppress_below": 10, "below_is": 5}, ["25", "5", "30", "14", "5", "52"]),
        ({"round_to": 10}, ["30", "0", "30", "10", "10", "50"]),
        ({"suppress_below": 5, "complementary": True}, ["*", "*", "30", "*", "7", "*"]),
    ],
)
def test_what_is_written(parameters: dict[str, Any], texts: list[str]) -> None:
    if "complementary" not in parameters:
        assert written(**parameters) == texts
        return
    found = written(**parameters)
    for names in (TABLE["town"], TABLE["sex"]):  # no line has a single mark
        marks = pd.Series(found).eq("*").groupby(names).sum()
        assert (marks != 1).all()
    assert found[1] == "*"


def test_zeros_are_shown_if_asked() -> None:
    counts = {"town": ["A", "B", "C"], "n": [0, 3, 12]}
    hidden = dh.lab.rule(counts, count="n", suppress_below=5, margins=False).to_arrow()
    shown = dh.lab.rule(counts, count="n", suppress_below=5, show_zeros=True, margins=False)
    assert hidden["written"].to_pylist() == ["<5", "<5", "12"]
    assert shown.to_arrow()["written"].to_pylist() == ["0", "<5", "12"]
    assert shown.to_arrow()["low"].to_pylist() == [0, 1, 12]


@pytest.mark.parametrize("width", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("below", [0, 1, 4, 7])
@pytest.mark.parametrize("written", [None, 0, 3])
@pytest.mark.parametrize("zeros", [False, True])
def test_the_interval_of_a_text_has_all_counts_that_are_written_so(
    width: int, below: int, written: int | None, zeros: bool
) -> None:
    """And no others, but where 0 and counts from `below` on are rounded to the same number."""
    if written is not None and (zeros or written >= below):
        return
    rule = DisclosureRule(below, width, written, show_zeros=zeros)
    counts = np.arange(40)
    hidden = rule.suppresses(counts)
    low, high = rule.bounds_of_shown(counts)
    least, most = rule.bounds_of_suppressed
    low, high = np.where(hidden, least, low), np.where(hidden, most, high)
    texts = np.where(hidden, -1 if written is None else written, rule.round(counts))
    for text in set(texts.tolist()):
        alike = counts[texts == text]
        if alike.max() >= 40 - width:
            continue
        assert set(low[texts == text]) == {alike.min()}
        assert set(high[texts == text]) == {alike.max()}


def test_margins_make_suppressed_counts_follow() -> None:
    found = dh.lab.rule(TABLE, count="n", suppress_below=10)
    assert (found.suppressed.counts, found.suppressed.follow) == (2, 2)
    found = dh.lab.rule(TABLE, count="n", suppress_below=10, margins=False)
    assert (found.suppressed.follow, found.suppressed.unaffected) == (0, 2)


def test_a_further_suppressed_cell_hides_the_first() -> None:
    found = dh.lab.rule(TABLE, count="n", suppress_below=10, complementary=True)
    assert found.suppressed.follow == 0
    assert found.suppressed.counts > 2


def test_last_month_shows_who_has_come() -> None:
    """Each month is rounded or suppressed by itself; their difference is a count of one person."""
    now = {**TABLE, "n": [25, 3, 30, 15, 7, 52]}
    found = dh.lab.rule(now, count="n", suppress_below=10, margins=False, before=TABLE)
    assert found.changes is not None
    assert found.changes.follow == 1
    assert "small changes that follow exactly" in str(found)


def test_another_table_of_the_same_records_gives_a_count_away() -> None:
    other = {"town": ["A", "B", "C"], "age": ["18+"] * 3, "n": [28, 44, 59]}
    found = dh.lab.rule(TABLE, count="n", suppress_below=10, margins=False, also=other)
    assert found.suppressed.follow == 2


def test_a_release_beside_it_adds_up_and_shows_every_cell() -> None:
    found = dh.lab.rule(TABLE, count="n", named="ten-five", epsilon=1, delta="1e-6")
    assert found.instead is not None
    assert found.instead.size == 6
    assert 5 < found.instead.half_width < 20
    assert "costs ε again" in str(found)
    assert len(found) == 6


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "suppress_below and round_to must change something"),
        ({"suppress_below": -1}, "suppress_below must be at least 0"),
        ({"round_to": 0}, "round_to must be at least 1"),
        ({"round_to": 2.5}, "round_to must be a whole number"),
        ({"suppress_below": 5, "below_is": 5}, "below_is must be at most 4"),
        ({"round_to": 5, "below_is": 0}, "below_is applies to suppressed counts"),
        ({"round_to": 5, "complementary": True}, "complementary applies to suppressed counts"),
        ({"round_to": 5, "show_zeros": True}, "show_zeros applies to suppressed counts"),
        (
            {"suppress_below": 5, "below_is": 0, "complementary": True},
            "below_is and complementary must not both be given",
        ),
        (
            {"suppress_below": 5, "below_is": 0, "show_zeros": True},
            "below_is and show_zeros must not both be given",
        ),
        ({"named": "nine"}, "named must be one of ten-five"),
        ({"named": "ten-five", "round_to": 5}, "named is a rule by itself"),
        ({"round_to": 5, "delta": "1e-6"}, "delta needs epsilon"),
        ({"round_to": 5, "epsilon": 0}, "epsilon must be greater than 0"),
        ({"round_to": 5, "seconds": 0}, "seconds must be greater than 0"),
        ({"round_to": 5, "epsilon": 1, "max_rows": 0}, "max_rows must be at least 1"),
        ({"round_to": 5, "keys": "town"}, "keys must be a list of names"),
    ],
)
def test_wrong_parameters_are_refused_before_the_table_is_read(
    parameters: dict[str, Any], said: str
) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        dh.lab.rule("no such file.csv", count="n", **parameters)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"town": ["A", "B"], "n": [3, -987]}, "column 'n' of table must hold whole numbers"),
        ({"town": ["A", "B"], "n": ["3", "987.5"]}, "column 'n' of table must hold whole"),
        ({"town": ["A", "B"], "n": ["3", "9-3"]}, "column 'n' of table must hold whole"),
        ({"town": ["A", "B"], "n": ["3", "9" * 30]}, "column 'n' of table must hold whole"),
        ({"town": ["987", "987"], "n": [3, 4]}, "two rows agree in 'town'"),
        ({"town": ["987", None], "n": [3, 4]}, "column 'town' of table must have a value in each"),
        ({"n": [3, 4]}, "table must have a column beside 'n'"),
        ({"town": ["987"], "m": [3]}, "there is no column 'n'"),
    ],
)
def test_a_wrong_table_is_refused_without_a_value_of_it(table: Any, said: str) -> None:
    with pytest.raises(dh.DataError, match=said) as caught:
        dh.lab.rule(table, count="n", suppress_below=5)
    assert "987" not in str(caught.value)


def test_an_earlier_table_must_be_of_fewer_records_by_the_same_keys() -> None:
    more = {**TABLE, "n": [25, 4, 30, 14, 7, 52]}
    with pytest.raises(dh.DataError, match="before must have no larger count"):
        dh.lab.rule(TABLE, count="n", suppress_below=5, before=more)
    with pytest.raises(dh.ColumnError, match="'sex'"):
        dh.lab.rule(TABLE, count="n", suppress_below=5, before={"town": ["A"], "n": [1]})


def test_another_table_must_be_of_the_same_records() -> None:
    other = {"town": ["A", "B", "C"], "n": [28, 44, 60]}
    with pytest.raises(dh.DataError, match="also must be of the same records"):
        dh.lab.rule(TABLE, count="n", suppress_below=5, also=other)


def test_no_release_is_made_of_counts_that_are_suppressed_already() -> None:
    given = {"town": ["A", "B"], "n": ["<5", "12"]}
    assert dh.lab.rule(given, count="n", suppress_below=5).suppressed.counts == 1
    with pytest.raises(dh.ParameterError, match="epsilon needs the counts themselves"):
        dh.lab.rule(given, count="n", suppress_below=5, epsilon=1)


def test_files_and_tables_are_read_alike(tmp_path: Path) -> None:
    frame = pd.DataFrame(TABLE)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.txt", index=False, sep=";")
    named = (frame, tmp_path / "t.csv", tmp_path / "t.parquet")
    found = [dh.lab.rule(each, count="n", suppress_below=5).to_arrow() for each in named]
    found.append(
        dh.lab.rule(tmp_path / "t.txt", count="n", suppress_below=5, delimiter=";").to_arrow()
    )
    assert all(each == found[0] for each in found)
    fewer = dh.lab.rule(frame, count="n", suppress_below=5, keys=["sex", "town"])
    assert fewer.to_arrow().column_names[:2] == ["sex", "town"]


def test_a_table_without_rows_has_nothing_to_hide() -> None:
    empty = pd.DataFrame({"town": pd.Series([], dtype=str), "n": pd.Series([], dtype=int)})
    found = dh.lab.rule(empty, count="n", suppress_below=5)
    assert "hides nothing" in str(found)


def test_a_page_is_written(tmp_path: Path) -> None:
    found = dh.lab.rule(TABLE, count="n", suppress_below=10, epsilon=1)
    found.write_report(tmp_path / "rule.html")
    page = (tmp_path / "rule.html").read_text()
    assert "Not private" in page
    assert "<svg" in page
    assert repr(found) == "RuleResult(2 suppressed, 2 of these follow exactly)"
    assert "Not private" in found._repr_html_()
