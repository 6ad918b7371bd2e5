"""How many events of each user have counted, of users known by salted hashes alone."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.streams.events.cutting import Events

_SALT_BYTES = 32
_HASH_BYTES = 16


@dataclass(frozen=True, slots=True, repr=False)
class UserEvents:
    """Events that counted, a hash of a user. Secret.

    Two users of equal hash share a bound; that any are is less likely than 2**-128 a pair. The
    salt keeps whoever gets hold of the hashes, and not of the state, from trying out users.

    Attributes
    ----------
    most : how many events of one user count.
    salt : key of the hashes.
    counted : events that counted, by hash.
    """

    most: int
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(_SALT_BYTES))
    counted: dict[bytes, int] = field(default_factory=dict)

    def beyond(self, events: Events) -> tuple[BoolArray, dict[bytes, int]]:
        """Return which events are beyond their user's bound, and the new numbers of their users.

        Of a user's events the first ones count, those without labels too: which events count must
        not depend on what is in them. Nothing is changed here; `add` does that.
        """
        if events.users is None or events.user_codes is None:
            raise ValueError("events must have users")
        places: dict[bytes, int] = {}
        at = [places.setdefault(self._hash(user), len(places)) for user in events.users]
        hashes, codes = list(places), np.array(at, np.int64)[events.user_codes]
        before = np.array([self.counted.get(each, 0) for each in hashes], np.int64)
        number = before[codes] + _occurrences(codes)
        after = np.minimum(before + np.bincount(codes, minlength=len(hashes)), self.most)
        changed = dict(zip(hashes, after.tolist(), strict=True))
        return number > self.most, changed

    def add(self, numbers: Mapping[bytes, int]) -> None:
        """Take the new numbers."""
        self.counted.update(numbers)

    def _hash(self, user: bytes) -> bytes:
        return hashlib.blake2b(user, key=self.salt, digest_size=_HASH_BYTES).digest()


def _occurrences(codes: IntArray) -> IntArray:
    """Return for each place how often its code occurs up to it, 1 at the first."""
    order = np.argsort(codes, kind="stable")
    sorted_codes = codes[order]
    starts = np.flatnonzero(np.append(True, sorted_codes[1:] != sorted_codes[:-1]))
    lengths = np.diff(np.append(starts, len(codes)))
    result = np.empty(len(codes), np.int64)
    result[order] = np.arange(len(codes)) - np.repeat(starts, lengths) + 1
    return result
