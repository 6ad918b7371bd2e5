"""What the page says about label counts and rankings."""

from dataclasses import dataclass

from dphist.document import mechanism_facts
from dphist.labels import DiscoverLabels
from dphist.release.release import Release
from dphist.report.labels import words
from dphist.report.labels.appearance import appearances, half_width
from dphist.report.labels.bars import Bar, bars_of
from dphist.report.labels.counted import bounding_cost, counted_of, cut_users_of, share_in_short
from dphist.report.labels.discovered import LABELS_IN_ORDER
from dphist.report.labels.order import order_in_words
from dphist.report.labels.plots import charts_of, order_chart
from dphist.report.labels.rows import Row, rows_of
from dphist.report.page import Figure, Page
from dphist.report.svg import figure

_BARS = 20  # rows with a bar
_MOST_ROWS = 100  # rows in sight; the others are folded
_FOLDED = 20_000  # rows of the page, at most
_ONE_TABLE = 24  # rows; more stand in two columns


@dataclass(frozen=True, slots=True)
class Table:
    """Some of the rows."""

    caption: str
    rows: list[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsPage(Page):
    """What the page says about label counts and rankings.

    Attributes
    ----------
    has_counts : whether counts are released; a ranking has none.
    ranked : whether labels come in the order of their counts.
    labels, labels_note : how many are released, and what is to be said of that.
    bars, bars_caption : the first rows with a bar each, if counts are released.
    tables : further rows, up to the first hundred.
    further, further_caption : rows that are folded, and the name of what is folded.
    threshold, threshold_note : the smallest noisy count that is shown, or how far above another
        one; None if there is none.
    half_width : of a count's interval.
    cut_share : share of users who had more than the bounds, if the release tells.
    bounding, bounding_cost : how contributions were bounded, and what that cost.
    per_label : privacy parameters of a single label.
    notes : what intervals, threshold and order mean, in paragraphs.
    """

    has_counts: bool
    ranked: bool
    labels: int
    labels_note: str
    bars: list[Bar]
    bars_caption: str
    tables: list[Table]
    further: list[Row]
    further_caption: str
    threshold: str | None
    threshold_note: str
    half_width: int | None
    cut_share: str | None
    bounding: str
    bounding_cost: str
    per_label: str
    notes: list[str]


def content(release: Release) -> LabelsPage:
    """Return what the page says."""
    mechanism, provenance, value = words.mechanism_of(release), release.provenance, release.value
    threshold, cut = mechanism.threshold, cut_users_of(release)
    has_counts = value.counts is not None
    released = sum(label is not None for label in value.labels)
    rows = rows_of(release, _FOLDED)
    bars, seen = bars_of(rows[:_BARS]) if has_counts else ([], False)
    return LabelsPage(
        has_counts=has_counts,
        ranked=not isinstance(mechanism, DiscoverLabels),
        labels=released,
        labels_note="released" + (", fewer than wanted were found" * (released < len(value))),
        bars=bars,
        bars_caption=_bars_caption(released, seen),
        tables=_tables(rows[len(bars) : _MOST_ROWS], released),
        further=rows[_MOST_ROWS:],
        further_caption=f"Labels {_MOST_ROWS + 1:,} to {len(rows):,}",
        threshold=None if threshold is None else words.least_shown(mechanism),
        threshold_note=words.least_shown_note(mechanism),
        half_width=half_width(mechanism) if has_counts else None,
        cut_share=None if cut is None else share_in_short(cut),
        bounding=" ".join(words.bounding_in_words(mechanism, provenance)),
        bounding_cost=bounding_cost(release),
        per_label=words.per_label(mechanism),
        notes=_notes(release),
        figures=_figures(release),
        parameters=mechanism_facts.parameters(mechanism),
        paper=mechanism_facts.paper(mechanism),
        limits=words.limits_of(mechanism, provenance),
    )


def _bars_caption(released: int, seen: bool) -> str:
    which = "All released labels" if released <= _BARS else f"The {_BARS} largest counts"
    return which if seen else f"{which} (the intervals are too narrow to be seen on the bars)"


def _tables(rows: list[Row], released: int) -> list[Table]:
    """Divide rows into one or two tables, which stand side by side where there is room."""
    if not rows:
        return []
    half = len(rows) if len(rows) <= _ONE_TABLE else -(-len(rows) // 2)
    parts = [rows[i : i + half] for i in range(0, len(rows), half)]
    if len(parts) == 1 and rows[0].rank == 1:
        return [Table("All released labels", rows)]
    return [Table(f"Labels {part[0].rank:,} to {part[-1].rank:,}", part) for part in parts]


def _notes(release: Release) -> list[str]:
    """Return what intervals, threshold and order mean."""
    mechanism, value = words.mechanism_of(release), release.value
    likely = [words.appearance_in_words(mechanism, each) for each in appearances(mechanism)]
    discovered = isinstance(mechanism, DiscoverLabels)
    order = LABELS_IN_ORDER if discovered else order_in_words(mechanism)
    notes = [" ".join([words.threshold_in_words(mechanism), *likely]), order]
    if value.counts is not None:
        counted = f"Counts are of {counted_of(release).whole}."
        notes = [f"{words.intervals_in_words(mechanism)} {counted}", *notes]
    codes = 'The empty text is shown as "", and a character that cannot be printed by its code.'
    beyond = len(value) - _FOLDED
    if beyond > 0:
        codes += f" The table as CSV and the release file have {beyond:,} more rows."
    return [*notes, codes]


def _figures(release: Release) -> list[Figure]:
    """Return the counts by rank, if the bars leave some out; or how sure an order is."""
    mechanism, value = words.mechanism_of(release), release.value
    if isinstance(mechanism, DiscoverLabels):
        return []
    if value.counts is None:
        return [figure(order_chart(release), "order", order_in_words(mechanism))]
    if len(value) <= _BARS:
        return []
    everything = charts_of(release)[1]
    drawn = ""
    if mechanism.threshold is not None and words.threshold_base(mechanism) == "zero":
        drawn = f" The dashed line is the smallest count shown, {words.least_shown(mechanism)}."
    of = counted_of(release).whole
    return [figure(everything, "all", f"The released counts, the largest first: {of}.{drawn}")]
