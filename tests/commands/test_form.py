"""dphist form: one file without addresses, and the numbers that the library computes."""

import hashlib
import itertools
import re
from base64 import b64encode
from pathlib import Path

import pytest

from dphist.anonymized.adaptive_scan.mechanism import _error_at
from dphist.cli import main
from dphist.commands.form.asked import Asked
from dphist.commands.form.command import make_form
from dphist.commands.form.numbers import compute_numbers, list_sizes, read_numbers
from dphist.commands.form.questions import ASKED
from dphist.commands.registry import find_command


def test_the_page_is_one_file_that_asks_nobody_else() -> None:
    page = make_form()
    names = page.replace('"http://www.w3.org/2000/svg"', "")  # a name, which nothing opens
    assert not re.search(r"https?:|//\w+\.|src=|href=|@import|url\(|fetch\(|XMLHttp", names)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script is not None
    digest = b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert policy[1].split("; ") == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src 'sha256-{digest}'",
        "form-action 'none'",
        "base-uri 'none'",
    ]
    assert not re.search(r"\son\w+=|javascript:", page)
    assert "</script" not in script[1]


def test_every_input_has_a_label_and_every_hint_exists() -> None:
    page = make_form()
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    inputs = re.findall(r'<(?:input|select|textarea)[^>]*\bid="([^"]+)"', page)
    labels = re.findall(r'<label for="([^"]+)"', page)
    assert sorted(inputs) == sorted(labels)
    hints = re.findall(r'aria-(?:describedby|labelledby)="([^"]+)"', page)
    assert {each for hint in hints for each in hint.split()} <= {*ids}


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.kind)
def test_every_answer_has_numbers(asked: Asked) -> None:
    answers = [each.values for each in asked.choices]
    if asked.keys and asked.keys.tables:
        answers.insert(0, ["x".join(map(str, sizes)) for sizes in list_sizes()])
    held = read_numbers()[asked.kind]
    assert {*map(" ".join, itertools.product(*answers))} == {*held}
    assert {len(each) for each in held.values()} == {3 if asked.appears else 2}


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.kind)
def test_numbers_are_those_of_the_library(asked: Asked) -> None:
    """A part of them; `python -m benchmarks.form` computes all of them."""
    _error_at.cache_clear()  # other tests replace what trials of the scan draw
    only = {each.parameter: each.values[:1] for each in asked.choices}
    only["epsilon"] = ["0.5", "4"]
    bound = asked.choice("bound")
    assert bound is not None
    only[bound.parameter] = bound.values[2:3]
    sizes = [(3,), (2, 5)] if asked.keys and asked.keys.tables else None
    made = compute_numbers(asked, sizes=sizes, **only)
    held = read_numbers()[asked.kind]
    assert made
    assert made == {answers: held[answers] for answers in made}


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.kind)
def test_what_is_asked_are_options_of_the_command(asked: Asked) -> None:
    options = {each.key: each for each in find_command(asked.command).options}
    for choice in asked.choices:
        if choice.option:
            assert choice.usual in choice.values
            for value in choice.values:
                option = options[choice.option]
                assert value in option.choices if option.choices else option.read(value)
    typed = {each.option for each in asked.typed}
    assert typed | {"user", "unit", "output", "report", "table"} <= {*options}
    required = {each.key for each in options.values() if each.required and not each.positional}
    keys = set() if asked.keys is None else {asked.keys.option}
    if asked.keys and asked.keys.tables:
        keys.add("tables")
    assert keys <= {*options}
    asked_for = {each.option or each.within for each in asked.choices}
    assert required <= {*typed, *keys, *asked_for}
    for name, given in asked.fixed:
        assert options[name].is_flag if given is True else given in options[name].choices


def test_an_output_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "form.html"
    assert main(["form", "--output", str(path)]) == 0
    assert capsys.readouterr().out == f"wrote {path} (form)\n"
    assert main(["form", "--output", str(path)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main(["form", "--output", str(path), "--overwrite", "--quiet"]) == 0
    assert path.read_text(encoding="utf-8") == make_form()
