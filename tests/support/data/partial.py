"""Parts of a table, as plain Python cuts them, and what a refused part says."""

import hashlib
from collections.abc import Callable
from typing import Any

from dphist.errors import DphistError


def part_in_python(user: Any, parts: int) -> int:
    """The rule, written down a second time."""
    content = user if isinstance(user, bytes) else str(user).encode()
    return int(hashlib.md5(content).hexdigest()[:15], 16) % parts  # noqa: S324


def refusal(call: Callable[[], Any]) -> str:
    """Return the error of ours that a call raises; "" if there is none."""
    try:
        call()
    except DphistError as error:
        return str(error)
    return ""
