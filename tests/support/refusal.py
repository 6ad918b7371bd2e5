"""Checking that an error is ours, helps, and shows nothing of the data."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# Placed in data wherever something is wrong with it.
SENTINEL = "SENTINEL-7f3a"
NUMBER = 918273645


@contextmanager
def refused(kind: type[Exception], *named: str) -> Iterator[None]:
    """Expect an error of exactly `kind` whose message has each of `named`, and no data."""
    with pytest.raises(kind) as caught:
        yield
    error = caught.value
    assert type(error) is kind
    for name in named:
        assert name in str(error)
    for shown in everything_reachable(error):
        assert SENTINEL not in shown
        assert str(NUMBER) not in shown
    assert error.__context__ is None
    assert error.__cause__ is None


def everything_reachable(error: BaseException | None) -> Iterator[str]:
    """All texts of an error, its causes and its contexts."""
    while error is not None:
        yield from (
            str(error),
            repr(error),
            *map(str, error.args),
            *getattr(error, "__notes__", ()),
        )
        if error.__cause__ is not None:
            yield from everything_reachable(error.__cause__)
        error = error.__context__
