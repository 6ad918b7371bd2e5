"""The table of a histogram over ranges as CSV."""

from itertools import pairwise, product

import numpy as np

from dphist.release.range_histogram import RangeHistogram
from dphist.report.csv_field import Field, csv_field
from dphist.report.ranges.axis_texts import edge_texts


def ranges_csv(histogram: RangeHistogram, field: Field = csv_field) -> str:
    """Return a row a bin: columns start,stop,count,error; of several axes start_x,stop_x,...

    Edges are numbers or ISO dates and times. Errors are standard errors in records, to six digits.
    Rows are in the order of the bins; the last axis varies fastest.
    """
    names = []
    for axis in range(histogram.bins.ndim):
        suffix = "" if histogram.bins.ndim == 1 else f"_{histogram.axis_name(axis)}"
        names += [f"start{suffix}", f"stop{suffix}"]
    header = ",".join(map(field, [*names, "count", "error"])) + "\n"
    ranges = []
    for edges in histogram.edges:
        texts = edge_texts(edges)
        ranges.append([f"{low},{high}" for low, high in pairwise(texts)])
    counts = histogram.bins.ravel().tolist()
    rows = zip(map(",".join, product(*ranges)), counts, _errors(histogram), strict=True)
    return header + "".join(f"{place},{count},{error}\n" for place, count, error in rows)


def _errors(histogram: RangeHistogram) -> list[str]:
    if histogram.answers is None:  # made by hand
        return [""] * histogram.bins.size
    errors, which = np.unique(histogram.answers.bin_errors(), return_inverse=True)
    texts = [f"{error:.6g}" for error in errors.tolist()]
    return [texts[place] for place in which.ravel().tolist()]
