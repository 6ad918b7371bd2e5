"""dphist properties: of a release, of a profile, and of what is neither."""

import json
import math
import random
import re
from pathlib import Path

import pyarrow as pa
import pytest

import dphist as dh
from dphist import properties
from dphist.parameters import decimal_text
from dphist.properties.overview import estimate_properties
from tests.support.command_line import run
from tests.support.refusal import NUMBER

# Corbet's butterflies: species caught 1, 2, ..., 24 times (Fisher, Corbet and Williams 1943).
CAUGHT = [118, 74, 44, 24, 29, 22, 20, 19, 20, 15, 12, 14]
CAUGHT += [6, 12, 6, 9, 9, 6, 10, 10, 11, 5, 3, 3]


def strict_json(text: str) -> dict:
    """Read JSON that has no Infinity or NaN in it."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def written(path: Path, profile: dh.Profile) -> Path:
    rows = zip(profile.counts.tolist(), profile.prevalences.tolist(), strict=True)
    path.write_text("count,prevalence\n" + "".join(f"{r},{m}\n" for r, m in rows))
    return path


@pytest.fixture
def butterflies(tmp_path: Path) -> Path:
    return written(tmp_path / "p.csv", dh.Profile.from_prevalences(range(1, 25), CAUGHT))


@pytest.fixture(scope="module")
def release() -> dh.Release:
    profile = dh.Profile.from_counts([3000 // i for i in range(1, 3001)])
    return dh.RankSplit(epsilon=1).release(profile, random.Random(2).randbytes)


@pytest.fixture
def saved(release: dh.Release, tmp_path: Path) -> Path:
    release.save(tmp_path / "r.json")
    return tmp_path / "r.json"


@pytest.mark.verify
def test_a_release_in_words(release: dh.Release, saved: Path, capsys) -> None:
    assert run("properties", saved) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 78
    text = " ".join(out.split())
    assert "released under 1-differential privacy (pure), for one record" in text
    assert "not private" not in text
    assert f"Records (n) {release.value.total:,} " in text
    assert f"Labels {release.value.labels:,} " in text
    assert f"Shannon entropy (bits) {properties.entropy(release.value):.3f} " in text
    least = properties.renyi_entropy(release.value, order=math.inf)
    assert f"Min-entropy (bits) {least:.3f} " in text
    opened = properties.guessing(release.value, guesses=10)
    assert f"Share of the 10 most common labels {100 * float(opened):.2f} % " in text
    assert "Share of the 100,000 most common" not in text
    assert "and for the noise of the release." in text
    assert "by 100 further releases" in text
    assert "Method wu-yang. Number of labels: Chao's lower bound" in text


def test_a_profile_is_called_not_private(butterflies: Path, capsys) -> None:
    assert run("properties", butterflies) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "computed from the data themselves, so what is printed is not private" in text
    assert "New labels in n further records 74.2 " in text
    assert "New labels in 2n further records " in text
    assert "noise of the release" not in text
    assert "further releases" not in text


@pytest.mark.parametrize(("labels", "few"), [(10, True), (4000, False)])
def test_a_number_of_labels_that_is_too_small_is_named(
    labels: int, few: bool, saved: Path, capsys
) -> None:
    """Noise may add labels, so that a release is not refused."""
    assert run("properties", saved, "--labels", labels, "--resamples", 0) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (f"The histogram has more labels than --labels {labels}." in text) == few


@pytest.mark.verify
def test_json_holds_what_the_functions_return(release: dh.Release, saved: Path, capsys) -> None:
    options = ("--labels", 4000, "--p-min", "1/4000", "--extra", "1/2, 3", "--base", "10")
    assert run("properties", saved, *options, "--json", "--resamples", 10) == 0
    found = strict_json(capsys.readouterr().out)
    # The release was drawn with the test's random bits, and so protects nobody.
    assert (found["private"], found["random_bits"]) == (False, "supplied by the caller: for tests")
    assert found["guarantee"] == {
        "name": "PureDP",
        "epsilon": "1",
        "rho": decimal_text(release.guarantee.to_zcdp().rho),
        "sensitivity": 1,
        "unit": "one record",
    }
    assert (found["records"], found["labels"]) == (release.value.total, release.value.labels)
    for item in found["properties"]:
        function = getattr(properties, item["property"])
        given = dict(item["parameters"])
        if given.get("order") == "infinity":
            given["order"] = math.inf
        estimate = function(release.value, **given)
        assert item["value"] == pytest.approx(estimate.value, rel=1e-12)
        assert (item["method"], item["unit"]) == (estimate.method, estimate.unit)
        assert any("10 further releases" in note for note in item["notes"])
        if estimate.standard_error is not None:
            assert item["standard_error"] >= estimate.standard_error
        if estimate.interval is not None:
            low, high = item["interval"]
            assert low <= item["value"] <= high
    asked = [(item["property"], item["parameters"]) for item in found["properties"]]
    assert ("entropy", {"base": "10", "labels": 4000}) in asked
    assert ("support_size", {"method": "wu-yang", "p_min": "0.00025"}) in asked
    assert ("support_coverage", {"extra": "0.5"}) in asked
    assert ("support_coverage", {"extra": "3"}) in asked
    assert ("support_coverage", {"extra": "1"}) not in asked
    assert ("distance_to_uniformity", {"labels": 4000}) in asked
    assert {name for name, _ in asked} == {
        "entropy", "renyi_entropy", "support_size", "support_coverage",
        "distance_to_uniformity", "guessing",
    }  # fmt: skip


@pytest.mark.verify
def test_bases(butterflies: Path, capsys) -> None:
    values = {}
    for base, unit in (("2", "(bits)"), ("e", "(nats)"), ("10", "(hartleys)"), ("3", "(base 3)")):
        assert run("properties", butterflies, "--base", base) == 0
        assert f"Shannon entropy {unit}" in capsys.readouterr().out
        assert run("properties", butterflies, "--base", base, "--json") == 0
        found = strict_json(capsys.readouterr().out)
        assert found["private"] is False
        assert found["guarantee"] is None
        values[base] = found["properties"][0]["value"]
    assert values["e"] == pytest.approx(values["2"] * math.log(2))
    assert values["3"] == pytest.approx(values["10"] / math.log10(3))


@pytest.mark.verify
@pytest.mark.usefixtures("repeatable")
def test_the_mechanism_runs_once_for_all_properties(monkeypatch, saved: Path, capsys) -> None:
    runs, real = [], dh.RankSplit.release

    def counted(mechanism: dh.RankSplit, profile: dh.Profile, source: object = None) -> dh.Release:
        runs.append(profile)
        return real(mechanism, profile)

    monkeypatch.setattr(dh.RankSplit, "release", counted)
    assert run("properties", saved, "--resamples", 12) == 0
    assert len(runs) == 12
    # Of samples: the released profile is not released again.
    total = dh.Release.load(saved).value.total
    assert all(abs(profile.total - total) < 6 * math.sqrt(total) for profile in runs)
    assert run("properties", saved, "--resamples", 0) == 0
    assert len(runs) == 12
    assert run("properties", saved, "--resamples", 12, "--p-min", "2") == 2
    assert len(runs) == 12  # what is wrong is found before
    assert "the noise of the release comes on top" in " ".join(capsys.readouterr().out.split())


def test_too_far_ahead_is_said_in_its_row(butterflies: Path, capsys) -> None:
    assert run("properties", butterflies, "--extra", "1,99") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "New labels in 99n further records unknown none stated " in text
    assert run("properties", butterflies, "--extra", "1,99", "--json") == 0
    found = strict_json(capsys.readouterr().out)["properties"]
    far = next(item for item in found if item["parameters"] == {"extra": "99"})
    assert (far["value"], far["interval"], far["standard_error"]) == (None, None, None)
    assert far["notes"] == ["unknown: too far ahead for this few records"]


@pytest.mark.verify
def test_no_number_has_an_exponent(saved: Path, capsys) -> None:
    assert run("properties", saved, "--labels", 4000) == 0
    out = capsys.readouterr().out
    assert not re.search(r"\de[-+]?\d", out)
    assert not re.search(r"\d{5}", re.sub(r"\.\d+", "", out))  # thousands are set apart


@pytest.mark.verify
def test_noise_widens_intervals() -> None:
    profile = dh.Profile.from_counts([3000 // i for i in range(1, 3001)])
    noisy = dh.RankSplit(epsilon="0.02").release(profile, random.Random(2).randbytes)

    def width(resamples: int) -> float:
        rows = estimate_properties(noisy, resamples=resamples)
        row = next(row for row in rows if row.function == "support_coverage")
        assert row.estimate.interval is not None
        return row.estimate.interval[1] - row.estimate.interval[0]

    assert width(40) > 1.5 * width(0)


def other_releases() -> dict[str, dh.Release]:
    counts = dh.bin_counts(pa.table({"x": [0.5, 1.5]}), column="x", edges=[0, 1, 2])
    table = dh.LabelCounts.from_counts(["a", "b"], [5, 6], max_labels=1, max_count=1)
    labelled = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1)
    return {
        "labels": labelled.release(table),
        "ranges": dh.LeafCounts(epsilon=1, bins=counts.bins).release(counts),
    }


@pytest.mark.parametrize("kind", ["labels", "ranges"])
@pytest.mark.parametrize("how", [[], ["--json"]])
def test_other_kinds_are_refused(kind: str, how: list[str], tmp_path: Path, capsys) -> None:
    other_releases()[kind].save(tmp_path / "r.json")
    assert run("properties", tmp_path / "r.json", *how) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"is a release of kind '{kind}'" in captured.err
    assert "dphist anonymize" in captured.err


@pytest.mark.verify
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--extra", "0"], "extra"),
        (["--extra", "1,,2"], "--extra"),
        (["--extra", ""], "--extra"),
        (["--extra", "soon"], "extra"),
        (["--extra", "1,-1"], "extra"),
        (["--base", "1"], "base"),
        (["--base", "two"], "base"),
        (["--p-min", "2"], "--p-min"),
        (["--p-min", "0"], "--p-min"),
        (["--labels", "0"], "labels"),
        (["--labels", "1.5"], "--labels"),
        (["--resamples", "9"], "resamples"),
        (["--resamples", "-1"], "resamples"),
        (["--resamples", "10001"], "resamples"),
        (["--p", "1"], "--p"),
    ],
)
def test_bad_use_exits_2_with_a_reason(options, named, butterflies: Path, capsys) -> None:
    assert run("properties", butterflies, *options) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dphist: ")
    assert named in captured.err


def test_a_missing_file_is_named(tmp_path: Path, capsys) -> None:
    for name in ("none.json", "none.csv"):
        assert run("properties", tmp_path / name) == 2
        assert f"{name} does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.json", "{}"),
        ("bad.json", f"count,prevalence\n{NUMBER},1\n"),
        ("bad.csv", f"count,prevalence\n-1,2\n{NUMBER},1\n"),
        ("bad.csv", f"count,prevalence\n1.5,{NUMBER}\n"),
        ("bad.parquet", f"count,prevalence\n1,{NUMBER}\n"),
    ],
)
def test_bad_data_exit_1_and_show_nothing(name, content, tmp_path: Path, capsys) -> None:
    (tmp_path / name).write_text(content)
    assert run("properties", tmp_path / name) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(NUMBER) not in captured.err
    assert "Traceback" not in captured.err


def test_an_edited_release_exits_1(saved: Path, capsys) -> None:
    saved.write_text(saved.read_text().replace('"epsilon": "1"', '"epsilon": "0.5"'))
    assert run("properties", saved) == 1
    assert "changed after it was written" in capsys.readouterr().err


@pytest.mark.parametrize(
    "counts", [[], [1], [2], [1, 1], [5], [1, 1, 1], [3, 1], [2, 2, 2], [1] * 50, [10**15]]
)
@pytest.mark.quick(every=5)
def test_small_profiles_have_properties(counts, tmp_path: Path, capsys) -> None:
    path = written(tmp_path / "p.csv", dh.Profile.from_counts(counts))
    for options in ([], ["--labels", 7, "--p-min", "1/7"]):
        assert run("properties", path, *options) == 0
        assert "nan" not in capsys.readouterr().out.lower()
        assert run("properties", path, *options, "--json") == 0
        found = strict_json(capsys.readouterr().out)
        assert found["records"] == sum(counts)
        if counts in ([], [1], [5]):
            assert found["properties"][2]["value"] == 0


def test_no_bound_is_said(tmp_path: Path, capsys) -> None:
    path = written(tmp_path / "p.csv", dh.Profile.from_counts([1] * 50))
    assert run("properties", path) == 0
    assert "Rényi entropy of order 2 (bits) no bound" in " ".join(capsys.readouterr().out.split())
    assert run("properties", path, "--json") == 0
    assert strict_json(capsys.readouterr().out)["properties"][1]["value"] is None


def test_too_many_records_are_refused() -> None:
    endless = dh.AnonymizedHistogram([2**62], [1])
    with pytest.raises(dh.ParameterError, match="source must have fewer"):
        estimate_properties(endless)
