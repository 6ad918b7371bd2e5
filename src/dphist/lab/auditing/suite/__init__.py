"""A suite of broken mechanisms and of their correct twins, by which audits can be compared."""

from dphist.lab.auditing.suite import counts, tables
from dphist.lab.auditing.suite.counts import ENTRIES, Entry

__all__ = ["ENTRIES", "Entry", "counts", "tables"]
