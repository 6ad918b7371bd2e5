"""RegionalProfile: how many labels have each count in each leaf of a public tree of regions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting import check_counts, check_total, redact_errors
from dphist.counting.binning.leaf_sizes import (
    Leaves,
    count_in_leaves,
    count_leaf_terms,
    sum_leaf_terms,
)
from dphist.counting.engine.progress import Progress
from dphist.counting.reading.gate import Reading
from dphist.data.counting import (
    Pairs,
    check_treatment,
    make_cut,
    state_treatment,
    unit_of_records,
)
from dphist.data.guard import Guarding, Secret, guard
from dphist.data.partial import Partial, all_parts, make_partial
from dphist.data.profile import Profile
from dphist.data.region_tree import RegionTree
from dphist.errors import DataError, ParameterError, phrase
from dphist.parameters import whole_number
from dphist.privacy.unit import PrivacyUnit, asserted_unit, unit_of_data
from dphist.signals import stoppable


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class RegionalProfile(Secret):
    """The number of labels with each count in each leaf of a tree of regions: secret data.

    A label that has records in two leaves is two labels, one in each: its count in a leaf is that
    of its records there.

    Attributes
    ----------
    regions : RegionTree, public.
    leaves : the profile of each leaf, in the order of the tree. Secret.
    sensitivity : int
        Cells of the diagrams of all leaves together that one privacy unit can change (default: 1).
        A mechanism refuses data with a larger sensitivity than its own.
    unit, null_users : as of `Profile`.
    unlisted : what was done with rows of other regions: "error" or "drop". Public.
    other : the leaf that has the rows of all other regions; None without one. Public.

    >>> tree = {"North": ["Bern", "Basel"], "South": ["Lugano"]}
    >>> RegionalProfile.from_counts({"Bern": [8, 3], "Lugano": [1]}, regions=tree)
    RegionalProfile(RegionTree(2 > 3 leaves), sensitivity=1; counts not shown)
    """

    regions: RegionTree
    leaves: tuple[Profile, ...]
    sensitivity: int
    unit: PrivacyUnit | None
    null_users: str | None
    unlisted: str
    other: str | None
    _IN_PLACE_OF_AN_ARRAY = (
        "a RegionalProfile must be passed to RegionalProfiles itself: an array would lose its "
        "regions and its sensitivity"
    )

    def __init__(
        self,
        regions: Any,
        leaves: Any,
        sensitivity: int = 1,
        unit: str | PrivacyUnit | None = None,
        null_users: str | None = None,
        unlisted: str = "error",
        other: str | None = None,
    ) -> None:
        """Take checked pairs of counts and prevalences, one for each leaf; see `from_table`."""
        tree, bound = RegionTree(regions), whole_number(sensitivity, "sensitivity", 1)
        one = None if unit is None else unit_of_data(unit)
        check_treatment(null_users)
        _check_unlisted(unlisted)
        if other is not None:
            _find_leaf(tree, other)
        held = tuple(
            Profile(counts, prevalences, bound, one, null_users) for counts, prevalences in leaves
        )
        if len(held) != len(tree.leaves):
            raise ParameterError("leaves", "must be one for each leaf of the tree")
        said = {"regions": tree, "leaves": held, "sensitivity": bound, "unit": one}
        said |= {"null_users": null_users, "unlisted": unlisted, "other": other}
        for name, value in said.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, Any],
        *,
        regions: Any,
        sensitivity: int = 1,
        unit: str | PrivacyUnit | None = None,
    ) -> "RegionalProfile":
        """Make a profile from one count for each label of each leaf; zeros are dropped.

        Parameters
        ----------
        counts : mapping of names of leaves to their counts, as for `Profile.from_counts`. Leaves
            that are not named have no labels.
        regions : the tree, as for `RegionTree`.
        sensitivity : cells of all leaves together that one privacy unit changes. You assert it;
            dphist cannot check it.
        unit : that unit, such as "one patient", for guarantees and ledgers (default: records).

        Raises
        ------
        DataError, ParameterError
        """
        tree = RegionTree(regions)
        if not isinstance(counts, Mapping) or not {*map(str, counts)} <= {*tree.leaf_names}:
            raise ParameterError("counts", "must be a mapping of names of leaves to counts")
        given = {str(name): each for name, each in counts.items()}
        pairs = [_count_pairs(given.get(name, ())) for name in tree.leaf_names]
        check_total(*(np.concatenate(each) for each in zip(*pairs, strict=True)))
        said = None if unit is None else asserted_unit(unit)
        return cls(tree, pairs, sensitivity, said)

    @classmethod
    @stoppable
    def from_table(
        cls,
        frame: Any,
        *,
        label: str,
        region: str,
        regions: Any,
        other: str | None = None,
        unlisted: str = "error",
        count: str | None = None,
        user: str | None = None,
        max_records: int | None = None,
        null_users: str = "refuse",
        sensitivity: int = 1,
        progress: Progress | None = None,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
        ledger: Guarding | None = None,
    ) -> "RegionalProfile":
        """Count the labels of a table in each leaf, in the table's own engine.

        Parameters
        ----------
        frame : a table or files, as for `LabelCounts.from_table`.
        label : column of labels, such as households or words; each row is one record unless
            `count` is given.
        region : column of the leaf that each row lies in: text, or whole numbers where the names
            of all leaves are such. Names are compared exactly.
        regions : the public tree, as for `RegionTree`. It must not be taken from the data: that it
            was cannot be seen.
        other : the leaf of the tree that also gets the rows of all other regions, and of none.
        unlisted : what is done with such rows without `other`: "error" refuses the table, and
            "drop" leaves the row out, as if it were not there, before users are bounded.
        count : column of counts, if each row is a label of a leaf with a count; counts of one label
            in one leaf are added.
        user : column of users. Each user keeps at most `max_records` rows, in all leaves together,
            chosen uniformly at random and independently of other users. The profile has
            ``sensitivity=max_records``: the privacy unit is a user, with all of the user's rows.
        max_records : required with `user`, refused without it.
        null_users : as for `Profile.from_table`.
        sensitivity : records that one privacy unit adds to or removes from the table, in all leaves
            together. You assert it; dphist cannot check it. Refused with `user`.
        progress, delimiter, unit, ledger : as for `LabelCounts.from_table`.

        Raises
        ------
        ColumnError, DataError, InputFileError, ParameterError
            As for `Profile.from_table`. DataError also if a row has a region that is no leaf, or
            none, without `other` and ``unlisted="drop"``: a yes or no about the data, which no
            guarantee covers. Where a program acts on it, give one of the two. Rows without a user
            that `null_users` leaves out are not looked at.

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"home": [1, 1, 1, 2], "city": ["Bern", "Bern", "Lugano", "Bern"]})
        >>> tree = {"North": ["Bern"], "South": ["Lugano"]}
        >>> data = RegionalProfile.from_table(rows, label="home", region="city", regions=tree)
        >>> [leaf.sorted_counts().tolist() for leaf in data.leaves]
        [[2, 1], [1]]
        """
        tree = RegionTree(regions)
        leaves = make_leaves(tree, other, unlisted)
        if (user is None) != (max_records is None):
            raise ParameterError(("user", "max_records"), "must be given together, or neither")
        if user is not None and (count is not None or sensitivity != 1):
            raise ParameterError(
                "user",
                phrase("needs one row per record, without {count}, and sets {sensitivity} itself"),
            )
        bound = whole_number(sensitivity, "sensitivity", 1)
        one = unit_of_records(user, unit, null_users)
        most = None if max_records is None else whole_number(max_records, "max_records", 1)
        reading = Reading(progress=progress, delimiter=delimiter)
        pairs = count_in_leaves(
            frame,
            leaves,
            region=region,
            label=label,
            count=count,
            user=user,
            max_records=most,
            null_users=null_users,
            **reading,
        )
        if most is None:
            found = cls(tree, pairs, bound, None, None, unlisted, other)
        else:
            found = cls(tree, pairs, most, one, state_treatment(null_users), unlisted, other)
        return guard(found, ledger)

    @classmethod
    @stoppable
    def partial(
        cls,
        frame: Any,
        *,
        label: str,
        region: str,
        regions: Any,
        user: str,
        max_records: int,
        part: int,
        parts: int,
        others: str = "drop",
        other: str | None = None,
        unlisted: str = "error",
        null_users: str = "refuse",
        progress: Progress | None = None,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
    ) -> Partial:
        """Bound and count one part of the users, for `merge`.

        Parameters
        ----------
        part, parts, others : as for `LabelCounts.partial`.
        frame, label, region, regions, user, max_records, other, unlisted, null_users, progress,
        delimiter, unit
            As for `from_table`. Regions must be the same in all parts, in the same order. Rows
            without a user belong to part 0.

        Raises
        ------
        ParameterError, ColumnError, DataError, InputFileError
            As for `from_table`, of rows of this part: those of other users are not looked at; also
            if `part` is not below `parts`, or if `others` is "refuse" and a user belongs to another
            part. ColumnError also
            if labels are not text, integers, bytes or UUIDs, whose bytes are those of every engine.

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"who": [1, 1, 2], "word": list("aab"), "city": ["Bern"] * 3})
        >>> given = {"label": "word", "region": "city", "user": "who", "max_records": 2}
        >>> given |= {"regions": ["Bern"], "parts": 2}
        >>> cut = [RegionalProfile.partial(rows, part=part, **given) for part in range(2)]
        >>> RegionalProfile.merge(cut).leaves[0].sorted_counts()
        array([2, 1])
        """
        cut, tree = make_cut(user, part, parts, others), RegionTree(regions)
        leaves, most = (
            make_leaves(tree, other, unlisted),
            whole_number(max_records, "max_records", 1),
        )
        one = unit_of_records(user, unit, null_users)
        counted, label_type = count_leaf_terms(
            frame,
            leaves,
            region=region,
            label=label,
            user=user,
            max_records=most,
            null_users=null_users,
            cut=cut,
            **Reading(progress=progress, delimiter=delimiter),
        )
        columns = {"label": label, "user": user, "region": region}
        said: dict[str, Any] = {"regions": tree.to_content(), "other": other, "unlisted": unlisted}
        said |= {"max_records": most, "null_users": null_users, "unit": one.to_content()}
        return make_partial("leaves", cut, columns, said | {"label_type": label_type}, counted)

    @classmethod
    @stoppable
    def merge(cls, parts: Iterable[Any], *, ledger: Guarding | None = None) -> "RegionalProfile":
        """Add the counts of all parts of the users; see `LabelCounts.merge`.

        Raises
        ------
        DataError, InputFileError, ParameterError
        """
        found = all_parts("leaves", cls.__name__, parts)
        head, table = found[0].head, pa.concat_tables([each.table for each in found])
        tree, other, unlisted = RegionTree(head["regions"]), head["other"], head["unlisted"]
        pairs = sum_leaf_terms(table, make_leaves(tree, other, unlisted))
        unit, missing = PrivacyUnit.from_content(head["unit"]), state_treatment(head["null_users"])
        merged = cls(tree, pairs, head["max_records"], unit, missing, unlisted, other)
        return guard(merged, ledger)

    def __reduce__(self) -> tuple[type["RegionalProfile"], tuple[Any, ...]]:
        """Copy and unpickle through the constructor, which makes the arrays read-only."""
        pairs = [(leaf.counts, leaf.prevalences) for leaf in self.leaves]
        bounds = self.sensitivity, self.unit, self.null_users, self.unlisted, self.other
        return RegionalProfile, (self.regions, pairs, *bounds)

    def __repr__(self) -> str:
        said = f"sensitivity={self.sensitivity}; counts not shown"
        return f"RegionalProfile({self.regions!r}, {said})"


def make_leaves(tree: RegionTree, other: str | None, unlisted: str) -> Leaves:
    """Return the leaves among which rows are counted; both parameters are checked."""
    _check_unlisted(unlisted)
    if other is None:
        return Leaves(tree.leaf_names, None, unlisted == "drop")
    if unlisted != "error":
        raise ParameterError("unlisted", phrase('must be "error" with {other}, which takes them'))
    return Leaves(tree.leaf_names, _find_leaf(tree, other))


def state_bounds(unlisted: str, other: str | None) -> dict[str, str]:
    """Return what a release states of rows of other regions: nothing if they were refused."""
    found = {"unlisted": unlisted} if unlisted == "drop" else {}
    return found if other is None else {**found, "other": other}


def _find_leaf(tree: RegionTree, name: Any) -> int:
    if not isinstance(name, str) or name not in tree.leaf_names:
        raise ParameterError("other", "must be the name of a leaf of the tree")
    return tree.leaf_names.index(name)


def _check_unlisted(unlisted: Any) -> None:
    if unlisted not in ("error", "drop"):
        raise ParameterError("unlisted", 'must be "error" or "drop"')


def _count_pairs(given: Any) -> Pairs:
    """Return the distinct counts above 0, ascending, and how many labels have each."""
    checked: IntArray = check_counts(given, "counts")
    too_long = DataError("counts do not fit in memory; make the profile from a table or file")
    found = redact_errors(lambda: np.unique(checked[checked > 0], return_counts=True), too_long)
    return found[0], found[1].astype(np.int64)
