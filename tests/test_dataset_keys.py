"""Public values, time zone, reading and rows that are people, of a described data set."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from tests.support.refusal import SENTINEL

FACTS = 'files = "visits.csv"\nuser = "patient"\nmax_labels = 2\nmax_records = 2\nmax_rows = 2\n'
KEYS = '[keys]\ntown = ["A", "B"]\nage = "0:100:50"\ncode = "@codes.txt"\nyear = [2024, 2025]\n'
ROWS = "patient,town,age,code,year\n1,A,20,x,2024\n2,B,60,y,2025\n"


def describe(folder: Path, facts: str = FACTS + KEYS, codes: str = "x\ny\n") -> dh.Dataset:
    (folder / "codes.txt").write_text(codes)
    if not (folder / "visits.csv").exists():
        (folder / "visits.csv").write_text(ROWS)
    (folder / "clinic.toml").write_text(facts)
    return dh.Dataset.open(folder / "clinic.toml")


def refusal(call: Any) -> str:
    with pytest.raises(dh.DphistError) as caught:
        call()
    return str(caught.value)


def test_listed_values_are_used_by_name(tmp_path: Path) -> None:
    clinic = describe(tmp_path)
    axis = dh.Axis.regular(0, 100, 50, "age")
    listed = {"town": ("A", "B"), "age": axis, "code": ("x", "y"), "year": (2024, 2025)}
    assert clinic.keys == listed
    mechanism = dh.Tables(epsilon=1, keys=listed, tables=["town+age"], max_rows=2)
    assert clinic.tables([*listed]).keys == mechanism.keys
    mixed = clinic.tables({"town": None, "age": [20, 60]} | {"age": None})
    assert mixed.keys.names == ("town", "age")
    assert clinic.bins("age").axes == (axis,)
    assert [each.name for each in clinic.bins(["age"]).axes] == ["age"]
    assert clinic.groups("town", column="age").bins == 2
    assert clinic.groups({"town": None}, column="age", other=True).groups.names == ("town",)
    labels = dh.ThresholdHistogram(epsilon=9, labels=clinic.keys["code"], max_labels=2)
    assert labels.release(clinic.labels("code")).value.to_arrow().num_rows == 2


@pytest.mark.parametrize("paid", [False, True])
def test_labels_are_released_by_the_list_alone(tmp_path: Path, paid: bool) -> None:
    clinic = describe(tmp_path)
    if paid:
        dh.Ledger.create(tmp_path / "a.ledger", epsilon=9, delta="1e-5", unit="one user")
        clinic = describe(tmp_path, FACTS + 'ledger = "a.ledger"\n' + KEYS)

    def release(column: str, labels: Any) -> dh.Release:
        bounds: dict[str, Any] = {"max_labels": 2, "delta": 0 if labels else "1e-6"}
        mechanism = dh.ThresholdHistogram(epsilon=1, labels=labels, **bounds)
        counts = clinic.labels(column)
        if not paid:
            return mechanism.release(counts)
        with clinic.ledger() as ledger:
            return ledger.release(mechanism, counts, by="ann", key=f"{column} {labels}")

    assert release("code", ["x", "y"]).value.to_arrow().num_rows == 2
    release("year", ["2024", "2025"])  # in a text file they are text
    release("year", None)  # labels that enough users have
    paid_entries = len(clinic.ledger().entries()) if paid else 0
    for others in (["x"], ["y", "x"], ["x", "y", "z"]):
        said = refusal(lambda others=others: release("code", others))
        assert said.startswith("labels must be what the description of the data lists of this")
        assert said.endswith("pass these; labels of text files are text")
    said = refusal(lambda: release("age", [20, 60]))
    assert said == "labels must be left out: the description of the data has bins of this column"
    if paid:
        with clinic.ledger() as ledger:
            assert len(ledger.entries()) == paid_entries  # what is refused costs nothing


def test_truth_values_are_no_numbers(tmp_path: Path) -> None:
    table = pa.table({"patient": ["1", "2"], "year": [0, 1]})
    pq.write_table(table, tmp_path / "visits.parquet")
    facts = FACTS.replace("visits.csv", "visits.parquet") + "[keys]\nyear = [0, 1]\n"
    clinic = describe(tmp_path, facts)
    known: dict[str, Any] = {"epsilon": 1, "max_labels": 2, "labels": [False, True]}
    assert "labels must be what" in refusal(
        lambda: dh.ThresholdHistogram(**known).release(clinic.labels("year"))
    )
    known["labels"] = [0, 1]
    dh.ThresholdHistogram(**known).release(clinic.labels("year"))


CHANGED: list[Any] = [
    ["A"],
    ["B", "A"],
    ["A", "B", "C"],
    ["A", "C"],
    dh.DiscoverKeys(share="0.3"),
    dh.Axis.regular(0, 2, 1),
]


@pytest.mark.parametrize("values", CHANGED, ids=str)
def test_a_list_is_neither_replaced_nor_cut(tmp_path: Path, values: Any) -> None:
    clinic = describe(tmp_path)
    assert clinic.tables({"town": ["A", "B"]}).keys.names == ("town",)  # the same list
    said = "must be what .*clinic.toml lists of 'town': no more, no less, in that order"
    with pytest.raises(dh.ParameterError, match=f"keys {said}"):
        clinic.tables({"town": values})
    with pytest.raises(dh.ParameterError, match=f"groups {said}"):
        clinic.groups({"town": values}, column="age")


def test_bins_are_not_replaced(tmp_path: Path) -> None:
    clinic = describe(tmp_path)
    assert clinic.groups("town", column="age", bins=[0, 50, 100]).bins == 2
    for edges in ([0, 100], [0, 50], [0, 25, 50, 100], [0.0, 50.0, 100.0]):
        with pytest.raises(dh.ParameterError, match="bins must be what"):
            clinic.groups("town", column="age", bins=edges)
    for given in ({"edges": [0, 50, 100]}, {"start": 0, "stop": 9, "width": 1}):
        said = refusal(lambda given=given: clinic.bins("age", **given))
        assert said.startswith("edges must be left out: ")
        assert "what 'age' is counted by" in said
    said = "bins must be left out: .* lists values of 'year', and no bins"
    with pytest.raises(dh.ParameterError, match=said):
        clinic.bins("year")
    with pytest.raises(dh.ParameterError, match="edges must be left out"):
        clinic.bins("year", edges=[2024, 2026])


def test_leaves_of_regions_are_the_values_of_the_column(tmp_path: Path) -> None:
    clinic = describe(tmp_path)
    assert clinic.regions("code", region="town", regions=["A", "B"]).sensitivity == 2
    for leaves in (["A"], ["B", "A"], ["A", "B", "C"]):
        with pytest.raises(dh.ParameterError, match="regions must have the leaves that"):
            clinic.regions("code", region="town", regions=leaves)


def test_what_is_not_listed_is_given(tmp_path: Path) -> None:
    clinic = describe(tmp_path, FACTS)
    assert clinic.keys == {}
    assert "keys must list values of 'town'" in refusal(lambda: clinic.tables(["town"]))
    assert "groups must list values of 'town'" in refusal(
        lambda: clinic.groups("town", column="age", bins=[0, 9])
    )
    assert "bins must be given for 'age'" in refusal(lambda: clinic.bins("age"))
    assert clinic.bins("age", edges=[0, 50]).bins == (1,)
    assert clinic.tables({"town": ["A", "B"]}).keys.names == ("town",)


def test_the_digest_covers_lists_in_files(tmp_path: Path) -> None:
    digest = describe(tmp_path).digest
    assert describe(tmp_path, codes="x\r\ny\r\n").digest == digest
    assert describe(tmp_path, FACTS + KEYS.replace('"@codes.txt"', '["x", "y"]')).digest == digest
    assert describe(tmp_path, codes="x\ny\nz\n").digest != digest
    assert describe(tmp_path, codes="y\nx\n").digest != digest
    assert describe(tmp_path, FACTS + KEYS.replace("50", "25")).digest != digest


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('a = "A,B"', "must give 'a' as a list"),
        ('a = "discover:0.3"', "must give 'a' as a list"),
        ("a = 5", "must give 'a' as a list"),
        ("a = [1.5, 2.5]", "must give 'a' as a list"),
        ("a = [2024-01-01]", "must give 'a' as a list"),
        ('a = ["A", 1]', "all text, all whole numbers"),
        ('a = ["A", "A"]', "each value of 'a' once"),
        ("a = []", "at least one value of 'a'"),
        ('a = "0:10:3"', "bins as START:STOP:WIDTH"),
        ('a = "@none.txt"', "none.txt, with the values of a key, does not exist"),
        ('code = "@headed.txt"', "headed.txt has the header 'code'"),
        ('"" = ["A"]', "must be named by columns"),
    ],
)
def test_a_wrong_list_is_named(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "headed.txt").write_text("code\nx\n")
    said = refusal(lambda: describe(tmp_path, f"{FACTS}[keys]\n{line}\n"))
    assert says in said
    assert said.startswith(str(tmp_path / "clinic.toml"))


@pytest.mark.parametrize(
    ("files", "listed"),
    [
        ("stays.txt", "stays.txt"),
        ("stays.txt", "./stays.txt"),
        ("stays.txt", "linked.txt"),
        ("stays.txt", "hard.txt"),
        ("*.txt", "stays.txt"),
        ("data", "data/more.txt"),
        ("none.csv", "none.csv"),
    ],
)
def test_a_list_is_no_file_of_the_data(tmp_path: Path, files: str, listed: str) -> None:
    (tmp_path / "data").mkdir()
    for name in ("stays.txt", "data/more.txt"):
        (tmp_path / name).write_text(f"{SENTINEL}\n")
    if listed == "linked.txt":
        (tmp_path / listed).symlink_to("stays.txt")
    if listed == "hard.txt":
        (tmp_path / listed).hardlink_to(tmp_path / "stays.txt")
    facts = FACTS.replace("visits.csv", files) + f'[keys]\ntown = "@{listed}"\n'
    said = refusal(lambda: describe(tmp_path, facts))
    assert SENTINEL not in said
    assert f"keys must be listed by a public file: {tmp_path / listed} is of the data" in said
    (tmp_path / "towns").write_text("A\nB\n")
    assert describe(tmp_path, facts.replace(f"@{listed}", "@towns")).keys["town"] == ("A", "B")


def test_how_files_are_read(tmp_path: Path) -> None:
    rows = "wer;größe;am\nann;1,5;01.02.2026\nbob;2,5;03.02.2026\n"
    (tmp_path / "visits.csv").write_bytes(rows.encode("latin-1"))
    facts = 'files = "visits.csv"\nuser = "wer"\nmax_records = 1\ndelimiter = ";"\n'
    facts += 'encoding = "latin-1"\ndecimal = ","\ndate_format = "%d.%m.%Y"\n'
    facts += '[keys]\n"größe" = "edges:0,2,3"\nam = "2026-02-01:2026-02-05:2d"\n'
    clinic = describe(tmp_path, facts)
    assert clinic.bins("größe").counts.tolist() == [1, 1]
    assert clinic.bins("am").counts.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('encoding = "utf-16"', "encoding must be a usual one"),
        ('decimal = ";"', "decimal must be"),
        ('date_format = "%x"', "date_format must"),
        ('delimiter = ";;"', "delimiter must be one character"),
        ('table_name = "a"\nquery = "SELECT 1"', "query must be left out"),
        ("sheet = 1", "sheet must be text"),
        ('wide = "jan"', "wide must be a list"),
        ('wide = ["jan", "jan"]', "wide must name each column once"),
        ('tz = "Zurich"', "tz must be"),
        ("each_row_is_one_person = true", "user must be left out with each_row_is_one_person"),
        ("keys = 3", "keys must be a table"),
    ],
)
def test_a_wrong_way_to_read_is_named(tmp_path: Path, line: str, says: str) -> None:
    said = refusal(lambda: describe(tmp_path, FACTS + line))
    assert says in said


def test_wide_tables(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("who,jan,feb\nann,1,\nbob,0,3\n")
    facts = 'files = "visits.csv"\nuser = "who"\nmax_labels = 2\nmax_count = 2\nmax_rows = 9\n'
    clinic = describe(tmp_path, facts + 'wide = ["jan", "feb"]\n[keys]\nlabel = ["jan", "feb"]\n')
    assert clinic.labels("month").counts_of(["jan", "feb"]) == [1, 2]
    assert clinic.tables(["label"]).sum_over((0,)).tolist() == [1, 3]
    with pytest.raises(dh.ParameterError, match=r"wide is in .*: labels and tables"):
        clinic.profile("who", max_records=1)


def test_the_time_zone_is_that_of_dates(tmp_path: Path) -> None:
    rows = "who,at,age\na,2026-02-01T23:30:00+00:00,20\n"
    (tmp_path / "visits.csv").write_text(rows)
    facts = 'files = "visits.csv"\nuser = "who"\nmax_records = 1\ntz = "Europe/Zurich"\n'
    clinic = describe(tmp_path, facts + '[keys]\nat = "2026-02-01:2026-02-03:1d"\n')
    assert clinic.bins("at").counts.tolist() == [0, 1]  # it is past midnight there
    clinic = describe(tmp_path, facts)
    edges: list[Any] = [date(2026, 2, 1), "2026-02-02", "2026-02-03"]
    assert clinic.bins("at", edges=edges).counts.tolist() == [0, 1]
    assert clinic.bins("at", edges=edges, tz="UTC").counts.tolist() == [1, 0]
    assert clinic.bins("age", edges=[0, 50]).axes[0].zone is None
    both = clinic.bins(["at", "age"], start=["2026-02-02", 0], stop=["2026-02-03", 50], bins=1)
    assert both.counts.tolist() == [[1]]
    assert [axis.zone for axis in both.axes] == ["Europe/Zurich", None]


PEOPLE = 'files = "visits.csv"\neach_row_is_one_person = true\n'


def test_rows_that_are_one_person_each(tmp_path: Path) -> None:
    people = describe(tmp_path, PEOPLE + "max_count = 3\n" + KEYS)
    assert people.labels("town").unit == dh.PrivacyUnit("row")
    assert (people.labels("town").max_labels, people.labels("town").max_count) == (1, 1)
    assert people.profile("town").sensitivity == 1
    assert people.bins("age").sensitivity == 1
    assert people.tables(["town"]).max_rows == 1
    assert people.groups("town", column="age").max_rows == 1
    tree = {"top": ["A", "B"]}
    assert people.regions("code", region="town", regions=tree).sensitivity == 1
    assert people.labels("town", max_labels=1).max_labels == 1
    for count in (
        lambda: people.labels("town", max_labels=2),
        lambda: people.labels("town", max_count=3),
        lambda: people.bins("age", max_records=2),
        lambda: people.tables(["town"], max_rows=2),
        lambda: people.labels("town", null_users="drop"),
    ):
        assert "clinic.toml" in refusal(count)


@pytest.mark.parametrize("word", ["unit", "null_users", "user"])
def test_rows_have_no_users(tmp_path: Path, word: str) -> None:
    said = refusal(lambda: describe(tmp_path, PEOPLE + f'{word} = "drop"\n'))
    assert f"{word} must be left out with each_row_is_one_person" in said


@pytest.mark.parametrize("line", ["max_labels = 2", "max_events_per_user = 2", 'wide = ["a"]'])
def test_rows_have_no_bounds_of_users(tmp_path: Path, line: str) -> None:
    assert "must be left out with each_row" in refusal(lambda: describe(tmp_path, PEOPLE + line))


@pytest.mark.parametrize("value", ["false", "1", '"yes"'])
def test_rows_are_stated_by_true(tmp_path: Path, value: str) -> None:
    facts = f'files = "visits.csv"\neach_row_is_one_person = {value}\n'
    assert "each_row_is_one_person must be true" in refusal(lambda: describe(tmp_path, facts))


def test_a_ledger_of_records_pays_for_rows(tmp_path: Path) -> None:
    with dh.Ledger.create(tmp_path / "a.ledger", epsilon=9, delta="1e-5", unit="one record"):
        pass
    people = describe(tmp_path, PEOPLE + 'ledger = "a.ledger"\n' + KEYS)
    labels = dh.ThresholdHistogram(epsilon=1, labels=people.keys["town"], max_labels=1)
    with people.ledger() as ledger:
        paid: dict[str, Any] = {"by": "ann", "description": people.digest}
        ledger.release(labels, people.labels("town"), key="labels", **paid)
        bins = dh.HierarchicalTree(epsilon=1, bins=2)
        release = ledger.release(bins, people.bins("age"), key="bins", **paid)
    assert release.provenance["description"] == people.digest
