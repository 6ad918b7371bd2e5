"""Plots, the HTML report and the terminal's summary, from Release objects only.

What draws is imported when something is drawn: matplotlib takes half of the time to start,
and writes into the user's home, which a command that draws nothing should not do.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from dphist.release.release import Release

if TYPE_CHECKING:
    from dphist.report.plots import Panels

__all__ = ["plot", "report_html", "write_report"]


def plot(release: Release) -> "Panels":
    """Plot a release.

    An anonymized one: count over rank, and labels with count r or more over r. A labelled one:
    the largest counts by label, and all of them by rank, with 95 % intervals and the threshold.
    A universal one of one axis: the bins, of which many are drawn as means of neighbouring ones,
    and the records below each edge, with 95 % bands; of two axes: a map. Running counts: those
    of the labels with the largest last counts over the events, with 95 % bands.

    Parameters
    ----------
    release : what a mechanism returned; a profile is refused, for it may be secret, and so are
        ranked labels without counts and histograms of more than two axes.

    Returns
    -------
    (2,) array of matplotlib Axes, (1,) of a map or of running counts
        `axes[0].figure.savefig("release.png")` saves the picture; as the last line of a
        notebook's cell the array shows it.

    Notes
    -----
    The bands come from `release.mechanism.band(release)`, that is from the noise the
    mechanism is known to add, and enclose the true curves all at once. The intervals of
    labelled releases hold for each label by itself, the bands of universal ones for each place.
    """
    from dphist.report.kinds import kind_of
    from dphist.report.words import checked_release

    checked = checked_release(release)
    return kind_of(checked).plot(checked)


def write_report(release: Release, path: str | Path) -> None:
    """Write a report about a release, to be read in a browser or printed.

    The file holds the mechanism's parameters and functions of released values, nothing else,
    and may be published with the release. It loads nothing and runs no script.

    Parameters
    ----------
    release : what a mechanism returned.
    path : of the HTML file; written whole or not at all.

    Raises
    ------
    OutputFileError
        If the folder does not exist, cannot be written, or is full.
    """
    from dphist.report import html

    html.write_report(release, path)


def report_html(release: Release) -> str:
    """Return the report as the text of an HTML page."""
    from dphist.report import html

    return html.report_html(release)
