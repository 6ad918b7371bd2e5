"""The columns of a plan: names, headings and meanings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a plan.

    Attributes
    ----------
    name : in Python, in JSON and in a table.
    title : a heading.
    meaning : what the number is, in a sentence, with its unit.
    """

    name: str
    title: str
    meaning: str


COLUMNS = {
    column.name: column
    for column in (
        Column("epsilon", "ε", "Total ε of the release."),
        Column("delta", "δ", "Total δ of the release."),
        Column("max_labels", "Labels kept", "Labels of one {one} that are counted at most."),
        Column("max_count", "Count kept", "What one {one} adds to a label at most, in records."),
        Column("sensitivity", "Records kept", "Records of one {one} that are counted at most."),
        Column("bins", "Bins", "Bins of each axis."),
        Column("max_events", "Events kept", "Events of one user that count at most."),
        Column("noise", "Noise", "The law of the noise; the better one for these settings."),
        Column(
            "correlated",
            "Shared noise",
            "Whether all listed labels share a part of the noise: where that lowers it.",
        ),
        Column(
            "total_given",
            "Total given",
            "Whether the mechanism divides its budget by the guessed total. A wrong guess costs "
            "accuracy, never privacy.",
        ),
        Column(
            "appears_from",
            "Appears from",
            "A label with this count, in records, is released with a probability of 95 % or more.",
        ),
        Column(
            "share_of_users",
            "Of all",
            "That count as a share of the guessed number of {many}.",
        ),
        Column(
            "half_width",
            "Count ±",
            "The noise of a released count is within this, in records, with a probability of 95 % "
            "or more.",
        ),
        Column(
            "sum_error",
            "Sum ±",
            "Standard error of the noise of a sum of {sums} counts, in records.",
        ),
        Column(
            "prefix_error",
            "Prefix ±",
            "Error to expect of a range from the first bin on, in records (root mean square).",
        ),
        Column(
            "range_error",
            "Range ±",
            "Error to expect of a random range, in records (root mean square).",
        ),
        Column(
            "profile_error",
            "Profile ±",
            "Error to expect of the whole profile, in records (sorted L1 distance).",
        ),
        Column("relative_error", "Of total", "That error as a share of the guessed total."),
        Column(
            "guessed_right",
            "Guess right",
            "Of 100 people who look at the release, at most this many guess right, on average, "
            "whether a given {one} is in the data. Without the release, 50 do.",
        ),
        Column(
            "delta_times_users",
            "δ times {many}",
            "δ times the guessed number of {many}: it should be at most 0.01.",
        ),
    )
}
