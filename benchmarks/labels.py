"""Labels nobody listed: dphist beside OpenDP, PipelineDP and Tumult Analytics.

    python -m benchmarks.labels [--opendp PYTHON] [--pipelinedp PYTHON] [--tumult PYTHON]
                                [--rows N] [--turns N] [--noise KIND ...] [--bounds KxM ...]
                                [--data NAME ...] [--bounded]
                                [--file PARQUET --user COLUMN --label COLUMN]

Each library runs in a process of its own, under the Python named (they need other versions of the
same packages; what is not named is left out), and the processes take turns. What is timed is a
release, from a Parquet file or from a table in memory to released labels, bounding included; what
can be done before there are data is timed apart. --file takes a Parquet file of one's own. All get
the same bounds and the same total, (epsilon, delta) = (1, 1e-6), as it truly is:
docs/understand/lab-notes says how OpenDP's is matched.
"""

import argparse
import contextlib
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

EPSILON, DELTA = 1.0, 1e-6
BOUNDS = [(10, 1), (50, 2)]  # labels of a user, and what a user adds to each
NOISES = ["gaussian", "laplace"]
HEAD = ["", "seconds", "ratio", "processor s", "ratio", "labels", "total", "mean error", "turns"]
ENOUGH = 20.0  # seconds, after which a contender is not asked again

Released = tuple[list[Any], list[float]]
Release = Callable[[], Released]


@dataclass(frozen=True, slots=True)
class Job:
    """One release: a file, its columns of users and labels, bounds, and what it may cost."""

    path: str
    user: str
    label: str
    max_labels: int
    max_count: int
    noise: str
    rho: float = 0.0  # of Gaussian noise in zCDP, with threshold_delta beside it
    threshold_delta: float = DELTA


# In the processes of the libraries. Each function returns what releases once.


def dphist_release(job: Job, table: Callable[[], Any]) -> Release:
    """dphist, from what `table` returns."""
    dphist = importlib.import_module("dphist")
    mechanism = calibrated(job)

    def release() -> Released:
        counts = dphist.LabelCounts.from_table(
            table(),
            label=job.label,
            user=job.user,
            max_labels=job.max_labels,
            max_count=job.max_count,
        )
        value = mechanism.release(counts).value
        return value.labels, value.counts.tolist()

    return release


def calibrated(job: Job) -> Any:
    """Return the mechanism of dphist whose release costs (EPSILON, DELTA) in all."""
    dphist = importlib.import_module("dphist")
    return dphist.calibrate(
        dphist.ThresholdHistogram,
        epsilon=str(EPSILON),
        delta=str(DELTA),
        max_labels=job.max_labels,
        max_count=job.max_count,
        noise=job.noise,
    )


def dphist_file(job: Job) -> Release:
    """Through DuckDB, which reads the file."""
    return dphist_release(job, lambda: job.path)


def dphist_frame(job: Job) -> Release:
    """From a Polars frame in memory."""
    polars = importlib.import_module("polars")
    frame = polars.read_parquet(job.path, columns=[job.user, job.label])
    return dphist_release(job, lambda: frame)


def dphist_spark(job: Job) -> Release:
    """In Spark, which reads the file."""
    session = spark_session()
    return dphist_release(job, lambda: session.read.parquet(job.path))


def opendp_file(job: Job) -> Release:
    """OpenDP over a lazy frame of the file; of a user's labels the first are kept."""
    polars = importlib.import_module("polars")
    return opendp_release(job, polars.scan_parquet(job.path), "first")


def opendp_frame(job: Job) -> Release:
    """OpenDP over a frame in memory; of a user's labels the last are kept."""
    polars = importlib.import_module("polars")
    frame = polars.read_parquet(job.path, columns=[job.user, job.label])
    return opendp_release(job, frame.lazy(), "last")


def opendp_release(job: Job, frame: Any, keep: str) -> Release:
    """Resolve OpenDP's query, which looks for the scale and the threshold, before data are read.

    OpenDP 0.16 keeps k - 1 labels of a user when asked for k, and pays for k. It is asked for one
    more than the bound, and given what it then claims to need for the true cost.
    """
    polars, dp = importlib.import_module("polars"), importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    asked = job.max_labels + 1
    more = asked / job.max_labels
    delta = 1 - (1 - job.threshold_delta) ** more
    loss = {"rho": job.rho * more} if job.noise == "gaussian" else {"epsilon": EPSILON * more}
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.make_unit(contributions=1, identifier=polars.col(job.user)),
        privacy_loss=dp.loss_of(**loss, delta=delta),
        split_evenly_over=1,
    )
    query = context.query().truncate_per_group(job.max_count, by=[job.label])
    # "sample", a random choice, fails: "multiple fields with name". The others are alphabetical.
    query = query.truncate_num_groups(asked, by=[job.label], keep=keep)
    measurement = query.group_by(job.label).agg(dp.len(signed=True)).resolve()

    def release() -> Released:
        table = measurement(frame).collect()
        return table[job.label].to_list(), table["len"].to_list()

    return release


