"""Known privacy faults of earlier versions, and which releases they affect.

The changelog states each fault under "Privacy". A fault of a published version also gets a line in
`ERRATA`, so that whoever looks at an old release is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from dphist.release.mechanisms import find_package
from dphist.release.release import Release


@dataclass(frozen=True, slots=True)
class Erratum:
    """A privacy fault that a later version fixed.

    Attributes
    ----------
    versions : the affected versions of dphist (PEP 440), such as ">=0.1,<0.1.3".
    fault : what does not hold of an affected release, in a sentence.
    remedy : what its owner should do, in a sentence.
    mechanisms : names of the affected mechanisms of dphist; empty if releases of all mechanisms
        are affected, also those of other packages.
    until : last UTC day on which such a version made affected releases; None if all of them are
        affected. Development versions have the number of the version that they lead to, so only
        the day tells their releases from later ones.
    """

    versions: str
    fault: str
    remedy: str
    mechanisms: tuple[str, ...] = ()
    until: date | None = None

    def affects(self, release: Release) -> bool:
        """Whether a release is affected, by its version, mechanism and day.

        A version that cannot be read counts as affected, and so does a release without a day:
        early versions noted none.
        """
        kind = type(release.mechanism)
        own = find_package(kind) is None and kind.__name__ in self.mechanisms
        if self.mechanisms and not own:
            return False
        made = release.presentation.date
        if self.until is not None and made is not None and date.fromisoformat(made) > self.until:
            return False
        try:
            version = Version(release.version)
        except InvalidVersion:
            return True
        return SpecifierSet(self.versions).contains(version, prereleases=True)


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "<=0.1.0",
        "Development versions up to 22 November 2026 did not keep small deltas of "
        "PartitionSampler: errors of floating point were measured at up to 1e-7 in total variation "
        "at epsilon 0.01, and 1e-9 at epsilon 1.",
        "Make the release again, or read its delta as at least 1e-7.",
        ("PartitionSampler",),
        until=date(2026, 11, 22),
    ),
)
"""Faults of published versions, and of development versions where a release tells that it may be
affected; the latest first.

Most faults of development versions depended on the file or frame that was read, which a release
does not say. They are in the changelog alone.
"""


def find_errata(release: Release, table: Sequence[Erratum] | None = None) -> list[Erratum]:
    """Return the faults of a table (default: `ERRATA`) that affect a release."""
    return [each for each in (ERRATA if table is None else table) if each.affects(release)]


def errata_in_words(release: Release) -> list[str]:
    """Return a sentence or two for each known fault of a release."""
    return [
        f"Known fault of the dphist version that made this release: {each.fault} {each.remedy}"
        for each in find_errata(release)
    ]
