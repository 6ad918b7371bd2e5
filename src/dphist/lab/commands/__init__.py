"""The commands of the lab, which the command line finds as an entry point of `dphist.commands`."""

COMMANDS = {
    "audit": ("try to refute what a mechanism claims", f"{__name__}.audit", "COMMAND"),
    "compare": ("error and time of mechanisms on public data", f"{__name__}.compare", "command"),
    "disclose": (
        "draft an entry for the registry of deployments",
        f"{__name__}.disclose",
        "COMMAND",
    ),
    "rule": ("test a rule such as suppressing small counts", f"{__name__}.rule", "COMMAND"),
}
"""Each command with its line of the help, its module, and the name of the `Command` there, or of a
function that returns it."""
