"""A command of dphist, run in the process of the tests."""

from dphist.cli import main


def run(*arguments: object) -> int:
    """Run a command; return its exit code."""
    return main([str(each) for each in arguments])
