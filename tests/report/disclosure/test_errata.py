"""A release of a version with a known privacy fault says so wherever it is shown."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import dphist as dh
from dphist import cli
from dphist.document import errata
from dphist.document.errata import ERRATA, Erratum, errata_in_words, find_errata
from dphist.release.presentation import Presentation
from dphist.report import summary_text
from tests.support.report.releases import hostile_release

MADE_UP = Erratum(
    ">=0.1,<0.1.3",
    "The noise was drawn once for two bins.",
    "Read epsilon as twice the value.",
    ("LeafCounts",),
)


def release_of(version: str) -> dh.Release:
    release = dh.LeafCounts(epsilon=1, bins=3).release([1, 2, 3])
    return replace(release, version=version)


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ("0.1.0", True),
        ("0.1.2.post1", True),
        ("0.1.3", False),
        ("0.0.9", False),
        ("0.1.1.dev7", True),  # a development version on the way to 0.1.1
        ("0.1.3+local", False),
        ("not a version", True),  # nobody knows that it is not
    ],
)
def test_versions_are_compared_as_versions(version: str, affected: bool) -> None:
    assert bool(find_errata(release_of(version), [MADE_UP])) is affected


def test_only_the_named_mechanisms_are_affected() -> None:
    other = replace(dh.HierarchicalTree(epsilon=1, bins=3).release([1, 2, 3]), version="0.1.0")
    assert find_errata(other, [MADE_UP]) == []
    of_all = replace(MADE_UP, mechanisms=())
    assert find_errata(other, [of_all]) == [of_all]


@pytest.mark.parametrize(
    ("day", "affected"),
    [("2026-02-28", True), ("2026-03-01", True), ("2026-03-02", False), (None, True)],
)
def test_development_versions_are_told_by_the_day(day: str | None, affected: bool) -> None:
    """They have the number of the version after them; a release without a day may be theirs."""
    early = replace(MADE_UP, until=date(2026, 3, 1))
    made = replace(release_of("0.1.0"), presentation=Presentation(date=day))
    assert bool(find_errata(made, [early])) is affected
    later = replace(made, version="0.1.3")
    assert find_errata(later, [early]) == []


def test_a_fault_of_early_development_versions_is_known() -> None:
    made = dh.PartitionSampler(epsilon=1, delta="1e-6").release(dh.Profile.from_counts([3, 1]))
    assert find_errata(made) == []
    for day in ("2026-11-21", None):
        early = replace(made, version="0.1.0", presentation=Presentation(date=day))
        assert "did not keep small deltas" in errata_in_words(early)[0]
        with pytest.raises(dh.UnsupportedError, match="known privacy fault"):
            dh.disclose(early, about={})


def test_a_mechanism_of_another_package_is_not_taken_for_ours() -> None:
    release = replace(hostile_release(), version="0.1.0")  # of the class Hostile, of this package
    named = replace(MADE_UP, mechanisms=("Hostile",))
    assert find_errata(release, [named]) == []
    assert find_errata(release, [replace(MADE_UP, mechanisms=())])


def test_the_table_of_the_package_is_well_formed() -> None:
    for each in ERRATA:
        assert each.fault.endswith(".")
        assert each.remedy.endswith(".")
        find_errata(release_of("0.1.0"), [each])  # its versions can be read


def test_a_release_without_a_known_fault_says_nothing() -> None:
    assert errata_in_words(release_of("0.1.3")) == []
    assert "fault" not in summary_text(release_of(dh.__version__))


def test_show_says_it_on_the_terminal_and_beside_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(errata, "ERRATA", (MADE_UP,))
    path = str(tmp_path / "old.json")
    release_of("0.1.0").save(path)
    assert cli.main(["show", path]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert MADE_UP.fault in said
    assert MADE_UP.remedy in said
    assert cli.main(["show", path, "--json"]) == 0
    shown = capsys.readouterr()
    assert MADE_UP.fault not in shown.out  # JSON alone
    assert MADE_UP.fault in shown.err
    release_of("0.1.3").save(path)
    assert cli.main(["show", path]) == 0
    assert MADE_UP.fault not in capsys.readouterr().out
