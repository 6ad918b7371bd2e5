"""The page of a FixedPlan: the cost of releases that are decided together."""

from dphist.document.blocks import Block, Column, Document, Fact, Note, Section, Table
from dphist.privacy.fixed_plan import Account, FixedPlan
from dphist.release.release import VERSION
from dphist.sentence import Quoted, Sentence
from dphist.visible import harmless

_FOUND: dict[Account, str] = {
    "single": "There is one release, with its own account.",
    "epsilon": "Epsilons were added up.",
    "rho": "Rhos were added up and converted once; no other account says less.",
    "gaussian": "All noise is Gaussian: this is its exact curve, rounded up.",
    "losses": "Gaussian and geometric noise: their privacy losses were added up, rounded up.",
}
_FIXED = (
    "The first total holds if exactly these releases are made, each once, and all of them were "
    "decided before the first result. Any other parameters, and any further release, need a total "
    "of their own."
)
_ON_THE_WAY = (
    "If a release is chosen after earlier results, the second total holds. A ledger charges rhos "
    "or epsilons as they add up, and never the first total."
)


def make_document(plan: FixedPlan) -> Document:
    """Return what is to be said of a plan."""
    return Document(
        kind="plan",
        title="Releases decided together",
        made="computed before any data are read",
        version=VERSION,
        slots={},
        headline="privacy plan",
        sections=[
            Section("total", "What they cost together", _total(plan)),
            Section("releases", "Each by itself", [_table(plan)], wide=True),
        ],
        about="Plan",
        kicker="Privacy plan",
    )


def _total(plan: FixedPlan) -> list[Block]:
    return [
        Fact("Protected", Sentence("{unit}", unit=Quoted(str(plan.unit)))),
        Fact("Decided beforehand", str(plan.fixed), note=_FOUND[plan.account]),
        Fact("Chosen on the way", str(plan.chosen_on_the_way)),
        Fact("A ledger charges", str(plan.charge)),
        Note(_FIXED),
        Note(_ON_THE_WAY),
    ]


def _table(plan: FixedPlan) -> Table:
    made = plan.mechanisms
    return Table(
        [
            Column("release", [f"{number:,}" for number in range(1, len(made) + 1)]),
            Column("mechanism", [harmless(type(each).__name__, 80) for each in made]),
            Column("its own cost", [str(each.guarantee) for each in made]),
        ],
        whole=True,
    )
