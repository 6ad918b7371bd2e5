"""What a state file says of itself, so that an edited or damaged one is noticed.

The digest of the rows is a sum of one hash a row, modulo 2**256: a commit brings it up to date
from the rows it changes alone, in the same transaction, and it does not depend on their order.
The key of the hashes lies in the file. This is no protection from somebody who knows the scheme
and owns the file (who could also read every secret in it); it is one from editors, from partial
restores, and from disks.
"""

import hashlib
from dataclasses import astuple, dataclass, replace
from importlib.metadata import version as installed_version
from typing import Any

FORMAT = "dphist stream state"
VERSION = 2
MODULUS = 2**256

Key = int | bytes


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of a state file beside its rows, in the order of the table's columns.

    Parameters
    ----------
    format, version : what the file is. Later formats keep these two where they are.
    library : version of dphist that made the file.
    identity : what a copy of the file does not have; see `store_identity`.
    key : random bytes that all hashes of this file are keyed with.
    taken : 1 once another stream has taken the state over.
    commits : how many transactions there were. Those of an older content are fewer.
    digest : sum of the rows' hashes.
    """

    format: str
    version: int
    library: str
    identity: str
    key: bytes
    taken: int
    commits: int
    digest: bytes

    @classmethod
    def new(cls, identity: str, key: bytes) -> "Header":
        """Return the header of a file without rows."""
        library = installed_version("dphist")
        return cls(FORMAT, VERSION, library, identity, key, 0, 0, bytes(32))

    @property
    def seal(self) -> bytes:
        """Hash over all fields. `ascii` tells any two tuples of text, bytes and ints apart."""
        fields = ascii(astuple(self)).encode()
        return hashlib.blake2b(fields, digest_size=32, key=self.key, person=b"header").digest()

    def columns(self) -> tuple[Any, ...]:
        """Return the table's one row: the fields and their seal."""
        return (*astuple(self), self.seal)

    @classmethod
    def read(cls, columns: tuple[Any, ...]) -> "Header | None":
        """Return the header that was sealed as `columns`, or None if anything in it differs."""
        header = cls(*columns[:-1])
        kinds = (str, int, str, str, bytes, int, int, bytes)
        if any(type(field) is not kind for field, kind in zip(columns[:-1], kinds, strict=True)):
            return None
        if len(header.key) != 32 or len(header.digest) != 32 or columns[-1] != header.seal:
            return None
        return header

    def with_sum(self, total: int) -> "Header":
        """Return the header of rows whose hashes sum up to `total`."""
        return replace(self, digest=(total % MODULUS).to_bytes(32, "big"))

    @property
    def sum(self) -> int:
        """The sum of the rows' hashes."""
        return int.from_bytes(self.digest, "big")


def row_hash(secret: bytes, kind: str, key: Key, content: bytes) -> int:
    """Return the hash of one row, below `MODULUS`.

    Lengths stand before what varies, so that no two rows are hashed as the same bytes.

    Raises
    ------
    TypeError
        If the row is not one that `Store.commit` writes.
    """
    if type(kind) is not str or type(content) is not bytes:
        raise TypeError("a row is of a kind (text) and has bytes as its content")
    if type(key) is int:
        coded = b"i" + key.to_bytes(8, "big", signed=True)
    elif type(key) is bytes:
        coded = b"b" + len(key).to_bytes(8, "big") + key
    else:
        raise TypeError("the key of a row is a whole number or bytes")
    name = kind.encode()
    row = len(name).to_bytes(8, "big") + name + coded + content
    return int.from_bytes(hashlib.blake2b(row, digest_size=32, key=secret).digest(), "big")
