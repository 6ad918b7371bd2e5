"""The comparison as Markdown and CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

from benchmarks.comparison.ranking import Row, Summary, summaries
from dphist.files import stage_outputs
from dphist.lab.comparing.measuring import Effort, guarantee_text
from dphist.lab.comparing.results import epsilon_text, number_text

COLUMNS = (
    "profile", "n", "labels", "maximum", "epsilon", "mechanism", "guarantee", "given in advance",
    "runs", "sorted L1 error", "standard error", "error/n", "rank",
    "rank among pure, given nothing", "seconds per release",
)  # fmt: skip
_LEFT = {"profile", "mechanism", "guarantee", "given in advance"}

ABOUT = """\
# Mechanisms for anonymized histograms, compared

Sorted L1 error is the mean over the runs of the number of cells in which released and true
profile differ; its standard error stands beside it. Errors are of one cell a privacy unit
(sensitivity 1) on every profile. Seconds are the median of one release. Rank 1 has the lowest
error; ranks of mechanisms closer than their standard errors say little.

Runs were made until the standard error was {target:.1%} of the mean, {fewest} to {most} of them;
after {seconds:g} seconds two were enough, and cells in which two took too long are left out. That
leaves {above} of {finished} cells above the target, the worst at {worst:.1%}. A mean of 0 has no
such ratio, and is not counted.
"""
SUMMARY = """\
## Over all profiles

Geometric mean over the profiles of the error relative to the best pure mechanism that was told
nothing, and in brackets the mean rank. Means over fewer profiles than there are say over how
many."""
ERRORS = "## Sorted L1 error by epsilon, the lowest in bold"
EVERY = "## Every cell"


def write_tables(folder: Path, rows: Sequence[Row], planned: int, effort: Effort) -> None:
    """Write `table.csv` and `table.md`, both or neither."""
    with stage_outputs() as outputs:
        outputs.write(folder / "table.csv", csv_text(rows))
        outputs.write(folder / "table.md", markdown_text(rows, planned, effort))


def csv_text(rows: Iterable[Row]) -> str:
    """Return all rows, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_values(row) for row in rows)
    return text.getvalue()


def markdown_text(rows: Sequence[Row], planned: int, effort: Effort) -> str:
    """Return the summary, then all rows, numbers rounded."""
    reached = [r.measured.standard_error / r.measured.error for r in rows if r.measured.error > 0]
    about = ABOUT.format(
        **asdict(effort),
        above=sum(ratio > effort.target for ratio in reached),
        finished=len(rows),
        worst=max(reached, default=0),
    )
    parts = [about]
    if len(rows) < planned:
        parts.append(f"**{len(rows)} of {planned} cells are finished.**\n")
    parts += [SUMMARY, "", summary_table(rows), "", ERRORS, ""]
    for epsilon in sorted({row.cell.epsilon for row in rows}, reverse=True):
        parts += [f"### ε = {epsilon_text(epsilon)}", "", error_table(rows, epsilon), ""]
    parts += [EVERY, ""]
    parts.append(markdown(COLUMNS, ([*map(number_text, _values(row))] for row in rows), _LEFT))
    return "\n".join(parts) + "\n"


def summary_table(rows: Sequence[Row]) -> str:
    """Return the table of means: a line a mechanism, a column an epsilon."""
    means = summaries(rows)
    epsilons = sorted({summary.epsilon for summary in means}, reverse=True)
    most = {e: max(s.profiles for s in means if s.epsilon == e) for e in epsilons}
    lines = []
    for contender in dict.fromkeys(summary.contender for summary in means):
        mine = {s.epsilon: s for s in means if s.contender == contender}
        cells = [_mean(mine.get(epsilon), most[epsilon]) for epsilon in epsilons]
        lines.append([contender.name, contender.told, *cells])
    head = ["mechanism", "given in advance", *(f"ε = {epsilon_text(e)}" for e in epsilons)]
    return markdown(head, lines, _LEFT)


def error_table(rows: Sequence[Row], epsilon: Fraction) -> str:
    """Return the errors at one epsilon: a line a profile, a column a mechanism, the lowest bold."""
    mine = [row for row in rows if row.cell.epsilon == epsilon]
    names = list(dict.fromkeys(row.cell.contender.name for row in mine))
    lines = []
    for dataset in dict.fromkeys(row.cell.dataset.name for row in mine):
        found = {r.cell.contender.name: r for r in mine if r.cell.dataset.name == dataset}
        lines.append([dataset, *(_error(found.get(name)) for name in names)])
    return markdown(["profile", *names], lines, _LEFT - {"mechanism"})


def _error(row: Row | None) -> str:
    if row is None:
        return "–"
    text = number_text(row.measured.error)
    return f"**{text}**" if row.rank == 1 else text


def _mean(summary: Summary | None, most: int) -> str:
    if summary is None:
        return "–"
    relative = "–" if summary.relative is None else f"{summary.relative:.2f}"
    fewer = f", {summary.profiles} profiles" if summary.profiles < most else ""
    return f"{relative} ({summary.rank:.1f}{fewer})"


def _values(row: Row) -> list[str | int | float]:
    cell, measured, profile = row.cell, row.measured, row.cell.dataset.profile
    return [
        cell.dataset.name,
        profile.total,
        profile.labels,
        int(profile.counts.max(initial=0)),
        epsilon_text(cell.epsilon),
        cell.contender.name,
        guarantee_text(cell.mechanism.guarantee),
        cell.contender.told,
        measured.runs,
        measured.error,
        measured.standard_error,
        row.per_record,
        row.rank,
        "" if row.fair_rank is None else row.fair_rank,
        measured.seconds,
    ]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], left: set[str]) -> str:
    """Return a Markdown table, the columns not named in `left` to the right."""
    lines = [head, ["---" if name in left else "---:" for name in head], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
