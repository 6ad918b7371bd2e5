"""The examples run as their docstrings say, on real data where they are there."""

import gzip
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import dphist as dh
from benchmarks import data
from tests.support.refusal import SENTINEL

ROOT = Path(__file__).parents[1]
FACEBOOK = "facebook_combined"


def run_example(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    """A graph that grew as social networks do: whoever has friends finds more of them."""
    chance = random.Random(5)
    ends = [0, 1]
    for new in range(2, 400):
        for friend in {chance.choice(ends) for _ in range(3)}:
            ends += [friend, new]
    pairs = zip(ends[::2], ends[1::2], strict=True)
    lines = ["u,v", *(f"{SENTINEL}-{u},{SENTINEL}-{v}" for u, v in pairs)]
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


@pytest.mark.verify
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_degree_sequence(edges: Path, directed: bool, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = run_example("degree_sequence.py", edges, folder, *(["--directed"] if directed else []))
    assert (done.returncode, done.stderr) == (0, "")
    release = dh.Release.load(folder / "degrees.json")
    assert release.guarantee == dh.PureDP(1, unit="one edge")
    assert release.mechanism.sensitivity == (1 if directed else 2)
    report = (folder / "degrees.html").read_text()
    assert f"sensitivity={release.mechanism.sensitivity})" in report
    assert ("one edge, which is counted up to 2 times" in report) != directed
    assert "1-differential privacy (pure)" in done.stdout
    assert f"{release.value.labels:,}" in done.stdout
    for shown in (done.stdout, report, (folder / "degrees.json").read_text()):
        assert SENTINEL not in shown


@pytest.mark.verify
def test_degree_sequence_of_no_edges(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    path.write_text("u,v\n")
    done = run_example("degree_sequence.py", path, tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.verify
def test_degree_sequence_says_how_to_call_it() -> None:
    done = run_example("degree_sequence.py")
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert "EDGES OUTPUT_FOLDER" in done.stderr
    assert "two cells" in run_example("degree_sequence.py", "--help").stdout


@pytest.mark.verify
def test_degree_sequence_refuses_what_it_cannot_read(edges: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = run_example("degree_sequence.py", edges, folder, "--source", "x")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "'x'" in done.stderr
    assert "Traceback" not in done.stderr
    assert SENTINEL not in done.stderr
    assert not folder.exists()


@pytest.mark.verify
def test_degree_sequence_of_a_real_graph(tmp_path: Path) -> None:
    place = data.folder("edges")
    path = place / f"{FACEBOOK}_edges.csv.gz" if place else None
    if path is None or not path.exists():
        pytest.skip(f"needs edges/{FACEBOOK}_edges.csv.gz in the folder DPHIST_DATA")
    done = run_example("degree_sequence.py", path, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    release = dh.Release.load(tmp_path / "degrees.json")
    truth = dh.Profile.from_edges(path, source="u", target="v")
    # Ten times what is expected: that noise does this by chance is out of the question.
    allowed = 10 * release.mechanism.expected_error(truth.total)
    assert 0 < release.value.distance(truth) < allowed < truth.total / 10
    assert "sensitivity=2)" in (tmp_path / "degrees.html").read_text()


PURCHASES = ROOT / "data" / "items_online_retail.parquet"


@pytest.mark.verify
def test_common_items_of_the_shop(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = run_example("common_items.py", PURCHASES, folder)
    assert (done.returncode, done.stderr) == (0, "")
    release = dh.Release.load(folder / "items.json")
    mechanism = release.mechanism
    assert mechanism.max_labels == 50
    claimed = mechanism.to_approx_dp("1e-6")
    assert 0.999 < claimed.epsilon <= 1
    # About 142 items are listed. Each listed one has a true count that noise can lift so far,
    # and its released count is not far above it; a count is at most halved by the bounding.
    assert 110 < len(release.value) < 175
    bought = duckdb.read_parquet(str(PURCHASES)).aggregate("item, count(*)", "item").fetchall()
    truth = dict(bought)
    reach = 6 * float(mechanism.noise_scale)
    for label, count in zip(release.value.labels, release.value.counts.tolist(), strict=True):
        assert mechanism.threshold - 1 < count < truth[label] + reach
        assert count > truth[label] / 3 - reach
    lines = (folder / "items.csv").read_text().splitlines()
    assert lines[0] == "label,count,low,high"
    assert len(lines) == 1 + len(release.value)
    assert f"Items listed: {len(release.value)}\n" in done.stdout
    assert f"  {release.value.labels[0]}: {release.value.counts[0]} ± 59" in done.stdout
    assert "for one customer, who counts for at most 50 items" in done.stdout


@pytest.mark.verify
def test_common_items_lists_no_item_of_one_customer(tmp_path: Path) -> None:
    path = tmp_path / "purchases.csv"
    rows = [f"{who},{SENTINEL}-{who}-{place}" for who in range(20) for place in range(5)]
    rows += [f"{who},bread" for who in range(400)]
    path.write_text("\n".join(["customer,item", *rows]))
    done = run_example("common_items.py", path, tmp_path / "out", "--max-labels", "6")
    assert (done.returncode, done.stderr) == (0, "")
    assert dh.Release.load(tmp_path / "out" / "items.json").value.labels == ["bread"]
    written = (tmp_path / "out" / "items.json").read_text()
    for shown in (done.stdout, written, (tmp_path / "out" / "items.csv").read_text()):
        assert SENTINEL not in shown


@pytest.mark.verify
def test_common_items_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "purchases.csv"
    path.write_text(f"customer,item\n,{SENTINEL}\n1,{SENTINEL}\n")
    for arguments in ([], ["--user", "x"], ["--max-labels", "0"]):
        done = run_example("common_items.py", path, tmp_path / "out", *arguments)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
        assert SENTINEL not in done.stderr
    assert not (tmp_path / "out").exists()
    assert "one customer" in run_example("common_items.py", "--help").stdout


@pytest.mark.verify
@pytest.mark.parametrize("scheduler", [[], ["--dask"]], ids=["processes", "dask"])
def test_count_in_parts(scheduler: list[str], tmp_path: Path) -> None:
    done = run_example("count_in_parts.py", PURCHASES, tmp_path / "out", "--parts", "3", *scheduler)
    assert (done.returncode, done.stderr) == (0, "")
    release = dh.Release.load(tmp_path / "out" / "items.json")
    assert 110 < len(release.value) < 175
    assert f"Items listed: {len(release.value)}\n" in done.stdout
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["items.json"]
    assert run_example("count_in_parts.py", tmp_path / "none.csv", tmp_path).returncode == 1


@pytest.mark.verify
def test_ranges_of_made_up_visits(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = run_example("ranges.py", folder)
    assert (done.returncode, done.stderr) == (0, "")
    release = dh.Release.load(folder / "visits.json")
    assert release.guarantee == dh.PureDP(1)
    assert release.value.counts.shape == (366 * 24,)
    # Ten times the error stated: that noise does this by chance is out of the question.
    assert abs(release.total - 200_000) < 10 * release.value.error_bins(0, 366 * 24)
    assert f"Visits all of the year: {release.total:,} ± " in done.stdout
    assert "Visits at noon of that day: " in done.stdout
    assert "Half of the visits were before 2024-0" in done.stdout
    text = re.sub(r"<[^>]*>", "", (folder / "visits.html").read_text())
    assert "time from 2024-01-01" in text


@pytest.mark.verify
def test_ranges_of_a_file(tmp_path: Path) -> None:
    path, folder = tmp_path / "visits.csv", tmp_path / "out"
    path.write_text("when\n" + "2024-03-05T10:00:00\n" * 4000 + "2023-01-01T00:00:00\n")
    asked = ("--visits", path, "--column", "when", "--visits-each", "3")
    done = run_example("ranges.py", folder, *asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert dh.Release.load(folder / "visits.json").mechanism.sensitivity == 3
    assert "Half of the visits were before 2024-03-0" in done.stdout
    path.write_text(f"when\n{SENTINEL}\n")
    for arguments in (asked, asked[:2], ("--visits", tmp_path / "none.csv")):
        done = run_example("ranges.py", tmp_path / "other", *arguments)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert SENTINEL not in done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.verify
def test_pharmacy_goes_on_day_by_day_also_when_killed(tmp_path: Path) -> None:
    state, folder = tmp_path / "sales.state", tmp_path / "out"
    for day in (1, 2):
        killed = run_example("pharmacy.py", state, folder, "--kill")
        assert killed.returncode == -9
        with dh.ContinualHistogram.open(state) as stream:
            assert stream.time == 2000 * (day - 1) + 1000
        done = run_example("pharmacy.py", state, folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"Day {day}, {2000 * day:,} purchases: " in done.stdout
    release = dh.Release.load(folder / "drugs.json")
    assert release.value.times.tolist() == [2000, 4000]
    # About a fifth of all drugs sold are the first one; noise alone cannot hide that.
    assert release.value.latest.labels[0] == "drug 000"
    assert "drug 000" in (folder / "drugs.html").read_text()
    again = run_example("pharmacy.py", folder / "drugs.json", folder)
    assert again.returncode == 1
    assert again.stderr.startswith("error: ")


PASSWORDS = ROOT / "data" / "passwords_yahoo.csv"


@pytest.mark.verify
def test_guessing_curve_of_yahoo(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = run_example("guessing_curve.py", PASSWORDS, folder)
    assert (done.returncode, done.stderr) == (0, "")
    release = dh.Release.load(folder / "passwords.json")
    assert release.guarantee == dh.PureDP(1)
    # As of the file itself: among 69 million accounts noise changes none of these digits.
    assert "10 guesses open   1.89% of the accounts" in done.stdout
    assert "1,000 guesses open   8.32% of the accounts" in done.stdout
    assert "as hard as 21.9 random bits" in done.stdout
    lines = (folder / "guessing.csv").read_text().splitlines()
    assert lines[0] == "guesses,share_opened"
    rows = [(int(guesses), float(share)) for guesses, share in (x.split(",") for x in lines[1:])]
    assert rows == sorted(set(rows))
    assert rows[0][0] == 1
    assert rows[-1] == (release.value.labels, 1.0)
    for guesses, share in rows[::40]:
        assert share == dh.properties.guessing(release.value, guesses=guesses).value
    picture = (folder / "guessing.svg").read_text()
    assert picture.startswith("<?xml")
    assert "accounts opened" in picture


@pytest.mark.verify
def test_guessing_curve_as_png_of_few_accounts(tmp_path: Path) -> None:
    for content in ("", "5000,1\n"):
        (tmp_path / "p.csv").write_text("count,prevalence\n" + content)
        done = run_example(
            "guessing_curve.py", tmp_path / "p.csv", tmp_path, "--picture", "curve.png"
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "curve.png").unlink()


@pytest.mark.verify
def test_guessing_curve_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"count,prevalence\n{SENTINEL},1\n")
    done = run_example("guessing_curve.py", path, tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert SENTINEL not in done.stderr
    assert (
        run_example("guessing_curve.py", path, tmp_path / "out", "--picture", "x.doc").returncode
        == 2
    )
    assert not (tmp_path / "out").exists()
    assert "one account" in run_example("guessing_curve.py", "--help").stdout


@pytest.mark.verify
def test_unseen_species_of_butterflies() -> None:
    done = run_example("unseen_species.py")
    assert (done.returncode, done.stderr) == (0, "")
    table = {line[:30].strip(): line[30:].split("  ") for line in done.stdout.splitlines()}
    cells = {name: [cell.strip() for cell in row if cell] for name, row in table.items()}
    assert cells["species caught"][0] == "501"
    # 74 new species in as much time again; Good and Toulmin 1956 have 75.
    assert cells["new ones, in 1 × the time"][0].startswith("74 (")
    assert cells["new ones, in 1/2 × the time"][0].startswith("46 (")
    # At epsilon 1 the noise moves 501 species by a few. That it does more is out of the question.
    assert 400 < int(cells["species caught"][1]) < 600
    assert "(epsilon 1)" in done.stdout
    assert "not foretold" not in done.stdout


@pytest.mark.verify
def test_unseen_species_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("count,prevalence\n1,3\n")
    done = run_example("unseen_species.py", "--counts", path, "--epsilon", "1/2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "not foretold" in done.stdout
    path.write_text(f"count,prevalence\n{SENTINEL},1\n")
    for arguments in (["--counts", path], ["--epsilon", "0"]):
        done = run_example("unseen_species.py", *arguments)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
        assert SENTINEL not in done.stderr


@pytest.mark.verify
def test_ledger_of_the_shop(tmp_path: Path) -> None:
    """Run twice it spends once; a release that is too large is refused and changes nothing."""
    folder = tmp_path / "new" / "folder"
    first = run_example("ledger.py", PURCHASES, folder)
    assert (first.returncode, first.stderr) == (0, "")
    place = folder / "shop.ledger"
    with dh.Ledger.open(place) as ledger:
        spent, entries = ledger.spent, len(ledger.entries())
        assert ledger.stored("items") == dh.Release.load(folder / "items.json")
    assert f"Verified: {entries} entries" in first.stdout
    release = dh.Release.load(folder / "items.json")
    assert release.guarantee.unit == dh.PrivacyUnit("customer")
    assert release.provenance["account"] == "main"
    assert len(release.value) > 20
    written = {path: path.read_bytes() for path in folder.glob("*.json")}
    for arguments, code in (((), 0), (("--epsilon", "1"), 3)):
        again = run_example("ledger.py", PURCHASES, folder, *arguments)
        assert again.returncode == code
        with dh.Ledger.open(place) as ledger:
            assert (ledger.spent, len(ledger.entries())) == (spent, entries)
        assert {path: path.read_bytes() for path in folder.glob("*.json")} == written
    assert "refused: no more releases like this one fit" in again.stderr
    assert "Nothing was charged" in again.stderr
    assert "Traceback" not in again.stderr


@pytest.mark.verify
def test_ledger_is_charged_before_the_purchases_are_opened(tmp_path: Path) -> None:
    """A file that cannot be read costs what was charged, and is not read a second time."""
    path = tmp_path / "purchases.csv"
    path.write_text(f"customer,item\n,{SENTINEL}\n")
    for _ in range(2):
        done = run_example("ledger.py", path, tmp_path / "out")
        assert done.returncode == 1
        assert SENTINEL not in done.stderr
        assert "Traceback" not in done.stderr
    assert "was charged (entry 4) and has not finished" in done.stderr
    with dh.Ledger.open(tmp_path / "out" / "shop.ledger") as ledger:
        assert [entry.action for entry in ledger.entries()][3:] == ["charged"]
    assert SENTINEL.encode() not in (tmp_path / "out" / "shop.ledger").read_bytes()


@pytest.mark.verify
def test_from_r(tmp_path: Path) -> None:
    """Both halves: the command line, and Python within R."""
    assert shutil.which("Rscript"), "R is missing: install it as `make office` does"
    command = ["Rscript", "examples/from_r.R", str(tmp_path / "new folder")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {**os.environ, "PATH": path, "RETICULATE_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "is left out" not in done.stdout
    folder = tmp_path / "new folder"
    items = dh.Release.load(folder / "items.json")
    assert items.guarantee.unit.who == "customer"
    assert f"Items released: {len(items.value)} \n" in done.stdout
    assert (folder / "items.csv").read_text() == items.to_csv()
    ages = dh.Release.load(folder / "ages.json")
    assert not ages.for_tests
    assert abs(int(ages.value.counts.sum()) - 247) < 40  # women in R's data set, of 20 to 44
    assert (folder / "ages.csv").read_text() == ages.to_csv()
    for name in ("items.svg", "ages.svg"):
        assert (folder / name).read_text().count("<") > 50
