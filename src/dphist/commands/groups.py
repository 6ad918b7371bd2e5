"""dphist groups: made from what the kind declares, as commands of other packages' kinds are."""

from dphist.commands.records import make_kind_command
from dphist.groups.kind import KIND

COMMAND = make_kind_command(KIND, KIND.commands["groups"])
