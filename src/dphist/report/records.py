"""What anonymized histograms and histograms over ranges share: both protect records."""

from dphist.privacy.unit import ONE_EDGE, ONE_RECORD
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release
from dphist.report.counted import Counted, counted_after_cut, how_many
from dphist.report.delta_words import Number
from dphist.report.numbers_protected import number_shown
from dphist.report.words import Contribution


def unit_of(release: Release) -> Contribution:
    """Return what is protected."""
    return Contribution(sensitivity_of(release), release.provenance.get("unit"))


def sensitivity_of(release: Release) -> int:
    """Return how many records one unit changes at most."""
    return release.mechanism.guarantee.unit.at_most


def counted_of(release: Release) -> Counted:
    """Return what the counts of a release count."""
    unit = release.provenance.get("unit")
    if unit is None:
        return Counted("records")
    if unit.asserted:
        return Counted("records as the caller counted them")
    if unit == ONE_EDGE:
        return Counted("edges")
    most = int(release.provenance.get("max_records", sensitivity_of(release)))
    held = how_many(most, "record")
    return counted_after_cut(unit, f"at most {held}", held)


def number_of(release: Release) -> Number:
    """Return how many units there are by the released total."""
    records = release.total
    if records is None:
        records = release.value.total if isinstance(release.value, AnonymizedHistogram) else 0
    one_record = release.guarantee.unit == ONE_RECORD
    return number_shown(release, max(records, 0), sensitivity_of(release), exact=one_record)
