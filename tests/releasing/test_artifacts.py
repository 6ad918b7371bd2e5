"""Two builds of a commit have the same bytes; what is missing in a wheel is found."""

import zipfile
from pathlib import Path

import pytest
from releasing.running import CheckError

from releasing import artifacts


@pytest.mark.verify
def test_two_builds_are_equal(tmp_path) -> None:
    first, second = (artifacts.built(tmp_path / name) for name in ("first", "second"))
    assert [path.suffix for path in first] == [".whl", ".gz"]
    artifacts.check_same(first, second)
    artifacts.check_contents(first[0])
    artifacts.write_sums(tmp_path / "first")
    assert (tmp_path / "first" / "SHA256SUMS").read_text().count("\n") == 2
    second[0].write_bytes(second[0].read_bytes() + b" ")
    with pytest.raises(CheckError, match="differ"):
        artifacts.check_same(first, second)


def _wheel(folder: Path, *names: str) -> Path:
    path = folder / "dphist-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(name, "")
    return path


WHOLE = ("dphist/py.typed", "dphist/report/papers.bib", "d/LICENSE", "d/entry_points.txt")


def test_what_a_wheel_lacks_is_found(tmp_path) -> None:
    assert artifacts.check_contents(_wheel(tmp_path, *WHOLE))
    with pytest.raises(CheckError, match=r"lacks dphist/py\.typed"):
        artifacts.check_contents(_wheel(tmp_path, *WHOLE[1:]))
    with pytest.raises(CheckError, match=r"contains tests/a\.py"):
        artifacts.check_contents(_wheel(tmp_path, *WHOLE, "tests/a.py"))
