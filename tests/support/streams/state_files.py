"""State files, made and looked at: what several tests of them need."""

import os
import subprocess
from pathlib import Path

from dphist.durable import identity as store_identity
from dphist.streams.store.store import Store


def contents(path: Path, *, moved: bool = False) -> list[tuple[int | bytes, bytes]]:
    store = Store.open(path, moved=moved)
    try:
        return list(store.rows("label"))
    finally:
        store.close()


def written(path: Path, content: bytes) -> None:
    store = Store.open(path) if path.exists() else Store.create(path)
    store.commit({"label": [(0, content)]})
    store.close()


def told(path: Path) -> dict[str, str]:
    """Return what the system tells about a file, or about a new one."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        return store_identity.read_facts(descriptor)
    finally:
        os.close(descriptor)


def later(path: Path) -> None:
    """Wait until the clock of birth times, which is coarse, has moved on since the file's."""
    birth = told(path).get("birth")
    while birth is not None and told(path.with_name("new")).get("birth") == birth:
        path.with_name("new").unlink()
    path.with_name("new").unlink(missing_ok=True)


def run_shell(command: str, path: Path) -> None:
    subprocess.run(["/bin/sh", "-c", command], cwd=path.parent, check=True)
