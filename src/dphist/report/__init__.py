"""A release on each surface: page, lines of a terminal, table, plots, and facts for programs.

Jinja2 and Matplotlib are imported only when something is drawn. Matplotlib takes long to import
and writes into the user's home directory, which a command that draws nothing should not do.
"""

from dataclasses import replace
from importlib.metadata import metadata
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from dphist.document.blocks import CARD, Document, Figures
from dphist.document.chart import Chart
from dphist.document.csv_rows import MARK, csv_field, safe_field, write_csv
from dphist.document.kind import DataFacts, find_kind, find_kind_of_value
from dphist.document.small_counts import leave_out_figures
from dphist.errors import ParameterError, UnsupportedError
from dphist.files import check_output_path, write_text
from dphist.parameters import whole_number
from dphist.release.presentation import Words
from dphist.release.release import Release
from dphist.render.text import content, text
from dphist.render.vega import vega

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dphist.render.charts import Panels

__all__ = ["plot", "report_html", "write_report"]


@overload
def plot(release: Release, ax: None = None, *, columns: int = 2) -> "Panels": ...


@overload
def plot(release: Release, ax: "Axes", *, columns: int = 2) -> "Axes": ...


@overload
def plot(release: Release, ax: "Sequence[Axes]", *, columns: int = 2) -> "Panels": ...


def plot(release: Release, ax: Any = None, *, columns: int = 2) -> "Panels | Axes":
    """Plot a release.

    What is drawn depends on the kind:

    - anonymized: count over rank; labels with count r or more over r
    - ranges, one axis: the bins, or means of neighboring ones; records below each edge
    - ranges, two axes: a map
    - labels: the largest counts by label; all counts by rank; the threshold
    - labels, ranked without counts: how sure the order of two labels is
    - streams: counts over events, of the labels with the largest last counts

    Parameters
    ----------
    release : what a mechanism returned. A profile is refused, as it may be secret. So are
        histograms of more than two axes.
    ax : matplotlib Axes to draw the first plot into, or a sequence of Axes, one for each plot
        (default: a new figure).
    columns : 2 for plots side by side, 1 for one below the other; without `ax`.

    Returns
    -------
    (2,) array of matplotlib Axes, or (1,) for a map, a ranking or running
    counts; `ax` itself if given as Axes
        `axes[0].figure.savefig("release.png")` saves the picture. In a notebook, the last line
        of a cell shows it.

    Notes
    -----
    Bands and intervals are of 95 %, and come from the noise that the mechanism adds. The bands of
    anonymized histograms enclose the whole true curves at once. All others hold for each label,
    place or time by itself.
    """
    from dphist.render.charts import draw_figure, draw_into

    charts, slots = (
        find_kind(check_release(release)).charts(release),
        make_release_document(release).slots,
    )
    beside = whole_number(columns, "columns", 1, 2) == 2
    if ax is None:
        return draw_figure(charts, slots, (5.5 if beside else 7, 4.6), beside=beside)
    axes: Panels | Axes = draw_into(charts, slots, ax)
    return axes


def plot_value(
    value: Any, ax: "Axes | None" = None, *, color: str | None = None, label: str | None = None
) -> "Axes":
    """Plot a released value by itself, as its card in a notebook does: a histogram has `plot`."""
    from dphist.render.charts import Palette, draw_chart

    chart = draw_value(value)
    if label is not None:
        chart = replace(chart, lines=[replace(line, name=label) for line in chart.lines])
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    draw_chart(ax, chart, {}, Palette() if color is None else Palette(line=color, band=color))
    return ax


def draw_vega(value: Any) -> dict[str, Any]:
    """Return what `plot_value` draws as a Vega-Lite specification."""
    return vega(draw_value(value), {})


def draw_value(value: Any) -> Chart:
    """Return the chart that shows a released value by itself."""
    kind = find_kind_of_value(value)
    shown = kind.of_value(value, 1).list_blocks(CARD) if kind and kind.of_value else []
    charts = [block.charts[0] for block in shown if isinstance(block, Figures)]
    if not charts:
        raise UnsupportedError(
            f"this {type(value).__name__} has no chart; a histogram over ranges has one of up to "
            "two axes"
        )
    return charts[0]


def write_report(
    release: Release, path: str | Path, *, show_below: int | None = None, **words: Unpack[Words]
) -> None:
    """Write a report about a release as a page for a browser or for paper.

    The file holds only the mechanism's parameters and functions of released values. It may be
    published with the release. It loads nothing and runs no script.

    Parameters
    ----------
    release : what a mechanism returned.
    path : of the HTML file; written whole or not at all.
    show_below : write estimates below it as ``<10``, where a rule asks for it, and draw none: of
        labels and tables. The page then has no pictures. It adds no privacy.
    words : ``title``, ``unit``, ``label_name``, ``record_name``, ``dataset``, ``period``,
        ``owner`` and ``note``, as `Release.present` takes them, for this page.

    Raises
    ------
    ParameterError
        If a word cannot be shown.
    UnsupportedError
        If small estimates of this release cannot be left out.
    OutputFileError
        If the folder does not exist, cannot be written, or is full.
    """
    shown = check_release(release).present(**words)
    check_output_path(path)
    write_text(path, report_html(shown, show_below))


