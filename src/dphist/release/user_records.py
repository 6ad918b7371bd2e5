"""How much bounding dropped, or would drop, as a release of users by number of records says."""

from typing import Any

from dphist.errors import ParameterError
from dphist.parameters import whole_number
from dphist.release.fitted_users import Share
from dphist.release.release import Release
from dphist.release.users_by_size import UsersBySize


def share_cut(release: Release, max_records: int | None = None) -> Share:
    """Return which share of all records a bound on the records of each user drops.

    Of labels: of all pairs of a user and a label. By that share counts are too low on average, over
    records or pairs. It says nothing of a single count. Post-processing, which costs nothing.

    Parameters
    ----------
    release : of what `dphist.count_user_records` counted, or one that carries such a release; of
        labels, with `users_by_labels` or a cap that was found.
    max_records : the bound, below the start of the last cell (default: that of a release which
        carries another). Of labels the bound is that of the release.

    Returns
    -------
    Share
        `value`, and `low` and `high`, the ends of an interval that holds the share with 95 %. Of a
        user in the last cell as many records are looked at as the cell starts with, so the share
        of all records is this one or larger.

    Raises
    ------
    ParameterError

    >>> import dphist as dh, pandas as pd
    >>> rows = pd.DataFrame({"who": [1] * 8 + [2, 3, 4, 5] * 2})
    >>> users = dh.count_user_records(rows, user="who", most=9)
    >>> share_cut(dh.LeafCounts(epsilon=1000, bins=users.bins).release(users), 4)
    Share(value=0.25, low=0.245, high=0.255)
    """
    of_labels = getattr(release.mechanism, "share_cut", None)
    if of_labels is None:
        return read_user_sizes(release, max_records).share_cut()
    if max_records is not None:
        raise ParameterError("max_records", "must be left out for a release of labels")
    share: Share = of_labels(release)
    return share


def read_user_sizes(release: Release, max_records: int | None = None) -> UsersBySize:
    """Return how many users have how many records, by a release as for `share_cut`."""
    users = release if release.users is None else release.users
    answers = users.value.answers if users.counts_users else None
    if answers is None or not answers.are_independent:
        raise ParameterError(
            "release",
            "must say how many users have how many records, each number with noise of its own",
            "release what count_user_records counted with LeafCounts, and add it with with_users",
        )
    cells = tuple(int(edge) for edge in users.value.edges[0][:-1])
    said: Any = release.provenance.get("max_records")
    if max_records is None and said is None:
        raise ParameterError("max_records", "must be given: the bound to ask about")
    bound = int(said) if max_records is None else whole_number(max_records, "max_records", 1)
    if bound >= cells[-1]:
        raise ParameterError(
            "max_records", f"must be below {cells[-1]:,}, where the last cell of users starts"
        )
    mechanism: Any = users.mechanism
    return UsersBySize(cells, tuple(users.value.counts.tolist()), mechanism.law, bound)
