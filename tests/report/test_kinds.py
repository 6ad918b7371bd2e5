"""Kinds of releases: found by the type of the value, added from outside, imported when shown."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import pytest

import dphist as dh
from dphist.release import release as saved
from dphist.report import kinds
from dphist.report.html import report_html
from dphist.report.summary import summary_text
from dphist.report.table import table_csv
from tests.report import releases
from tests.report.mean_kind import Mean, MeanKind
from tests.report.test_html import Page


@pytest.fixture
def registered() -> Iterator[None]:
    kinds.register_kind(Mean, MeanKind())
    yield
    del kinds._KINDS[Mean]


def test_every_kind_of_release_has_a_report() -> None:
    assert kinds._OWN.keys() == set(saved._KINDS.values())
    for value_type, module in kinds._OWN.items():
        assert kinds.kind_of(_of(value_type)).name == module.split(".")[2]


def _of(value_type: type) -> dh.Release:
    return dh.Release(value_type.__new__(value_type), dh.PureDP(1), releases.Hostile())


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("value", [Mean(12.5), type("Subclass", (Mean,), {})(12.5)])
def test_a_kind_of_somebody_else_is_shown_like_ours(value: Mean) -> None:
    release = dh.Release(value, dh.PureDP(1), releases.Hostile())
    page = Page(report_html(release))
    assert "Mean of a column" in page.text
    assert "The mean is 12.5." in page.text  # of its own template
    assert "Using and citing it" in page.text  # of the shared one
    assert summary_text(release).startswith("Mean of a column, released with")
    assert table_csv(release) == "mean\n12.5\n"
    assert dh.plot(release)[0].get_title(loc="left") == "Mean"
    found = kinds.kind_of(release).as_json(release)
    assert found["mean"] == 12.5
    assert found["guarantee"]["epsilon"] == "1"


@pytest.mark.usefixtures("registered")
def test_a_type_has_one_kind() -> None:
    for taken in (Mean, dh.Profile):
        with pytest.raises(dh.ParameterError, match="already has a kind"):
            kinds.register_kind(taken, MeanKind())
    with pytest.raises(dh.ParameterError, match="must be"):
        kinds.register_kind(np.ndarray, MeanKind)  # type: ignore[arg-type]


def test_a_value_without_a_kind_is_refused() -> None:
    @dataclass
    class Secret:
        number: int = 918273645

    with pytest.raises(dh.ParameterError, match="value of type Secret") as caught:
        summary_text(dh.Release(Secret(), dh.PureDP(1), releases.Hostile()))  # type: ignore[arg-type]
    assert "918273645" not in str(caught.value)


def test_pages_of_all_kinds_hold_text_and_no_release() -> None:
    """What a template sees cannot reach the release, so not what stands beside its value."""
    page = kinds.kind_of(releases.tiny_release()).page(releases.tiny_release())
    assert not [f.name for f in fields(page) if isinstance(getattr(page, f.name), dh.Release)]


@pytest.mark.quick("as_json")
@pytest.mark.parametrize(
    "shown", ["summary_text(release)", "table_csv(release)", "kind_of(release).as_json(release)"]
)
def test_nothing_that_draws_is_imported_before_something_is_drawn(shown: str) -> None:
    code = (
        "import sys, dphist as dh\n"
        "from dphist.report.kinds import kind_of\n"
        "from dphist.report.summary import summary_text\n"
        "from dphist.report.table import table_csv\n"
        "profile = dh.Profile.from_counts([9, 5, 5])\n"
        "release = dh.RankSplit(epsilon=1).release(profile)\n"
        f"{shown}\n"
        "release = dh.LeafCounts(epsilon=1, bins=3).release([5, 6, 7])\n"
        f"{shown}\n"
        "assert not {'matplotlib', 'jinja2'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
