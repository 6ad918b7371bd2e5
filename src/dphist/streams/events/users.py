"""The number of counted events for each user; users are stored as salted hashes."""

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
    """Number of counted events for each user hash. Secret.

    Two users with the same hash share a bound; the probability is below 2**-128 per pair. With the
    salt, the hashes alone do not allow guessing users.

    Attributes
    ----------
    most : maximum number of counted events of one user.
    salt : key of the hashes.
    counted : number of counted events, by hash.
    """

    most: int
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(_SALT_BYTES))
    counted: dict[bytes, int] = field(default_factory=dict)

    def beyond(self, events: Events) -> tuple[BoolArray, dict[bytes, int]]:
        """Return which events exceed their user's bound, and the new numbers of the users.

        The first events of a user count, including empty ones, because the choice must not depend
        on the content of events. This method changes nothing; `add` stores the new numbers.
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
        """Store the new numbers."""
        self.counted.update(numbers)

    def _hash(self, user: bytes) -> bytes:
        return hashlib.blake2b(user, key=self.salt, digest_size=_HASH_BYTES).digest()


def _occurrences(codes: IntArray) -> IntArray:
    """Return for each position how often its code has occurred so far; 1 at its first position."""
    order = np.argsort(codes, kind="stable")
    sorted_codes = codes[order]
    starts = np.flatnonzero(np.append(True, sorted_codes[1:] != sorted_codes[:-1]))
    lengths = np.diff(np.append(starts, len(codes)))
    result = np.empty(len(codes), np.int64)
    result[order] = np.arange(len(codes)) - np.repeat(starts, lengths) + 1
    return result
