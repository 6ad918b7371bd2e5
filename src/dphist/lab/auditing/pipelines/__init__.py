"""What is audited beside mechanisms: tables of each engine up to the release, and a ledger."""

from dphist.lab.auditing.pipelines.engines import engines
from dphist.lab.auditing.pipelines.every import Audited, everything

__all__ = ["Audited", "engines", "everything"]
