"""What the machine does to a run: full disks, no memory, damaged files, killed processes.

Each gives an error with a remedy and without data, leaves nothing half-written, and a ledger has
one charge at most.
"""

import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import duckdb
import pytest

import dphist as dh
from dphist.counting.engine.resources import space_needed
from tests.support.command_line import run
from tests.support.commands.ledgers import anonymize, made, written

PREFIX = "SENTINEL-"
PATIENCE = 300
ROWS = 1_000_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are set as Linux does")


@pytest.fixture(autouse=True)
def no_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DPHIST_LEDGER", "DPHIST_BY", "DPHIST_SIGNING_KEY"):
        monkeypatch.delenv(name, raising=False)


def wide(path: Path, rows: int) -> Path:
    """Write rows of as many users and labels, whose texts are secret."""
    columns = f"'{PREFIX}u' || i AS who, '{PREFIX}l' || i AS label"
    with duckdb.connect() as connection:
        numbers = connection.sql("SELECT unnest(range(?)) AS i", params=[rows])
        numbers.project(columns).write_parquet(str(path))
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wide(tmp_path_factory.mktemp("large") / "large.parquet", ROWS)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty folder of outputs."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def labels(file: Path, *options: object) -> list[str]:
    """Return a command that bounds and counts all rows."""
    given = ["labels", file, "--label", "label", "--user", "who", "--max-labels", 2]
    cost = ["--epsilon", "1", "--delta", "1e-6"]
    return [sys.executable, "-m", "dphist", *map(str, [*given, *cost, *options])]


def ended(
    command: Sequence[str], limit: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, preexec_fn=limit
    )


def failed(done: subprocess.CompletedProcess[str], out: Path, *said: str) -> None:
    """Check that a run failed in one clear line, and wrote nothing."""
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert done.stderr.startswith("dphist: ")
    assert done.stderr.count("\n") == 1
    for each in said:
        assert each in done.stderr
    assert PREFIX not in done.stderr
    assert list(out.iterdir()) == []


def on_small_disk(folder: Path, command: Sequence[str], size: str) -> list[str]:
    """Return a command that runs with a disk of this size mounted on a folder, which only it sees.

    The folder's files are listed on the last line of standard output.
    """
    asked = f"mount -t tmpfs -o size={size} none {folder} && {{ {shlex.join(command)}; "
    return ["unshare", "-m", "sh", "-c", asked + f"code=$?; ls -A {folder}; exit $code; }}"]


