"""How means are planned: their error, from public numbers alone."""

from collections.abc import Iterator
from typing import Any

from dphist.document.options import make_option
from dphist.document.planning import EPSILONS, Column, Found, Planning, Quantity, Row, grid, guess
from dphist.parameters import privacy_parameter, whole_number
from tests.support.means.mechanism import NoisyMean


def settings(*, total: int, most: int, epsilon: Any = EPSILONS) -> Iterator[Row]:
    """Yield what means of about `total` amounts cost and are worth."""
    records = whole_number(total, "total", 1)
    for setting in grid(epsilon=(epsilon, privacy_parameter)):
        error = NoisyMean(most=most, **setting).expected_error()
        yield {**setting, "mean_error": error / records}


PLANNING = Planning(
    title="A mean",
    question="what the mean amount is",
    settings=settings,
    columns=[
        Column(
            name="mean_error",
            title="Mean ±",
            meaning="Standard error of the mean of {total} amounts.",
            holds=float,
            chart="Error of the mean",
        )
    ],
    guesses={"total": "{many}"},
    quantities={"mean": Quantity(lambda made, _: Found(made.value.mean, "that is the mean"))},
    command=lambda asked, _row, _unit: ["dphist mean FILE", f"--most {asked['most']}"],
    options=lambda: [
        guess("total", "a public guess of the number of amounts", required=True),
        make_option(NoisyMean, "most", required=True),
    ],
)
