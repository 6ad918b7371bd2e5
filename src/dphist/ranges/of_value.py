"""What is said of a histogram over ranges by itself."""

from dphist.document.counted import counted_records
from dphist.document.of_value import OfValue, Table
from dphist.ranges.charts import bins_chart, map_of
from dphist.release.range_histogram import RangeHistogram


def of_value(histogram: RangeHistogram, most: int) -> OfValue:
    """Return what is said of a histogram, with up to `most` rows."""
    axes = enumerate(histogram.bins.shape)
    facts = [(f"Axis {histogram.axis_name(axis)}", f"{size:,} bins") for axis, size in axes]
    facts += [(f"Records {name}", f"{number:,}") for name, number in histogram.outside.items()]
    table = histogram.to_arrow()
    rows = zip(*(column.to_pylist() for column in table.slice(0, most).columns), strict=True)
    charts = {1: bins_chart, 2: map_of}
    chart = charts.get(histogram.bins.ndim)
    return OfValue(
        title="Released histogram over ranges",
        facts=facts,
        head=Table(table.column_names, list(rows), table.num_rows),
        chart=chart and chart(histogram, counted_records(None, 1)),
    )
