"""Guessing success: an attacker tries labels, such as passwords, in descending order of count.

All measures are of the empirical distribution given by the profile. Source: J. Bonneau, "The
science of guessing: analyzing an anonymized corpus of 70 million passwords", IEEE Symposium on
Security and Privacy 2012.

The share of the records with one of the most frequent labels is too large for other records,
because which labels are frequent is partly chance. So each record in turn is left out: does it have
one of the most frequent labels of the others? The share of records that do is unbiased for a
dictionary of such labels. In expectation it is at most the share of the most probable labels.
(Liu and Blocki 2023, "Towards a rigorous statistical analysis of empirical password datasets",
split the records once for this lower bound.)

The interval of the share of the most probable labels, from a release: noise on few records makes
peaks, labels that seem frequent and are not. The likeliest population of such a release has these
peaks too, so samples of it do not show how often noise alone makes peaks. Samples of an even
population do. The release is tested against both populations. The lower end is the smallest share
that neither test contradicts, with linear interpolation between them.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.errors import Argument, ParameterError
from dphist.parameters import Exact, exact_number, whole_number
from dphist.properties.chao import chao1
from dphist.properties.estimate import (
    NORMAL,
    TAIL,
    Estimate,
    Source,
    estimate_nothing,
    get_histogram,
    name_source,
)
from dphist.properties.resampling import (
    RESAMPLES,
    Pairs,
    even_releases,
    find_likeliest,
    include_noise,
    make_even_population,
)
from dphist.properties.sampling import Population, sampling
from dphist.release.release import Release
from dphist.sentence import Sentence

_SHARE = "share of records"
_TRUSTED = 6  # records from which the share of a label counts as known; a rule of thumb


def guessing(
    source: Source,
    *,
    guesses: int | None = None,
    share: Exact | None = None,
    measure: str = "guesswork",
    bits: bool = False,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate the share of accounts that guesses open, or the guesses that a share requires.

    Parameters
    ----------
    source : Release or AnonymizedHistogram; or Profile, and the result is then not private. Labels
        are passwords, records accounts.
    guesses : nonnegative int
        Tries per account, beta. The result is lambda_beta, the share of accounts opened; for many
        numbers of guesses at once, `dphist.properties.guessing.compute_opened_share` is fast.
    share : number in (0, 1]
        Share of accounts to open, alpha. Give this or `guesses`. The result is the `measure`.
    measure : str, with `share`
        "guesswork": G_alpha, the mean number of tries per account, if the attacker gives up on an
        account after the mu_alpha tries that open the share alpha.
        "dictionary": mu_alpha, the smallest number of labels that open the share alpha.
    bits : with `share`: return the entropy in bits of an equally hard uniform distribution.
    resamples : int, from 10 to 10,000
        Runs of a release's mechanism that measure how its noise changes error and interval.

    Returns
    -------
    The share, number of guesses or bits; 0 for a profile without records.

    Raises
    ------
    ParameterError
        If not exactly one of `guesses` and `share` is given, a parameter is out of range, or the
        mechanism of a release cannot run again.

    Notes
    -----
    Exact for the accounts in the profile. For other accounts of the population it overestimates
    the attacker, because the ranking of labels is partly chance, most of all for rare labels of
    similar probability. Many labels seen once would not be seen again; G_1 and mu_1 always depend
    on single records. The standard error is that of a fixed dictionary and excludes this effect.
    The interval is for the share of the most probable labels of the population. In expectation it
    is between what a dictionary opens of other records, where the lower end comes from, and what
    it opens of the records it was made from.

    >>> from dphist import Profile
    >>> profile = Profile.from_counts([4, 2, 1, 1])
    >>> guessing(profile, guesses=2).value, guessing(profile, share="3/4").value
    (0.75, 1.5)
    """
    profile, alpha = get_histogram(source), _check_question(guesses, share, measure, bits)
    if alpha is None:
        return _estimate_share(source, whole_number(guesses, "guesses", 0), resamples)
    unit = "bits" if bits else "guesses"

    def effort(histogram: Diagram) -> float:
        return _MEASURES[measure, bits](guesswork(histogram, alpha))

    if profile.total == 0:
        return estimate_nothing(0.0, "plug-in", unit, name_source(source))
    notes = _notes(profile, int(guesswork(profile, alpha).dictionary))
    found = Estimate(effort(profile), "plug-in", None, None, unit, notes)
    return include_noise(source, found, effort, resamples, (0.0, math.inf))


