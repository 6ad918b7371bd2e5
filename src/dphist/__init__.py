"""Histograms released with differential privacy.

The public names are imported when they are first used: a command can so handle signals before the
libraries it needs are imported, and a program pays for what it uses.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dphist import noise, properties, sql
    from dphist.anonymized import (
        AdaptiveScan,
        CumulativeCounts,
        PartitionSampler,
        PrivHist,
        RankSplit,
        SortedCounts,
        anonymize,
    )
    from dphist.data.axis.axis import Axis
    from dphist.data.binned_counts import BinnedCounts, bin_counts
    from dphist.data.label_counts import LabelCounts
    from dphist.data.partial import Partial
    from dphist.data.profile import Profile
    from dphist.document.kinds import register
    from dphist.errors import (
        BoundsError,
        BudgetError,
        ColumnError,
        DataError,
        DphistError,
        HorizonError,
        InputFileError,
        LedgerError,
        OutputFileError,
        ParameterError,
        ReleaseFileError,
        SizeError,
        StateError,
        UnsupportedError,
    )
    from dphist.lab.auditing.audit import audit
    from dphist.lab.auditing.result import AuditResult
    from dphist.lab.comparing.compare import compare
    from dphist.lab.comparing.comparison import Comparison
    from dphist.lab.disclosure.disclose import disclose
    from dphist.labels import (
        DiscoverLabels,
        PayWhatYouGet,
        ThresholdHistogram,
        TopLabels,
        TopThreshold,
    )
    from dphist.ledger.ledger import Ledger
    from dphist.mechanism import Mechanism
    from dphist.planning.check import check
    from dphist.planning.for_error import for_error
    from dphist.planning.make import plan
    from dphist.planning.plan import Plan
    from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PrivacyUnit, PureDP, compose
    from dphist.privacy.calibration import calibrate
    from dphist.ranges import AdaptiveTree, HierarchicalTree, LeafCounts
    from dphist.release.anonymized_histogram import AnonymizedHistogram
    from dphist.release.mechanism_json import mechanism_from_json, mechanism_to_json
    from dphist.release.release import Release
    from dphist.release.running_counts import RunningCounts
    from dphist.report import plot, write_report
    from dphist.streams import ContinualHistogram, ContinualMechanism
    from dphist.tables.engine.resources import Resources

    __version__: str

__all__ = [
    "ZCDP",
    "AdaptiveScan",
    "AdaptiveTree",
    "AnonymizedHistogram",
    "ApproxDP",
    "ApproxZCDP",
    "AuditResult",
    "Axis",
    "BinnedCounts",
    "BoundsError",
    "BudgetError",
    "ColumnError",
    "Comparison",
    "ContinualHistogram",
    "ContinualMechanism",
    "CumulativeCounts",
    "DataError",
    "DiscoverLabels",
    "DphistError",
    "HierarchicalTree",
    "HorizonError",
    "InputFileError",
    "LabelCounts",
    "LeafCounts",
    "Ledger",
    "LedgerError",
    "Mechanism",
    "OutputFileError",
    "ParameterError",
    "Partial",
    "PartitionSampler",
    "PayWhatYouGet",
    "Plan",
    "PrivHist",
    "PrivacyUnit",
    "Profile",
    "PureDP",
    "RankSplit",
    "Release",
    "ReleaseFileError",
    "Resources",
    "RunningCounts",
    "SizeError",
    "SortedCounts",
    "StateError",
    "ThresholdHistogram",
    "TopLabels",
    "TopThreshold",
    "UnsupportedError",
    "__version__",
    "anonymize",
    "audit",
    "bin_counts",
    "calibrate",
    "check",
    "compare",
    "compose",
    "disclose",
    "for_error",
    "mechanism_from_json",
    "mechanism_to_json",
    "noise",
    "plan",
    "plot",
    "properties",
    "register",
    "sql",
    "write_report",
]

# Where each name is defined; the imports above say the same to type checkers, and a test compares
# the two. No name is that of another submodule, which an import of that module would put here.
_HOMES = {
    "anonymized": (
        "AdaptiveScan",
        "CumulativeCounts",
        "PartitionSampler",
        "PrivHist",
        "RankSplit",
        "SortedCounts",
        "anonymize",
    ),
    "lab.auditing.audit": ("audit",),
    "lab.auditing.result": ("AuditResult",),
    "lab.comparing.compare": ("compare",),
    "lab.comparing.comparison": ("Comparison",),
    "data.axis.axis": ("Axis",),
    "data.binned_counts": ("BinnedCounts", "bin_counts"),
    "privacy.calibration": ("calibrate",),
    "streams": ("ContinualHistogram", "ContinualMechanism"),
    "errors": (
        "BoundsError",
        "BudgetError",
        "ColumnError",
        "DataError",
        "DphistError",
        "HorizonError",
        "InputFileError",
        "LedgerError",
        "OutputFileError",
        "ParameterError",
        "ReleaseFileError",
        "SizeError",
        "StateError",
        "UnsupportedError",
    ),
    "data.label_counts": ("LabelCounts",),
    "privacy": ("ZCDP", "ApproxDP", "ApproxZCDP", "PrivacyUnit", "PureDP", "compose"),
    "data.partial": ("Partial",),
    "data.profile": ("Profile",),
    "ledger.ledger": ("Ledger",),
    "mechanism": ("Mechanism",),
    "planning.check": ("check",),
    "planning.for_error": ("for_error",),
    "planning.make": ("plan",),
    "planning.plan": ("Plan",),
    "release.anonymized_histogram": ("AnonymizedHistogram",),
    "release.mechanism_json": ("mechanism_from_json", "mechanism_to_json"),
    "release.release": ("Release",),
    "report": ("plot", "write_report"),
    "document.kinds": ("register",),
    "lab.disclosure.disclose": ("disclose",),
    "release.running_counts": ("RunningCounts",),
    "tables.engine.resources": ("Resources",),
    "ranges": ("AdaptiveTree", "HierarchicalTree", "LeafCounts"),
    "labels": (
        "DiscoverLabels",
        "PayWhatYouGet",
        "ThresholdHistogram",
        "TopLabels",
        "TopThreshold",
    ),
}
_SUBMODULES = ("noise", "properties", "sql")

if not TYPE_CHECKING:  # to a type checker any name would exist

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used (PEP 562)."""
        if name in _SUBMODULES:
            return importlib.import_module(f"dphist.{name}")
        if name == "__version__":
            found = importlib.import_module("dphist.release.release").VERSION
        else:
            home = next((home for home, names in _HOMES.items() if name in names), None)
            if home is None:
                raise AttributeError(f"module 'dphist' has no attribute {name!r}")
            found = getattr(importlib.import_module(f"dphist.{home}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Return the public names; submodules that happen to be imported are none."""
    return sorted(__all__)
