"""A misspelled command line gets the word that was meant, and the help of its own command."""

import pytest

from dphist.cli import main


@pytest.mark.parametrize(
    ("arguments", "said", "helped"),
    [
        ("labels sold.csv --lable drug --epsilon 1", "--lable; did you mean --label?", "labels"),
        ("labels sold.csv --max-label 3", "--max-label; did you mean --max-labels?", "labels"),
        ("ranges sold.csv --outputt=x.json", "--outputt; did you mean --output?", "ranges"),
        ("labels sold.csv --eps 1", "--eps; did you mean --epsilon?", "labels"),
        ("ledger show --jsn", "--jsn; did you mean --json?", "ledger show"),
        ("plan labels --epsilonn 1", "--epsilonn; did you mean --epsilon?", "plan labels"),
        ("anonymize sold.csv --qqq", "there is no option --qqq\n", "anonymize"),
        ("cite one.json another.json", "unrecognized arguments: another.json", "cite"),
    ],
)
def test_the_option_that_was_meant_is_named(arguments, said, helped, capsys) -> None:
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.endswith(f"See 'dphist {helped} --help'.\n")


def test_values_may_look_like_options(capsys) -> None:
    """One with a space in it, and whatever follows two dashes."""
    assert main(["cite", "--", "--one.json"]) == 2
    assert "--one.json does not exist" in capsys.readouterr().err
    options = [
        "--each-row-is-one-person",
        "--label",
        "a",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--dry-run",
    ]
    assert main(["labels", "--note", "--for a test", *options, "x.csv"]) == 0


def test_records_without_a_column_of_labels_get_the_option(tmp_path, capsys) -> None:
    """A file of records is no profile: the remedy is an option, not another header."""
    (tmp_path / "sold.csv").write_text("patient,drug\nSENTINEL,b\n")
    assert main(["anonymize", str(tmp_path / "sold.csv"), "--epsilon", "1"]) == 2
    error = capsys.readouterr().err
    assert "give --label, the column of labels" in error
    assert "SENTINEL" not in error


def test_properties_of_a_profile_with_semicolons(tmp_path, capsys) -> None:
    (tmp_path / "profile.csv").write_text("count;prevalence\n1;3\n2;4\n")
    arguments = ["properties", str(tmp_path / "profile.csv"), "--resamples", "0"]
    assert main(arguments) == 2
    assert "give --delimiter ';'" in capsys.readouterr().err
    assert main([*arguments, "--delimiter", ";"]) == 0


def test_a_mechanism_to_audit_is_no_option(capsys) -> None:
    assert main(["audit", "Foo"]) == 2
    assert "dphist: MECHANISM must be one of AdaptiveScan" in capsys.readouterr().err
