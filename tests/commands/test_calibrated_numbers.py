"""Python and the command line state the same numbers of the same request."""

import json
import re
from pathlib import Path

import pytest

import dphist as dh
from dphist.cli import main
from dphist.report import make_json, make_release_document, report_html, summary_text

NUMBERS = re.compile(r"\(1, 1e-6\)-differential privacy")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "records.csv"
    path.write_text("who,word\n" + "".join(f"{i},common\n" for i in range(900)))
    return path


def headline(page: str) -> str:
    """The guarantee among the numbers at the top of a page."""
    numbers = re.findall(r'<dd class="figure-number">(.*?)</dd>', page)
    texts = [" ".join(re.sub(r"<[^>]*>", "", number).split()) for number in numbers]
    (found,) = [text for text in texts if text.startswith(("ε = ", "ρ = "))]
    return found.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.quick("[1-")
@pytest.mark.parametrize("command", ["labels", "top"])
@pytest.mark.parametrize("most", [1, 10])
def test_labels(command: str, most: int, records: Path, tmp_path: Path) -> None:
    paths = {name: tmp_path / f"r.{name}" for name in ("json", "html")}
    options = ["--label", "word", "--user", "who", "--max-labels", most]
    outputs = ["--output", paths["json"], "--report", paths["html"]]
    cost = ["--epsilon", "1", "--delta", "1e-6"]
    assert main([str(part) for part in (command, records, *options, *cost, *outputs)]) == 0
    theirs = dh.Release.load(paths["json"])
    if command == "top":
        mechanism = dh.calibrate(
            dh.TopLabels, epsilon=1, delta="1e-6", max_labels=most, k=10, candidates=100
        )
    else:
        noise = theirs.mechanism.noise
        mechanism = dh.calibrate(  # type: ignore[assignment]
            dh.ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=most, noise=noise
        )
    assert mechanism == theirs.mechanism
    counts = dh.LabelCounts.from_table(records, label="word", user="who", max_labels=most)
    ours = mechanism.release(counts)
    assert ours.guarantee == theirs.guarantee
    assert (
        headline(report_html(ours)) == headline(paths["html"].read_text()) == "ε = 1, δ = 0.000001"
    )
    assert make_release_document(ours).fact("cost") == make_release_document(theirs).fact("cost")
    for shown in (summary_text, repr):
        assert NUMBERS.search(shown(ours))
        assert NUMBERS.search(shown(theirs))
    first, second = (make_json(each)["guarantee"] for each in (ours, theirs))
    assert first == second
    assert (first["epsilon"], first["delta"]) == ("1", "0.000001")


def test_dry_runs_state_what_python_states(capsys: pytest.CaptureFixture[str]) -> None:
    cost = ["--epsilon", "1/3", "--delta", "1e-7"]
    asked = [
        "labels",
        "none",
        "--each-row-is-one-person",
        "--label",
        "word",
        *cost,
        "--dry-run",
        "--json",
    ]
    assert main(asked) == 0
    said = json.loads(capsys.readouterr().out)["guarantee"]
    mechanism = dh.calibrate(dh.ThresholdHistogram, epsilon="1/3", delta="1e-7", max_labels=1)
    assert (said["epsilon"], said["delta"]) == ("1/3", "0.0000001")
    assert mechanism.target.guarantee == dh.ApproxDP("1/3", "1e-7", unit="user")


def test_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cost = ["--epsilon", "1", "--delta", "1e-6", "--horizon", "1000"]
    assert main(["stream", "--state", str(tmp_path / "s"), *cost, "--dry-run"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    stream = dh.calibrate(dh.ContinualHistogram, epsilon=1, delta="1e-6", horizon=1000)
    release = stream.release()
    assert (
        f"Guarantee {make_release_document(release).fact('cost').text}, for one event Threshold"
        in said
    )
    assert headline(report_html(release)) == "ε = 1, δ = 0.000001"


def test_ranges_state_what_was_asked_for() -> None:
    """A third has no twelve digits: the mechanism's epsilon is just below."""
    tree = dh.calibrate(dh.AdaptiveTree, epsilon="1/3", delta=0, bins=4)
    assert tree.epsilon < dh.PureDP("1/3").epsilon
    release = tree.release([5, 6, 7, 8])
    assert headline(report_html(release)) == "ε = 1/3"
    assert (
        make_release_document(release).fact("cost").text == "1/3-differential privacy (pure) in all"
    )
    smooth = dh.calibrate(
        lambda epsilon: dh.LeafCounts(rho=epsilon, bins=4), epsilon=1, delta="1e-6"
    )
    release = smooth.release([5, 6, 7, 8])
    assert headline(report_html(release)).startswith("ρ = ")
    assert NUMBERS.search(" ".join(summary_text(release).split()))


def test_several_releases_are_stated_together() -> None:
    """A release of one of 52 does not look as if it cost (1, 1e-6) alone, nor 1/52 of it."""
    weekly = dh.calibrate(
        dh.ThresholdHistogram, epsilon=1, delta="1e-6", releases=52, max_labels=3, noise="gaussian"
    )
    release = weekly.release(dh.LabelCounts.from_counts(["x"], [5000], max_labels=3, max_count=1))
    text = " ".join(summary_text(release).split())
    assert "(1, 1e-6)-differential privacy for 52 releases together, of which this is one" in text
    assert (
        "every set of possible results of 52 such releases together is at most 2.72 times" in text
    )
    assert make_json(release)["guarantee"]["releases"] == 52