def _check_question(
    guesses: object, share: Exact | None, measure: str, bits: bool
) -> Fraction | None:
    """Return the share that is asked about; None if guesses are."""
    if measure not in ("guesswork", "dictionary"):
        raise ParameterError("measure", "must be 'guesswork' or 'dictionary'")
    if (guesses is None) == (share is None):
        raise ParameterError("guesses", "or " + Argument("share") + " must be given, and not both")
    if share is not None:
        alpha = exact_number(share, "share")
        if not 0 < alpha <= 1:
            raise ParameterError("share", "must be above 0 and at most 1")
        return alpha
    if measure != "guesswork" or bits:
        raise ParameterError(
            ("measure", "bits"),
            "go with " + Argument("share") + ", not with " + Argument("guesses"),
        )
    return None


def _estimate_share(source: Source, tries: int, resamples: int) -> Estimate:
    """Return the estimated share of accounts that `tries` guesses open."""
    profile = get_histogram(source)
    if profile.total == 0:
        return estimate_nothing(0.0, "plug-in", _SHARE, name_source(source))

    def compute_opened(histogram: Diagram) -> float:
        return float(compute_opened_share(histogram, np.array([tries]))[0])

    value = compute_opened(profile)
    low, _ = compute_held_out_interval(profile, tries)
    _, high = clopper_pearson(value, profile.total)
    sampling = (low, high) if tries else (0.0, 0.0)
    error = math.sqrt(value * (1 - value) / profile.total)
    found = Estimate(value, "plug-in", error, sampling, _SHARE, _notes(profile, tries))

    def ends(pairs: Pairs) -> tuple[float, float]:
        assert isinstance(source, Release)  # noqa: S101 - only a release has further releases
        likeliest = find_likeliest(source), pairs
        even = make_even_population(source), even_releases(source, max(len(pairs), FEWEST_EVEN))
        return interval_with_noise(sampling, profile, tries, compute_opened, likeliest, even)

    return include_noise(source, found, compute_opened, resamples, (0.0, 1.0), ends)


class Guesswork(NamedTuple):
    """The effort to open a share alpha of the accounts.

    `dictionary` is mu_alpha, the maximum number of labels tried; `opened` is lambda for that
    number, alpha or slightly more; `guesswork` is G_alpha, the mean tries per account.
    """

    dictionary: float
    opened: float
    guesswork: float

    @property
    def dictionary_bits(self) -> float:
        """Return lg(mu_alpha / lambda); for a uniform distribution on k labels, lg(k)."""
        return math.log2(self.dictionary / self.opened) if self.opened else 0.0

    @property
    def guesswork_bits(self) -> float:
        """Return lg(2 G_alpha/lambda - 1) - lg(2 - lambda); for k uniform labels, lg(k)."""
        if not self.opened:
            return 0.0
        # With a single label, rounding may give a value below 1.
        odds = max(2 * self.guesswork / self.opened - 1, 1.0)
        return math.log2(odds) - math.log2(2 - self.opened)


_MEASURES: dict[tuple[str, bool], Callable[[Guesswork], float]] = {
    ("guesswork", False): lambda found: found.guesswork,
    ("guesswork", True): lambda found: found.guesswork_bits,
    ("dictionary", False): lambda found: found.dictionary,
    ("dictionary", True): lambda found: found.dictionary_bits,
}


def compute_opened_share(profile: Diagram, tries: IntArray) -> FloatArray:
    """Return lambda_beta, the share of records with one of the beta most frequent labels.

    Parameters
    ----------
    tries : (b,) int64, beta, 0 or more.

    Returns
    -------
    (b,) float64 in [0, 1], non-decreasing in beta; O(b log c) for c distinct counts.
    """
    if profile.total == 0:
        return np.zeros(len(tries))
    shares: FloatArray = _records_of_top(profile, tries) / profile.total
    return shares


