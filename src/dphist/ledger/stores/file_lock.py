"""The lock on the file of a ledger."""

import contextlib
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from dphist.durable.files import A_SECOND_NAME, has_second_name, is_at
from dphist.errors import LedgerError, OutputFileError

if sys.platform == "linux":
    import fcntl

PATIENCE = 60.0
"""Seconds to wait for other users of the file."""

_held: set[int] = set()
"""Descriptors of files that transactions of this process have open."""

_turn = threading.Lock()
"""Held by the one thread of this process that is in a transaction."""


@contextlib.contextmanager
def locked(path: Path, write: bool) -> Iterator[int]:
    """Hold a lock on the file that no closing of other descriptors takes away.

    The system drops a process's POSIX locks, which SQLite uses, as soon as the process closes
    any descriptor of the file, such as another thread's. A lock of `flock` stays. Elsewhere
    than on Linux the two kinds may get in each other's way, so there threads take turns.
    """
    turn = _turn if sys.platform != "linux" else contextlib.nullcontext()
    with turn, _opened(path, write) as descriptor:
        yield descriptor


@contextlib.contextmanager
def _opened(path: Path, write: bool) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDWR if write else os.O_RDONLY)
    except FileNotFoundError:
        raise LedgerError(f"{path} was moved or removed while in use") from None
    except OSError as error:
        if write and os.access(path, os.R_OK):
            raise LedgerError(
                f"{path} cannot be written, so nothing can be charged; make it writable"
            ) from None
        raise refused(path, error) from None
    _held.add(descriptor)
    try:
        if sys.platform == "linux":
            # A reader alone plays back the journal that a crash left.
            _wait_for_lock(path, descriptor, write)
            if not write and _has_journal(path):  # left by one who died meanwhile, too
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                _wait_for_lock(path, descriptor, True)
        status = os.fstat(descriptor)
        if not is_at(path, status):
            raise LedgerError(f"{path} was replaced while in use; open it again")
        if has_second_name(path, status):
            raise LedgerError(f"{path} {A_SECOND_NAME}")
        yield descriptor
    finally:
        if sys.platform == "linux":
            # Closing does not unlock where another thread has just forked: see `_forget`.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        _held.discard(descriptor)
        os.close(descriptor)


def _wait_for_lock(path: Path, descriptor: int, write: bool) -> None:
    kind = fcntl.LOCK_EX if write else fcntl.LOCK_SH
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise in_use(path) from None
            time.sleep(random.uniform(0.0005, 0.01))  # noqa: S311 - so that waiters do not march
        except OSError as error:
            raise refused(path, error) from None
        else:
            return


def _forget() -> None:
    """Close, in a forked child, what other threads of its parent had locked.

    The lock belongs to all descriptors that a fork has copied. If the parent is killed before it
    unlocks, a child with a copy would keep everybody else waiting.
    """
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()
    global _turn
    _turn = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _has_journal(path: Path) -> bool:
    try:
        return path.with_name(f"{path.name}-journal").stat().st_size > 0
    except OSError:
        return False


def in_use(path: Path) -> LedgerError:
    return LedgerError(f"{path} is in use by other processes for too long; try again")


def refused(path: Path, error: OSError) -> OutputFileError:
    return OutputFileError(f"could not open {path}: {error.strerror or 'the system refused'}")
