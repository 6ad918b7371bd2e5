"""The charts of histograms by region: one for each region of the first level that has several."""

import numpy as np

from dphist.anonymized.charts import labels_by_count, outline, thin
from dphist.data.region_tree import RegionPath, RegionTree
from dphist.document.chart import NARROW, Area, Axis, Chart, Line
from dphist.document.unit_words import find_counted
from dphist.privacy.as_text import percent
from dphist.regions.mechanism import RegionalBand
from dphist.regions.words import name_region
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release
from dphist.sentence import Sentence

MOST_CHARTS = 12
_SEEN = 1.02  # a band is seen where its end is above this times its line


def draw_charts(release: Release) -> list[Chart]:
    """Return the charts of a release, all on the same axes, with the band of all regions."""
    return draw_regions(release, release.mechanism.intervals(release))


def draw_regions(release: Release, band: RegionalBand) -> list[Chart]:
    """Return the charts with this band; those of the first regions where there are many."""
    value = release.value
    shown = choose_regions(value.regions)
    x, y = _axes([value[path] for path in shown] or [value.all])
    return [
        _draw(release, band, path, (f"region{place}", x, y)) for place, path in enumerate(shown)
    ]


def choose_regions(tree: RegionTree) -> tuple[RegionPath, ...]:
    """Return the first regions of the first level that has more than one."""
    levels = map(tree.level, range(tree.depth))
    several = next((level for level in levels if len(level) > 1), tree.level(tree.depth - 1))
    return several[:MOST_CHARTS]


def _draw(
    release: Release, band: RegionalBand, path: RegionPath, placed: tuple[str, Axis, Axis]
) -> Chart:
    value, (name, x, y) = release.value, placed
    held: list[AnonymizedHistogram] = [each[path] for each in (value, band.lower, band.upper)]
    line, lower, upper = (thin(labels_by_count(each)) for each in held)
    seen = _is_seen(held[0], held[2])
    area = Area(f"{percent(band.level)} band" if seen else "", *outline(lower, upper, y.low), 0.25)
    region = name_region(value.regions.name(path))
    return Chart(
        name,
        region,
        Sentence("For every count r, how many {labels} of {region} have r {records} or more.",
                 region=region),
        x,
        y,
        [area],
        [Line(find_counted(release).released, line.x, line.y)],
        "" if seen else NARROW,
        "" if len(line.x) else Sentence("no {label} was released"),
    )  # fmt: skip


def _axes(histograms: list[AnonymizedHistogram]) -> tuple[Axis, Axis]:
    """Return axes around all curves, with a margin in proportion; the bottom stands for zero."""
    end = max([10.0] + [float(each.counts[-1]) for each in histograms if len(each.counts)])
    top = max([10.0] + [float(each.labels) for each in histograms])
    return (
        Axis(Sentence("Count r ({records})"), 0.5, end * (2 * end) ** 0.03, log=True, whole=True),
        Axis(
            Sentence("{Labels} with r {records} or more"),
            top**-0.08,
            top**1.05,
            log=True,
            whole=True,
        ),
    )


def _is_seen(value: AnonymizedHistogram, upper: AnonymizedHistogram) -> bool:
    """Whether a band is wider than its line anywhere."""
    counts = upper.counts
    heights = upper.cumulative_prevalences(counts), value.cumulative_prevalences(counts)
    return bool(np.any(heights[0] > _SEEN * heights[1]))
