"""The page: complete, alone, well formed, escaped, and silent about the true data."""

import re
from collections.abc import Callable
from pathlib import Path

import matplotlib
import pytest

from dphist import OutputFileError, ParameterError, Profile, Release, write_report
from dphist.report import report_html
from tests.support.report import releases
from tests.support.report.html import Page

# A page takes a second; those of the other releases are made by `make verify`.
QUICK = ("adaptive scan", "partition", "usual", "empty", "secret")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(make, id=name, marks=() if name in QUICK else pytest.mark.verify)
        for name, make in releases.ALL.items()
    ],
)
def release(request: pytest.FixtureRequest) -> Release:
    make: Callable[[], Release] = request.param
    return make()


@pytest.fixture(scope="module")
def source(release: Release) -> str:
    """The page of each release, made once for all tests."""
    return report_html(release)


@pytest.mark.long(every=6)
@pytest.mark.quick("[empty]")
def test_stands_alone(source: str) -> None:
    page = Page(source)
    assert "://" not in source
    assert "@import" not in source
    assert "&lt;span" not in source
    assert "&amp;nbsp" not in source
    assert all(target.startswith("#") for target in page.references)
    assert re.findall(r"url\((?!#)", source) == []
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(page.tags)


@pytest.mark.long(every=4)
@pytest.mark.quick("[empty]")
def test_ids_are_unique_and_references_resolve(source: str) -> None:
    page = Page(source)
    assert len(page.ids) == len(set(page.ids))
    wanted = [target[1:] for target in page.references] + re.findall(r"url\(#([^)]*)\)", source)
    for names in re.findall(r'aria-labelledby="([^"]*)"', source):
        wanted += names.split()
    assert set(wanted) <= set(page.ids)


@pytest.mark.long(every=2)
@pytest.mark.quick("[empty]")
def test_figures_have_text_titles_and_the_pages_colours(release: Release, source: str) -> None:
    bars = release.mechanism.pointwise_band(release)
    figures = re.findall(r"<svg.*?</svg>", source, flags=re.DOTALL)
    assert len(figures) == 2
    for figure in figures:
        assert 'role="img"' in figure
        assert "<title" in figure
        assert "<desc" in figure
        assert "records" in figure
        named = f"95 % {'' if bars else 'error '}band</text>" in figure
        assert named != ("narrower than the line" in figure)
        assert bars is not None or "pointwise</text>" not in figure
        assert re.findall(r"#[0-9a-fA-F]{6}\b", figure.replace("url(#", "url(")) == []
        assert "font-family" not in figure
        for variable in ("--curve", "--band", "--grid", "--figure-text"):
            assert f"var({variable})" in figure


@pytest.mark.verify
def test_nothing_of_the_true_data() -> None:
    release = releases.secret_release()
    shown = report_html(release)
    released = {*release.value.counts.tolist(), release.total}
    for sentinel in (*releases.SENTINELS, sum(releases.SENTINELS)):
        assert sentinel not in released  # else this test could not tell
        assert f"{sentinel}" not in shown
        assert f"{sentinel:,}" not in shown
        assert f"{sentinel}" not in repr(release)


@pytest.mark.verify
def test_is_a_function_of_the_release_alone(tmp_path: Path) -> None:
    release = releases.usual_release()
    release.save(tmp_path / "r.json")
    page = report_html(release)
    assert report_html(Release.load(tmp_path / "r.json")) == page
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 40, "svg.fonttype": "path"}):
        assert report_html(release) == page


@pytest.mark.verify
def test_markup_is_escaped() -> None:
    source = report_html(releases.hostile_release())
    page = Page(source)
    assert "script" not in page.tags
    assert "<script" not in source
    assert releases.HOSTILE in page.text


@pytest.mark.verify
def test_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    release = releases.tiny_release()
    with pytest.raises(OutputFileError):
        write_report(release, tmp_path / "missing" / "r.html")
    assert list(tmp_path.iterdir()) == []
    write_report(release, tmp_path / "r.html")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report_html(release)


def test_a_failure_leaves_the_old_report(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(ParameterError, match=r"must be a dphist\.Release"):
        write_report(Profile.from_counts([918273645]), path)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.verify
def test_texts_contrast_with_their_background() -> None:
    """WCAG: 4.5 to 1 for text, in both schemes and on paper."""
    source = report_html(releases.tiny_release())
    schemes = re.findall(r":root \{[^}]*?--page: #[^}]*\}", source)
    assert len(schemes) == 3
    for scheme in schemes:
        colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", scheme))
        for text in ("text", "muted", "figure-text", "curve"):
            for ground in ("page", "panel"):
                assert contrast(colors[text], colors[ground]) >= 4.5


def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