def report_html(release: Release, show_below: int | None = None) -> str:
    """Return the report as the text of an HTML page."""
    from dphist.render.html import page

    return page(make_release_document(check_release(release), show_below))


def summary_text(release: Release, show_below: int | None = None) -> str:
    """Return what was released and what it promises, in lines of at most 78 columns."""
    return text(make_release_document(check_release(release), show_below))


def make_json(release: Release) -> dict[str, Any]:
    """Return guarantee, size and warnings of a release for programs."""
    return content(make_release_document(release))


def table_csv(
    release: Release, *, spreadsheet_safe: bool = False, show_below: int | None = None
) -> str:
    """Return the released table as CSV with one header line, in UTF-8.

    Parameters
    ----------
    spreadsheet_safe : write labels so that a spreadsheet runs none as a formula, and reads none as
        a number or date: see `dphist.document.csv_rows.safe_field`. The text begins with a byte
        order mark.
    show_below : write estimates below it as ``<10``, of labels and tables, and leave empty what
        would tell them.

    | kind | columns | rows |
    |---|---|---|
    | anonymized | count,prevalence | one a count, ascending |
    | ranges | start,stop,count,error; of several axes start_x,stop_x,... by name | one a bin |
    | labels | label,count; rankings: label alone | one a label, in the order released |
    | streams | time,label,count | one a label and reading |

    Columns low and high follow: 95 % intervals of the last count or prevalence. The empty text is
    written ``""``. An empty field is a missing label, which says that fewer labels than wanted were
    found. `LabelCounts.from_table` reads CSV the same way.
    """
    field = safe_field if spreadsheet_safe else csv_field
    kind, mark = find_kind(release), MARK if spreadsheet_safe else ""
    below = None if show_below is None else check_below(release, show_below)
    return f"{mark}{write_csv(kind.table(release), field, below)}"


def check_below(release: Release, show_below: int) -> int:
    """Return the number below which estimates of a release are left out, checked."""
    below, kind = whole_number(show_below, "show_below", 1), find_kind(release)
    if not kind.may_hide_small or "count" not in kind.table(release).column_names:
        raise UnsupportedError(
            "this release has no table in which small estimates are left out; tables have one, and "
            "labels with counts"
        )
    return below


def citation(release: Release) -> str:
    """Return BibTeX entries for a release: this library, and the paper of the mechanism.

    A mechanism without a `paper` that is known here, such as one of your own, is cited by the text
    of its `reference`, as a comment.
    """
    mechanism = release.mechanism
    reference = " ".join(str(getattr(mechanism, "reference", "")).split())
    said = f"% {type(mechanism).__name__}: {reference}" if reference else ""
    paper = _find_entry(getattr(mechanism, "paper", ""))
    return "\n\n".join(filter(None, (said, _cite_library(release.version), paper))) + "\n"


def _find_entry(key: str) -> str:
    """Return the entry of a key; empty for an unknown one."""
    bibtex = files("dphist.report").joinpath("papers.bib").read_text(encoding="utf-8")
    entries = (each.strip() for each in bibtex.split("\n\n"))
    return next((each for each in entries if f"{{{key}," in each), "")


_YEAR = 2026  # of the version in CHANGELOG.md


def _find_address() -> str:
    """Return the line with the address that the installed package states, or else its name."""
    named = metadata("dphist").get_all("Project-URL") or []
    addresses = dict(each.split(", ", 1) for each in named)
    url = addresses.get("Homepage") or addresses.get("Repository")
    return f"  url = {{{url}}},\n" if url else "  note = {Python package dphist},\n"


def _cite_library(version: str) -> str:
    return (
        "@software{dphist,\n"
        "  author = {{The dphist maintainers}},\n"
        "  title = {dphist: differentially private histograms},\n"
        f"  version = {{{version}}},\n"
        f"  year = {{{_YEAR}}},\n"
        f"{_find_address()}"
        "  license = {Apache-2.0}\n"
        "}"
    )


def make_release_document(release: Release, show_below: int | None = None) -> Document:
    """Return the document of a release.

    Parameters
    ----------
    show_below : estimates below it are left out, and so are figures; not in JSON.
    """
    make, data = find_kind(release).document, DataFacts.of(release)
    if show_below is None:
        return make(release.mechanism, data, release)
    below = check_below(release, show_below)
    data = replace(data, below=below)
    return leave_out_figures(make(release.mechanism, data, release), below)


def check_release(release: Any) -> Release:
    """Refuse anything but a release: a profile, say, would publish the data themselves."""
    if not isinstance(release, Release):
        raise ParameterError(
            "release", "must be a dphist.Release, as mechanism.release(profile) returns it"
        )
    return release
