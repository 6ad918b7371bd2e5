"""The words of a release on the command line: given with it, or to an old one."""

import json
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main

WORDS = (
    *("--title", "Orders by <city>", "--label-name", "city", "--record-name", "order"),
    *(
        "--dataset-name",
        "Orders",
        "--period",
        "2025",
        "--owner",
        "Sales",
        "--note",
        "for the board",
    ),
)


@pytest.fixture
def orders(tmp_path: Path) -> str:
    path = tmp_path / "orders.csv"
    path.write_text("who,what,hour\n" + "".join(f"{i},a,{i % 24}\n" for i in range(900)))
    return str(path)


def commands(table: str) -> dict[str, list[str]]:
    texts = {
        "labels": "--label what --user who --max-labels 1 --epsilon 0.5 --delta 1e-3",
        "top": "--label what --user who --max-labels 1 --epsilon 0.5 --delta 1e-3 -k 2 "
        "--candidates 3",
        "ranges": "--column hour --start 0 --stop 24 --width 1 --user who --max-records 2 "
        "--epsilon 1",
        "anonymize": "--label what --user who --max-records 1 --epsilon 1",
    }
    return {name: [name, table, *text.split()] for name, text in texts.items()}


@pytest.mark.parametrize("name", ["labels", "top", "ranges", "anonymize"])
@pytest.mark.quick(every=4)
def test_each_command_takes_the_words(name, orders, tmp_path, capsys) -> None:
    output = tmp_path / "r.json"
    more = ("--unit", "person/people", "--output", str(output), "--report", str(tmp_path / "r.htm"))
    assert main([*commands(orders)[name], *WORDS, *more]) == 0, capsys.readouterr().err
    release = dh.Release.load(output)
    assert release.guarantee.unit.who == "person"
    shown = release.presentation.to_content()
    del shown["date"]
    assert shown == {
        "title": "Orders by <city>",
        "unit": "person/people",
        "label_name": "city",
        "record_name": "order",
        "dataset": "Orders",
        "period": "2025",
        "owner": "Sales",
        "note": "for the board",
    }
    assert "<city>" not in (tmp_path / "r.htm").read_text()


def test_a_stream_takes_the_words(tmp_path, capsys, monkeypatch) -> None:
    (tmp_path / "events").write_text("a\n" * 50)
    of = ("--state", str(tmp_path / "s"), "--epsilon", "1", "--delta", "1e-3", "--horizon", "100")
    output = tmp_path / "r.json"
    with (tmp_path / "events").open() as events:
        monkeypatch.setattr("sys.stdin", events)
        found = main(["stream", *of, *WORDS, "--output", str(output)])
    assert found == 0, capsys.readouterr().err
    assert dh.Release.load(output).presentation.owner == "Sales"


def test_show_presents_an_old_release_in_other_words(orders, tmp_path, capsys) -> None:
    output, page = tmp_path / "r.json", tmp_path / "r.html"
    assert main([*commands(orders)["labels"], "--output", str(output)]) == 0
    assert main(["show", str(output), *WORDS, "--unit", "patient", "--report", str(page)]) == 0
    assert "Orders by &lt;city&gt;" in page.read_text()
    capsys.readouterr()
    assert main(["show", str(output), "--unit", "customer", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["provenance"]["unit"] == "customer"
    assert dh.Release.load(output).presentation.unit is None


def test_show_does_not_rename_what_has_a_name(orders, tmp_path, capsys) -> None:
    output = tmp_path / "r.json"
    assert main([*commands(orders)["labels"], "--unit", "patient", "--output", str(output)]) == 0
    assert main(["show", str(output), "--unit", "hospital"]) == 2
    assert "unit must be left out" in capsys.readouterr().err.replace("--unit", "unit")


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", ["labels", "top", "ranges", "anonymize"])
@pytest.mark.parametrize("option", ["--title", "--label-name", "--owner", "--note"])
def test_a_word_that_cannot_be_shown_is_refused_before_data_are_read(
    name, option, orders, tmp_path, capsys
) -> None:
    output = tmp_path / "r.json"
    given = [*commands(orders)[name], option, "a\x1b[2Jb", "--output", str(output)]
    assert main([*given, "--dry-run"]) == 2
    assert f"{option} must be one line of text" in capsys.readouterr().err
    assert main(given) == 2
    assert not output.exists()


def test_words_do_not_change_what_a_key_paid_for(orders, tmp_path) -> None:
    place, output = tmp_path / "l.ledger", tmp_path / "r.json"
    with dh.Ledger.create(place, epsilon=2, delta="0.1", unit="one user"):
        pass
    pay = ("--ledger", str(place), "--by", "ana", "--key", "k", "--output", str(output))
    call = [*commands(orders)["labels"], *pay]
    assert main([*call, "--title", "First"]) == 0
    first = dh.Release.load(output)
    assert main([*call, "--title", "Second", "--overwrite", "--again"]) == 0
    second = dh.Release.load(output)
    assert second.presentation.title == "Second"
    assert second.value == first.value
    with dh.Ledger.open(place) as ledger:
        assert ledger.stored("k").presentation.title == "First"
