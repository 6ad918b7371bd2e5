"""What the form asks for each kind, and which numbers of a plan it shows.

Words come from the options of the command and the columns of the plan. A choice that changes a
number has listed values only, and there are numbers for all combinations of them.
"""

from collections.abc import Iterator, Sequence

from dphist.commands.form.asked import Asked, Choice, Keys, Typed
from dphist.document.planning import EPSILONS

SIZES = ("1000", "10000", "1000000")
"""Public guesses of the number of records, for the preview and what is computed for a number."""

_SHARES_BELOW = (0.05, 0.2, 0.4, 0.58, 0.72, 0.83, 0.9, 0.95, 0.98, 1)
_BOUNDS = ("1", "2", "5", "10", "30")
_BINS = ("8", "10", "12", "24", "50", "100")
_LEAVES = ("2", "3", "4", "5", "6", "8", "10", "12", "16", "20", "26", "50")
_DELTAS = ("1e-6", "1e-8")

MAX_VALUES_OF_ONE, MAX_VALUES_OF_TWO = 24, 8
"""Values of a key for which there are numbers: with one key, and with two."""


OUTPUTS = (
    ("output", "Release", "release.json", "The result, with its promise. dphist reads it again"),
    ("report", "Page", "release.html", "A page that explains the result to readers"),
)
"""The outputs of every kind beside the table: option, title, usual answer, and meaning."""

TABLE_OF_FILE = "The numbers, for a spreadsheet: a .csv, .xlsx or .parquet file. Empty for none"
TABLE_OF_STREAM = "The numbers, for a spreadsheet: a .csv file. Empty for none"


def _list_leaves(number: str) -> list[str]:
    """Return regions of which none lies in another."""
    return [f"region {place}" for place in range(1, int(number) + 1)]


def _label() -> Typed:
    return Typed("label", "Column of the labels", "Such as a column of drugs or of diagnoses")


def _ends(*options: str) -> Iterator[Typed]:
    """Yield the questions for the ends of all bins: two options, or one that has both."""
    meaning = "Of all bins: a number, or a date such as 2024-01-31. Never take it from the data"
    start, stop = options if len(options) > 1 else options * 2
    for option, place, title in ((start, "start", "Lower end"), (stop, "stop", "Upper end")):
        yield Typed(option, title, meaning, holds="end", place="" if option == place else place)


def _epsilon() -> Choice:
    return Choice("epsilon", "epsilon", EPSILONS, "1", asks="epsilon")


def _delta() -> Choice:
    meaning = (
        "The probability with which the promise may fail. It should be far below one divided by "
        "the number of {many}"
    )
    return Choice("delta", "delta", _DELTAS, _DELTAS[0], asks="delta", meaning=meaning)


def _size() -> Choice:
    return Choice("total", "", SIZES, SIZES[1], asks="size")


def _bound(parameter: str, option: str, values: Sequence[str] = _BOUNDS) -> Choice:
    return Choice(parameter, option, values, "5", asks="bound")


_SORTED = "the differences of all counts, the largest with the largest and so on, added up"

