"""Small estimates that are not written, and nothing else that tells them."""

import csv
import io
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main

KEYS = {"town": ["A", "B"], "sex": ["f", "m"]}
TABLES = dh.Tables(epsilon=1, delta="1e-6", keys=KEYS, tables=["town+sex", "town"])
RELEASE = TABLES.release([[4000, 0], [300, 0]])
SMALL = 200


def rows(text: str | None) -> list[dict[str, str]]:
    assert text is not None
    return list(csv.DictReader(io.StringIO(text)))


def test_cells_below_it_are_alike() -> None:
    shown, plain = rows(RELEASE.to_csv(show_below=SMALL)), rows(RELEASE.to_csv())
    hidden = [row for row in shown if row["count"] == f"<{SMALL}"]
    assert [row["sex"] for row in hidden] == ["m", "m"]
    assert len({(row["error"], row["low"], row["high"]) for row in hidden}) == 1
    for row, before in zip(shown, plain, strict=True):
        if row in hidden:
            assert float(before["count"]) < SMALL
            assert (row["low"], row["high"]) == ("", "")
            assert row["error"] == before["error"]
        else:
            assert row == before


@pytest.mark.parametrize("cell", [[[5, 9], [300, 0]], [[12, 100], [7, 90]]])
def test_no_number_of_a_hidden_cell_depends_on_its_estimate(cell: list[list[int]]) -> None:
    first, other = (
        rows(TABLES.release(each).to_csv(show_below=10**6)) for each in (cell, [[0, 1], [2, 3]])
    )
    assert first == other


def test_labels_below_it_have_nothing_beside_them() -> None:
    labels = ["a", "b", "c"]
    counts = dh.LabelCounts.from_table(
        {"label": ["a"] * 900 + ["b"], "user": list(range(901))},
        label="label",
        user="user",
        max_labels=1,
        users_by_labels=9,
    )
    mechanism = dh.calibrate(
        dh.ThresholdHistogram, epsilon=1, delta=0, max_labels=1, labels=labels, users_by_labels=9
    )
    release = mechanism.release(counts)
    found = {row["label"]: row for row in rows(release.to_csv(show_below=100))}
    assert int(found["a"]["count"]) > 800
    assert found["a"]["low"] != ""
    for label in ("b", "c"):
        assert found[label]["count"] == "<100"
        assert {text for name, text in found[label].items() if name not in ("label", "count")} == {
            ""
        }


def test_other_kinds_have_none() -> None:
    release = dh.LeafCounts(epsilon=1, bins=2).release([3, 4])
    with pytest.raises(dh.UnsupportedError, match="this release has no table in which"):
        release.to_csv(show_below=10)
    with pytest.raises(dh.ParameterError, match="show_below must be at least 1"):
        RELEASE.to_csv(show_below=0)


def test_of_a_saved_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    RELEASE.save("r.json")
    given = ["show", "r.json", "--show-below", str(SMALL)]
    assert main([*given, "--table", "t.csv"]) == 0
    assert rows(Path("t.csv").read_text()) == rows(RELEASE.to_csv(show_below=SMALL))
    assert main(given) == 2
    assert "--show-below needs --table" in capsys.readouterr().err
    assert main([*given, "--table", "u.csv", "--report", "p.html"]) == 2
    assert "--show-below does not go with --report" in capsys.readouterr().err
    assert main([*given, "--table", "t.xlsx"]) == 2
    assert "--show-below needs a --table whose name ends in .csv" in capsys.readouterr().err
    assert main([*given, "--table", "s.csv", "--spreadsheet-safe"]) == 0
    assert f"'<{SMALL}" in Path("s.csv").read_text()


def test_of_a_new_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("town,sex\n" + "A,f\n" * 900 + "B,m\n")
    given = ["tables", "d.csv", "--axis", "town=A,B", "--axis", "sex=f,m", "--tables", "town+sex"]
    given += ["--each-row-is-one-person", "--epsilon", "1", "--show-below", "100"]
    assert main([*given, "--table", "t.csv", "--quiet"]) == 0
    counts = [row["count"] for row in rows(Path("t.csv").read_text())]
    assert counts.count("<100") == 3
