"""Lines for a terminal: what a file, a name or a release says cannot control it."""

import sys

from dphist.visible import visible_lines


def say(text: object = "", *, end: str = "\n", flush: bool = False) -> None:
    """Print a text on standard output."""
    print(visible_lines(str(text)), end=end, flush=flush)


def complain(text: object, *, flush: bool = False) -> None:
    """Print a text on standard error."""
    print(visible_lines(str(text)), file=sys.stderr, flush=flush)
