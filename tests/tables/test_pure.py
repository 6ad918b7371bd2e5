"""Tables by pure epsilon: their errors, which noise is chosen, and what is said: tables.md."""

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.cli import main
from dphist.noise.magnitude import geometric_standard_deviation
from dphist.noise.repeatable import repeatable_source
from dphist.report import report_html, summary_text
from dphist.tables import Tables, pure
from dphist.tables.lattice import Lattice
from dphist.tables.pure import PureLaw, compute_reach, reach
from dphist.tables.widths import Reach

SHAPE = (3, 4, 2)
KEYS: dict[str, Any] = {"a": ["x", "y", "z"], "b": [1, 2, 3, 4], "c": [False, True]}
WIDE: dict[str, Any] = {"a": range(16), "b": range(32)}
PROOF = Path(__file__).parents[2] / "docs" / "understand" / "proofs" / "tables.md"


@pytest.fixture(autouse=True)
def _forget() -> Any:
    yield
    pure.choose_noise.cache_clear()


def made(noise: str, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Tables:
    if noise == "contrasts":
        monkeypatch.setattr(pure, "MOST_CELLS", 0)
        pure.choose_noise.cache_clear()
    asked = {"epsilon": 1, "keys": KEYS, "tables": ["a+b+c"], **changes}
    found = Tables(**asked)
    assert found.noise_on == noise
    return found


@pytest.mark.parametrize("noise", ["cells", "contrasts"])
def test_cells_vary_as_stated_and_intervals_hold(
    noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells, sums and differences of 1,000 releases, against their errors, at three levels."""
    mechanism = made(noise, monkeypatch, epsilon="0.5")
    counts = np.arange(24).reshape(SHAPE) * 7
    tables = [t for most in range(4) for t in combinations("abc", most)]
    terms: list[Any] = [(1, {"a": "x"}), (-2, {"b": [1, 2], "c": True})]
    true_sum = counts[0].sum() - 2 * counts[:, :2, 1].sum()
    source, draws, levels = repeatable_source(), 1000, (0.8, 0.95, 0.99)
    squares = dict.fromkeys(tables, 0.0)
    held = dict.fromkeys(levels, 0)
    sums = []
    for _ in range(draws):
        t = mechanism.release(counts, source).value
        for names in tables:
            true = counts.sum(axis=tuple(i for i, n in enumerate("abc") if n not in names))
            squares[names] = squares[names] + (t.table(*names).counts - true) ** 2
        for level in levels:
            low, high = t.bounds(["a", "b", "c"], level)
            held[level] += int(((low <= counts) & (counts <= high)).sum())
        sums.append(t.combine(terms).value - true_sum)
    for names in tables:
        ratio = squares[names] / draws / float(t.table(*names).errors.flat[0]) ** 2
        # Of a Laplace variable, a mean of 1,000 squares is within 35 % in all of 60 cases; the
        # error of contrasts is an upper bound, by at most 5 % here.
        assert np.abs(ratio - 1).max() < 0.35
        assert 0.8 < ratio.mean() < 1.2
    for level, found in held.items():
        assert level - 0.006 < found / draws / counts.size < level + (1 - level) * 0.8
    error = math.sqrt(t._variance(t.make_terms(terms)))
    assert abs(np.mean(sums)) < 4.5 * error / math.sqrt(draws)
    assert 0.8 < np.mean(np.square(sums)) / error**2 < 1.2


@pytest.mark.parametrize("rate", ["0.5", "1.8", "3", "4", "5", "8"])
def test_intervals_of_sums_of_cells_hold_at_every_rate(rate: str) -> None:
    """The exact law of sums of 1 to 256 draws: at large rates most are 0, and sums seldom are."""
    exact = Fraction(rate)
    a, length = math.exp(-float(exact)), 2**14  # a circle that no sum goes around
    places = np.arange(length)
    one = (1 - a) / (1 + a) * a ** np.minimum(places, length - places)
    for number in (1, 2, 3, 4, 6, 8, 16, 48, 64, 256):
        law = np.fft.ifft(np.fft.fft(one) ** number).real
        error = geometric_standard_deviation(exact) * math.sqrt(number)
        for level in (0.9, 0.95, 0.99):
            most = math.floor(Reach(exact, True).of(level) * error)
            held = law[0] + 2 * law[1 : most + 1].sum()
            assert held > level - (1 - level) / 4, (number, level)


def lattice_of(shape: tuple[int, ...], ways: int) -> Lattice:
    found = [t for most in range(ways + 1) for t in combinations(range(len(shape)), most)]
    return Lattice(shape, tuple(found))


def test_equal_errors_are_those_of_the_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells of all tables have the same error, of small rates that of the formula."""
    mechanism = made("contrasts", monkeypatch, epsilon="0.01", max_rows=2)
    closed = math.sqrt(2) * math.prod(1 + compute_reach(n) * math.sqrt(n / (n + 1)) for n in SHAPE)
    value = mechanism.release(np.zeros(SHAPE, int)).value
    for most in range(4):
        for names in combinations("abc", most):
            error = value.cell_error(names)
            assert error == pytest.approx(float(closed) * 2 / 0.01, rel=1e-4)
            assert error <= float(closed) * 2 / 0.01


def test_weights_minimize_what_they_weigh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other scales of the same cost have a larger weighted sum of variances."""
    weights = {"a+b": 1, "b+c": 7, "a": 2}
    mechanism = made(
        "contrasts", monkeypatch, epsilon="0.01", tables=["a+b", "b+c", "a"], weights=weights
    )
    lattice, law = mechanism.lattice, mechanism.pure
    assert law is not None

    def weigh(scales: Any) -> float:
        paid = sum((reach(lattice, t) / scales[t] for t in lattice.family), Fraction(0))
        fair = {t: s * paid / Fraction(1, 100) for t, s in scales.items()}
        variances = PureLaw(lattice, None, fair).variances()
        found = [lattice.variance(place, variances) for place in mechanism.places]
        return float(sum(w * v for w, v in zip((1, 7, 2), found, strict=True)))

    least = weigh(law.scales)
    for table in lattice.family:
        for factor in (Fraction(9, 10), Fraction(11, 10)):
            assert weigh({**law.scales, table: law.scales[table] * factor}) > least


def test_errors_asked_are_in_their_ratio_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"tables": ["a+b", "a"], "keys": WIDE, "epsilon": "0.01"}
    errors = made("contrasts", monkeypatch, **asked, errors={"a": "0.4"}).errors_of_cells()
    assert errors["a"] / errors["a+b"] == pytest.approx(0.4, rel=1e-3)
    even = made("contrasts", monkeypatch, **asked, errors={"a": 1}).errors_of_cells()
    equal = made("contrasts", monkeypatch, **asked).errors_of_cells()
    assert max(even.values()) < max(equal.values())


@pytest.mark.parametrize("epsilon", ["0.01", 1, 20])
@pytest.mark.parametrize(
    ("sizes", "tables", "more"),
    [
        ((2, 2), ["a+b"], {}),
        ((64, 64), ["a+b"], {}),
        ((64, 64), ["a+b"], {"weights": {"a+b": 1}}),
        ((64, 64), ["a+b", "b"], {"weights": {"b": 100}}),
        ((50, 2), ["a", "b"], {"errors": {"a": 3}}),
        ((16, 16), ["a", "b"], {}),
    ],
)
def test_the_noise_with_the_smaller_error_is_chosen(
    sizes: Any, tables: list[str], more: Any, epsilon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the errors that both state, in what is asked to be small."""
    asked = {"keys": dict(zip("ab", map(range, sizes), strict=True)), "tables": tables, **more}
    chosen = Tables(epsilon=epsilon, **asked)
    lattice, decided = chosen.lattice, chosen.noise_on
    cover = tuple(range(len(sizes)))
    cells = PureLaw(lattice, cover, {cover: 1 / Fraction(epsilon)})
    found = {}
    for noise, law in (("cells", cells), ("contrasts", None)):
        if law is None:
            law = made("contrasts", monkeypatch, epsilon=epsilon, **asked).pure
        assert law is not None
        variances = law.variances()
        each = [float(lattice.variance(place, variances)) for place in chosen.places]
        if "weights" in more:
            by = [more["weights"].get(name, 1) for name in tables]
            found[noise] = sum(w * v for w, v in zip(by, each, strict=True))
        elif "errors" in more:
            by = [more["errors"].get(name, 1) for name in tables]
            found[noise] = max(v / s**2 for v, s in zip(each, by, strict=True))
        else:
            found[noise] = max(*each, float(lattice.variance((), variances)))
    assert decided == min(found, key=lambda noise: found[noise])


def test_a_table_too_large_to_cover_all_is_not_made() -> None:
    keys = {f"k{i}": range(200) for i in range(6)}
    mechanism = Tables(
        epsilon=1, keys=keys, tables=["k0+k1", "k2+k3", "k4+k5"], errors={"k0+k1": 2}
    )
    assert mechanism.noise_on == "contrasts"


@pytest.mark.parametrize("noise", ["cells", "contrasts"])
def test_surfaces_say_which_noise_it_is(
    noise: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Facts, page, file and difference of both, with intervals as wide as stated."""
    mechanism = made(noise, monkeypatch)
    releases = [mechanism.release(np.full(SHAPE, each)) for each in (50, 150)]
    release = releases[0]
    said = " ".join(summary_text(release).split())
    reached = release.value.reach.of(0.95)
    assert 2.11 < reached < 2.6
    assert f"{reached:.2f} standard errors" in said
    assert "1-differential privacy (pure)" in said
    page = report_html(release)
    assert f"two-sided geometric (integer Laplace), on {noise}" in page
    error = release.value.cell_error(["a", "b", "c"])
    table = release.value.table("a", "b", "c").to_arrow()
    high, count = (table[name][0].as_py() for name in ("high", "count"))
    assert high - count == pytest.approx(reached * error)
    assert release.value.interval(a="x")[1] - release.value.count(a="x") == pytest.approx(
        reached * release.value.error(a="x")
    )
    release.save(tmp_path / "r.json")
    again = dh.Release.load(tmp_path / "r.json")
    assert again.value == release.value
    assert again.value.error(a="x") == release.value.error(a="x")
    assert again.value.reach == release.value.reach
    assert again.guarantee.rho == release.guarantee.rho
    changes = dh.difference(*releases)
    assert changes is not None
    whole = release.value.to_whole_numbers()
    assert whole.count(a="x") == sum(whole.count(a="x", b=each) for each in (1, 2, 3, 4))


def test_pure_tables_on_the_command_line(tmp_path: Any, capsys: Any) -> None:
    """Epsilon without delta is pure; so is a delta of 0, as plans write it."""
    path = tmp_path / "people.csv"
    path.write_text("sex,age\n" + "f,1\nm,2\nf,2\n" * 30)
    typed = ["tables", str(path), "--axis", "sex=f,m", "--axis", "age=1,2", "--tables", "sex+age"]
    alone = ["--each-row-is-one-person", "--epsilon", "2"]
    out = tmp_path / "r.json"
    assert main([*typed, *alone, "--output", str(out)]) == 0
    capsys.readouterr()
    release = dh.Release.load(out)
    assert release.guarantee == dh.PureDP(2)
    assert main([*typed, *alone, "--delta", "0", "--dry-run", "--json"]) == 0
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert errors == pytest.approx(release.mechanism.errors_of_cells())


def test_pure_tables_are_planned_and_calibrated(tmp_path: Any) -> None:
    asked: dict[str, Any] = {"keys": KEYS, "tables": ["a+b", "c"]}
    plan = dh.plan("tables", **asked, epsilon=[1, 2], delta=[0, "1e-6"], max_rows=2)
    for row in plan:
        delta = row["delta"] or None
        mechanism = Tables(epsilon=row["epsilon"], delta=delta, max_rows=2, **asked)
        reached = mechanism.reach.of(0.95)
        assert (reached < 1.96) == bool(delta)
        error = mechanism.errors_of_cells()[row["table"]]
        assert row["cell_error"] == pytest.approx(reached * error, rel=1e-6)
    assert len(plan) == 8
    one = dh.calibrate(Tables, epsilon=1, delta=0, **asked)
    assert (one.epsilon, one.delta) == (1, None)
    four = dh.calibrate(Tables, epsilon=1, delta=0, releases=4, **asked)
    assert four.epsilon_at(0, 4) == 1
    assert Tables(epsilon=1, delta=0, **asked) == Tables(epsilon=1, **asked)
    ledger = dh.Ledger.create(tmp_path / "l", epsilon=3, delta="1e-6", unit="one record")
    ledger.release(one, np.full(SHAPE, 9), by="a", key="b")


def units(sizes: tuple[int, ...], ways: int) -> tuple[str, float, float]:
    """Return the noise, and the largest error by either, in units of one geometric count."""
    lattice = lattice_of(sizes, ways)
    contrasts = sum(
        float(math.prod(compute_reach(n) * math.sqrt(n / (n + 1)) for n in (sizes[i] for i in t)))
        for t in lattice.family
    )
    cells = math.sqrt(math.prod(sizes))
    keys = {f"k{i}": range(n) for i, n in enumerate(sizes)}
    tables = ["+".join(c) for c in combinations(keys, ways)]
    return Tables(epsilon="0.01", keys=keys, tables=tables).noise_on, contrasts, cells


def table_of_choices() -> str:
    """Return the table of the documentation: which noise is better when."""
    kinds = [((2,) * k, 2) for k in (2, 4, 8, 10, 11, 12, 16)]
    kinds += [((2,) * 8, 3), ((50,), 1), ((50, 2), 2), ((50, 50), 2), ((50,) * 3, 2)]
    kinds += [((18, 2, 50), 3), ((9, 6, 2, 50, 12), 2), ((9, 16, 7, 15, 6, 5, 2, 2), 2)]
    lines = ["| values of the keys | keys of a table | cells | contrasts | chosen |"]
    lines.append("|---|---:|---:|---:|---|")
    for sizes, ways in kinds:
        noise, contrasts, cells = units(sizes, ways)
        same = len(set(sizes)) == 1 and len(sizes) > 3
        named = f"{len(sizes)} times {sizes[0]}" if same else " × ".join(map(str, sizes))
        lines.append(f"| {named} | {ways} | {cells:,.1f} | {contrasts:,.1f} | {noise} |")
        better = "cells" if cells < contrasts else "contrasts"
        assert noise == better
    return "\n".join(lines)


def test_the_table_of_the_documentation_is_that_of_the_program() -> None:
    assert table_of_choices() in PROOF.read_text("utf-8")
