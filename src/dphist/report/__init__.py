"""Plots, the HTML report and the terminal's summary, from Release objects only.

Matplotlib and jinja2 are imported only when something is drawn. Matplotlib takes long to import
and writes into the user's home directory, which a command that draws nothing should not do.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from dphist.parameters import whole_number
from dphist.release.presentation import Words
from dphist.release.release import Release

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
    from dphist.document.guarantee_words import checked_release
    from dphist.render.charts import draw_below, draw_charts, draw_into
    from dphist.report.kinds import drawings_of

    checked = checked_release(release)
    beside = whole_number(columns, "columns", 1, 2) == 2 and ax is None
    drawings = drawings_of(checked)
    if beside:
        return draw_charts(drawings, 5.5 * len(drawings), 4.6)
    return draw_below(drawings) if ax is None else draw_into(drawings, ax)


def write_report(release: Release, path: str | Path, **words: Unpack[Words]) -> None:
    """Write a report about a release as a page for a browser or for paper.

    The file holds only the mechanism's parameters and functions of released values. It may be
    published with the release. It loads nothing and runs no script.

    Parameters
    ----------
    release : what a mechanism returned.
    path : of the HTML file; written whole or not at all.
    words : ``title``, ``unit``, ``label_name``, ``record_name``, ``dataset``, ``period``,
        ``owner`` and ``note``, as `Release.present` takes them, for this page.

    Raises
    ------
    ParameterError
        If a word cannot be shown.
    OutputFileError
        If the folder does not exist, cannot be written, or is full.
    """
    from dphist.document.guarantee_words import checked_release
    from dphist.report import html

    html.write_report(checked_release(release).present(**words), path)


def report_html(release: Release) -> str:
    """Return the report as the text of an HTML page."""
    from dphist.report import html

    return html.report_html(release)
