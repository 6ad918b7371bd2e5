"""Release: what a mechanism returns; saving it and loading it.

A release holds only the mechanism's parameters and functions of released values: no row counts, no
digests of data, no numbers of dropped records. So all of it may be published, and computing from
it costs no further privacy.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from dphist.arrays import IntArray
from dphist.errors import ParameterError, UnsupportedError
from dphist.files import write_text
from dphist.noise.for_tests import KNOWN_NOISE
from dphist.privacy import ApproxDP, Guarantee, PrivacyUnit, PureDP, compose, with_implied_rho
from dphist.privacy.exchanged import exchanged_together
from dphist.privacy.unit import as_unit
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.document import VERSION as VERSION
from dphist.release.document import (
    check_document,
    read_document,
    read_whole_numbers,
    unreadable,
    with_checksum,
)
from dphist.release.kind_names import OLD_TAGS, kinds_of_others
from dphist.release.label_table import LabelTable
from dphist.release.maker import Inferred, Maker, Restoring, Totaling, find_target
from dphist.release.mechanism_json import (
    describe,
    describe_guarantee,
    describe_origin,
    read_guarantee,
    read_mechanism,
)
from dphist.release.mechanisms import find_mechanism
from dphist.release.presentation import Presentation, Words
from dphist.release.range_histogram import RangeHistogram
from dphist.release.running_counts import RunningCounts
from dphist.release.stated import (
    check_unit_word,
    check_users,
    name_unit,
    read_line,
    read_stated,
    refuse_exchanged,
)
from dphist.release.table_writer import TableWriter
from dphist.release.tabular import Released, Tabular
from dphist.shown import show_by

FORMAT = "dphist release"
FORMAT_VERSION = 2
"""Of a release that carries another one; a reader who knew version 1 alone would state less."""
_ALONE = 1
_EDITED = "its guarantee cannot be vouched for"

SUPPLIED = "supplied by the caller: for tests"
FOR_TESTS = f"random bits {SUPPLIED}"
"""Note of a release with randomness from elsewhere than the operating system."""

_KINDS: dict[str, type[Any]] = {
    "anonymized": AnonymizedHistogram,
    "ranges": RangeHistogram,
    "labels": LabelTable,
    "streams": RunningCounts,
}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Release(TableWriter, Released):
    """A published value, its guarantee, and the mechanism that made it.

    Attributes
    ----------
    value : AnonymizedHistogram, LabelTable, RangeHistogram or RunningCounts
        The released histogram: anonymized, with labels, of ordered bins, or the readings of a
        stream; or a value of somebody else's kind. Not secret.
    guarantee : cost and privacy unit of the release, with what it carries in `users`. The unit is
        the one that `provenance` names (default: the mechanism's).
    mechanism : the mechanism with all its parameters.
    total : int or None
        Private estimate of the number of records, if the mechanism makes one. It may differ
        from `value.total`.
    noisy : mapping of str to (k,) int64 array
        The noisy counts from which `value` is inferred, for mechanisms that keep them. In a
        release of labels, ``users`` are the noisy numbers of users within the bounds and over
        them. The guarantee covers these counts as well as `value`.
    version : version of dphist that made the release.
    provenance : mapping of str to str, but for ``unit``
        Choices about the data, fixed without looking at them: ``unit``, a PrivacyUnit;
        ``null_users`` and ``null_labels``, the treatment of rows without a user or label;
        ``max_labels``, ``max_count`` and ``max_records``, the bounds applied to each user;
        ``counted``, "users" where users are counted and not records;
        ``added_to``, the epsilon of the release from which `add_noise` made this one;
        ``configuration``, the SHA-256 hash of the file that asked for the release;
        ``description``, `Dataset.digest` of the data set.
        Without ``unit``, the caller asserted the bounds of a release of labels, or a sensitivity
        above 1 of other releases.
    for_tests : bool
        Whether random bits came from the caller (`source=`), for the noise or for bounding the
        data. Such a release protects nobody, and says so wherever it is shown.
    presentation : the words in which the release is shown, and its date. See `present`.
    users : the release of how many users have how many records, from the same data: see
        `with_users`. None without one.
    guarantee_of_counts : with `users`, that of the counts alone.
    """

    value: Any
    guarantee: Guarantee
    mechanism: Maker
    total: int | None = None
    noisy: Mapping[str, IntArray] = field(default_factory=dict)
    version: str = VERSION
    provenance: Mapping[str, Any] = field(default_factory=dict)
    for_tests: bool = False
    presentation: Presentation = field(default_factory=Presentation)
    users: "Release | None" = None
    guarantee_of_counts: Guarantee | None = None

    def __post_init__(self) -> None:
        refuse_exchanged(self.guarantee.unit, self.provenance.get("unit"))
        if KNOWN_NOISE.get():  # also a release that a mechanism of somebody else makes
            object.__setattr__(self, "for_tests", True)
        if "unit" in self.provenance:
            said = as_unit(self.provenance["unit"])
            object.__setattr__(self, "provenance", {**self.provenance, "unit": said})
            unit = name_unit(self.guarantee.unit, self.provenance)
            object.__setattr__(self, "guarantee", replace(self.guarantee, unit=unit))
        if self.presentation.unit is not None:
            check_unit_word(self.presentation.unit, self.guarantee.unit)

    def __repr__(self) -> str:
        said = f"; {FOR_TESTS}" if self.for_tests else ""
        return f"Release({self.mechanism!r}, {self.value!r}{said})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Release):
            return NotImplemented
        return self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.guarantee, self.mechanism, self.total))

    @property
    def budget(self) -> PureDP | ApproxDP | None:
        """The maximum total cost that the mechanism is calibrated to.

        None if it is not calibrated, or the release carries another one.
        """
        target = find_target(self.mechanism)
        return None if target is None or self.users is not None else target.guarantee

    def present(self, **words: Unpack[Words]) -> "Release":
        """Return this release with words in which it is shown: post-processing, at no cost.

        Parameters
        ----------
        words : any of ``title``, ``unit``, ``label_name``, ``record_name``, ``dataset``,
            ``period``, ``owner`` and ``note``, as `Presentation` explains them; None removes one.
            Do not take them from the data: they are published as they are.

        Raises
        ------
        ParameterError
            If a value is not one line of printable text; or if ``unit`` is given for a release
            that protects records, events or edges, or whose users have another name.

        >>> import dphist as dh
        >>> release = dh.anonymize(dh.Profile.from_counts([8, 8, 3]), epsilon=1)
        >>> release.present(title="Passwords by popularity").presentation.title
        'Passwords by popularity'
        """
        return replace(self, presentation=self.presentation.with_words(**words))

    def with_users(self, users: "Release") -> "Release":
        """Return this release with that of how many users have how many records.

        It then says how much too low counts are, on average, because of `max_records`, and its
        guarantee is that of both together. Both are saved in one file.

        Parameters
        ----------
        users : a release of what `count_user_records` counted in the same data; you assert that.

        Raises
        ------
        ParameterError
            If it is another release, protects another unit, or its last cell starts within
            `max_records`; or if no users were bounded for this release.
        """
        if not isinstance(users, Release):
            raise ParameterError("users", "must be a release")
        check_users(self, users)
        own = with_implied_rho(self.guarantee)  # max_records may follow from users
        both = compose(users.guarantee, own)
        return replace(
            self,
            guarantee=replace(both, unit=self.guarantee.unit),
            guarantee_of_counts=own,
            users=users,
            for_tests=self.for_tests or users.for_tests,
        )

    @property
    def counts_users(self) -> bool:
        """Whether users are counted, each once, and not records."""
        return self.provenance.get("counted") == "users"

    @property
    def exchanged(self) -> Guarantee | None:
        """What a unit exchanged for another costs, beside `guarantee`; None if delta reaches 1."""
        first, *others = [each.mechanism for each in self.parts]
        return exchanged_together([first], self.guarantee.unit, others)

    @property
    def parts(self) -> tuple["Release", ...]:
        """The releases that this one is made of, each with its own guarantee."""
        own = self.guarantee_of_counts
        if self.users is None or own is None:
            return (self,)
        return self.users, replace(self, guarantee=own, guarantee_of_counts=None, users=None)

    def configured(
        self, configuration: str | None = None, *, description: str | None = None
    ) -> "Release":
        """Return this release with the hashes of the files that asked for it and describe its data.

        Parameters
        ----------
        description : `Dataset.digest` of the data.
        """
        named = {"configuration": configuration, "description": description}
        known = {name: digest for name, digest in named.items() if digest is not None}
        return replace(self, provenance={**self.provenance, **known})

    def redecode(self) -> "Release":
        """Return this release with its value inferred again from its noisy counts.

        This is post-processing and costs nothing. A later version of the library may infer better.

        Raises
        ------
        ParameterError
            If the mechanism does not keep noisy counts.
        """
        value = self.mechanism.decode(self.noisy)
        if isinstance(self.value, Inferred):
            value = self.value.infer_again(value)
        return replace(self, value=value, version=VERSION)

    def plot(self, ax: Any = None, *, columns: int = 2) -> Any:
        """Plot the release, and return matplotlib Axes: see `dphist.plot`."""
        return show_by("plot", self, ax=ax, columns=columns)

    def to_arrow(self) -> pa.Table:
        """Return the released table: that of the value.

        `to_pandas`, `to_polars` and all libraries that read Arrow streams have the same columns.

        Raises
        ------
        UnsupportedError
            If the value is of another kind, without a table.
        """
        return self._table().to_arrow()

    def to_pandas(self) -> Any:
        """Return the released table as a pandas dataframe; pandas must be installed."""
        return self._table().to_pandas()

    def _table(self) -> Tabular:
        if not isinstance(self.value, Tabular):
            kind = type(self.value).__name__
            raise UnsupportedError(f"a value of type {kind} has no table: use release.value")
        return self.value

    def to_json(self) -> str:
        """Return the release as a JSON document, as in `docs/reference/release-format.md`."""
        content = {
            "format": FORMAT,
            "format_version": _ALONE if self.users is None else FORMAT_VERSION,
            "library_version": self.version,
            "kind": _kind(self.value),
            "guarantee": describe_guarantee(self.guarantee),
            "unit": self.guarantee.unit.to_content(),
            "mechanism": describe(self.mechanism),
            "total": self.total,
            "value": self.value.to_content(),
            "noisy": {name: counts.tolist() for name, counts in self.noisy.items()},
        }
        if self.provenance:
            stated = dict(self.provenance)
            if "unit" in stated:
                stated["unit"] = stated["unit"].to_content()
            content["stated"] = stated
        if self.presentation.to_content():
            content["provenance"] = self.presentation.to_content()
        if self.users is not None:
            content["guarantee_of_counts"] = describe_guarantee(self.parts[1].guarantee)
            content["users"] = json.loads(self.users.to_json())
        if self.for_tests:
            content["random_bits"] = SUPPLIED
        return with_checksum(content | describe_origin(self.mechanism))

    def save(self, path: str | Path) -> None:
        """Write the release to a JSON file, whole or not at all.

        Raises
        ------
        OutputFileError
            If the folder does not exist, cannot be written, or is full.
        """
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> "Release":
        """Read a release that `save` wrote.

        Raises
        ------
        ReleaseFileError
            If the file is missing, damaged, edited or written by a later version, or the mechanism
            is of a package that is not installed or does not register it.
        """
        return cls.from_json(read_document(path, "release"), name=str(path))

    @classmethod
    def from_json(cls, text: str, name: str = "the text") -> "Release":
        """Read a release from the text of `to_json`; error messages use `name`."""
        content = check_document(text, name, "release", FORMAT_VERSION, _EDITED, oldest=_ALONE)
        find_mechanism(content, name)
        try:
            release = _decode(content)
        except Exception:  # of any library that makes sense of a part of it
            release = None
        if release is None:
            raise unreadable(content, name, "release")
        return release


def _decode(content: dict[str, Any]) -> Release:
    users = content.get("users")
    if content["format_version"] != (_ALONE if users is None else FORMAT_VERSION):
        raise ValueError("the version says whether another release is carried")
    if users is None:
        return _decode_alone(content)
    alone = _decode_alone({**content, "guarantee": content["guarantee_of_counts"]})
    release = alone.with_users(Release.from_json(json.dumps(users)))
    if describe_guarantee(release.guarantee) != content["guarantee"]:
        raise ValueError("the guarantee is not that of both releases together")
    return release


def _decode_alone(content: dict[str, Any]) -> Release:
    mechanism = read_mechanism(content)
    if content.get("random_bits", SUPPLIED) != SUPPLIED:
        raise ValueError("random bits are the system's, which is not said, or the caller's")
    provenance = {
        str(key): read_stated(key, said) for key, said in content.get("stated", {}).items()
    }
    if "unit" in content:  # earlier versions wrote none
        promised = name_unit(mechanism.guarantee.unit, provenance)
        if PrivacyUnit.from_content(dict(content["unit"])).to_content() != promised.to_content():
            raise ValueError("the unit is not the one that the mechanism protects")
    total = content["total"]
    if total is not None and (isinstance(total, bool) or not isinstance(total, int)):
        raise TypeError("total is a whole number or null")
    written = content["kind"]
    value = _value_type(OLD_TAGS.get(written, written)).from_content(content["value"])
    noisy = {str(k): read_whole_numbers(v) for k, v in content["noisy"].items()}
    if isinstance(mechanism, Restoring):
        value = mechanism.restore(value, noisy)
        if isinstance(mechanism, Totaling) and total != mechanism.compute_total(noisy):
            raise ValueError("the total is not that of the noisy numbers")
    elif isinstance(value, Inferred) and noisy:
        value = value.complete(mechanism.decode(noisy))
    return Release(
        value=value,
        guarantee=read_guarantee(content["guarantee"], mechanism.guarantee),
        mechanism=mechanism,
        total=total,
        noisy=noisy,
        version=read_line(content["library_version"]),
        provenance=provenance,
        for_tests="random_bits" in content,
        presentation=Presentation.from_content(content.get("provenance", {})),
    )


def save_kind(name: str, value_type: type[Any]) -> None:
    """Have releases of one more type of value saved, under the name of their kind."""
    if _KINDS.setdefault(name, value_type) is not value_type:
        raise ParameterError(
            "name", f"must be new: there is a kind {name} already, for values of another type"
        )


def _value_type(kind: str) -> type[Any]:
    if kind not in _KINDS:
        kinds_of_others()  # one of a package may be imported by its entry point
    return _KINDS[kind]


def _kind(value: object) -> str:
    for kind, held in _KINDS.items():
        if isinstance(value, held):
            return kind
    raise UnsupportedError(
        f"a value of type {type(value).__name__} cannot be saved: give the type to_content and "
        "from_content, and register its kind with dphist.register"
    )
