"""Guarantees: the privacy cost and unit of a release, composed and converted exactly."""

from dphist.privacy.composition import compose, least_epsilon, with_implied_rho
from dphist.privacy.guarantees import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PureDP, find_delta
from dphist.privacy.target import MOST_RELEASES, Target
from dphist.privacy.unit import ONE_RECORD, PrivacyUnit

__all__ = [
    "MOST_RELEASES",
    "ONE_RECORD",
    "ZCDP",
    "ApproxDP",
    "ApproxZCDP",
    "Guarantee",
    "PrivacyUnit",
    "PureDP",
    "Target",
    "compose",
    "find_delta",
    "least_epsilon",
    "with_implied_rho",
]
