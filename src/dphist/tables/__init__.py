"""Tables: how many records by several keys, with margins that add up."""

from dphist.tables.cells import KeyedTable
from dphist.tables.discover_keys import DiscoverKeys
from dphist.tables.keyed_counts import KeyedCounts
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Keys
from dphist.tables.mechanism import Tables

__all__ = ["DiscoverKeys", "KeyedCounts", "KeyedTable", "KeyedTables", "Keys", "Tables"]
