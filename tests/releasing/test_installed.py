"""Each check of an installed wheel fails on a planted fault.

The programs of an environment are small scripts here; `make release-check` has the real ones.
"""

import json
import os
from pathlib import Path

import pytest
from releasing.running import ROOT, CheckError

from releasing import installed


@pytest.fixture
def programs(tmp_path) -> Path:
    folder = tmp_path / "alone" / "bin"
    folder.mkdir(parents=True)
    return folder


def script(path: Path, body: str) -> Path:
    """A program that runs these lines of the shell."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def prints_origin(programs: Path, origin: Path) -> None:
    script(programs / "python", f"echo {origin}")


ALL_OUTPUTS = (
    "for name in release.json release.csv page.html; do head -c 2000 /dev/zero > $name; done"
)


def test_a_first_use_that_works(programs, tmp_path) -> None:
    prints_origin(programs, tmp_path / "alone/lib/dphist/__init__.py")
    script(programs / "dphist", ALL_OUTPUTS)
    assert installed.check_first_use(programs, tmp_path)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 1", "anonymize .* ended with 1"),
        (f"{ALL_OUTPUTS}; head -c 10 /dev/zero > page.html", "page.html is nearly empty"),
        (f"{ALL_OUTPUTS}; [ $1 != show ]", "show release.json ended with 1"),
    ],
)
def test_a_first_use_that_fails_is_found(body, said, programs, tmp_path) -> None:
    prints_origin(programs, tmp_path / "alone/lib/dphist/__init__.py")
    script(programs / "dphist", body)
    with pytest.raises(CheckError, match=said):
        installed.check_first_use(programs, tmp_path)


def test_a_checkout_in_place_of_the_wheel_is_found(programs, tmp_path) -> None:
    prints_origin(programs, ROOT / "src/dphist/__init__.py")
    for check in (
        lambda: installed.check_first_use(programs, tmp_path),
        lambda: installed.check_tests(programs, tmp_path, ("tests",)),
    ):
        with pytest.raises(CheckError, match="not from the wheel"):
            check()


def test_an_extra_that_no_error_names_is_found(programs, tmp_path) -> None:
    names = [f"dphist[{extra}]" for extra in installed.NAMED]
    script(programs / "python", f"echo '{' '.join(names)}'; exit 1")
    assert installed.check_extras_are_named(programs, tmp_path)
    for missing in installed.NAMED:
        others = " ".join(name for name in names if missing not in name)
        script(programs / "python", f"echo 'No module: {others}'; exit 1")
        with pytest.raises(CheckError, match=f"without the extra {missing}, the error"):
            installed.check_extras_are_named(programs, tmp_path)


def test_a_function_that_needs_no_extra_is_found(programs, tmp_path) -> None:
    script(programs / "python", f"echo '{' '.join(installed.NAMED)}'; exit 0")
    with pytest.raises(CheckError, match="ended with 0"):
        installed.check_extras_are_named(programs, tmp_path)


def test_every_extra_for_users_is_tried() -> None:
    extras = set(installed.declared()["optional-dependencies"])
    ours = {"dev", "verify", "release", "bench", "docs"}
    assert extras - ours - {"spark"} == set(installed.NAMED)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('grep -q "labels=.many" $2 && { echo "labels: wrong"; exit 1; } || exit 0', None),
        ("exit 0", "ended with 0"),  # takes a wrong call
        ("echo 'labels: missing py.typed'; exit 1", "ended with 1"),  # finds no types
        ('grep -q "labels=.many" $2 && { echo "crashed"; exit 1; } || exit 0', "does not see"),
    ],
)
def test_types_that_are_not_found(body, said, programs, tmp_path) -> None:
    checkers = {"checker": (script(tmp_path / "checker", body),)}
    if said is None:
        assert installed.check_types(programs, tmp_path, checkers) == "checker"
    else:
        with pytest.raises(CheckError, match=said):
            installed.check_types(programs, tmp_path, checkers)


def bill(folder: Path, *, version: str | None = None, drop: str = "", add: str = "") -> Path:
    """A bill of materials as it should be, with a fault."""
    project = installed.declared()
    names = {installed.name_of(each) for each in project["dependencies"]}
    names = (names - {drop}) | ({add} if add else set())
    main = {"name": "dphist", "version": version or project["version"]}
    content = {"metadata": {"component": main}, "components": [{"name": name} for name in names]}
    path = folder / "bill.json"
    path.write_text(json.dumps(content))
    return path


def test_a_bill_of_materials_that_is_wrong_is_found(tmp_path) -> None:
    assert installed.check_materials(bill(tmp_path))
    for fault, said in [
        ({"version": "9.9.9"}, "is of dphist 9.9.9"),
        ({"drop": "pyarrow"}, "lacks pyarrow"),
        ({"add": "pytest"}, "has pytest, which no user installs"),
    ]:
        with pytest.raises(CheckError, match=said):
            installed.check_materials(bill(tmp_path, **fault))


def test_a_test_that_fails_is_found(programs, tmp_path) -> None:
    here = tmp_path / "alone/lib/dphist/__init__.py"
    body = f"[ $1 = -c ] && {{ echo {here}; exit 0; }}\n"
    script(programs / "python", f"{body}echo '7 passed in 1s'")
    assert installed.check_tests(programs, tmp_path, ("tests",)) == "7 passed in 1s"
    for code in (1, 2, 5):  # failed, interrupted, none ran
        script(programs / "python", f"{body}echo '1 failed, 6 passed'\nexit {code}")
        with pytest.raises(CheckError, match="1 failed, 6 passed"):
            installed.check_tests(programs, tmp_path, ("tests",))


def test_commands_do_not_see_the_checkout(tmp_path, monkeypatch) -> None:
    """PYTHONPATH would make the tests of a wheel those of the checkout."""
    monkeypatch.setenv("PYTHONPATH", os.fspath(ROOT / "src"))
    assert installed.run(script(tmp_path / "shown", "echo [$PYTHONPATH]")) == "[]\n"
