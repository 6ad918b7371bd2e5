"""Creation of a state file: under its name, the file either does not exist or is complete."""

import os
import secrets
import sqlite3
from pathlib import Path

from dphist import files
from dphist.durable.files import sync_folder
from dphist.errors import StateError
from dphist.files import check_output_path
from dphist.streams.store.database import translate_error, write_new
from dphist.streams.store.digest import Header
from dphist.streams.store.owner import Owner, write_error


def create_file(target: Path) -> Owner:
    """Create a durable state without rows at `target`, and own it.

    Raises
    ------
    StateError
        If the file exists, or the journal of an earlier file with this name.
    OutputFileError
        If the file cannot be written.
    """
    journal = target.with_name(f"{target.name}-journal")
    for file in (target, journal):  # SQLite would replay a journal into the new file
        if os.path.lexists(file):
            raise _exists_error(file)
    try:
        check_output_path(target)
        owner = _write_and_link(target)
        try:
            sync_folder(target.parent)
        except BaseException:
            owner.close()
            raise
    except FileExistsError:
        raise _exists_error(target) from None
    except OSError as error:
        raise write_error(target, error) from None
    except sqlite3.Error as error:
        raise translate_error(target, error) from None
    return owner


def _write_and_link(target: Path) -> Owner:
    """Write the file under a temporary name, and link it to its own name once it is complete."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    owner = None
    files.register_temporary(temporary)
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        owner = Owner(target, descriptor)  # locked before others can find it under its name
        owner.mark()
        write_new(temporary, Header.new(owner.identity, secrets.token_bytes(32)))
        # A link, because renaming would replace a file that another process has just created.
        os.link(temporary, target)
    except BaseException:
        if owner is not None:
            owner.close()
        raise
    finally:
        files.remove_temporary(temporary)
    return owner


def _exists_error(file: Path) -> StateError:
    return StateError(f"{file} exists; open it, remove it, or name another file")
