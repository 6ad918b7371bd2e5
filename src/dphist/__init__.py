"""Histograms released with differential privacy."""

from dphist import noise
from dphist.anonymized import (
    AdaptiveScan,
    CumulativeCounts,
    PartitionSampler,
    PrivHist,
    RankSplit,
    SortedCounts,
    anonymize,
)
from dphist.errors import (
    BoundsError,
    ColumnError,
    DataError,
    DphistError,
    InputFileError,
    OutputFileError,
    ParameterError,
    ReleaseFileError,
)
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PureDP, compose
from dphist.profile import Profile
from dphist.release import VERSION, Release
from dphist.report import plot, write_report

__version__ = VERSION

__all__ = [
    "ZCDP",
    "AdaptiveScan",
    "ApproxDP",
    "ApproxZCDP",
    "BoundsError",
    "ColumnError",
    "CumulativeCounts",
    "DataError",
    "DphistError",
    "InputFileError",
    "OutputFileError",
    "ParameterError",
    "PartitionSampler",
    "PrivHist",
    "Profile",
    "PureDP",
    "RankSplit",
    "Release",
    "ReleaseFileError",
    "SortedCounts",
    "__version__",
    "anonymize",
    "compose",
    "noise",
    "plot",
    "write_report",
]
