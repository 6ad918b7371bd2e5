"""The header of a state file and a digest of its rows, which detect an edited or damaged file.

The digest is the sum of one hash per row, modulo 2**256. So it does not depend on the order of the
rows, and a commit updates it from the changed rows alone, in the same transaction. The key of the
hashes is stored in the file. So the digest detects edits, partial restores and disk errors. It does
not stop a person who has the file and knows the scheme; this person could also read every secret in
the file.
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
    format, version : the format of the file. Later formats keep these two columns first.
    library : the version of dphist that created the file.
    identity : facts that distinguish the file from its copies; see `identity`.
    key : random bytes, the key of all hashes of this file.
    taken : 1 if another stream has taken over the state, otherwise 0.
    commits : the number of commits. An older content has a smaller number.
    digest : the sum of the rows' hashes.
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
        """Hash over all fields; `ascii` is injective for tuples of text, bytes and integers."""
        fields = ascii(astuple(self)).encode()
        return hashlib.blake2b(fields, digest_size=32, key=self.key, person=b"header").digest()

    def columns(self) -> tuple[Any, ...]:
        """Return the only row of the table: the fields and their seal."""
        return (*astuple(self), self.seal)

    @classmethod
    def read(cls, columns: tuple[Any, ...]) -> "Header | None":
        """Return the header in `columns`, or None if the type of a field or the seal is wrong."""
        header = cls(*columns[:-1])
        kinds = (str, int, str, str, bytes, int, int, bytes)
        if any(type(field) is not kind for field, kind in zip(columns[:-1], kinds, strict=True)):
            return None
        if len(header.key) != 32 or len(header.digest) != 32 or columns[-1] != header.seal:
            return None
        return header

    def with_sum(self, total: int) -> "Header":
        """Return this header with `total` as the sum of the rows' hashes."""
        return replace(self, digest=(total % MODULUS).to_bytes(32, "big"))

    @property
    def sum(self) -> int:
        """The sum of the rows' hashes."""
        return int.from_bytes(self.digest, "big")


def row_hash(secret: bytes, kind: str, key: Key, content: bytes) -> int:
    """Return the hash of one row, below `MODULUS`.

    Fields of variable length follow their length, so different rows are hashed as different bytes.

    Raises
    ------
    TypeError
        If the row has other types than `Store.commit` writes.
    """
    if type(kind) is not str or type(content) is not bytes:
        raise TypeError("the kind of a row is text, and its content is bytes")
    if type(key) is int:
        coded = b"i" + key.to_bytes(8, "big", signed=True)
    elif type(key) is bytes:
        coded = b"b" + len(key).to_bytes(8, "big") + key
    else:
        raise TypeError("the key of a row is an integer or bytes")
    name = kind.encode()
    row = len(name).to_bytes(8, "big") + name + coded + content
    return int.from_bytes(hashlib.blake2b(row, digest_size=32, key=secret).digest(), "big")
