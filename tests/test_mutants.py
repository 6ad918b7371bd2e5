"""The set of planted privacy bugs stays in step with the code, and its runner tells them apart."""

import shutil
from pathlib import Path

import pytest
from mutants import __main__ as program
from mutants.catalogue import FOLDER, Mutant, chosen, load, problems
from mutants.running import copy_repository, run_mutants, run_unmutated

MUTANTS = load()

LIBRARY = '''\
def double(number):
    """Return twice the number."""
    return 2 * number
'''
TESTS = """\
import dphist

def test_double():
    assert dphist.double(3) == 6
"""


def planted(find: str, replace: str, name: str = "toy") -> Mutant:
    tests = ("tests/test_toy.py::test_double",)
    return Mutant("toy", name, "that", "noise, Lemma 1", "dphist", find, replace, tests)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A repository with a library of one function and one test."""
    root = tmp_path / "toy"
    (root / "src" / "dphist").mkdir(parents=True)
    (root / "src" / "dphist" / "__init__.py").write_text(LIBRARY)
    (root / "tests").mkdir()
    (root / "tests" / "__init__.py").write_text("")
    (root / "tests" / "test_toy.py").write_text(TESTS)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (root / "docs" / "understand" / "proofs").mkdir(parents=True)
    (root / "docs" / "understand" / "proofs" / "noise.md").write_text("## Lemma 1: inversion\n")
    shutil.copytree(FOLDER, root / "mutants", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_every_mutant_can_be_planted() -> None:
    """Its text stands once in its module, which still compiles, and its tests and lemma exist."""
    assert problems(MUTANTS) == []


def test_there_are_enough_of_each_family() -> None:
    assert len(MUTANTS) >= 300
    families = {mutant.family for mutant in MUTANTS}
    assert families >= {"noise", "anonymized", "partition", "ranges", "labels", "streams", "store"}
    assert families >= {"privacy", "release", "counting"}
    for family in families:
        assert len(chosen(MUTANTS, [family], only_short=False)) >= 8
    assert len(chosen(MUTANTS, ["counting"], only_short=False)) >= 50


@pytest.mark.verify
def test_mutants_are_caught_missed_or_broken(toy: Path, tmp_path: Path) -> None:
    mutants = [
        planted("2 * number", "3 * number", "caught"),
        planted("2 * number", "number + number", "missed"),
        planted("2 * number", "twice * number", "broken"),
        planted("return 2 * number", "return number.twice", "broken-too"),
        planted("def double", "import nothing\n\n\ndef double", "broken-at-once"),
    ]
    assert problems(mutants, toy) == []
    base = copy_repository(tmp_path / "copies" / "unmutated", toy)
    assert run_unmutated(mutants, base, 2) == []
    found = {result.mutant.name: result.verdict for result in run_mutants(mutants, base, 2)}
    assert found == {
        "caught": "caught",
        "missed": "missed",
        "broken": "broken",
        "broken-too": "broken",
        "broken-at-once": "broken",
    }
    assert [path.name for path in (tmp_path / "copies").iterdir() if path.is_dir()] == ["unmutated"]
    assert (toy / "src" / "dphist" / "__init__.py").read_text() == LIBRARY


def test_tests_that_fail_without_a_mutant_are_shown(toy: Path, tmp_path: Path) -> None:
    (toy / "tests" / "test_toy.py").write_text(TESTS.replace("6", "7"))
    base = copy_repository(tmp_path / "copies" / "unmutated", toy)
    (shown,) = run_unmutated([planted("2 * number", "3 * number")], base, 2)
    assert "test_double" in shown


@pytest.mark.verify
def test_the_program_says_what_was_caught(
    toy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    caught = planted("2 * number", "3 * number", "caught")
    missed = planted("2 * number", "number + number", "missed")
    monkeypatch.setattr(program, "copy_repository", lambda target: copy_repository(target, toy))
    monkeypatch.setattr(program, "problems", lambda mutants: problems(mutants, toy))
    monkeypatch.setattr(program, "load", lambda: [caught, missed])
    assert program.main(["caught"]) == 0
    assert "1 caught, 0 missed, 0 broken" in capsys.readouterr().out
    assert program.main([]) == 1
    assert "missed: missed: that" in capsys.readouterr().out
    assert program.main(["nothing"]) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"find": "thrice"}, "0 times"),
        ({"find": "n"}, "times"),
        ({"replace": "2 * number"}, "nothing is replaced"),
        ({"replace": "2 *"}, "compile"),
        ({"module": "dphist.nothing"}, "no module"),
        ({"tests": ("tests/test_toy.py::test_other",)}, "no test_other"),
        ({"tests": ("tests/test_none.py",)}, "no tests/test_none.py"),
        ({"tests": ()}, "no test is named"),
        ({"lemma": "noise, Lemma 2"}, "no Lemma 2"),
        ({"lemma": "silence, Lemma 1"}, "no page"),
        ({"name": "Toy one"}, "name"),
    ],
)
def test_entries_that_the_code_has_left_behind_are_named(
    toy: Path, change: dict[str, object], said: str
) -> None:
    fields = {name: getattr(planted("2 * number", "3"), name) for name in Mutant.__slots__}
    (problem, *_) = problems([Mutant(**{**fields, **change})], toy)
    assert said in problem


def test_a_name_is_there_once(toy: Path) -> None:
    twice = [planted("2 * number", "3 * number"), planted("2 * number", "4 * number")]
    assert all("twice" in problem for problem in problems(twice, toy))
    assert len(problems(twice, toy)) == 2


def test_files_with_unknown_or_missing_fields_are_refused(tmp_path: Path) -> None:
    for text in ('[[mutant]]\nname = "a"\ncolour = "red"\n', '[[mutant]]\nname = "a"\n'):
        (tmp_path / "toy.toml").write_text(text)
        with pytest.raises(ValueError, match=r"toy\.toml"):
            load(tmp_path)


def test_names_patterns_and_families_choose() -> None:
    some = [planted("a", "b", name) for name in ("one", "other", "third")]
    assert [mutant.name for mutant in chosen(some, ["o*"], only_short=False)] == ["one", "other"]
    assert chosen(some, ["toy"], only_short=False) == some
    assert chosen(some, [], only_short=False) == some
