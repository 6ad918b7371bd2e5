"""Tables: how many records by several keys, with margins that add up."""

from dphist.tables.cells import KeyedTable
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Keys
from dphist.tables.mechanism import Tables

__all__ = ["KeyedCounts", "KeyedTable", "KeyedTables", "Keys", "Tables"]
