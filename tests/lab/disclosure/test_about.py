"""about.toml: what is missing or wrong is told at once, with what to write."""

import tomllib
from datetime import date
from pathlib import Path

import pytest

import dphist as dh
from dphist.lab.disclosure.about import ASKED, OPTIONAL, read_about, template
from tests.support.abouts import ABOUT, TIER_3


def refused(**changed: object) -> str:
    with pytest.raises(dh.ParameterError) as raised:
        read_about({**ABOUT, **changed})
    return str(raised.value)


def test_what_is_complete_is_read() -> None:
    assert read_about(ABOUT) == ABOUT
    assert read_about({**ABOUT, **TIER_3}) == {**ABOUT, **TIER_3}


def test_a_file_is_read_as_a_mapping_is(tmp_path: Path) -> None:
    path = tmp_path / "about.toml"
    text = template()
    for name, value in ABOUT.items():
        held = value if isinstance(value, list) else repr(value)
        empty = "[]" if isinstance(value, list) else '""'
        assert f"\n{name} = {empty}\n" in text
        text = text.replace(f"\n{name} = {empty}\n", f"\n{name} = {held}\n")
    path.write_text(text)
    assert read_about(path) == read_about(str(path)) == ABOUT


def test_a_template_lacks_all_fields_and_an_example_of_each_is_shown() -> None:
    assert len(ASKED) == 9
    with pytest.raises(dh.ParameterError) as raised:
        read_about(tomllib.loads(template()))
    for field in ASKED:
        assert f"  {field.name} = {field.example}  # {field.told}" in str(raised.value)


def test_the_examples_of_a_template_can_be_used() -> None:
    examples = tomllib.loads("\n".join(f"{f.name} = {f.example}" for f in (*ASKED, *OPTIONAL)))
    assert read_about(examples).keys() == {field.name for field in (*ASKED, *OPTIONAL)}


def test_all_that_is_missing_is_named() -> None:
    said = refused(name=" ", sources="", registry_authors=["", " "])
    assert "lacks what only you know: name, sources and registry_authors." in said
    assert "dphist disclose --template" in said
    assert "intended_use" not in said


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"publication_date": "30.11.2026"}, "publication_date must be a day as year-month-day"),
        ({"publication_date": "2026-02-30"}, "publication_date must be a day"),
        ({"publication_date": 20261130}, "publication_date must be a day"),
        ({"data_product_sector": "Hospitals"}, "data_product_sector must be one of Technology,"),
        ({"data_source_type": 3}, "data_source_type must be one of Static, Dynamic"),
        ({"name": 3}, "name must be text"),
        ({"name": "a\x1b[2J"}, "name must be text without control characters"),
        ({"data_curators": [1]}, "data_curators must be a list of texts"),
        ({"data_curators": ["a\nb"]}, "data_curators must be a list of single lines"),
        ({"data_curator": "x"}, "there is no field 'data_curator': did you mean data_curators?"),
        ({"xyzzy": "x"}, "there is no field 'xyzzy'"),
    ],
)
def test_what_is_wrong_is_told(changed, told) -> None:
    assert told in refused(**changed)


def test_several_problems_are_told_together() -> None:
    said = refused(name="", publication_date="soon", color="red")
    assert "lacks what only you know: name" in said
    assert "publication_date must be" in said
    assert "there is no field 'color'" in said


def test_forms_are_lenient_where_the_meaning_is_clear() -> None:
    found = read_about(
        {
            **ABOUT,
            "publication_date": date(2026, 11, 30),
            "data_product_sector": "healthcare",
            "registry_authors": "Ana Example",
            "intended_use": "\nPlanning the stock of the pharmacies.  \n",
        }
    )
    assert found == ABOUT


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(dh.InputFileError, match="writes one to fill in"):
        read_about(tmp_path / "none.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text("name = Drugs\n")
    with pytest.raises(dh.InputFileError, match=r"not valid TOML.*line 1"):
        read_about(bad)
    bad.write_bytes(b"name = '\xff'\n")
    with pytest.raises(dh.InputFileError, match="not valid TOML: it is not UTF-8"):
        read_about(bad)
