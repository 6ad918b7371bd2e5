"""What anonymized histograms and histograms over ranges share: both protect records."""

from dphist.data.profile import ONE_EDGE
from dphist.release.release import Release
from dphist.report.counted import Counted, counted_after_cut, how_many
from dphist.report.delta_words import Number
from dphist.report.numbers_protected import number_shown
from dphist.report.words import privacy_unit


def unit_of(release: Release) -> str:
    """Name what is protected."""
    return privacy_unit(release.mechanism.sensitivity, release.provenance.get("unit"))


def counted_of(release: Release) -> Counted:
    """Return what the counts of a release count."""
    unit = release.provenance.get("unit")
    if unit is None:
        return Counted("records")
    if unit == ONE_EDGE:
        return Counted("edges")
    most = int(release.provenance.get("max_records", release.mechanism.sensitivity))
    held = how_many(most, "record")
    return counted_after_cut(unit, f"at most {held}", held)


def number_of(release: Release) -> Number:
    """Return how many units there are by the released total."""
    records = getattr(release.value, "total", 0) if release.total is None else release.total
    one_record = release.guarantee.unit.compared == ("record", 1)
    most = int(getattr(release.mechanism, "sensitivity", 1))
    return number_shown(release, max(records, 0), most, exact=one_record)
