"""The benchmark of properties: its samples, what is true of them, its parts and picture."""

from fractions import Fraction

import numpy as np
import pytest
from benchmarks.properties import (
    chosen_constants,
    coverage,
    entropy_errors,
    new_labels,
    noise_errors,
)
from benchmarks.properties.__main__ import PARTS, main
from benchmarks.properties.populations import (
    LABELS,
    LAWS,
    LEAST_PROMISED,
    Sample,
    bits,
    collision_bits,
    distance,
    draw,
)

from dphist import Profile
from dphist.properties import g_modeling


@pytest.fixture
def few(monkeypatch, tmp_path) -> None:
    """Little work, and only the data that are shipped."""
    monkeypatch.setenv("DPHIST_DATA", str(tmp_path / "none"))
    monkeypatch.setattr(coverage, "RECORDS", (300,))
    monkeypatch.setattr(coverage, "EPSILONS", (None, "1"))
    monkeypatch.setattr(coverage, "RESAMPLES", 10)
    monkeypatch.setattr(coverage, "SLOW_RESAMPLES", 10)


@pytest.mark.verify
def test_every_part_runs_and_is_drawn(few, tmp_path, capsys) -> None:
    main(["--runs", "2", "--figure", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    assert [line[3:] for line in printed.splitlines() if line.startswith("## ")] == list(PARTS)
    rows = [line for line in printed.splitlines() if line.startswith("| ")]
    assert len({row.split("|")[1] for row in rows if "support_size" in row}) == 3
    assert "nan" not in printed
    assert (tmp_path / "out" / "properties.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments",
    [["--runs", "0"], ["--only", "none"], ["--only", "words", "--figure", "x"], ["--ask", "all"]],
)
def test_what_cannot_be_meant_is_refused(arguments) -> None:
    with pytest.raises(SystemExit):
        main(arguments)


def test_samples_are_the_same_each_time() -> None:
    for law in LAWS:
        first, again = draw(law, 100, 2), draw(law, 100, 3)[:2]
        assert [s.counts.tolist() for s in first] == [s.counts.tolist() for s in again]
        assert all(s.profile.total == s.counts.sum() == 100 for s in first)
        assert all(s.probabilities.sum() == pytest.approx(1) for s in first)


def test_what_is_promised_of_the_least_probability_is_true() -> None:
    uniform, zipf, dirichlet = (draw(law, 10, 1)[0] for law in LAWS)
    assert uniform.p_min == Fraction(1, LABELS)
    assert zipf.p_min == Fraction(1, 7486)
    assert zipf.p_min <= zipf.probabilities.min()
    assert dirichlet.p_min == LEAST_PROMISED > dirichlet.probabilities.min()


def test_truths_of_known_populations() -> None:
    even, half = np.full(8, 1 / 8), np.array([1 / 2, 1 / 2, 0, 0])
    assert (bits(even), collision_bits(even), distance(even)) == (3, 3, 0)
    assert (bits(half), collision_bits(half), distance(half)) == (1, 1, 0.5)


def test_new_labels_are_those_not_seen() -> None:
    random = np.random.default_rng(0)
    certain = Sample(np.array([1.0, 0.0]), np.array([5, 0]))
    assert certain.new_labels(10, random) == 0
    other = Sample(np.array([0.0, 1.0]), np.array([5, 0]))
    assert other.new_labels(1, random) == 1
    # An unseen label of probability 1/2 is among one further record half the time.
    either = Sample(np.array([0.5, 0.5]), np.array([1, 0]))
    assert sum(either.new_labels(1, random) for _ in range(1000)) == pytest.approx(500, abs=90)


def test_error_is_a_root_mean_square() -> None:
    sample = draw(LAWS[0], 1000, 1)[0]
    truth = bits(sample.probabilities)
    entropies = [entropy_errors._unlimited(sample)]
    assert entropies[0] == pytest.approx(truth, abs=0.5)
    assert entropy_errors._root(np.array([3.0, -4.0])) == pytest.approx(12.5**0.5)
    random = np.random.default_rng(0)
    names = [q.asked.name for q in noise_errors._questions(sample, random)]
    assert len(set(names)) == 5


def test_share_of_intervals_that_hold() -> None:
    assert coverage._holds((1.0, 2.0), 2.0)
    assert not coverage._holds((1.0, 2.0), 2.1)
    assert coverage._holds(None, 2.0) is None
    assert coverage._share([True, True, True, False]) == "75"
    assert coverage._share([True, None, False]) == "50 (of 2)"
    assert coverage._share([None]) == "–"


def test_shares_outside_of_what_is_asked_for_are_named(capsys) -> None:
    cells = [coverage.Cell("a", None, 300, "Zipf"), coverage.Cell("b", "1", 300, "Zipf")]
    coverage._print_misses({cells[0]: [True] * 3, cells[1]: [True, False]})
    printed = capsys.readouterr().out
    assert "Of 2 shares 1 are below 90 % and 1 above 99 %" in printed
    assert "- b, Zipf, 300 records, ε = 1: 50" in printed


def test_questions_are_those_named() -> None:
    assert coverage.questions(None) == coverage.QUESTIONS
    some = coverage.questions(["guessing", "renyi_entropy"])
    assert {question.name.split(",")[0] for question in some} == {"guessing", "renyi_entropy"}


def test_new_labels_of_known_draws() -> None:
    """All records are in one of both parts; the ratio's error is the jackknife's."""
    random = np.random.default_rng(1)
    whole = new_labels.Population("whole", np.array([1] * 400 + [5] * 100))
    seen, extra, new = whole.draw(Fraction(2), random)
    assert seen.total * (1 + extra) == 900
    assert seen.labels + new == 500
    made = new_labels.Population("made", law=np.ones(50), records=40)
    first, extra, new = made.draw(Fraction(1, 2), random)
    assert (first.total, extra) == (40, Fraction(1, 2))
    assert 0 <= new <= min(20, 50 - first.labels)
    ratio, spread = new_labels._ratio(np.array([4.0, 4.0, 4.0]), np.array([16.0, 16.0, 16.0]))
    assert (ratio, spread) == (0.5, 0)


def test_constants_are_changed_for_a_while_only() -> None:
    profile = Profile.from_prevalences([1, 2, 3, 7], [300, 90, 40, 12])
    before = g_modeling.new_labels(profile, 1.0)
    with chosen_constants.constants({"_DEVIATIONS": np.array([0.005])}):
        assert g_modeling.new_labels(profile, 1.0) != before
    with pytest.raises(ZeroDivisionError), chosen_constants.constants({"LARGEST_COUNT": 20}):
        assert len(g_modeling._small_counts(profile)) == 20
        raise ZeroDivisionError
    assert g_modeling.new_labels(profile, 1.0) == before


def test_populations_of_one_kind_are_held_out_together() -> None:
    names = ["Zipf 1", "uniform", "words, Brown", "Zipf 2", "words, Brown, 3,000", "bigrams"]
    assert list(chosen_constants.turns(names)) == [[0, 1, 2, 3, 4], [5]]
