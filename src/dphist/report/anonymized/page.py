"""What the page says about an anonymized histogram."""

from dataclasses import dataclass

from dphist.release.release import Release
from dphist.report import mechanism_facts, words
from dphist.report.anonymized.plots import bands_of, charts_of
from dphist.report.anonymized.rows import Ends, ends_of
from dphist.report.page import Page
from dphist.report.properties.section import Section, population
from dphist.report.records import unit_of
from dphist.report.svg import figure

_BY_RANK = "Labels are ranked by their count, the most common first; the curve falls to the rarest."
_BY_COUNT = "For every count r, how many labels have r records or more."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnonymizedPage(Page):
    """What the page says about an anonymized histogram.

    Attributes
    ----------
    labels, records : in the released histogram.
    total : private estimate of the number of records, if there is one.
    error, error_share : expected error in records, and as a share of all; None if not predicted.
    band, bars : what the bands of the figures mean.
    ends : rows of the table.
    population : estimated properties.
    """

    labels: int
    records: int
    total: int | None
    error: str | None
    error_share: str | None
    band: str
    bars: str
    ends: Ends
    population: Section


def content(release: Release) -> AnonymizedPage:
    """Return what the page says."""
    mechanism, value = release.mechanism, release.value
    bands = bands_of(release)
    by_rank, by_count = charts_of(release, bands)
    error = mechanism_facts.expected_error(release)
    reference = value.total if release.total is None else release.total
    return AnonymizedPage(
        labels=value.labels,
        records=value.total,
        total=release.total,
        error=None if error is None else words.error_in_short(error),
        error_share=words.share_in_words(error, reference) if error and reference else None,
        figures=[
            figure(by_rank, "rank", f"{_BY_RANK} {by_rank.note}".strip()),
            figure(by_count, "count", f"{_BY_COUNT} {by_count.note}".strip()),
        ],
        band=words.band_in_words(bands.band),
        bars=words.bars_in_words(bands.bars),
        ends=ends_of(value),
        population=population(release),
        parameters=mechanism_facts.parameters(mechanism),
        noise=mechanism_facts.noise(mechanism),
        paper=mechanism_facts.paper(mechanism),
        limits=words.limits_in_words(
            unit_of(release), mechanism_facts.public_parameters(mechanism)
        ),
    )
