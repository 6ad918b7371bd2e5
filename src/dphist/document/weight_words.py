"""What is said of counts of rows with weights: sums of weights are never called counts alone."""

from fractions import Fraction

from dphist.data.clamp import Clamp
from dphist.document.blocks import ON_JSON, Block, Fact
from dphist.document.unit_words import Counted
from dphist.parameters import decimal_text
from dphist.sentence import Sentence


def weigh_counted(counted: Counted, step: Fraction | None, weights: str | None) -> Counted:
    """Return what counts are of, where rows have weights.

    Parameters
    ----------
    weights : their bounds and step, as `state_weight` states them; None if nobody said.
    """
    if step is None:
        return counted
    said = Sentence("{whole}; {how}", whole=counted.whole, how=say_weights(step, weights))
    cut = Sentence("weighted, {cut}", cut=counted.cut) if counted.cut else "weighted"
    return Counted(said, cut, "weighted")


def say_weights(step: Fraction, weights: str | None) -> str:
    """Say how a row counts.

    >>> say_weights(Fraction(1, 100), "0:20:0.01")
    'a row counts as its weight, from 0 to 20 in steps of 0.01'
    """
    bounds = ""
    if weights is not None:
        low, high, _ = Clamp.from_text(weights).to_content()
        bounds = f"from {low} to {high} "
    return f"a row counts as its weight, {bounds}in steps of {decimal_text(step)}"


def tell_weights(step: Fraction | None, stated: str | None) -> list[Block]:
    """Return what is said of weights of rows, if they have any.

    Parameters
    ----------
    stated : their bounds and step, as `state_weight` states them; None if nobody said.
    """
    if step is None:
        return []
    held: dict[str, object] = {"step": decimal_text(step)}
    if stated is not None:
        held["low"], held["high"], _ = Clamp.from_text(stated).to_content()
    return [
        Fact("Weights", say_weights(step, stated)),
        Fact("", "", "weights", held, on=ON_JSON),
    ]