@pytest.fixture(scope="module")
def small_disks(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("disk")
    if shutil.which("unshare") is None or ended(on_small_disk(folder, ["true"], "1m")).returncode:
        pytest.skip("may not mount a disk")


@pytest.mark.verify
@pytest.mark.usefixtures("small_disks")
def test_a_full_disk_of_temporary_files(large: Path, out: Path, tmp_path: Path) -> None:
    temp = tmp_path / "temp"
    temp.mkdir()
    options = ("--memory", "64MB", "--temp", temp, "--output", out / "r.json")
    done = ended(on_small_disk(temp, labels(large, *options), "2m"))
    failed(done, out, "ran out of memory, or of disk", "--temp FOLDER", "--memory 8GB")


@pytest.mark.verify
@pytest.mark.usefixtures("small_disks")
def test_a_full_disk_of_outputs(tmp_path: Path, out: Path) -> None:
    """The ledger keeps the release: the same command writes it elsewhere, at no cost."""
    file, ledger = written(tmp_path / "rows.csv"), made(tmp_path / "clinic.ledger")
    command = [sys.executable, "-m", "dphist", *map(str, anonymize(file, ledger, "k"))]
    outputs = ["--output", str(out / "r.json"), "--table", str(out / "t.csv")]
    done = ended(on_small_disk(out, [*command, *outputs], "4k"))  # one file
    failed(done, out, "no space left to write", "nothing was written", "at no cost")
    assert run(*anonymize(file, ledger, "k"), *outputs, "--quiet") == 6
    assert dh.Release.load(out / "r.json").provenance["entry"] == "3"
    assert len(list(dh.Ledger.open(ledger).entries())) == 4  # opened, account, charged, released


@pytest.mark.verify
def test_a_ledger_that_cannot_grow_charges_nothing(tmp_path: Path, out: Path) -> None:
    """The disk is full before the charge: no data are opened, and later all is as before."""
    file, ledger = written(tmp_path / "rows.csv"), made(tmp_path / "clinic.ledger")
    before = [entry.action for entry in dh.Ledger.open(ledger).entries()]
    command = [sys.executable, "-m", "dphist", *map(str, anonymize(file, ledger, "k"))]
    size = 512
    done = ended(
        [*command, "--output", str(out / "r.json")],
        lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    failed(done, out)
    book = dh.Ledger.open(ledger)
    assert [entry.action for entry in book.entries()] == before
    book.verify()
    assert run(*anonymize(file, ledger, "k"), "--quiet", "--output", out / "r.json") == 0


@pytest.mark.verify
def test_no_memory(large: Path, out: Path) -> None:
    """The limit of a process, far below what it asks for."""
    size = 1_200_000_000

    done = ended(
        labels(large, "--memory", "8GB", "--threads", "1", "--output", out / "r.json"),
        lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )
    failed(done, out, "memory", "--memory")


GROUPS = Path(os.environ.get("DPHIST_CGROUP", "/sys/fs/cgroup"))
"""A control group of version 2, in which root may make one."""


@pytest.fixture
def limited() -> Iterator[Callable[[int], Callable[[], None]]]:
    """Make a child join a control group with this many bytes of memory, and no swap."""
    group = GROUPS / f"dphist-{os.getpid()}"
    group.mkdir()
    try:
        yield lambda size: limit(group, size)
    finally:
        until = time.monotonic() + PATIENCE
        while group.exists():  # it stays busy for a moment after its last process
            try:
                group.rmdir()
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.05)


def limit(group: Path, size: int) -> Callable[[], None]:
    (group / "memory.max").write_text(str(size))
    if (group / "memory.swap.max").exists():
        (group / "memory.swap.max").write_text("0")

    def join() -> None:
        (group / "cgroup.procs").write_text("0")

    return join


@pytest.mark.container
def test_a_run_that_the_kernel_ends_for_its_memory(
    limited: Callable[[int], Callable[[], None]],
    large: Path,
    tmp_path: Path,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a container that is too small for --memory: charged once, nothing written or left."""
    ledger, temporary, spill = tmp_path / "clinic.ledger", tmp_path / "temp", tmp_path / "spill"
    made(ledger)
    temporary.mkdir()
    spill.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    options = ("--memory", "8GB", "--temp", spill, "--quiet", "--output", out / "r.json")
    command = [sys.executable, "-m", "dphist", *map(str, anonymize(large, ledger, "k", *options))]
    done = ended(command, limited(220_000_000))
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == done.stderr == ""
    assert list(out.iterdir()) == []
    assert list(temporary.iterdir()) != []
    actions = ["opened", "account", "charged"]
    assert [entry.action for entry in dh.Ledger.open(ledger).entries()] == actions
    again = ended(command)
    failed(again, out, "was charged")
    assert [entry.action for entry in dh.Ledger.open(ledger).entries()] == actions
    assert list(temporary.iterdir()) == list(spill.iterdir()) == []
    dh.Ledger.open(ledger).verify()


@pytest.mark.container
def test_the_limit_of_a_container_is_noticed(
    limited: Callable[[int], Callable[[], None]], tmp_path: Path
) -> None:
    """By default half of it is used, if it is small."""
    command = labels(tmp_path / "none.parquet", "--dry-run", "--expect-rows", 10**9)
    done = ended(command, limited(1_000_000_000))
    assert done.returncode == 0, done
    assert "(--memory 500MB;" in done.stdout


@pytest.mark.verify
@pytest.mark.parametrize("damage", ["cut", "zeros"])
def test_a_damaged_parquet_file(damage: str, tmp_path: Path, out: Path) -> None:
    """Charged once: the file was opened. The key draws no more, and costs no more."""
    file, ledger = wide(tmp_path / "rows.parquet", 50_000), made(tmp_path / "clinic.ledger")
    content = file.read_bytes()
    middle = len(content) // 2
    file.write_bytes(content[:middle] + (b"" if damage == "cut" else bytes(999)))
    if damage == "zeros":
        with file.open("ab") as rest:
            rest.write(content[middle + 999 :])
    command = [sys.executable, "-m", "dphist", *map(str, anonymize(file, ledger, "k"))]
    done = ended([*command, "--output", str(out / "r.json")])
    failed(done, out, "rows.parquet", "cannot be read", "stays charged")
    assert run(*anonymize(file, ledger, "k"), "--output", out / "r.json") == 7
    assert list(out.iterdir()) == []
    actions = [entry.action for entry in dh.Ledger.open(ledger).entries()]
    assert actions == ["opened", "account", "charged"]


def counted_part(file: str, part: int, path: str, die: bool) -> None:
    """Count a part of the users, in a worker; one that dies is killed while it writes."""
    found = dh.LabelCounts.partial(
        file, label="label", user="who", max_labels=1, part=part, parts=2
    )
    if die:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
    found.save(path)


@pytest.mark.verify
def test_a_worker_that_is_killed(tmp_path: Path, out: Path) -> None:
    """Its part is missing, not half there; it is counted again, and nothing is left behind."""
    file = str(written(tmp_path / "rows.csv"))
    paths = [str(out / f"{part}.part.parquet") for part in range(2)]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(counted_part, file, 0, paths[0], False).result(PATIENCE)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(BrokenProcessPool),
    ):
        pool.submit(counted_part, file, 1, paths[1], True).result(PATIENCE)
    with pytest.raises(dh.DphistError):
        dh.LabelCounts.merge(paths)
    assert not Path(paths[1]).exists()
    counted_part(file, 1, paths[1], False)
    assert sorted(map(str, out.iterdir())) == paths
    whole = dh.LabelCounts.from_table(file, label="label", user="who", max_labels=1)
    names = ["d0", "d1", "d2", "d3"]
    assert dh.LabelCounts.merge(paths).counts_of(names) == whole.counts_of(names)


@pytest.mark.verify
def test_a_run_that_is_killed_at_any_moment(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One charge at most; whole outputs or none; and the next start leaves nothing of it."""
    file, ledger = wide(tmp_path / "rows.parquet", 100_000), tmp_path / "clinic.ledger"
    made(ledger, "--epsilon", 10)
    temporary, spill = tmp_path / "temporary", tmp_path / "spill"
    temporary.mkdir()
    spill.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    outputs = {"--output": out / "r.json", "--table": out / "t.csv"}
    options = [str(each) for pair in outputs.items() for each in pair]
    options += ["--temp", str(spill), "--memory", "64MB", "--quiet"]

    def command(key: str) -> list[str]:
        asked = map(str, anonymize(file, ledger, key))
        return [sys.executable, "-m", "dphist", *asked, *options]

    begun = time.monotonic()
    assert ended(command("whole")).returncode == 0
    seconds = time.monotonic() - begun
    for path in outputs.values():
        path.unlink()
    kills = 3
    for kill in range(kills):
        key = f"k{kill}"
        with subprocess.Popen(command(key), stderr=subprocess.DEVNULL) as child:
            time.sleep(seconds * (kill + 1) / (kills + 1))
            child.kill()
        written_now = [path for path in outputs.values() if path.exists()]
        if written_now:  # it had ended
            assert dh.Release.load(outputs["--output"])
        again = ended([*command(key), "--overwrite"])
        assert again.returncode in (0, 6, 7)
        entries = list(dh.Ledger.open(ledger).entries())
        assert [e.content.get("key") for e in entries if e.action == "charged"].count(key) == 1
        assert list(temporary.iterdir()) == list(spill.iterdir()) == []
        assert {path.name for path in out.iterdir()} <= {"r.json", "t.csv"}
        if again.returncode == 7:
            assert "was charged" in again.stderr
            assert not (out / "r.json").exists()
        for path in outputs.values():
            path.unlink(missing_ok=True)
    dh.Ledger.open(ledger).verify()


@pytest.mark.verify
def test_what_a_dry_run_says_of_memory_and_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From public guesses alone: FILE does not even exist."""
    file = tmp_path / "none.parquet"
    given = labels(file, "--dry-run", "--memory", "2GB", "--temp", tmp_path)[3:]
    assert run(*given) == 0
    line = "Resources: 1,000,000 rows need about 340MB of memory, and no temporary files."
    assert line in " ".join(capsys.readouterr().out.split())
    assert run(*given, "--expect-rows", 10**8, "--json") == 0
    shown = json.loads(capsys.readouterr().out)["resources"]
    assert shown == {"rows": 10**8, "memory": 2_200_000_000, "temporary": 6_000_000_000}
    assert run(*given, "--expect-rows", 10**8) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"about 2.2GB of memory and 6GB of temporary files in {tmp_path} (--memory 2GB;" in said
    assert run(*given[:-4], "--expect-rows", 0) == 2
    assert "--expect-rows must be at least 1" in capsys.readouterr().err
    assert run(*given, "--expect-rows", 10**399) == 2
    assert "--expect-rows must be at most 1,000,000,000,000,000" in capsys.readouterr().err
    assert run(*given, "--expect-rows", 10**400) == 2
    assert "--expect-rows: must be a whole number of at most 400 digits" in capsys.readouterr().err
    assert run(*given, "--expect-rows", 10**15) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1,000,000,000,000,000 rows need about 2.2GB" in said
    assert (
        run(
            "ranges",
            file,
            "--each-row-is-one-person",
            "--column",
            "x",
            "--edges",
            "0,1",
            "--epsilon",
            1,
            "--dry-run",
        )
        == 0
    )
    said = " ".join(capsys.readouterr().out.split())
    assert "need about 200MB of memory, and no temporary files" in said
    assert run("anonymize", file, "--epsilon", 1, "--dry-run") == 0
    assert "Resources" not in capsys.readouterr().out  # a profile has few rows


PEAK = (
    "import re, sys; from dphist.cli import main; code = main(sys.argv[1:])\n"
    "print(re.search('VmHWM:[^0-9]*([0-9]+)', open('/proc/self/status').read())[1])\n"
    "sys.exit(code)"
)


@pytest.mark.verify
@pytest.mark.parametrize("rows", ["all different", "ten a user"])
def test_the_estimates_are_true_within_a_factor_of_2(
    rows: str, large: Path, tmp_path: Path
) -> None:
    file = large
    if rows == "ten a user":
        file = tmp_path / "rows.parquet"
        drawn = f"'u' || hash(i) % {ROWS // 10} AS who, 'label-' || hash(i + 7) % 40000 AS label"
        with duckdb.connect() as connection:
            numbers = connection.sql("SELECT unnest(range(?)) AS i", params=[ROWS])
            numbers.project(drawn).write_parquet(str(file))
    command = labels(file, "--memory", "4GB", "--quiet", "--output", tmp_path / "r.json")
    done = ended([sys.executable, "-c", PEAK, *command[3:]])
    assert done.returncode == 0, done.stderr
    peak = 1024 * int(done.stdout)
    assert 0.5 < peak / space_needed("label, user", ROWS, 4 * 10**9).memory < 2
