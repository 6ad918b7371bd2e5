"""Histograms released with differential privacy.

The public names are imported when they are first used: a command can so handle signals before the
libraries it needs are imported, and a program pays for what it uses.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dphist import lab as lab
    from dphist import noise as noise
    from dphist import properties as properties
    from dphist import sql as sql
    from dphist.anonymized import AdaptiveScan as AdaptiveScan
    from dphist.anonymized import CumulativeCounts as CumulativeCounts
    from dphist.anonymized import PartitionSampler as PartitionSampler
    from dphist.anonymized import PrivHist as PrivHist
    from dphist.anonymized import RankSplit as RankSplit
    from dphist.anonymized import SortedCounts as SortedCounts
    from dphist.anonymized import anonymize as anonymize
    from dphist.counting.engine.resources import Resources as Resources
    from dphist.counting.reading.given_files import Files as Files
    from dphist.counting.reading.queries import query as query
    from dphist.data.axis.axis import Axis as Axis
    from dphist.data.binned_counts import BinnedCounts as BinnedCounts
    from dphist.data.binned_counts import bin_counts as bin_counts
    from dphist.data.clamp import Clamp as Clamp
    from dphist.data.label_counts import LabelCounts as LabelCounts
    from dphist.data.partial import Partial as Partial
    from dphist.data.profile import Profile as Profile
    from dphist.data.region_tree import RegionTree as RegionTree
    from dphist.data.regional_profile import RegionalProfile as RegionalProfile
    from dphist.data.user_records import count_user_records as count_user_records
    from dphist.data.weight import Weight as Weight
    from dphist.dataset import Dataset as Dataset
    from dphist.document.kind import register as register
    from dphist.errors import BoundsError as BoundsError
    from dphist.errors import BudgetError as BudgetError
    from dphist.errors import ColumnError as ColumnError
    from dphist.errors import DataError as DataError
    from dphist.errors import DphistError as DphistError
    from dphist.errors import HorizonError as HorizonError
    from dphist.errors import InputFileError as InputFileError
    from dphist.errors import LedgerError as LedgerError
    from dphist.errors import OutputFileError as OutputFileError
    from dphist.errors import ParameterError as ParameterError
    from dphist.errors import ReleaseFileError as ReleaseFileError
    from dphist.errors import SizeError as SizeError
    from dphist.errors import StateError as StateError
    from dphist.errors import UnsupportedError as UnsupportedError
    from dphist.groups import GroupedCounts as GroupedCounts
    from dphist.groups import GroupedHistogram as GroupedHistogram
    from dphist.lab.auditing.audit import audit as audit
    from dphist.lab.auditing.result import AuditResult as AuditResult
    from dphist.lab.comparing.compare import compare as compare
    from dphist.lab.comparing.comparison import Comparison as Comparison
    from dphist.lab.disclosure.disclose import disclose as disclose
    from dphist.labels import AutoThreshold as AutoThreshold
    from dphist.labels import DiscoverLabels as DiscoverLabels
    from dphist.labels import PayWhatYouGet as PayWhatYouGet
    from dphist.labels import ThresholdHistogram as ThresholdHistogram
    from dphist.labels import TopLabels as TopLabels
    from dphist.labels import TopThreshold as TopThreshold
    from dphist.ledger.ledger import Ledger as Ledger
    from dphist.mechanism import Mechanism as Mechanism
    from dphist.planning.for_error import for_error as for_error
    from dphist.planning.make import check as check
    from dphist.planning.make import plan as plan
    from dphist.planning.max_records import choose_max_records as choose_max_records
    from dphist.planning.plan import Plan as Plan
    from dphist.privacy import ZCDP as ZCDP
    from dphist.privacy import ApproxDP as ApproxDP
    from dphist.privacy import ApproxZCDP as ApproxZCDP
    from dphist.privacy import PrivacyUnit as PrivacyUnit
    from dphist.privacy import PureDP as PureDP
    from dphist.privacy import compose as compose
    from dphist.privacy.calibration import calibrate as calibrate
    from dphist.privacy.fixed_plan import FixedPlan as FixedPlan
    from dphist.ranges import AdaptiveTree as AdaptiveTree
    from dphist.ranges import HierarchicalTree as HierarchicalTree
    from dphist.ranges import LeafCounts as LeafCounts
    from dphist.ranges.audiences import add_noise as add_noise
    from dphist.regions import RegionalHistograms as RegionalHistograms
    from dphist.regions import RegionalProfiles as RegionalProfiles
    from dphist.release.anonymized_histogram import AnonymizedHistogram as AnonymizedHistogram
    from dphist.release.mechanism_json import mechanism_from_json as mechanism_from_json
    from dphist.release.mechanism_json import mechanism_to_json as mechanism_to_json
    from dphist.release.release import Release as Release
    from dphist.release.running_counts import RunningCounts as RunningCounts
    from dphist.release.user_records import share_cut as share_cut
    from dphist.report import plot as plot
    from dphist.report import write_report as write_report
    from dphist.report.difference import Difference as Difference
    from dphist.report.difference import difference as difference
    from dphist.streams import ContinualHistogram as ContinualHistogram
    from dphist.streams import ContinualMechanism as ContinualMechanism
    from dphist.tables import DiscoverKeys as DiscoverKeys
    from dphist.tables import KeyedCounts as KeyedCounts
    from dphist.tables import Tables as Tables

    __version__: str

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
    "privacy.fixed_plan": ("FixedPlan",),
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
    "data.clamp": ("Clamp",),
    "data.weight": ("Weight",),
    "dataset": ("Dataset",),
    "data.label_counts": ("LabelCounts",),
    "privacy": ("ZCDP", "ApproxDP", "ApproxZCDP", "PrivacyUnit", "PureDP", "compose"),
    "data.partial": ("Partial",),
    "data.profile": ("Profile",),
    "data.region_tree": ("RegionTree",),
    "data.regional_profile": ("RegionalProfile",),
    "data.user_records": ("count_user_records",),
    "ledger.ledger": ("Ledger",),
    "mechanism": ("Mechanism",),
    "planning.for_error": ("for_error",),
    "planning.make": ("check", "plan"),
    "planning.max_records": ("choose_max_records",),
    "planning.plan": ("Plan",),
    "release.anonymized_histogram": ("AnonymizedHistogram",),
    "release.mechanism_json": ("mechanism_from_json", "mechanism_to_json"),
    "release.release": ("Release",),
    "report": ("plot", "write_report"),
    "report.difference": ("Difference", "difference"),
    "document.kind": ("register",),
    "lab.disclosure.disclose": ("disclose",),
    "release.running_counts": ("RunningCounts",),
    "release.user_records": ("share_cut",),
    "counting.engine.resources": ("Resources",),
    "counting.reading.given_files": ("Files",),
    "counting.reading.queries": ("query",),
    "groups": ("GroupedCounts", "GroupedHistogram"),
    "ranges": ("AdaptiveTree", "HierarchicalTree", "LeafCounts"),
    "ranges.audiences": ("add_noise",),
    "regions": ("RegionalHistograms", "RegionalProfiles"),
    "tables": ("DiscoverKeys", "KeyedCounts", "Tables"),
    "labels": (
        "AutoThreshold",
        "DiscoverLabels",
        "PayWhatYouGet",
        "ThresholdHistogram",
        "TopLabels",
        "TopThreshold",
    ),
}
_SUBMODULES = ("lab", "noise", "properties", "sql")

__all__ = ["__version__", *_SUBMODULES, *(name for names in _HOMES.values() for name in names)]

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
