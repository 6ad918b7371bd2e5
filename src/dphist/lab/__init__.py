"""The lab: auditing, comparing, disclosing, testing rules, and bridges to other libraries.

It looks at releases, or at data that may be looked at. The core never imports it: `dphist` looks
its public names up when they are used, and its commands are an entry point.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dphist.lab.rules.result import RuleResult as RuleResult
    from dphist.lab.rules.rule import rule as rule

__all__ = ["RuleResult", "rule"]

_HOMES = {"RuleResult": "dphist.lab.rules.result", "rule": "dphist.lab.rules.rule"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, as `dphist` does."""
        if name not in _HOMES:
            raise AttributeError(f"module 'dphist.lab' has no attribute {name!r}")
        found = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = found
        return found
