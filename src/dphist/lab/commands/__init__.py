"""The commands of the lab, which the command line finds as an entry point of `dphist.commands`."""

COMMANDS = {
    "audit": ("try to refute what a mechanism claims", f"{__name__}.audit", "add_audit"),
    "compare": (
        "error and time of mechanisms on public data",
        f"{__name__}.compare",
        "add_compare",
    ),
    "disclose": (
        "draft an entry for the registry of deployments",
        f"{__name__}.disclose",
        "add_disclose",
    ),
}
"""Each command with its line of the help, its module, and what adds it to a parser."""
