"""Two builds of a commit have the same bytes; what is missing in a wheel is found."""

import zipfile
from pathlib import Path

import pytest
from releasing.running import CheckError, run

from releasing import artifacts


@pytest.mark.verify
def test_two_builds_are_equal(tmp_path) -> None:
    first, second = (artifacts.built(tmp_path / name) for name in ("first", "second"))
    assert [path.suffix for path in first] == [".whl", ".gz"]
    artifacts.check_same(first, second)
    files = artifacts.package_files()
    assert {"dphist/py.typed", "dphist/report/papers.bib"} < set(files)
    artifacts.check_contents(first[0], files)
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


PACKAGE = ("dphist/py.typed", "dphist/page.jinja")
WHOLE = (*PACKAGE, "d/LICENSE", "d/entry_points.txt")


def test_what_a_wheel_lacks_is_found(tmp_path) -> None:
    assert artifacts.check_contents(_wheel(tmp_path, *WHOLE), PACKAGE)
    for missing in WHOLE:
        others = [name for name in WHOLE if name != missing]
        with pytest.raises(CheckError, match=f"lacks .*{missing.split('/')[-1]}"):
            artifacts.check_contents(_wheel(tmp_path, *others), PACKAGE)
    with pytest.raises(CheckError, match=r"contains tests/a\.py"):
        artifacts.check_contents(_wheel(tmp_path, *WHOLE, "tests/a.py"), PACKAGE)


@pytest.mark.verify
def test_a_site_that_warns_is_found(tmp_path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "conf.py").write_text("")
    (pages / "index.rst").write_text("A page\n======\n")
    assert artifacts.check_site(tmp_path / "good", pages).endswith(" pages")
    (pages / "index.rst").write_text("A page\n======\n\n:doc:`of_tomorrow`\n")
    with pytest.raises(CheckError, match="unknown document"):
        artifacts.check_site(tmp_path / "bad", pages)


@pytest.mark.verify
@pytest.mark.parametrize(("text", "good"), [("Fine.", True), ("*Open", False), ("", False)])
def test_a_description_that_no_index_shows_is_found(text, good, tmp_path) -> None:
    head = "Metadata-Version: 2.1\nName: dphist\nVersion: 0\nDescription-Content-Type: text/x-rst"
    wheel = tmp_path / "dphist-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("dphist-0.dist-info/METADATA", f"{head}\n\n{text}\n")
        made.writestr("dphist-0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    if good:
        assert artifacts.check_description([wheel])
    else:
        with pytest.raises(CheckError, match="twine check"):
            artifacts.check_description([wheel])


def test_checksums_are_those_that_sha256sum_checks(tmp_path) -> None:
    (tmp_path / "a.whl").write_bytes(b"1")
    (tmp_path / "b.tar.gz").write_bytes(b"2")
    assert artifacts.write_sums(tmp_path) == "2 checksums"
    check = ("sha256sum", "--check", "SHA256SUMS")
    assert run(*check, cwd=tmp_path) == "a.whl: OK\nb.tar.gz: OK\n"
    (tmp_path / "a.whl").write_bytes(b"3")
    with pytest.raises(CheckError, match=r"a\.whl: FAILED"):
        run(*check, cwd=tmp_path)