def pipelinedp_memory(job: Job) -> Release:
    """PipelineDP over a list in memory, with its LocalBackend.

    Where users add one to a label it thresholds the noisy count of users, so that nothing is
    spent on choosing labels; it offers that for no other count.
    """
    pdp, parquet = (
        importlib.import_module("pipeline_dp"),
        importlib.import_module("pyarrow.parquet"),
    )
    table = parquet.read_table(job.path, columns=[job.user, job.label])
    rows = list(zip(*(table[name].to_pylist() for name in (job.user, job.label)), strict=True))
    del table
    single = job.max_count == 1
    strategy = pdp.PartitionSelectionStrategy
    choices = {
        "gaussian": (pdp.NoiseKind.GAUSSIAN, strategy.GAUSSIAN_THRESHOLDING),
        "laplace": (
            pdp.NoiseKind.LAPLACE,
            strategy.LAPLACE_THRESHOLDING if single else strategy.TRUNCATED_GEOMETRIC,
        ),
    }
    noise, selection = choices[job.noise]
    parameters = pdp.AggregateParams(
        metrics=[pdp.Metrics.PRIVACY_ID_COUNT if single else pdp.Metrics.COUNT],
        noise_kind=noise,
        max_partitions_contributed=job.max_labels,
        max_contributions_per_partition=job.max_count,
        partition_selection_strategy=selection,
        post_aggregation_thresholding=single,
    )
    extractors = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: 0,
    )

    def release() -> Released:
        budget = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
        found = pdp.DPEngine(budget, pdp.LocalBackend()).aggregate(rows, parameters, extractors)
        budget.compute_budgets()
        found = list(found)
        return [label for label, _ in found], [float(values[0]) for _, values in found]

    return release


def tumult_spark(job: Job) -> Release:
    """Tumult Analytics: labels at half of epsilon, and their counts at the other half.

    Its noise is geometric: get_groups wants (epsilon, delta).
    """
    tumult, session = importlib.import_module("tmlt.analytics"), spark_session()
    half = EPSILON / 2

    def release() -> Released:
        frame = session.read.parquet(job.path).selectExpr(
            f"CAST(`{job.user}` AS BIGINT) AS who", f"CAST(`{job.label}` AS STRING) AS term"
        )
        private = tumult.Session.from_dataframe(
            tumult.ApproxDPBudget(EPSILON, DELTA),
            "rows",
            frame,
            protected_change=tumult.AddRowsWithID("who"),
        )
        query = tumult.QueryBuilder("rows").enforce(tumult.MaxGroupsPerID("term", job.max_labels))
        query = query.enforce(tumult.MaxRowsPerGroupPerID("term", job.max_count))
        groups = private.evaluate(query.get_groups(["term"]), tumult.ApproxDPBudget(half, DELTA))
        if not groups.count():
            return [], []
        counting = query.groupby(tumult.KeySet.from_dataframe(groups)).count()
        found = private.evaluate(counting, tumult.ApproxDPBudget(half, 0)).toPandas()
        return found["term"].tolist(), found["count"].tolist()

    return release


def spark_session() -> Any:
    """Return Spark on this machine's cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = importlib.import_module("pyspark.sql").SparkSession.builder.master("local[*]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


WORKERS: dict[str, Callable[[Job], Release]] = {
    "dphist, file": dphist_file,
    "dphist, Polars": dphist_frame,
    "OpenDP, file, first": opendp_file,
    "OpenDP, Polars, last": opendp_frame,
    "PipelineDP, list": pipelinedp_memory,
    "dphist, Spark": dphist_spark,
    "Tumult, Spark": tumult_spark,
}


def serve(name: str) -> None:
    """Answer each line on standard input: prepare a job once, then release it again and again."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    release: Release | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        start, busy = time.perf_counter(), time.process_time()
        result: Released = ([], [])
        if asked is None:
            assert release is not None
            result = release()
        else:
            release = WORKERS[name](Job(**asked))
        spent = [time.perf_counter() - start, time.process_time() - busy]
        print(json.dumps([spent, *result]), file=answers, flush=True)


