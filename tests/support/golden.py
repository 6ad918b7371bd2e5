"""Golden files: what surfaces say, letter by letter, in files that a review can read.

`DPHIST_GOLDEN=write pytest ...` writes them. A change of such a file is meant, or it is a fault.
"""

import json
import os
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.ticker import FixedFormatter

import dphist as dh
from dphist.cli import main
from dphist.release.release import VERSION
from dphist.report import make_json, report_html, summary_text

_BLOCKS = {"p", "h1", "h2", "h3", "dt", "dd", "li", "tr", "caption", "figcaption", "pre", "title"}
_NO_TEXT = {"style", "svg", "script"}


def check_golden(path: Path, text: str) -> None:
    """Compare a text with that of a file, without the version of dphist."""
    text = text.replace(VERSION, "X.Y.Z").rstrip() + "\n"
    if os.environ.get("DPHIST_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name} says something else"


def golden_path(test: str, name: str, surface: str) -> Path:
    """Return the golden file of a surface, in the folder of a test's module, its `__file__`."""
    words = name.replace(",", "").replace(" ", "_")
    return Path(test).parent / "golden" / f"{words}.{surface}.txt"


def each_of(names: Iterable[str], quick: Iterable[str]) -> pytest.MarkDecorator:
    """Return the mark of a test for each name; `make verify` runs those that are not quick."""
    marks = {name: [] if name in quick else [pytest.mark.verify] for name in names}
    return pytest.mark.parametrize("name", [pytest.param(n, marks=m) for n, m in marks.items()])


def json_text(content: Any) -> str:
    """Return what JSON holds as lines that a review can read."""
    return json.dumps(content, indent=1, ensure_ascii=False)


SURFACES: dict[str, Callable[[dh.Release], str]] = {
    "page": lambda release: text_of_html(report_html(release)),
    "summary": summary_text,
    "card": lambda release: text_of_html(release._repr_html_()),
    "json": lambda release: json_text(make_json(release)),
    "plot": lambda release: text_of_axes(dh.plot(release)),
}
each_surface = pytest.mark.parametrize("surface", SURFACES)
each_form = pytest.mark.parametrize("form", ["text", "json"])


def dry_run(form: str, capsys: pytest.CaptureFixture[str], *given: str) -> str:
    """Return what a command says of a dry run; an underscore stands for a space."""
    as_json = ["--json"] if form == "json" else []
    assert main([*(each.replace("_", " ") for each in given), "--dry-run", *as_json]) == 0
    said = capsys.readouterr().out
    return json_text(json.loads(said)) if as_json else said


class _Text(HTMLParser):
    """The text of a page: a line for each block; cells of a row are separated by bars."""

    def __init__(self) -> None:
        super().__init__()
        self.silent = 0
        self.lines = [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in _NO_TEXT
        if tag in ("td", "th"):
            self.lines[-1] += " | "
        elif tag in _BLOCKS:
            self.lines.append(f"{tag}: ")

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in _NO_TEXT

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.lines[-1] += data


def text_of_html(source: str) -> str:
    """Return the text of a page or card, a line for each block."""
    parser = _Text()
    parser.feed(source)
    lines = (" ".join(line.replace("\u00a0", " ").split()) for line in parser.lines)
    return "\n".join(line for line in lines if line)


def text_of_axes(axes: Any) -> str:
    """Return what plots show: titles, labels, ticks, legends and the numbers that are drawn."""
    lines = []
    for ax in axes:
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        lines += [
            f"title: {ax.get_title(loc='left')}",
            f"x: {ax.get_xlabel()}, {ax.get_xscale()}, {left:.6g} to {right:.6g}",
            f"y: {ax.get_ylabel()}, {ax.get_yscale()}, {bottom:.6g} to {top:.6g}",
            f"ticks: {list(ax.get_xticks())} {list(ax.get_yticks())}",
            f"legend: {_legend(ax)}",
            *(f"text: {text.get_text()}" for text in ax.texts),
            *(f"line: {_numbers(line.get_xydata())}" for line in ax.lines),
            *(f"area: {_numbers(patch.get_path().vertices)}" for patch in ax.patches),
            *(f"shape: {_numbers(_corners(shape))}" for shape in ax.collections),
        ]
        if isinstance(ax.yaxis.get_major_formatter(), FixedFormatter):
            lines.append(f"names: {[name.get_text() for name in ax.get_yticklabels()]}")
        if isinstance(ax.xaxis.get_major_formatter(), FixedFormatter):
            lines.append(f"names below: {[name.get_text() for name in ax.get_xticklabels()]}")
    return "\n".join(lines)


def _legend(ax: Any) -> list[str]:
    legend = ax.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def _corners(shape: Any) -> Any:
    """Return all corners of the lines or areas of a collection."""
    return np.concatenate([path.vertices for path in shape.get_paths()] or [np.zeros((0, 2))])


def _numbers(points: Any) -> str:
    """Return the corners of a curve: how many there are, the first ones, and the sums."""
    corners = np.asarray(points, np.float64)
    first = " ".join(f"({x:.6g}, {y:.6g})" for x, y in corners[:6])
    return f"{len(corners)} corners, sums {corners.sum(axis=0).round(3).tolist()}: {first}"
