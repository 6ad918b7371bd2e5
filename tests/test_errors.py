"""What errors say survives copies, is worded for whoever asked, and never obeys a terminal."""

import copy
import inspect
import pickle

import pytest

from dphist import errors
from dphist.commands.saved import PlanMissedError
from dphist.document.compared import MissingParameterError
from dphist.errors import Argument, BudgetError, DphistError, ParameterError, join_arguments

DROP = Argument("null_users", "drop")


def in_capitals(argument: Argument) -> str:
    return argument.name.upper()


def copies(error: DphistError) -> list[DphistError]:
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    return [sent, copy.copy(error), copy.deepcopy(error)]


@pytest.mark.parametrize("kind", [DphistError, BudgetError])
def test_a_copy_says_the_same(kind: type[DphistError]) -> None:
    error = kind("file 'a\x1b[2J\nb'", "column 'c'")
    assert str(error) == "file 'a\\x1b[2J\\nb'\ncolumn 'c'"
    for same in (*copies(error), type(error)(*error.args)):
        assert type(same) is kind
        assert str(same) == str(error)


def test_a_copy_has_the_parameter_as_a_value() -> None:
    error = ParameterError(("a", "b"), "need " + DROP, "give " + DROP, ("more",)).within("x: ")
    for same in copies(error):
        assert isinstance(same, ParameterError)
        assert (same.parameter, same.fault, same.remedy, same.more) == (
            ("a", "b"), "need " + DROP, "give " + DROP, ("more",)
        )  # fmt: skip
        assert str(same) == "x: a and b need null_users='drop'; give null_users='drop'\nmore"
        assert same.format(in_capitals) == "x: A and B need NULL_USERS; give NULL_USERS\nmore"


@pytest.mark.parametrize(
    "kind",
    [each for _, each in inspect.getmembers(errors, inspect.isclass)
     if issubclass(each, DphistError) and not issubclass(each, ParameterError)],
)  # fmt: skip
def test_every_error_can_name_parameters(kind: type[DphistError]) -> None:
    error = kind("count them with " + DROP, "see " + Argument("null_users"))
    assert str(error) == "count them with null_users='drop'\nsee null_users"
    assert error.format(in_capitals) == "count them with NULL_USERS\nsee NULL_USERS"


def test_errors_with_arguments_of_their_own_are_copied() -> None:
    for error in (MissingParameterError("Mine", "depth"), PlanMissedError("missed", 4)):
        for same in (*copies(error), error.within("")):
            assert type(same) is type(error)
            assert str(same) == str(error)
            assert vars(error).items() <= vars(same).items()


def test_words_stand_around_the_first_line() -> None:
    error = DphistError("first", "second").within("a: ", "; b")
    assert str(error.within("c: ", "; d")) == "c: a: first; b; d\nsecond"
    assert str(error) == "a: first; b\nsecond"


def test_whatever_an_error_is_made_from_it_can_be_shown() -> None:
    assert str(DphistError(5)) == "5"  # type: ignore[arg-type]
    assert str(DphistError()) == ""


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (Argument("epsilon"), "epsilon"),
        (Argument("method", "binary"), "method='binary'"),
        (Argument("delimiter", "\t"), "delimiter='\\t'"),
        (Argument("max_labels", 3), "max_labels=3"),
        (Argument("horizon", None), "horizon=None"),
    ],
)
def test_python_writes_parameters_as_in_a_call(argument: Argument, said: str) -> None:
    assert str(argument) == said


def test_names_are_listed() -> None:
    assert str(join_arguments(["a"])) == "a"
    assert str(join_arguments(["a", "b"])) == "a and b"
    assert str(join_arguments(["a", "b", "c"])) == "a, b and c"
