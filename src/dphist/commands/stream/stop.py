"""Being asked to stop: at once while waiting or printing, else when what was begun is done."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

from dphist.commands import ending


class Stopping:
    """Handles Ctrl-C, SIGTERM and SIGHUP while a stream is open.

    Where an exception in the middle would leave something half done, being asked to stop is only
    noted; `anywhere` marks where nothing is.
    """

    def __init__(self) -> None:
        self._asked: int | None = None
        self._anywhere = False

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals until the block ends; those that are ignored, as by nohup, stay so.

        In a process of the command line nothing is left to be stopped then.
        """
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            before = {each: signal.signal(each, self._stop) for each in ending.not_ignored()}
        try:
            yield
        finally:
            if not ending.settle():
                for each, handler in before.items():
                    signal.signal(each, handler)

    @contextlib.contextmanager
    def anywhere(self) -> Iterator[None]:
        """Mark a block that may end anywhere, by Interrupted: also if asked to before it."""
        self._anywhere = True
        try:
            if self._asked is not None:
                raise ending.Interrupted("stopped", self._asked)
            yield
        finally:
            self._anywhere = False

    def forget(self) -> None:
        """Begin to stop: being asked again then ends what is printed last."""
        self._asked = None

    def _stop(self, number: int, _: object) -> None:
        self._asked = number
        if self._anywhere:
            self._anywhere = False
            raise ending.Interrupted("stopped", number)
