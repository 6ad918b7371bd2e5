"""KIND: means, declared once for all that shows, writes, plans, pays for and checks them."""

from argparse import Namespace

from dphist.document.kind import Disclosed, Kind, Releasing
from dphist.document.options import make_option
from tests.support.means.amounts import Amounts
from tests.support.means.auditing import AUDITING
from tests.support.means.comparing import COMPARING
from tests.support.means.mean import Mean
from tests.support.means.mechanism import NoisyMean, check_amounts
from tests.support.means.planning import PLANNING
from tests.support.means.shown import TITLE, charts, document, make_table, of_value


def mechanism_of(options: Namespace) -> NoisyMean:
    """Return the mechanism that a command line asks for."""
    return NoisyMean(epsilon=options.epsilon, most=options.most)


def read(options: Namespace) -> Amounts:
    """Read FILE."""
    (file,) = options.file
    return Amounts.read(file, options.most)


KIND = Kind(
    name="means",
    title=TITLE,
    value_type=Mean,
    mechanism_type=NoisyMean,
    document=document,
    table=make_table,
    charts=charts,
    data_type=Amounts,
    accept=lambda mechanism, data: mechanism.accept(data),
    refuse_other=lambda _mechanism, data: check_amounts(data),
    columns=lambda _value: "total, records, mean",
    disclosed=lambda _mechanism, _value: Disclosed(public=["The maximum of an amount."]),
    of_value=of_value,
    commands={
        "mean": Releasing(
            summary="release the mean of a column",
            text="Release the mean of whole numbers from 0 to a public maximum.",
            epilog="FILE has one number a line.",
            columns="total,records,mean",
            options=[
                make_option(NoisyMean, "epsilon", required=True),
                make_option(NoisyMean, "most", required=True),
            ],
            mechanism=mechanism_of,
            read=read,
        )
    },
    planning=PLANNING,
    auditing=AUDITING,
    comparing=COMPARING,
)
