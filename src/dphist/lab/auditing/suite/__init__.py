"""A suite of broken mechanisms and of their correct twins, by which audits can be compared."""

from dphist.lab.auditing.suite import labels, libraries, noise, selection, users
from dphist.lab.auditing.suite.entry import ENTRIES, Entry

__all__ = ["ENTRIES", "Entry", "labels", "libraries", "noise", "selection", "users"]