ASKED = (
    Asked(
        kind="labels",
        command="labels",
        example="such as which drugs are sold, and how often",
        typed=[_label()],
        choices=[
            _bound("max_labels", "max-labels"),
            _delta(),
            Choice(
                "noise",
                "noise",
                ("best", "laplace", "gaussian"),
                "best",
                title="Noise",
                meaning="How random numbers are drawn; best takes what has the smaller error",
            ),
            _epsilon(),
        ],
        error="half_width",
        appears="appears_from",
        error_of="each count",
        law="95 %",
        bar="label",
    ),
    Asked(
        kind="ranges",
        command="ranges",
        example="such as how many people are between 20 and 39 years old",
        typed=[Typed("column", "Column of the values"), *_ends("start", "stop")],
        choices=[
            Choice("bins", "bins", _BINS, "10", title="Bins"),
            _size(),
            _bound("sensitivity", "max-records"),
            _epsilon(),
        ],
        error="range_error",
        said={
            "range_error": (
                "Range error",
                "The number of records in a range is about this far off (root mean square over "
                "all ranges).",
            )
        },
        error_of="a random range",
        law="expected",
        bar="range",
    ),
    Asked(
        kind="tables",
        command="tables",
        example="such as visits by sex and year",
        keys=Keys(
            "axis",
            (
                ("Column of the first key", "Its values, with commas between them"),
                (
                    "Column of a second key, if there is one",
                    "The second key’s values, with commas between them",
                ),
            ),
            "They are public: never take them from the data. At most "
            f"{MAX_VALUES_OF_ONE}, or {MAX_VALUES_OF_TWO} of each of two keys.",
            tables=True,
        ),
        choices=[_bound("max_rows", "max-rows"), _delta(), _epsilon()],
        error="cell_error",
        said={
            "cell_error": (
                "Cell ±",
                "The noise of each cell is within this, in records, with a probability of about "
                "95 %. With two keys it is that of the table where it is largest.",
            )
        },
        error_of="each cell",
        law="95 %",
        bar="cell",
    ),
    Asked(
        kind="groups",
        command="groups",
        example="such as the median age in each district",
        typed=[
            Typed(
                "column",
                "Column of the numbers",
                "Numbers, dates or times, such as ages. Their medians and other quantiles follow",
            ),
            *_ends("bins"),
        ],
        keys=Keys(
            "group",
            (("Column of the groups", "The groups, with commas between them"),),
            "They are public: never take them from the data. Rows of other groups are left out.",
        ),
        choices=[
            Choice(
                "bins",
                "",
                _BINS,
                "50",
                title="Bins",
                meaning="Of each group. A median is at best as exact as a bin; more cost little",
                within="bins",
            ),
            _size(),
            _bound("max_rows", "max-rows"),
            _epsilon(),
        ],
        error="rank_error",
        said={
            "rank_error": (
                "Rank error",
                "In each group, the number of records below a value, such as an age, is about "
                "this far off (root mean square).",
            )
        },
        error_of="the number of records up to a bin",
        law="expected",
        made_up="a made-up group",
        bar="up to bin",
        shares=_SHARES_BELOW,
        quantiles=True,
    ),
    Asked(
        kind="streams",
        command="stream",
        example="such as sales so far, published every week under one promise",
        typed=[
            _label(),
            Typed(
                "state",
                "File of the state",
                "The first run makes it, and later runs go on with it. It is secret, as it holds "
                "the exact counts. Never copy it",
                holds="file",
                usual="stream.state",
            ),
        ],
        choices=[
            Choice(
                "horizon",
                "horizon",
                ("10000", "100000", "1000000"),
                "10000",
                title="Events of the whole stream, at most",
                meaning="Each row is an event, and further ones are refused. A public number: "
                "choose it generously, as more cost little",
            ),
            Choice(
                "readings",
                "readings",
                ("1", "12", "52", "365"),
                "52",
                title="Readings, at most",
                meaning="How often the counts are released: once at the end of each run. With "
                "fewer readings, rarer labels appear",
            ),
            _bound("max_events", "max-events-per-user", ("1", "2", "3", "5", "10")),
            _delta(),
            _epsilon(),
        ],
        fixed=[("format", "csv"), ("resume", True)],
        error="half_width",
        appears="appears_from",
        error_of="each count, at any time,",
        law="95 %",
        made_up="a made-up stream",
        bar="label",
    ),
    Asked(
        kind="anonymized",
        command="anonymize",
        example="such as how many drugs were sold once, twice, and so on, without their names",
        typed=[_label()],
        choices=[_size(), _bound("sensitivity", "max-records"), _epsilon()],
        error="profile_error",
        said={
            "profile_error": (
                "Histogram error",
                f"The whole histogram is about this far off: {_SORTED}.",
            )
        },
        error_of="the whole histogram",
        law="expected",
        bar="in all",
        shares=(1,),
    ),
    Asked(
        kind="regions",
        command="anonymize",
        example="such as the same for each district",
        typed=[
            _label(),
            Typed("region", "Column of the regions", "The region that each row lies in"),
            Typed(
                "regions",
                "File of the regions",
                "A public file without a header: each line is a region, as it stands in the "
                "column. Never take it from the data",
                holds="file",
                usual="regions.csv",
            ),
        ],
        choices=[
            Choice(
                "regions",
                "",
                _LEAVES,
                "5",
                title="Regions in that file",
                meaning="How many lines it has. For another number choose the nearest one: the "
                "dry run reads the file and states the error for yours, also if regions lie "
                "within regions",
                given=_list_leaves,
            ),
            _size(),
            _bound("sensitivity", "max-records"),
            _epsilon(),
        ],
        error="leaves_error",
        said={
            "leaves_error": (
                "Error of leaves",
                "Leaves are the regions that no other lies in. Their histograms together are "
                f"about this far off: in each, {_SORTED}.",
            )
        },
        error_of="the set of all histograms",
        law="expected",
        bar="in all",
        shares=(1,),
    ),
)
"""The kinds of the form, in its order."""
