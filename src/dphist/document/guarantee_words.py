"""What a guarantee and its delta mean, in sentences, for documents and reports.

Everything here is a function of a mechanism's parameters and of released values. Numbers
that state a promise are rounded to the side that promises less.

Delta times the number of protected units should be far below 1. A mechanism that publishes all data
of each person with probability delta satisfies (0, delta)-DP: among n persons it exposes delta * n
on average.
"""

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

from dphist.document.unit_words import (
    UNKNOWN,
    Contribution,
    Number,
    Protected,
    protected_in_words,
    unit_in_words,
)
from dphist.privacy import ZCDP, ApproxDP, Guarantee, PrivacyUnit, PureDP, find_delta
from dphist.privacy.as_text import down, plain, short_exact, up
from dphist.privacy.delta_worth import MENTIONED, suggest_delta
from dphist.privacy.rounding import DOWN, UP, decimal, exp_up
from dphist.privacy.unit import ONE_EDGE
from dphist.sentence import Sentence, join_sentences

LEVEL = 0.95
"""Probability with which the noise of a count stays within its interval, at least."""

_LOG_OF_A_MILLION = Fraction(13815511, 10**6)  # ln(10**6), rounded up
_ENDLESS = 30  # above this the chances are certainty to thirteen digits
_MOST_DIGITS = 9  # of a factor near 1


def _as_subject(protected: Protected) -> Sentence:
    """Return what is protected with the verb of a sentence about it.

    >>> _as_subject(PrivacyUnit("user")), _as_subject(PrivacyUnit("user", events=2))
    ('one user is', 'all events of one user, of which at most 2 count, are')
    """
    if not isinstance(protected, PrivacyUnit):
        return Sentence(f"{{unit}}{','[: protected.has_clause]} is", unit=protected.in_words())
    all_events = protected.events is not None
    comma = ","[: all_events or protected.or_rows or "," in protected.who]
    verb = "are" if all_events else "is"
    return Sentence(f"{{unit}}{comma} {verb}", unit=unit_in_words(protected))


def _cases(protected: Protected) -> Sentence:
    """Return the two cases that a guarantee compares, as the start of a sentence.

    >>> _cases(PrivacyUnit("user")), _cases(PrivacyUnit("user", exchanged=True))
    ('Whether one user is in the data or not,', 'Whether one user is in the data or another one,')
    """
    if isinstance(protected, PrivacyUnit) and protected.exchanged:
        subject = _as_subject(protected.in_or_out)
        return Sentence("Whether {subject} in the data or another one,", subject=subject)
    return Sentence("Whether {subject} in the data or not,", subject=_as_subject(protected))


def guarantee_in_words(
    guarantee: Guarantee,
    protected: Protected,
    number: Number = UNKNOWN,
    releases: int = 1,
    seen: str = "the release",
) -> Sentence:
    """Say what the guarantee means to a person who must answer for the release.

    Parameters
    ----------
    protected : what is protected.
    number : how many of those there are, as far as it is public; it decides what delta is worth.
    releases : how many releases the guarantee is for, together.
    seen : what a reader of a single result has seen.
    """
    if not isinstance(guarantee, PureDP | ApproxDP):
        return Sentence("The release satisfies {guarantee}.", guarantee=guarantee)
    epsilon, delta = guarantee.epsilon, find_delta(guarantee)
    start = _cases(protected)
    together = ""
    if releases > 1:
        together, seen = f" of {releases:,} such releases together", "all of them"
    if isinstance(guarantee, ApproxDP):
        words = (
            f"every set of possible results{together} is at most {_factor(epsilon)} as likely in "
            f"one case as in the other, plus {short_exact(delta)}."
        )
    else:
        words = (
            f"every possible result{together} is at most {_factor(epsilon)} as likely in one case "
            "as in the other. Suppose someone knows all other data, and is 50 % sure that "
            f"{_say_sure(protected)}. After seeing {seen}, they {_certainty(epsilon)}."
        )
    judged = _judgement(epsilon, strong=not is_too_large(delta, number))
    return join_sentences((start, words, judged, delta_in_words(delta, number)))


def _say_sure(protected: Protected) -> str:
    if isinstance(protected, PrivacyUnit) and protected.exchanged:
        return "it is the first of the two"
    return "this is in the data too"


def total_in_a_sentence(guarantee: PureDP | ApproxDP, unit: str, releases: int = 1) -> Sentence:
    """State a guarantee in one sentence for a manager.

    >>> total_in_a_sentence(ApproxDP(1, "1e-6"), "one patient")
    ... # doctest: +NORMALIZE_WHITESPACE
    'Noise limits what anyone can learn about one patient: whether in the data or not, no set of
    results is more than 2.72 times as likely (ε = 1), plus at most 0.000001 (δ).'
    """
    many = "" if releases == 1 else f" of {releases:,} such releases together"
    results = "result" if isinstance(guarantee, PureDP) else "set of results"
    delta = find_delta(guarantee)
    return Sentence(
        "Noise limits what anyone can learn about {unit}: whether in the data or not, no "
        "{results}{many} is more than {factor} as likely (ε = {epsilon}){plus}.",
        unit=unit,
        results=results,
        many=many,
        factor=_factor(guarantee.epsilon),
        epsilon=short_exact(guarantee.epsilon),
        plus=f", plus at most {short_exact(delta)} (δ)" if delta else "",
    )


