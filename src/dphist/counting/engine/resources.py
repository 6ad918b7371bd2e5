"""How much memory, how many threads and which folder counting may use, and how much it needs.

The settings apply to the private DuckDB, which counts files and dataframes. Spark has its own.
Estimates look at no data: the number of rows is a public guess. Their constants were measured by
``python -m benchmarks.space_needed`` on two cores: rows with a user and a label of about 12
characters each, all different or 10 rows a user. Longer text needs more, and fewer different labels
need less.
"""

import os
import re
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from dphist.errors import ParameterError
from dphist.parameters import whole_number

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([KMGT]?)(i?)B?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_MIN_MEMORY = 64 * 10**6
_MOST_MEMORY = 2**63 - 1  # DuckDB refuses more
_MAX_THREADS = 1024


@dataclass(frozen=True, slots=True)
class Resources:
    """Limits of counting, in force for a ``with`` block.

    Attributes
    ----------
    memory : str or int, optional
        Memory of the engine that counts, in bytes, or text such as "4GB" or "512MiB", at least
        64 MB (default: a quarter of the machine's memory or of the container's, at least 2 GB, but
        at most half). Beyond it, rows spill to a temporary folder. The process takes about 300 MB
        on top, and a quarter of the limit where it counts labels of users.
    threads : int, optional
        Threads of the engine (default: the processors, at most 8).
    temp : str or path, optional
        Folder below which temporary folders are made (default: as in the module `tempfile`: that
        of the environment variable TMPDIR). Spilled rows are not encrypted; only their owner can
        read them.

    Raises
    ------
    ParameterError
        If a value is invalid, or `temp` is not a folder that can be written to.

    Notes
    -----
    A block may be entered several times, also at once in several threads. Threads that a block
    starts do not inherit its settings. What is counted keeps the settings that it was counted with.

    >>> Resources(memory="1.5 GB", threads=2)
    Resources(memory=1500000000, threads=2, temp=None)
    """

    memory: int | str | None = None
    threads: int | None = None
    temp: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.memory is not None:
            object.__setattr__(self, "memory", _read_size(self.memory))
        if self.threads is not None:
            threads = whole_number(self.threads, "threads", 1, most=_MAX_THREADS)
            object.__setattr__(self, "threads", threads)
        if self.temp is not None:
            object.__setattr__(self, "temp", _check_folder(self.temp))

    @property
    def bytes(self) -> int | None:
        """The limit of memory, in bytes; None for the default."""
        return None if self.memory is None else int(self.memory)

    def __enter__(self) -> "Resources":
        _active.set((*_active.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _active.set(_active.get()[:-1])


_active: ContextVar[tuple[Resources, ...]] = ContextVar("dphist_resources", default=())


def resources() -> Resources:
    """Return the settings in force: those of the innermost block."""
    active = _active.get()
    return active[-1] if active else Resources()


def _read_size(memory: int | str) -> int:
    """Read a size; KB is 1000 bytes, and KiB 1024.

    >>> [_read_size(size) for size in (10**9, "2GB", "1 GiB", "500m")]
    [1000000000, 2000000000, 1073741824, 500000000]
    """
    refused = ParameterError(
        "memory", "must be a number of bytes or a size such as '4GB' or '512MB', and at least 64MB"
    )
    if isinstance(memory, bool) or not isinstance(memory, int | str):
        raise refused
    size = memory if isinstance(memory, int) else _read_size_text(memory)
    if size < _MIN_MEMORY:
        raise refused
    return min(size, _MOST_MEMORY)


def _read_size_text(text: str) -> int:
    """Read a size; 0 for what is none."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return 0
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** _POWERS[unit.upper()])


def _check_folder(temp: str | os.PathLike[str]) -> str:
    """Return the absolute path of a folder that can be written to."""
    refused = ParameterError("temp", "must be a folder that exists and that you can write to")
    if not isinstance(temp, str | os.PathLike) or not os.fspath(temp):
        raise refused  # an empty text, such as of a variable that is not set, is no folder
    folder = Path(temp).absolute()
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise refused
    return str(folder)


BYTES_PER_ROW = {"label": 100, "label, user": 140, "bins": 0, "bins, user": 85}
"""Memory of each way of counting, in bytes per row, where nothing spills."""

PROCESS = 200 * 10**6
"""Memory of the process apart from that, in bytes; batches of rows included."""

_SPILLED = 0.5  # of the bytes that memory does not hold, those on disk: they are compressed there


@dataclass(frozen=True, slots=True)
class Space:
    """What counting needs, in bytes, about.

    Attributes
    ----------
    memory : of the whole process.
    temporary : in the folder of temporary files.
    """

    memory: int
    temporary: int


def space_needed(way: str, rows: int, limit: int) -> Space:
    """Return what counting a table of this number of rows needs.

    Parameters
    ----------
    way : a key of `BYTES_PER_ROW`.
    rows : a public guess.
    limit : memory that the engine may use before it spills, in bytes.

    >>> space_needed("label, user", 10**6, 2 * 10**9)
    Space(memory=340000000, temporary=0)
    >>> space_needed("label, user", 10**8, 2 * 10**9)
    Space(memory=2200000000, temporary=6000000000)
    """
    held = BYTES_PER_ROW[way] * rows
    return Space(PROCESS + min(held, limit), int(_SPILLED * max(held - limit, 0)))
