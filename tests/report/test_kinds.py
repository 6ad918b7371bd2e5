"""Kinds of releases: found by the type of the value, added from outside, imported when shown."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.anonymized.band import Band
from dphist.document import kind as registry
from dphist.document import others
from dphist.document.blocks import Document, Fact, Section, Table
from dphist.document.kind import DataFacts
from dphist.document.totals import find_total
from dphist.ranges.leaf_counts import BinAnswers
from dphist.release import kind_names, mechanisms
from dphist.release import release as saved
from dphist.release.kind_names import KINDS
from dphist.release.label_table import LabelTable
from dphist.release.range_histogram import RangeHistogram
from dphist.render import html, text
from dphist.report import make_json, make_release_document, report_html, summary_text, table_csv
from dphist.sentence import Sentence
from tests.support.abouts import ABOUT
from tests.support.labels.told import MADE as LABELS_MADE
from tests.support.mechanisms.cases import LABELS
from tests.support.mechanisms.others import EVENTS, OTHERS, OtherLabels, OtherRanking, OtherStream
from tests.support.ranges.told import MADE as RANGES_MADE
from tests.support.report import releases
from tests.support.report.html import Page
from tests.support.report.mean_kind import Mean, kind_of_means
from tests.support.streams.told import MADE as STREAMS_MADE


@pytest.fixture
def registered() -> Iterator[None]:
    dh.register(kind_of_means())
    yield
    del kind_names._REGISTERED["mean"]


RANGES = RangeHistogram(np.arange(6), answers=BinAnswers(np.arange(6), 1.0))


@dataclass(frozen=True)
class SavedMean(Mean):
    """A value that files can hold."""

    def to_content(self) -> dict[str, float]:
        return {"mean": self.mean}

    @classmethod
    def from_content(cls, content: dict[str, float]) -> "SavedMean":
        return cls(content["mean"])


@dataclass(frozen=True)
class Average:
    """A mechanism of somebody else's, with no more than `dphist.Mechanism` asks for."""

    rho: Fraction = Fraction(1)

    noise_scale = 1
    description = reference = "Nothing."

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", Fraction(self.rho))

    @property
    def guarantee(self) -> dh.ZCDP:
        return dh.ZCDP(self.rho)

    def release(self, data: Any, source: object = None) -> dh.Release:
        return dh.Release(data, self.guarantee, self)

    def decode(self, noisy: object) -> None:
        raise dh.UnsupportedError("nothing is kept")

    def expected_error(self, *public: object) -> float:
        return 1.0

    def intervals(self, release: dh.Release, level: float = 0.95) -> Any:
        return Band(release.value, release.value, level, "all labels")


@pytest.fixture
def registered_average(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "_OTHERS", {})
    dh.register(Average)


@pytest.mark.usefixtures("registered_average")
def test_a_kind_of_somebody_else_is_saved_like_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_names, "_REGISTERED", {})
    monkeypatch.setattr(saved, "_KINDS", dict(saved._KINDS))
    release = Average().release(SavedMean(12.5))
    with pytest.raises(dh.UnsupportedError, match="SavedMean cannot be saved: give the type"):
        release.to_json()
    kind = kind_of_means(SavedMean)
    assert dh.register(kind) is kind
    loaded = dh.Release.from_json(release.to_json())
    assert (loaded.value, loaded.mechanism, loaded) == (SavedMean(12.5), Average(), release)
    assert summary_text(loaded) == summary_text(release)
    other = type("Other", (SavedMean,), {})
    with pytest.raises(dh.ParameterError, match="there is a kind mean already"):
        dh.register(kind_of_means(other))
    assert registry.find_kind(Average().release(other(1.0))).name == "mean"
    with pytest.raises(dh.ParameterError, match="there is a kind stream already"):
        dh.register(kind_of_means(other, "stream"))  # what earlier versions called a kind of ours