def _factor(epsilon: Fraction) -> str:
    """e**epsilon, rounded up, as a person says it."""
    if epsilon > _LOG_OF_A_MILLION:
        return f"e^{short_exact(epsilon)} times (more than a million)"
    value = exp_up(decimal(epsilon, UP))
    # 1.001 must not become 1.01: small epsilons differ in the first digits after 1.
    digits = 1 if value >= 10 else 2 if value >= Decimal("1.1") else 2 - (value - 1).adjusted()
    return f"{_round_up(value, min(digits, _MOST_DIGITS)):,f} times"


def _certainty(epsilon: Fraction) -> str:
    """Bound the probability after the release, e**epsilon / (1 + e**epsilon), rounded up."""
    if epsilon <= _ENDLESS:
        odds = exp_up(decimal(epsilon, UP))
        percent = _round_up(
            UP.divide(UP.multiply(Decimal(100), odds), DOWN.add(odds, Decimal(1))), 1
        )
        if percent <= Decimal("99.9"):
            return f"can be at most {percent:f} % sure"
    return "may be almost certain"


def _judgement(epsilon: Fraction, *, strong: bool) -> str:
    if epsilon > 1:
        grade = "moderate" if epsilon <= 3 else "weak"
        return f"By common usage, this is a {grade} promise; epsilon of 1 or less is a strong one."
    if strong:
        return "By common usage, epsilon of 1 or less is a strong promise."
    return "By common usage, epsilon of 1 or less is a strong promise only if δ is small."


def _round_up(value: Decimal, places: int) -> Decimal:
    """Round up to a number of decimal places."""
    return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING, context=UP)


def guarantee_in_short(guarantee: Guarantee) -> str:
    """Name the guarantee by its parameter, for a headline.

    >>> guarantee_in_short(PureDP("0.1")), guarantee_in_short(ZCDP("0.1"))
    ('ε = 0.1', 'ρ = 0.1')
    """
    if isinstance(guarantee, PureDP):
        return f"ε = {short_exact(guarantee.epsilon)}"
    if isinstance(guarantee, ApproxDP):
        return f"ε = {short_exact(guarantee.epsilon)}, δ = {short_exact(guarantee.delta)}"
    if isinstance(guarantee, ZCDP):
        return f"ρ = {short_exact(guarantee.rho)}"
    return str(guarantee)


def exchange_in_words(exchanged: Guarantee) -> Sentence:
    """State what an exchange costs, by its parameters, and for whom.

    >>> exchange_in_words(PureDP(2, PrivacyUnit("user", exchanged=True), "0.9"))
    'ε = 2 (ρ = 0.9), for one user, exchanged for another'
    """
    own = exchanged.rho if isinstance(exchanged, PureDP) else None
    return Sentence(
        "{short}{own}, for {unit}",
        short=guarantee_in_short(exchanged),
        own="" if own is None else f" (ρ = {plain(up(own, 6))})",
        unit=unit_in_words(exchanged.unit),
    )


def guarantee_kind(guarantee: Guarantee, releases: int = 1) -> str:
    """Name the kind of guarantee without its parameters.

    Parameters
    ----------
    releases : how many releases a guarantee in epsilon is for; rho is always of one.
    """
    if isinstance(guarantee, ZCDP):
        return "zero-concentrated differential privacy"
    many = "" if releases == 1 else f" of {releases:,} releases together"
    if isinstance(guarantee, PureDP):
        return f"pure differential privacy{many}"
    return f"approximate differential privacy{many}"


def guarantee_in_symbols(guarantee: Guarantee) -> str:
    """State the guarantee as a formula.

    >>> guarantee_in_symbols(PureDP(1))
    'Pr[M(D) ∈ S] ≤ exp(1) · Pr[M(D′) ∈ S]'
    """
    if isinstance(guarantee, PureDP | ApproxDP):
        pure = f"Pr[M(D) ∈ S] ≤ exp({short_exact(guarantee.epsilon)}) · Pr[M(D′) ∈ S]"
        delta = short_exact(guarantee.delta) if isinstance(guarantee, ApproxDP) else ""
        return f"{pure} + {delta}" if delta else pure
    return str(guarantee)


