"""A state that a run begins, and in vain."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dphist.streams import ContinualHistogram


@contextlib.contextmanager
def removed_if_unused(stream: ContinualHistogram, path: str, new: bool) -> Iterator[None]:
    """Remove a new state if the block fails before an event was counted.

    Its parameters bind nobody then: the command can be mended and given others. Where there were
    no events, no noise was drawn.
    """
    file = Path(os.path.realpath(path))
    begun = file.stat() if new else None
    try:
        yield
    except BaseException:
        if begun is not None and stream.time == 0:
            # While it is still open, and so locked, nobody else can have begun to use it. Closing
            # it then removes its journal.
            with contextlib.suppress(OSError):
                if os.path.samestat(file.stat(), begun):
                    file.unlink()
        raise
