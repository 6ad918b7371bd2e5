"""What is said of tables whose rows have weights: sums of weights are never called counts alone."""

from fractions import Fraction

from dphist.document.blocks import Block
from dphist.document.kind import DataFacts
from dphist.document.unit_words import Counted, find_counted
from dphist.document.weight_words import tell_weights, weigh_counted
from dphist.release.maker import Maker
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.tables.mechanism import Tables


def weigh_words(said: Sentence, step: Fraction | None) -> Sentence:
    """Return a sentence that begins with what is counted, or the same of weighted records.

    >>> weigh_words(Sentence("{Records} by sex"), Fraction(1, 100))
    'Weighted records by sex'
    """
    if step is None:
        return said
    return Sentence(said.template, **{**said.values, "Records": Sentence("Weighted {records}")})


def count_weighted(release: Release) -> Counted:
    """Return what the counts of released tables count, with the weights of rows."""
    step = getattr(release.value, "step", None)
    return weigh_counted(find_counted(release), step, release.provenance.get("weights"))


def tell_table_weights(mechanism: Maker, data: DataFacts) -> list[Block]:
    """Return what is said of weights of rows of tables, if they have any."""
    step = mechanism.step if isinstance(mechanism, Tables) else None
    return tell_weights(step, data.bounds.get("weights"))
