"""What errors say survives copies, and never obeys a terminal."""

import copy
import pickle

import pytest

from dphist.errors import BudgetError, DphistError, ParameterError


@pytest.mark.parametrize("kind", [DphistError, ParameterError, BudgetError])
def test_a_copy_says_the_same(kind: type[DphistError]) -> None:
    error = kind("file 'a\x1b[2J\nb'", "column 'c'")
    assert str(error) == "file 'a\\x1b[2J\\nb'\ncolumn 'c'"
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    for same in (sent, copy.copy(error), type(error)(*error.args)):
        assert type(same) is kind
        assert str(same) == str(error)


def test_whatever_an_error_is_made_from_it_can_be_shown() -> None:
    assert str(ParameterError(5)) == "5"  # type: ignore[arg-type]
