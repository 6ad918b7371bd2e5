"""What the page says about label counts and rankings."""

from dataclasses import dataclass

from dphist.labels import DiscoverLabels
from dphist.release.release import Release
from dphist.report import mechanism_facts
from dphist.report.labels import words
from dphist.report.labels.appearance import appearances, half_width
from dphist.report.labels.counted import bounding_cost, counted_of, cut_users_of, share_in_short
from dphist.report.labels.plots import charts_of
from dphist.report.labels.rows import Row, rows_of
from dphist.report.page import Figure, Page
from dphist.report.svg import figure

_MOST_ROWS = 200
_HEIGHT = 430  # of a figure, so that twenty labels are legible


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsPage(Page):
    """What the page says about label counts and rankings.

    Attributes
    ----------
    has_counts : whether counts are released; a ranking has none.
    ranked : whether labels come in the order of their counts.
    labels : how many are released.
    too_few : whether fewer labels than wanted were found.
    rows, left_out : the first rows, and how many more there are.
    threshold, threshold_base : and from what it is measured; None if there is none.
    threshold_words : where the threshold lies, and which counts are released with what chance.
    half_width, intervals : of a count's interval, and what intervals mean.
    cut_share : share of users who had more than the bounds, if the release tells.
    bounding, bounding_cost : how contributions were bounded, and what that cost.
    per_label : privacy parameters of a single label.
    """

    has_counts: bool
    ranked: bool
    labels: int
    too_few: bool
    rows: list[Row]
    left_out: int
    threshold: str | None
    threshold_base: str | None
    threshold_words: str
    half_width: int | None
    intervals: str
    cut_share: str | None
    bounding: str
    bounding_cost: str
    per_label: str


def content(release: Release) -> LabelsPage:
    """Return what the page says."""
    mechanism, provenance, value = words.mechanism_of(release), release.provenance, release.value
    threshold = mechanism.threshold
    has_counts = value.counts is not None
    released = sum(label is not None for label in value.labels)
    base, cut = words.threshold_base(mechanism), cut_users_of(release)
    likely = [words.appearance_in_words(mechanism, each) for each in appearances(mechanism)]
    return LabelsPage(
        has_counts=has_counts,
        ranked=not isinstance(mechanism, DiscoverLabels),
        labels=released,
        too_few=released < len(value),
        rows=rows_of(release, _MOST_ROWS),
        left_out=max(len(value) - _MOST_ROWS, 0),
        threshold=None if threshold is None else words.number(threshold),
        threshold_base=base,
        threshold_words=" ".join([words.threshold_in_words(mechanism), *likely]),
        half_width=half_width(mechanism) if has_counts else None,
        intervals=words.intervals_in_words(mechanism) if has_counts else "",
        cut_share=None if cut is None else share_in_short(cut),
        bounding=" ".join(words.bounding_in_words(mechanism, provenance)),
        bounding_cost=bounding_cost(release),
        per_label=words.per_label(mechanism),
        figures=_figures(release) if has_counts else [],
        parameters=mechanism_facts.parameters(mechanism),
        paper=mechanism_facts.paper(mechanism),
        limits=words.limits_of(mechanism, provenance),
    )


def _figures(release: Release) -> list[Figure]:
    largest, everything = charts_of(release)
    mechanism, of, drawn = words.mechanism_of(release), counted_of(release).whole, ""
    threshold = mechanism.threshold
    if threshold is not None and words.threshold_base(mechanism) == "zero":
        drawn = f" The dashed line is the threshold, {words.number(threshold)}."
    by_name = f"The labels with the largest released counts, by name: {of}.{drawn}"
    by_rank = f"The released counts, the largest first: {of}.{drawn}"
    return [
        figure(largest, "largest", by_name, _HEIGHT),
        figure(everything, "all", by_rank, _HEIGHT),
    ]
