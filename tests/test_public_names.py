"""Public names: listed once, imported when they are first used, seen by type checkers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dphist as dh

SOURCE = Path(dh.__file__)


def run_code(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout


def imported_for_type_checkers() -> dict[str, str]:
    """Return the names that are imported for type checkers, with where from."""
    tree = ast.parse(SOURCE.read_text())
    block = next(each for each in tree.body if isinstance(each, ast.If))
    return {
        alias.asname or alias.name: each.module
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }


def test_importing_dphist_imports_none_of_its_parts() -> None:
    code = "import sys, dphist; print([m for m in sys.modules if m.startswith('dphist.')])"
    assert run_code(code) == "[]\n"
    heavy = "import sys, dphist; print({'numpy', 'duckdb', 'pyarrow', 'scipy'} & set(sys.modules))"
    assert run_code(heavy) == "set()\n"


def test_type_checkers_see_what_there_is() -> None:
    listed = {name: f"dphist.{home}" for home, names in dh._HOMES.items() for name in names}
    listed |= dict.fromkeys(dh._SUBMODULES, "dphist")
    assert imported_for_type_checkers() == listed
    assert sorted([*listed, "__version__"]) == sorted(dh.__all__)


@pytest.mark.parametrize("name", dh.__all__)
def test_each_name_is_there_from_the_first_use(name: str) -> None:
    assert getattr(dh, name) is getattr(dh, name)
    assert name in dir(dh)


def test_no_name_is_hidden_by_a_module() -> None:
    """The import of a module puts it into the package, in the place of another thing there."""
    modules = {path.stem for path in SOURCE.parent.iterdir()} - set(dh._SUBMODULES)
    assert modules.isdisjoint(dh.__all__)


def test_dir_shows_public_names_only() -> None:
    assert dir(dh) == sorted(dh.__all__)


def test_other_names_are_missed_as_usual() -> None:
    with pytest.raises(AttributeError, match="module 'dphist' has no attribute 'histgram'"):
        dh.histgram  # noqa: B018
    with pytest.raises(ImportError, match="histgram"):
        from dphist import histgram  # noqa: F401


@pytest.mark.verify
def test_a_release_of_any_mechanism_is_loaded_by_a_fresh_process(tmp_path: Path) -> None:
    released = {
        "anonymized": dh.AdaptiveScan(epsilon=1).release(dh.Profile.from_counts([3, 4])),
        "ranges": dh.LeafCounts(epsilon=1, bins=3).release([1, 2, 3]),
        "labels": dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1).release(
            dh.LabelCounts.from_counts(["a"], [90], max_labels=1, max_count=1)
        ),
        "streams": dh.ContinualHistogram(epsilon=1, delta="1e-6", horizon=9).release(),
    }
    for kind, release in released.items():
        release.save(tmp_path / kind)
        code = f"import dphist as dh; print(dh.Release.load({str(tmp_path / kind)!r}).mechanism)"
        assert run_code(code).strip() == str(release.mechanism)