def error_in_words(error: float, total: int | None) -> Sentence:
    """Say how far the release is expected to be from the truth.

    >>> error_in_words(3500, 70_000_000)
    'about 3,500 records off in all (0.005 % of the total)'
    """
    share = f" ({share_in_words(error, total)} of the total)" if total else ""
    return Sentence("about {error} off in all{share}", error=error_in_short(error), share=share)


def error_in_short(error: float) -> Sentence:
    """Write an error to two digits, in records.

    >>> error_in_short(4795.5), error_in_short(0.123)
    ('4,800 records', '0.12 records')
    """
    rounded = float(f"{error:.2g}")
    form = ",.0f" if rounded >= 10 else "g"
    return Sentence(f"{{error:{form}}} {{records}}", error=rounded)


def share_in_words(error: float, total: int) -> str:
    """Write an error as a percentage of a total, two digits.

    >>> share_in_words(300, 70_000_000), share_in_words(3, 70_000_000), share_in_words(500, 4)
    ('0.00043 %', 'less than 0.0001 %', '12,000 %')
    """
    percent = float(f"{100 * float(f'{error:.2g}') / total:.2g}")
    if percent < 0.0001:
        return "less than 0.0001 %"
    if percent >= 10:
        return f"{percent:,.0f} %"
    return f"{percent:.10f}".rstrip("0").rstrip(".") + " %"


def limits_in_words(protected: Protected, public: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Say what the guarantee does not cover: what it is about, and how.

    Parameters
    ----------
    protected : what is protected.
    public : names of the parameters that were given as public knowledge.
    """
    unit = protected.unit if isinstance(protected, Contribution) else protected
    more = "someone with m times as much in the data"
    if unit == ONE_EDGE:
        more = "a node with m edges, all of them together"
    limits = [
        (
            "Other releases.",
            "Each further release from the same data costs privacy again; the epsilons add up, "
            "and so do the deltas, if there are any.",
        ),
        (
            "More than the unit.",
            Sentence(
                "The guarantee is for {protected}. For {more}, epsilon is m times as large, and "
                "delta, if there is one, grows even faster.",
                protected=protected_in_words(protected),
                more=more,
            ),
        ),
        (
            "What holds for everybody.",
            "The release shows the overall pattern. Anyone can draw conclusions about a person "
            "from the pattern, whether or not the person is in the data.",
        ),
        (
            "Errors of the data.",
            "Errors, bands and intervals describe the noise added here, not how the data were "
            "gathered, sampled or cleaned.",
        ),
        (
            "What is outside the release.",
            "The safety of the original data, and the time the computation took.",
        ),
    ]
    for name in public:
        limits.append(
            (
                f"The parameter {name}.",
                "It was given as public knowledge. If it was taken from the data, the guarantee "
                "does not cover what it reveals.",
            )
        )
    return limits


TOO_LARGE = Fraction(1, 10)
"""From here on, a warning is given, and no promise is called strong."""


def is_too_large(delta: Fraction, number: Number) -> bool:
    """Whether delta times the number is so large that epsilon means little."""
    return number.units is not None and delta * number.units >= TOO_LARGE


def advise_delta(number: Number) -> Fraction | None:
    """Return a delta that is small for this number of units; None if it is unknown or 0."""
    return suggest_delta(number.units) if number.units else None


def delta_in_words(delta: Fraction, number: Number) -> str:
    """Say what delta means for a number of units; empty if it is small.

    >>> delta_in_words(Fraction(1, 10**6), Number(9_000))
    ''
    >>> delta_in_words(Fraction(1, 10**6), Number(20_000))
    'δ times the number of users, 20,000, is 0.02; at most 0.01 is usual.'
    >>> delta_in_words(Fraction(1, 10**6), Number(200_000, "users", True)).split(". ")[0]
    'Warning: δ times the number of users, 200,000 or more, is 0.2 or more'
    >>> delta_in_words(Fraction(1, 10**6), UNKNOWN)
    'This δ is meant for up to 10,000 users: δ times their number should be at most 0.01.'
    """
    if delta == 0:
        return ""
    if number.units is None:
        return Sentence(
            "This δ is meant for up to {most} {noun}: δ times their number should be at most 0.01.",
            most=plain(down(MENTIONED / delta, 2)),
            noun=number.noun,
        )
    product = delta * number.units
    if product <= MENTIONED:
        return ""
    said = Sentence(
        "δ times the number of {noun}, {units:,}{more}, is {times}{more}",
        noun=number.noun,
        units=number.units,
        more=" or more" if number.at_least else "",
        times=plain(up(product, 2)),
    )
    if product < TOO_LARGE:
        return Sentence("{said}; at most 0.01 is usual.", said=said)
    return Sentence(
        "Warning: {said}. A mechanism that publishes all data of {times} {noun} on average keeps "
        "this promise too, so the promise is not strong. Choose δ of {small} or less.",
        said=said,
        times=plain(up(product, 2)),
        noun=number.noun,
        small=plain(down(advise_delta(number) or delta)),
    )
