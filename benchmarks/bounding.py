"""What bounding costs: bias, noise and coverage of fixed caps, and of the cap that is found.

    python -m benchmarks.bounding [--runs 20]

The error of a release is the root mean square over the 100, or 400, labels that are really the most
common, against their counts before any cut; a label that is not released counts as 0. A fixed cap
has the whole budget. "Best" is the fixed cap with the smallest error in hindsight, which nobody can
know without a look. Counts are numbers of users; delta is 1e-6.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

import dphist as dh
from benchmarks.data import folder
from benchmarks.markdown import print_table
from dphist.labels.auto.measuring import count_cut

CAPS = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 50, 57, 80, 100, 113, 160, 200)
EPSILONS = ("0.2", "1", "4")
DELTA = "1e-6"
MOST = 1000
TOPS = (100, 400)
GOALS = ("online_retail", "reddit_bigrams", "nycflights13")
SHOWN = (3, 10, 50)
TABLES = {
    "online_retail": ("labelled/online_retail.parquet", "item", "customer"),
    "reddit_bigrams": ("labelled/reddit_bigrams.parquet", "ngram", "author"),
    "nycflights13": ("streams/nycflights13.parquet", "dest", "tailnum"),
    "shakespeare_by_work": ("labelled/shakespeare_by_work.parquet", "word", "work"),
}


@dataclass(frozen=True)
class Errors:
    """What one release is worth.

    Attributes
    ----------
    errors : root mean square error over each of the `TOPS`, users.
    bias : mean of released minus true counts, of released labels among the first 100.
    stated, corrected : how many of these have their true count in the stated interval, and in the
        one that reaches up to high / (1 - s).
    shown : number of these.
    cap : that was taken.
    """

    errors: tuple[float, ...]
    bias: float
    stated: int
    corrected: int
    shown: int
    cap: int


@dataclass(frozen=True)
class Data:
    """Who has which label."""

    name: str
    counts: dh.LabelCounts

    @cached_property
    def true(self) -> np.ndarray:
        """Counts before any cut, in the order of the labels."""
        sets = self.counts.sets
        assert sets is not None
        return np.asarray(sets.counts()["count"])

    @cached_property
    def order(self) -> np.ndarray:
        """Places of labels by true count, the largest first."""
        return np.argsort(-self.true, kind="stable")

    def cut_to(self, cap: int) -> dh.LabelCounts:
        """Cut each user to the labels that the key of the counts chooses."""
        sets = self.counts.sets
        assert sets is not None
        cut = count_cut(sets, cap)
        return dh.LabelCounts.from_counts(
            cut["label"], cut["count"], max_labels=cap, max_count=1, only_adds=True
        )

    def measure(
        self, release: dh.Release, bounds: dh.mechanism.Intervals, share: float, cap: int
    ) -> Errors:
        """Compare a release with the true counts; `share` is the upper end of the share cut."""
        sets = self.counts.sets
        assert sets is not None
        places = pc.index_in(pa.array(release.value.labels, sets.labels.type), sets.labels)
        found = np.asarray(places, np.int64)
        noisy, low, high = (np.full(len(self.true), math.nan) for _ in range(3))
        noisy[found], low[found], high[found] = release.value.counts, bounds.lower, bounds.upper
        off = (np.nan_to_num(noisy) - self.true)[self.order]
        errors = tuple(math.sqrt(np.mean(off[:top] ** 2)) for top in TOPS)
        first = self.order[:100]
        first = first[~np.isnan(noisy[first])]
        true, low, high = self.true[first], low[first], high[first]
        stated = int(((low <= true) & (true <= high)).sum())
        corrected = int(((low <= true) & (true <= high / max(1 - share, 1e-9))).sum())
        bias = float((noisy[first] - true).mean()) if len(first) else math.nan
        return Errors(errors, bias, stated, corrected, len(first), cap)


def load() -> Iterator[Data]:
    """Read the labelled data, and make patients by gene."""
    place = folder("labelled")
    if place is None:
        raise SystemExit("no data; name their folder in DPHIST_DATA")
    for name, (path, label, user) in TABLES.items():
        frame = pd.read_parquet(place.parent / path, columns=[label, user]).dropna()
        if name == "online_retail":
            frame = frame[frame[user] >= 0]
        yield Data(name, count(frame, label, user))
    yield Data("patients by gene, made up", count(make_patients(), "gene", "patient"))


def count(frame: pd.DataFrame, label: str, user: str) -> dh.LabelCounts:
    """Hold who has which label."""
    return dh.LabelCounts.from_table(frame, label=label, user=user, max_labels=MOST, keep_sets=True)


def make_patients() -> pd.DataFrame:
    """9,091 patients, 412 genes; 3 genes in the middle, more than 10 of a tenth of them."""
    rng = np.random.default_rng(5)
    sizes = np.clip(np.round(rng.lognormal(math.log(3), 0.94, 9091)), 1, 200).astype(int)
    law = 1 / (np.arange(412) + 5)
    chosen = [rng.choice(412, size, replace=False, p=law / law.sum()) for size in sizes]
    patients = np.repeat(np.arange(9091), sizes)
    return pd.DataFrame({"patient": patients, "gene": np.concatenate(chosen)})


def release_fixed(data: Data, cap: int, mechanism: dh.ThresholdHistogram) -> Errors:
    """Release at a fixed cap."""
    release = mechanism.release(data.cut_to(cap))
    bounds = mechanism.intervals(release)
    assert bounds is not None
    return data.measure(release, bounds, 0.0, cap)


def release_auto(data: Data, mechanism: dh.AutoThreshold) -> Errors:
    """Release at the cap that is found."""
    release = mechanism.release(data.counts)
    bounds, cap = mechanism.intervals(release), mechanism.chosen(release).max_labels
    assert bounds is not None
    return data.measure(release, bounds, mechanism.share_cut(release).high, cap)


def repeat(release: Callable[[], Errors], runs: int) -> list[Errors]:
    """Release several times."""
    return [release() for _ in range(runs)]


def mean(found: list[Errors], place: int) -> float:
    """Return the mean error over one of the `TOPS`."""
    return float(np.mean([each.errors[place] for each in found]))


def cover(found: list[Errors], corrected: bool) -> str:
    """Return how many true counts are in the interval."""
    shown = sum(each.shown for each in found)
    held = sum(each.corrected if corrected else each.stated for each in found)
    return f"{held / shown:.0%}" if shown else ""


def describe(name: str, cap: str, found: list[Errors], noise: float, corrected: bool) -> list[str]:
    """Return a row of the second table."""
    bias = [each.bias for each in found if each.shown]
    return [
        name,
        cap,
        f"{np.mean([each.shown for each in found]):.0f}",
        f"{np.mean(bias):,.0f}" if bias else "",
        f"{noise:,.0f}",
        f"{mean(found, 0):,.0f}",
        cover(found, corrected=False),
        cover(found, corrected=True) if corrected else "",
    ]


def main() -> None:
    """Print both tables, and whether the goals are met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    ratios: list[float] = []
    details: list[list[str]] = []

    def rows() -> Iterator[list[str]]:
        autos = {
            epsilon: dh.calibrate(dh.AutoThreshold, epsilon=epsilon, delta=DELTA, max_labels=MOST)
            for epsilon in EPSILONS
        }
        made = {
            (epsilon, cap): dh.calibrate(
                dh.ThresholdHistogram, epsilon=epsilon, delta=DELTA, max_labels=cap, noise="best"
            )
            for epsilon in EPSILONS
            for cap in CAPS
        }
        for data in load():
            for epsilon in EPSILONS:
                fixed = {
                    cap: repeat(
                        partial(release_fixed, data, cap, made[epsilon, cap]), max(runs // 2, 2)
                    )
                    for cap in CAPS
                }
                auto = repeat(partial(release_auto, data, autos[epsilon]), runs)
                name = f"{data.name}, ε = {epsilon}"
                cells = [name]
                for place, _ in enumerate(TOPS):
                    best = min(CAPS, key=lambda cap: mean(fixed[cap], place))
                    least = mean(fixed[best], place)
                    own = np.array([each.errors[place] for each in auto]) / least
                    spread = own.std(ddof=1) / math.sqrt(runs)
                    cells += [
                        f"{least:,.1f} ({best})",
                        *(f"{mean(fixed[cap], place) / least:.2f}" for cap in (10, 50)),
                        f"{own.mean():.2f} ± {1.96 * spread:.2f}",
                    ]
                    if data.name in GOALS and epsilon in ("1", "0.2"):
                        ratios.append(float(own.mean()))
                caps = np.quantile([each.cap for each in auto], [0.1, 0.5, 0.9])
                cells.append(" / ".join(f"{cap:.0f}" for cap in caps))
                for cap in SHOWN:
                    scale = float(made[epsilon, cap].noise_scale)
                    details.append(describe(name, str(cap), fixed[cap], scale, False))
                middle = int(caps[1])
                scale = float(autos[epsilon].division.count_scale(middle))
                details.append(describe(name, f"found ({middle})", auto, scale, True))
                yield cells

    print_table(
        [
            "data",
            *("best of 100", "cap 10", "cap 50", "found"),
            *("best of 400", "cap 10", "cap 50", "found"),
            "caps found",
        ],
        rows(),
    )
    print()
    print_table(
        ["data", "cap", "shown", "bias", "noise", "error", "in stated", "in corrected"], details
    )
    print(
        f"\nGoal: geometric mean {math.exp(np.mean(np.log(ratios))):.3f} (at most 1.12), "
        f"largest {max(ratios):.2f} (at most 1.3)"
    )


if __name__ == "__main__":
    main()