@pytest.mark.usefixtures("registered")
def test_a_value_that_files_cannot_hold_is_not_saved(tmp_path: Path) -> None:
    release = Average().release(Mean(12.5))
    assert "Average" in repr(release)
    with pytest.raises(dh.UnsupportedError, match="type Mean cannot be saved: give the type"):
        release.save(tmp_path / "r.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("registered_average")
@pytest.mark.parametrize("value", [dh.AnonymizedHistogram([5, 3], [1, 2]), RANGES])
@pytest.mark.quick("[value1]")
def test_a_mechanism_with_nothing_but_the_protocol_is_shown(value: Any) -> None:
    """Without `to_approx_dp`, `sensitivity` and `band`: rho-zCDP for one record."""
    release = Average().release(value)
    assert find_total(release.mechanism).guarantee == dh.ZCDP(1).to_approx_dp("1e-6")
    assert "one record" in summary_text(release)
    assert make_json(release)["guarantee"]["sensitivity"] == 1
    if isinstance(value, dh.AnonymizedHistogram):
        assert "ε = 7.76621662532" in Page(report_html(release)).text
        dh.plot(release)


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.quick(every=2)
def test_labels_and_streams_of_somebody_else_are_shown(kind: Any, tmp_path: Path) -> None:
    """By what the protocol states: guarantee, expected error, intervals, and the released rows."""
    mechanism = kind(epsilon="0.7")
    data = EVENTS if kind is OtherStream else LABELS
    release = dh.Release.from_json(mechanism.release(data).to_json())
    release.save(tmp_path / "r.json")
    shown, page = summary_text(release), Page(report_html(release)).text
    expected = mechanism.expected_error()
    appears = expected.appears_from
    said = "All listed labels" if appears is None else f"From a count of {appears:,} on"
    unit = str(mechanism.guarantee.unit)
    for told in (" ".join(shown.split()), page):
        for part in (said, unit, kind.__name__, label_of(release)):
            assert part in told
    assert "Nobody. A paper." in page
    assert f"adding or removing {unit}" in page
    assert ("Labels that are missing." in page) == (appears is not None)
    found = make_json(release)
    assert found["labels"] == sum(label is not None for label in table_of(release).texts)
    assert "threshold" not in found
    assert kind.__name__ in dh.disclose(release, about=ABOUT).to_yaml()
    table = table_csv(release)
    assert table.startswith(("label", "time,label"))
    if kind is OtherRanking:
        with pytest.raises(dh.ParameterError, match="must hold counts to be plotted"):
            dh.plot(release)
        assert "counts_of" not in found
        return
    assert f"± {expected.half_width:,}" in shown
    bounds = mechanism.intervals(release, 0.95)
    interval = f"{bounds.lower[0]:,} to {bounds.upper[0]:,}"
    for told in (shown, page, release._repr_html_()):
        assert interval in " ".join(told.split())
    assert dh.plot(release)[0].get_title(loc="left") == "First labels"


def test_a_release_of_no_label_without_intervals_is_shown() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Silent(OtherLabels):
        def intervals(self, release: Any, /, level: float = 0.95) -> None:
            return None

    empty = Silent(epsilon="0.7").release(LABELS.slice(0, 0))
    assert "No label was released" in summary_text(empty)
    assert "No label was released" in Page(report_html(empty)).text
    assert dh.plot(empty, columns=1).shape == (1,)
    release = Silent(epsilon="0.7").release(LABELS)
    assert "95 % interval" not in summary_text(release)
    assert dh.plot(release)[0].get_legend_handles_labels()[1] == ["Released"]


def table_of(release: dh.Release) -> LabelTable:
    value: Any = release.value
    return value.latest if isinstance(value, dh.RunningCounts) else value


def label_of(release: dh.Release) -> str:
    return str(table_of(release).labels[0])


def test_a_release_of_others_is_planned_as_well() -> None:
    """Without a release the document says what one would cost: a dry run."""
    mechanism = OtherLabels(epsilon="0.7")
    kind = registry.find_kind(mechanism.release(LABELS))
    said = text.text(others.make_foreign_document(kind, mechanism, DataFacts(guesses=(5000,))))
    assert said.startswith("Common labels, if released with differential privacy")
    assert str(mechanism.guarantee.unit) in said
    assert f"± {mechanism.expected_error().half_width}" in said


def test_an_expected_error_of_another_kind_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Vague(OtherLabels):
        def expected_error(self) -> Any:
            return 1.0

    release = Vague(epsilon=1).release(LABELS)
    with pytest.raises(dh.UnsupportedError, match="expected_error of Vague must return"):
        summary_text(release)


def test_every_kind_of_release_has_a_report() -> None:
    declared = {kind.value_type: kind.name for kind in registry.kinds()}
    assert declared.keys() == set(saved._KINDS.values())
    assert tuple(declared.values()) == KINDS
    for value_type, name in declared.items():
        assert registry.find_kind(_of(value_type)).name == name


def _of(value_type: type) -> dh.Release:
    return dh.Release(value_type.__new__(value_type), dh.PureDP(1), releases.Hostile())  # type: ignore[arg-type, call-overload]


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("value", [Mean(12.5), type("Subclass", (Mean,), {})(12.5)])
def test_a_kind_of_somebody_else_is_shown_like_ours(value: Mean) -> None:
    release = dh.Release(value, dh.PureDP(1), releases.Hostile())  # type: ignore[arg-type]
    page = Page(report_html(release))
    assert "Mean of a column" in page.text
    assert "Mean 12.5" in page.text
    assert "Using and citing it" in page.text  # a section that all kinds share
    assert summary_text(release).startswith("Mean of a column, released with")
    assert "12.5, its error is not stated" in summary_text(release)
    assert "12.5" in release._repr_html_()
    assert table_csv(release) == "mean\n12.5\n"
    assert dh.plot(release)[0].get_title(loc="left") == "Mean"
    found = make_json(release)
    assert found["mean"] == 12.5
    assert found["guarantee"]["epsilon"] == "1"


@pytest.mark.usefixtures("registered")
def test_a_type_has_one_kind() -> None:
    for taken in (Mean, dh.AnonymizedHistogram):
        with pytest.raises(dh.ParameterError, match="already has one"):
            dh.register(kind_of_means(taken))
    with pytest.raises(dh.ParameterError, match="must be a class"):
        dh.register(kind_of_means)


def test_a_value_without_a_kind_is_refused() -> None:
    @dataclass
    class Secret:
        number: int = 918273645

    with pytest.raises(dh.UnsupportedError, match="value of type Secret") as caught:
        summary_text(dh.Release(Secret(), dh.PureDP(1), releases.Hostile()))  # type: ignore[arg-type]
    assert "918273645" not in str(caught.value)


@pytest.mark.quick("[ranges]")
@pytest.mark.parametrize(
    "made",
    [
        releases.hostile_release,
        LABELS_MADE["patients, in words"],
        RANGES_MADE["hostile"],
        STREAMS_MADE["patients, in words"],
        lambda: OtherLabels(epsilon=1).release(LABELS),
        lambda: OtherStream(epsilon=1).release(EVENTS),
    ],
    ids=["anonymized", "labels", "ranges", "streams", "labels of others", "a stream of others"],
)
def test_what_the_template_of_a_page_sees_holds_no_release(
    made: Callable[[], dh.Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees texts and blocks, so not what stands beside the value in a release."""
    seen: list[Any] = []
    template = SimpleNamespace(render=lambda **given: seen.append(given))
    monkeypatch.setattr(html, "_template", lambda: template)
    html.page(make_release_document(made()))
    held = {type(each) for each in _reached(seen)}
    assert {Fact, Table, Sentence} <= held
    assert not held & {dh.Release, Document, Section}


def _reached(value: Any) -> Iterator[Any]:
    """Yield a value and all that it holds."""
    yield value
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value.values()]
    elif isinstance(value, list | tuple):
        parts = [*value]
    elif isinstance(value, Sentence):
        parts = [*value.values.values()]
    elif is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    for part in parts:
        yield from _reached(part)


@pytest.mark.quick("as_json")
@pytest.mark.parametrize(
    "shown", ["summary_text(release)", "table_csv(release)", "make_json(release)"]
)
def test_nothing_that_draws_is_imported_before_something_is_drawn(shown: str) -> None:
    code = (
        "import sys, dphist as dh\n"
        "from dphist.report import make_json, summary_text, table_csv\n"
        "profile = dh.Profile.from_counts([9, 5, 5])\n"
        "release = dh.RankSplit(epsilon=1).release(profile)\n"
        f"{shown}\n"
        "release = dh.LeafCounts(epsilon=1, bins=3).release([5, 6, 7])\n"
        f"{shown}\n"
        "assert not {'matplotlib', 'jinja2'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