def guesswork(profile: Diagram, alpha: Fraction) -> Guesswork:
    """Return the effort to open a share alpha, in O(distinct counts).

    G_alpha = (1 - lambda) mu_alpha + sum over i <= mu_alpha of i p_i.
    """
    if profile.total == 0:
        return Guesswork(0.0, 0.0, 0.0)
    counts, ends, records = _accumulate(profile)
    wanted = -(-alpha.numerator * profile.total // alpha.denominator)  # exact, rounded up
    block = int(np.searchsorted(records, wanted)) - 1  # the last block tried, perhaps in part
    into = -(-(wanted - int(records[block])) // int(counts[block]))
    last = int(ends[block]) + into
    found = int(records[block]) + into * int(counts[block])
    # Ranks s+1..s+m have the sum m s + m (m+1)/2. All terms are positive, so nothing cancels.
    sizes = np.append(np.diff(ends)[:block], into).astype(np.float64)
    ranks = sizes * ends[: block + 1] + sizes * (sizes + 1) / 2
    spent = float(np.sum(counts[: block + 1] * ranks)) / profile.total
    opened = found / profile.total
    return Guesswork(float(last), opened, (1 - opened) * last + spent)


def _accumulate(profile: Diagram) -> tuple[IntArray, IntArray, IntArray]:
    """Return counts descending (c,), and cumulative labels and records, from 0, (c+1,) each."""
    counts, prevalences = profile.counts[::-1], profile.prevalences[::-1]
    ends = np.append(0, np.cumsum(prevalences))
    return counts, ends, np.append(0, np.cumsum(counts * prevalences))


def _records_of_top(profile: Diagram, tries: IntArray) -> IntArray:
    counts, ends, records = _accumulate(profile)
    block = np.searchsorted(ends, tries, side="right") - 1
    each = np.append(counts, 0)[block]  # past the last label there is nothing
    top: IntArray = records[block] + (np.minimum(tries, ends[-1]) - ends[block]) * each
    return top


def _notes(profile: Diagram, tries: int) -> tuple[str, ...]:
    trusted = int(profile.cumulative_prevalences(_TRUSTED))
    notes = [Sentence("of the {records} in the profile; others are guessed less easily")]
    if tries > trusted:
        notes.append(
            Sentence(
                "beyond {trusted:,} guesses {labels} have fewer than {least} {records}, so their "
                "order is mostly chance",
                trusted=trusted,
                least=_TRUSTED,
            )
        )
    if tries > profile.labels:
        notes.append(Sentence("there are fewer {labels} than guesses"))
    return tuple(notes)


_ABOVE = 0.975
# Beside this many releases of an even population, the one in question is the largest with
# probability 2.5 %.
FEWEST_EVEN = 39


def interval_with_noise(
    sampling: tuple[float, float],
    profile: Diagram,
    tries: int,
    own: Callable[[Diagram], float],
    likeliest: tuple[Population, Pairs],
    even: tuple[Population, Pairs],
) -> tuple[float, float]:
    """Return the interval of the share that the `tries` most probable labels have.

    Parameters
    ----------
    sampling : the interval of sampling alone, around the held-out share and the own one.
    profile : the released one, with records.
    own : the share of a profile's records that its most frequent labels have.
    likeliest, even : two populations; samples of each, and releases of these.
    """

    def compute_held_out(other: Diagram) -> float:
        return compute_held_out_share(other, tries) if other.total else 0.0

    low, high = sampling
    share, opened = compute_held_out(profile), own(profile)
    below, fewer = _noise(compute_held_out, likeliest[1])
    above, more = _noise(own, likeliest[1])
    down = math.hypot(share - low, NORMAL * below) + max(fewer, 0.0)
    up = math.hypot(high - opened, NORMAL * above) + max(-more, 0.0)
    # What the share is in each population, and how large its held-out share may be by chance.
    peak = likeliest[0].share_of_top(tries)
    least, _ = clopper_pearson(even[0].share_of_top(tries), profile.total)
    highest, high_by_noise = (_highest(compute_held_out, pairs) for _, pairs in (likeliest, even))
    part = (share - high_by_noise) / (highest - high_by_noise) if highest > high_by_noise else 0.0
    smallest = least + min(max(part, 0.0), 1.0) * max(peak - least, 0.0)
    return min(share - down, smallest), opened + up


def _noise(ask: Callable[[Diagram], float], pairs: Pairs) -> tuple[float, float]:
    """Return standard deviation and mean of how far a release is off its sample."""
    strays = np.array([ask(released) - ask(sample) for sample, released in pairs])
    return float(np.std(strays, ddof=1)), float(np.mean(strays))


def _highest(ask: Callable[[Diagram], float], pairs: Pairs) -> float:
    """Return what a further release exceeds with probability 2.5 %, or less: a Monte Carlo test.

    As if normal, or by order: of n + 1 alike, one is the largest with probability 1 / (n + 1).
    """
    found = np.sort([ask(released) for _, released in pairs])
    normal = float(found.mean() + NORMAL * found.std(ddof=1))
    place = min(math.ceil(_ABOVE * (len(found) + 1)), len(found))
    return max(normal, float(found[place - 1]))


def compute_held_out_share(profile: Diagram, tries: int) -> float:
    """Return the share of records that `tries` labels open, chosen without the record itself.

    Ties are broken at random; the result is the mean over that. O(c) for c distinct counts.

    >>> from dphist import Profile
    >>> compute_held_out_share(Profile.from_counts([3, 1]), 1)
    0.75
    >>> compute_held_out_share(Profile.from_counts([1, 1, 1, 1]), 2)
    0.0
    """
    counts, n = profile.counts, profile.total
    chance = _chance(profile, counts - 1, tries, without=1)
    return float(chance * counts @ profile.prevalences) / n


def compute_held_out_interval(profile: Diagram, tries: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95 % interval of the held-out share.

    It is that for as many independent records as would give the share's own variance, where that
    is larger than a binomial one.
    """
    n, share = profile.total, compute_held_out_share(profile, tries)
    spread, binomial = _spread(profile, tries), share * (1 - share)
    independent = min(n, binomial / spread**2) if spread > 0 and binomial > 0 else n
    return clopper_pearson(share, independent)


def _spread(profile: Diagram, tries: int) -> float:
    """Return the standard deviation of the held-out share, the smaller of two approximations.

    Both are for samples from the maximum-likelihood population. The first keeps the count that a
    label needs to be in the dictionary, which is right where many labels have about that count. The
    second is right where few have: another label then takes the place of one that leaves, so only
    the excess over that count c varies, and how many others have c or c + 1 records themselves.
    """
    n, most = profile.total, chao1(profile)
    ends = np.cumsum(profile.prevalences[::-1])
    place = int(np.searchsorted(ends, tries))
    if place == len(ends):
        return 0.0  # all labels are in the dictionary
    needed = int(profile.counts[::-1][place])

    def all_records(counts: IntArray) -> FloatArray:
        return _chance(profile, np.maximum(counts - 1, 0), tries, without=0) * counts / n

    def excess(counts: IntArray) -> FloatArray:
        return np.maximum(counts - needed, 0) / n

    fixed, moving = (
        sampling(profile, weigh, most, lambda population: 0.0).spread
        for weigh in (all_records, excess)
    )
    away = (profile.counts - needed) / math.sqrt(needed)
    others = profile.prevalences - (profile.counts == needed)
    beside = float(others @ np.exp(-(away**2) / 2)) / math.sqrt(2 * math.pi * needed)
    return min(fixed, math.hypot(moving, needed * math.sqrt(2 * beside) / n))


def clopper_pearson(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a probability, from its share of n records.

    Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated in the case of
    the binomial". Also for shares of 0 and 1 the interval is not a single point.
    """
    had = share * n
    low = float(betaincinv(had, n - had + 1, TAIL)) if had > 0 else 0.0
    high = float(betaincinv(had + 1, n - had, 1 - TAIL)) if had < n else 1.0
    return (low, high) if math.isfinite(low + high) else (0.0, 1.0)


def _chance(profile: Diagram, values: IntArray, tries: int, without: int) -> FloatArray:
    """Return the probability that a label is among the `tries` most frequent, ties at random.

    Parameters
    ----------
    values : (v,) int64, the label's records; with 0, it is no label.
    without : 1 if the label itself is in `profile` with a larger count, else 0.
    """
    ends = np.append(0, np.cumsum(profile.prevalences[::-1]))
    descending = -profile.counts[::-1]
    above = ends[np.searchsorted(descending, -values, side="left")]
    ties = ends[np.searchsorted(descending, -values, side="right")] - above
    chance = np.clip((tries - above + without) / (ties + 1.0), 0.0, 1.0)
    return np.where(values > 0, chance, 0.0)
