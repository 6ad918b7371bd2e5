"""Checking releases against plans of one setting."""

from typing import Any

import dphist as dh


def verdicts(
    release: dh.Release, kind: str, criteria: list[str], **asked: Any
) -> dict[str, bool | None]:
    """Return which criteria hold, by their texts."""
    plan = dh.plan(kind, epsilon=1, criteria=criteria, **asked)
    return {each.criterion.text: each.holds for each in dh.check(release, plan)}