# In the process that compares.


class Contender:
    """A process that releases when asked."""

    def __init__(self, name: str, python: str, job: Job) -> None:
        self.name = name
        self.seconds: list[float] = []
        self.busy: list[float] = []
        self.labels: list[int] = []
        self.totals: list[float] = []
        self.errors: list[float] = []
        self._process = subprocess.Popen(
            [python, str(Path(__file__).resolve()), "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        prepared = self._asked(asdict(job))
        self.failed = prepared is None
        self.preparing = prepared[0][0] if prepared else 0.0

    def _asked(self, question: object) -> tuple[list[float], list[Any], list[float]] | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = ""
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(question), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        if not answer:
            return None
        spent, labels, counts = json.loads(answer)
        return spent, labels, counts

    def run(self, truth: dict[str, int], *, counted: bool) -> None:
        """Release once, unless enough time was spent or the process died, as of memory."""
        if self.failed or sum(self.seconds) > ENOUGH:
            return
        answer = self._asked(None)
        if answer is None:
            self.failed = True
            return
        (seconds, busy), labels, counts = answer
        if not counted and seconds < ENOUGH / 4:
            return
        self.seconds.append(seconds)
        self.busy.append(busy)
        self.labels.append(len(labels))
        self.totals.append(sum(counts))
        away = [abs(n - truth.get(str(x), 0)) for x, n in zip(labels, counts, strict=True)]
        self.errors.append(statistics.fmean(away) if away else 0.0)

    def row(self, base: "Contender") -> tuple[str, ...]:
        """Medians, and the median ratio of times to those of `base` in the same turns.

        The time of processors leaves out Spark's, which are in a process of their own.
        """
        if self.failed or not self.seconds:
            return (self.name, "failed", *[""] * (len(HEAD) - 2))
        ratios = [a / b for a, b in zip(self.seconds, base.seconds, strict=False)]
        busier = [a / b for a, b in zip(self.busy, base.busy, strict=False)]
        spark = "Spark" in self.name
        return (
            self.name,
            f"{statistics.median(self.seconds):.2f}",
            f"{statistics.median(ratios):.1f}",
            "" if spark else f"{statistics.median(self.busy):.2f}",
            "" if spark else f"{statistics.median(busier):.1f}",
            f"{statistics.fmean(self.labels):,.1f}",
            f"{statistics.fmean(self.totals):,.0f}",
            f"{statistics.fmean(self.errors):,.0f}",
            str(len(self.seconds)),
        )

    def close(self) -> None:
        """End the process."""
        try:
            self._process.communicate(timeout=10)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.communicate()


def true_counts(job: Job) -> dict[str, int]:
    """Count each label, users bounded to `max_count` a label but not in their labels."""
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.execute(
            f"SELECT term::VARCHAR, sum(n)::BIGINT FROM (SELECT {job.user}, {job.label} AS term, "
            f"least(count(*), {job.max_count}) AS n FROM read_parquet(?) GROUP BY ALL) "
            "GROUP BY 1 HAVING sum(n) > 3",
            [job.path],
        ).fetchall()
    return dict(rows)


def bounded(job: Job, path: Path) -> Job:
    """Return a job over rows that keep to the bounds already, chosen by a hash for each user."""
    import duckdb

    with duckdb.connect() as connection:
        connection.sql(
            f"SELECT {job.user}, {job.label}, "
            f"row_number() OVER (PARTITION BY {job.user}, {job.label}) AS turn, "
            f"dense_rank() OVER (PARTITION BY {job.user} ORDER BY hash({job.user}, {job.label})) "
            f"AS place FROM read_parquet('{job.path}')"
        ).filter(f"turn <= {job.max_count} AND place <= {job.max_labels}").project(
            f"{job.user}, {job.label}"
        ).write_parquet(str(path))
    return replace(job, path=str(path))


def contest(job: Job, pythons: dict[str, str], turns: int) -> Iterator[Contender]:
    """Let all take turns; then yield them."""
    truth = true_counts(job)
    contenders: list[Contender] = []
    try:
        for name in WORKERS:
            library = name.split(",")[0].lower()
            if library in pythons and not (library == "tumult" and job.noise == "gaussian"):
                if name == "dphist, Spark" and "tumult" not in pythons:
                    continue
                contenders.append(Contender(name, pythons[library], job))
        for turn in range(turns + 1):
            for contender in contenders:
                contender.run(truth, counted=turn > 0)
        yield from contenders
    finally:
        for contender in contenders:
            contender.close()


def data_sets(
    folder: Path, rows: int, chosen: list[str] | None
) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, path, user and label of each table chosen; two of them are made in `folder`."""
    import duckdb

    from benchmarks.data import folder as shared
    from benchmarks.label_speed import write_rows

    labelled = shared("labelled")
    if labelled is None:
        print("No folder labelled/ in DPHIST_DATA: the made table only")
    elif not chosen or "reddit_bigrams" in chosen:
        yield "reddit_bigrams", str(labelled / "reddit_bigrams.parquet"), "author", "ngram"
    if labelled is not None and (not chosen or "online_retail" in chosen):
        retail = folder / "retail.parquet"
        with duckdb.connect() as connection:
            connection.read_parquet(str(labelled / "online_retail.parquet")).filter(
                "customer <> -1"
            ).project("customer, item").write_parquet(str(retail))
        yield "online_retail", str(retail), "customer", "item"
    if not chosen or "made" in chosen:
        made = folder / "made.parquet"
        write_rows(made, rows, max(rows // 10, 1), max(rows // 10, 1))
        yield "made", str(made), "who", "text"


def _own_file(
    chosen: argparse.Namespace, parser: argparse.ArgumentParser
) -> list[tuple[str, str, str, str]]:
    """Return the caller's file, as `data_sets` yields tables; nothing if none is named."""
    given = (chosen.file, chosen.user, chosen.label)
    if given == (None, None, None):
        return []
    if None in given:
        parser.error("--file, --user and --label go together")
    path = Path(chosen.file)
    if not path.is_file() or path.suffix != ".parquet":
        parser.error(f"--file: {path} is no Parquet file")
    if not (chosen.user.isidentifier() and chosen.label.isidentifier()):
        parser.error("--user and --label must be names of letters, digits and underscores")
    return [(path.stem, str(path), chosen.user, chosen.label)]


def bounds(text: str) -> tuple[int, int]:
    """Read 10x1: 10 labels of a user, and 1 to each."""
    labels, count = map(int, text.split("x"))
    return labels, count


def main() -> None:
    """Print a table for each table of data, bounds and noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    for library in ("opendp", "pipelinedp", "tumult"):
        parser.add_argument(f"--{library}", help="a Python that has it")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the made table")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--noise", nargs="*", default=NOISES)
    parser.add_argument("--bounds", nargs="*", type=bounds, default=BOUNDS, help="such as 10x1")
    parser.add_argument("--data", nargs="*", help="which tables; all if omitted")
    parser.add_argument("--bounded", action="store_true", help="bound rows before the contest")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--file", help="a Parquet file, in place of all other tables")
    parser.add_argument("--user", help="its column of users")
    parser.add_argument("--label", help="its column of labels")
    chosen = parser.parse_args()
    own = _own_file(chosen, parser)
    if chosen.serve:
        serve(chosen.serve)
        return
    from benchmarks.markdown import print_table

    named = {name: getattr(chosen, name) for name in ("opendp", "pipelinedp", "tumult")}
    pythons = {"dphist": sys.executable} | {name: at for name, at in named.items() if at}
    with tempfile.TemporaryDirectory(prefix="dphist-benchmark-") as folder:
        tables = own or data_sets(Path(folder), chosen.rows, chosen.data)
        for data, path, user, label in tables:
            for (most, count), noise in ((b, n) for b in chosen.bounds for n in chosen.noise):
                job = Job(path, user, label, most, count, noise)
                mechanism = calibrated(job)
                rho = float(mechanism.guarantee.rho) if noise == "gaussian" else 0.0
                costly = replace(job, rho=rho, threshold_delta=float(mechanism.delta))
                if chosen.bounded:
                    costly = bounded(costly, Path(folder) / "bounded.parquet")
                contenders = list(contest(costly, pythons, chosen.turns))
                print(
                    f"\n{data}: {most} labels, {count} a label, {noise} noise. Before data:", end=""
                )
                print(*(f" {c.name} {c.preparing:.1f} s" for c in contenders), sep=";")
                print()
                print_table(
                    HEAD,
                    (contender.row(contenders[0]) for contender in contenders),
                )


if __name__ == "__main__":
    main()
