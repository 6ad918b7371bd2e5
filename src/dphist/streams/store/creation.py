"""Making a state file: at its name there is nothing, or all of it."""

import os
import secrets
import sqlite3
from pathlib import Path

from dphist.atomic_files import check_output_path
from dphist.durable.files import sync_folder
from dphist.errors import StateError
from dphist.streams.store.database import explained, write_new
from dphist.streams.store.digest import Header
from dphist.streams.store.owner import Owner, refused


def create_file(target: Path) -> Owner:
    """Make a durable state without rows at `target` and own it.

    Raises
    ------
    StateError
        If there is a file already, or the journal of one that was there.
    OutputFileError
        If the file cannot be written.
    """
    journal = target.with_name(f"{target.name}-journal")
    for file in (target, journal):  # a journal would be played back into the new file
        if os.path.lexists(file):
            raise _exists(file)
    try:
        check_output_path(target)
        owner = _linked(target)
        try:
            sync_folder(target.parent)
        except BaseException:
            owner.close()
            raise
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        raise refused(target, error) from None
    except sqlite3.Error as error:
        raise explained(target, error) from None
    return owner


def _linked(target: Path) -> Owner:
    """Write the file under another name, and give it its own when it is whole."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    owner = None
    try:
        owner = Owner(target, descriptor)  # before it has its name: nobody comes in between
        owner.mark()
        write_new(temporary, Header.new(owner.identity, secrets.token_bytes(32)))
        # A link, because a renaming would replace what somebody else has just put there.
        os.link(temporary, target)
    except BaseException:
        if owner is not None:
            owner.close()
        raise
    finally:
        temporary.unlink()
    return owner


def _exists(file: Path) -> StateError:
    return StateError(f"{file} exists; open it, or remove it, or name another file")
