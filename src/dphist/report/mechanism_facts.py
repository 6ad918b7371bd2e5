"""A mechanism described for readers: its parameters with their meaning, its noise, its paper."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.errors import ParameterError
from dphist.labels.mechanism import LabelsMechanism
from dphist.noise.magnitude import geometric_standard_deviation
from dphist.parameters import decimal_text
from dphist.privacy.as_text import down, plain, short_exact
from dphist.ranges import RangesMechanism
from dphist.release.release import Release, parameters_of, target_of
from dphist.report.labels_shown import harmless

_MEANINGS = {
    "epsilon": "Privacy parameter of the whole release; smaller is more private.",
    "sensitivity": "Records that one protected unit can change in the histogram, at most.",
    "total": "Public bound on the number of records, known without looking at the data.",
    "labels": "Public number of labels, those that never occur included.",
    "inference": "How the noisy counts become a non-increasing sequence.",
    "largest": "Public maximum count; larger ones are treated as this.",
    "shares": "Weights of private total, split and smoothed blocks in epsilon.",
    "delta": "Probability with which the guarantee may fail.",
}
# Meanings where labels are released; epsilon and delta are other ones there.
_LABELLED = {
    "epsilon": "Privacy parameter of a single label; what the release costs in all stands above.",
    "delta": "Probability with which a label may betray a user, in all labels together.",
    "max_labels": "Labels that one user changes at most.",
    "max_count": "What one user adds to the count of a label at most.",
    "noise": "The law of the noise.",
    "labels": "Public list of labels; all are released, others are ignored.",
    "count_cut_users": "Whether users within the bounds, and users who had more, are counted too.",
    "k": "Labels that are listed at most.",
    "candidates": "How many of the largest counts are looked at.",
}
# Meanings of parameters left at None, which stands for "not given".
_NOT_GIVEN = {
    "total": "No public bound on the number of records; a private estimate took its place.",
    "shares": "Weights of private total, split and smoothed blocks in epsilon: the default ones.",
}
_LABELLED_NOT_GIVEN = {
    "delta": "There is none: all labels are listed.",
    "max_labels": "One user may change any number of labels.",
    "labels": "No list of labels: they come from the data.",
}
_RANGES = {
    "epsilon": "Privacy parameter of the whole release; smaller is more private.",
    "rho": "Privacy parameter of the whole release; smaller is more private.",
    "bins": "Bins of each axis; public.",
    "branching": "Children of a node of the tree, along each axis.",
    "root": "Whether all records together are a noisy count of their own.",
    "consistent": "Whether the counts of all nodes are fitted so that they add up.",
    "nonnegative": "Whether estimates are made non-negative.",
    "workload": "What is asked most: any ranges, or those from the first bin on.",
    "sensitivity": "Records that one protected unit can add or remove, at most.",
}
_RANGES_NOT_GIVEN = {
    "epsilon": "The guarantee was asked for in rho.",
    "rho": "The guarantee was asked for in epsilon.",
}
# Meanings of parameters, given and not, by the kind of mechanism.
_KINDS: tuple[tuple[type[Any], dict[str, str], dict[str, str]], ...] = (
    (LabelsMechanism, _LABELLED, _LABELLED_NOT_GIVEN),
    (RangesMechanism, _RANGES, _RANGES_NOT_GIVEN),
    (object, _MEANINGS, _NOT_GIVEN),
)
_MOST_LISTED = 8
# Parameters that were public knowledge, or so their giver says.
_PUBLIC = ("total", "labels", "largest")

_ROGERS = (
    "R. Rogers. A Unifying Privacy Analysis Framework for Unknown Domain Algorithms in "
    "Differential Privacy. 2023. arXiv:2309.09170."
)
_HAY = (
    "M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the Accuracy of Differentially "
    "Private Histograms Through Consistency. Proceedings of the VLDB Endowment 3(1), "
    "2010. arXiv:0904.0942."
)
_PAPERS = {
    "AdaptiveScan": "This library's own; see docs/adaptive-scan.md in its repository.",
    "AdaptiveTree": "This library's own; see docs/ranges.md in its repository.",
    "CumulativeCounts": (
        "Y.-H. Kuo, C.-C. Chiu, D. Kifer, M. Hay, A. Machanavajjhala. Differentially Private "
        "Hierarchical Count-of-Counts Histograms. Proceedings of the VLDB Endowment 11(11), 2018. "
        "arXiv:1804.00370."
    ),
    "HierarchicalTree": _HAY,
    "LeafCounts": (
        "C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating Noise to Sensitivity in Private "
        "Data Analysis. Theory of Cryptography Conference (TCC), 2006."
    ),
    "PartitionSampler": (
        "J. Blocki, A. Datta, J. Bonneau. Differentially Private Password Frequency Lists. "
        "Network and Distributed System Security Symposium (NDSS), 2016. IACR ePrint 2016/153."
    ),
    "PrivHist": (
        "A. T. Suresh. Differentially Private Anonymized Histograms. Advances in Neural "
        "Information Processing Systems 32, 2019. arXiv:1910.03553."
    ),
    "RankSplit": (
        "P. Manurangsi. Tight Bounds for Differentially Private Anonymized Histograms. "
        "SIAM Symposium on Simplicity in Algorithms (SOSA), 2022. arXiv:2111.03257."
    ),
    "SortedCounts": _HAY,
    "ThresholdHistogram": _ROGERS,
    "TopLabels": _ROGERS,
    "TopThreshold": _ROGERS,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a mechanism, as text."""

    name: str
    value: str
    meaning: str


