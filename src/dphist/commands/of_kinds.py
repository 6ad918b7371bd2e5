"""Commands that kinds of dphist declare, as kinds of others do."""

from dphist.commands.records import make_kind_command
from dphist.tables.kind import KIND

TABLES = make_kind_command(KIND, KIND.commands["tables"])
