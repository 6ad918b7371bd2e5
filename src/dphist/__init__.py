"""Histograms released with differential privacy."""

from dphist import noise, properties
from dphist.anonymized import (
    AdaptiveScan,
    CumulativeCounts,
    PartitionSampler,
    PrivHist,
    RankSplit,
    SortedCounts,
    anonymize,
)
from dphist.axis import Axis
from dphist.binned import BinnedCounts, bin_counts
from dphist.calibrate import calibrate
from dphist.continual import ContinualHistogram, ContinualMechanism
from dphist.errors import (
    BoundsError,
    ColumnError,
    DataError,
    DphistError,
    HorizonError,
    InputFileError,
    OutputFileError,
    ParameterError,
    ReleaseFileError,
    StateError,
)
from dphist.labels import LabelCounts
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PrivacyUnit, PureDP, compose
from dphist.profile import Profile
from dphist.release import VERSION, Release
from dphist.report import plot, write_report
from dphist.running_counts import RunningCounts
from dphist.universal import AdaptiveTree, HierarchicalTree, LeafCounts
from dphist.unknown import PayWhatYouGet, ThresholdHistogram, TopLabels, TopThreshold

__version__ = VERSION

__all__ = [
    "ZCDP",
    "AdaptiveScan",
    "AdaptiveTree",
    "ApproxDP",
    "ApproxZCDP",
    "Axis",
    "BinnedCounts",
    "BoundsError",
    "ColumnError",
    "ContinualHistogram",
    "ContinualMechanism",
    "CumulativeCounts",
    "DataError",
    "DphistError",
    "HierarchicalTree",
    "HorizonError",
    "InputFileError",
    "LabelCounts",
    "LeafCounts",
    "OutputFileError",
    "ParameterError",
    "PartitionSampler",
    "PayWhatYouGet",
    "PrivHist",
    "PrivacyUnit",
    "Profile",
    "PureDP",
    "RankSplit",
    "Release",
    "ReleaseFileError",
    "RunningCounts",
    "SortedCounts",
    "StateError",
    "ThresholdHistogram",
    "TopLabels",
    "TopThreshold",
    "__version__",
    "anonymize",
    "bin_counts",
    "calibrate",
    "compose",
    "noise",
    "plot",
    "properties",
    "write_report",
]