def parameters(mechanism: Any) -> list[Parameter]:
    """Return all parameters of a mechanism with their meanings, in their own order."""
    _, meanings, not_given = next(kind for kind in _KINDS if isinstance(mechanism, kind[0]))
    found = []
    for name, value in parameters_of(mechanism).items():
        meaning = meanings.get(name, "")
        if value is None:
            meaning = not_given.get(name, meaning)
        shown = "not given" if value is None else _readable(value)
        if meanings is not _MEANINGS and isinstance(value, Fraction):
            shown = short_exact(value)
        found.append(Parameter(name, shown, meaning))
    return found + targets(mechanism)


def targets(mechanism: Any) -> list[Parameter]:
    """Return what a mechanism was calibrated to cost, as one more parameter; nothing otherwise."""
    target = target_of(mechanism)
    if target is None:
        return []
    meaning = "What the mechanism was asked to cost at most; the parameters follow from it."
    return [Parameter("target", str(target), meaning)]


def noise(mechanism: Any) -> Parameter | None:
    """Describe the noise on each released number, for mechanisms that state it."""
    rate = getattr(mechanism, "cell_epsilon", None)
    if not isinstance(rate, Fraction):
        return None
    deviation = plain(down(geometric_standard_deviation(rate), 3))
    return Parameter(
        "noise",
        f"Pr[Z = z] ∝ exp(−{short_exact(rate)} · |z|)",
        f"Two-sided geometric noise on each number that was measured, drawn exactly; "
        f"standard deviation {deviation} records.",
    )


def public_parameters(mechanism: Any) -> tuple[str, ...]:
    """Name the parameters that the giver says are public knowledge."""
    given = parameters_of(mechanism)
    return tuple(name for name in _PUBLIC if given.get(name) is not None)


def call(mechanism: Any) -> str:
    """Write the mechanism as Python that makes it again.

    >>> from dphist.anonymized import RankSplit
    >>> call(RankSplit(epsilon="1/3"))
    "RankSplit(epsilon='1/3', total=None, sensitivity=1)"
    """
    arguments = [f"{name}={_python(value)}" for name, value in parameters_of(mechanism).items()]
    return f"{type(mechanism).__name__}({', '.join(arguments)})"


def _python(value: Any) -> str:
    if isinstance(value, tuple):
        shown = [*map(_python, value[:_MOST_LISTED]), *(["..."] if _too_many(value) else [])]
        return f"({', '.join(shown)}{',' if len(shown) == 1 else ''})"
    text = _readable(value)
    if isinstance(value, str) or (isinstance(value, Fraction) and "/" in text):
        return repr(text)
    return repr(value) if isinstance(value, int) else text


def paper(mechanism: Any) -> str | None:
    """Return the paper a mechanism comes from."""
    return _PAPERS.get(type(mechanism).__name__)


def expected_error(release: Release) -> float | None:
    """Predict the error from parameters and the private or released total, never from data.

    None if the total is too large for the mechanism to be tried on a public profile of that size.
    """
    try:
        total = release.value.total if release.total is None else release.total
        return float(release.mechanism.expected_error(total))
    except ParameterError:
        return None


def _too_many(value: tuple[Any, ...]) -> bool:
    return len(value) > _MOST_LISTED


def _readable(value: Any) -> str:
    if isinstance(value, tuple):
        shown = ", ".join(_readable(part) for part in value[:_MOST_LISTED])
        return f"{shown}, ... ({len(value):,} in all)" if _too_many(value) else shown
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return harmless(str(value), 60)
