"""Known privacy faults of earlier versions, and which releases they affect.

The changelog states each fault under "Privacy". A fault of a published version also gets a line in
`ERRATA`, so that whoever looks at an old release is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from dphist.release.mechanisms import package_of
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
    """

    versions: str
    fault: str
    remedy: str
    mechanisms: tuple[str, ...] = ()

    def affects(self, release: Release) -> bool:
        """Whether a release is affected, by its version and mechanism.

        A version that cannot be read counts as affected.
        """
        kind = type(release.mechanism)
        own = package_of(kind) is None and kind.__name__ in self.mechanisms
        if self.mechanisms and not own:
            return False
        try:
            version = Version(release.version)
        except InvalidVersion:
            return True
        return SpecifierSet(self.versions).contains(version, prereleases=True)


ERRATA: tuple[Erratum, ...] = ()
"""Faults of published versions, the latest first.

None so far: 0.1.0 is the first version. Development versions before it call themselves 0.1.0 as
well, so no entry can tell their releases from those of 0.1.0. The changelog says what was wrong
with them.
"""


def errata_of(release: Release, table: Sequence[Erratum] | None = None) -> list[Erratum]:
    """Return the known faults that affect a release.

    Parameters
    ----------
    table : the faults to look for (default: `ERRATA`).
    """
    return [each for each in (ERRATA if table is None else table) if each.affects(release)]


def errata_in_words(release: Release, table: Sequence[Erratum] | None = None) -> list[str]:
    """Return a sentence or two for each known fault of a release.

    Parameters
    ----------
    table : as for `errata_of`.
    """
    return [
        f"Known fault of the dphist version that made this release: {each.fault} {each.remedy}"
        for each in errata_of(release, table)
    ]
