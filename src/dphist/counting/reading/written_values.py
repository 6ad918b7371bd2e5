"""How numbers and dates are written in a text file, where that is not as usual.

Only values to bin or to sum are concerned, each by itself: it is rewritten to the form that the
readers of text know, or left as it is, which they may refuse. Labels, users and counts stay text.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from dphist.errors import ParameterError

_DATE = ("%Y", "%m", "%d")
_TIME = ("%H", "%M", "%S")
_PARTS = re.compile(r"%[YmdHMS]|[^%A-Za-z0-9\x00-\x1f]|T", re.ASCII)


@dataclass(frozen=True)
class WrittenValues:
    """How values of a text file are written.

    Attributes
    ----------
    decimal : the character before the decimals, a point or a comma.
    date_format : how dates are written, in the words of `datetime.strptime`; None for ISO 8601.
    """

    decimal: str = "."
    date_format: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ParameterError("decimal", "must be '.' or ','")
        if self.date_format is not None and not self._is_format():
            raise ParameterError(
                "date_format",
                "must have each of %d, %m and %Y once, and may have %H, %H and %M, or %H, %M and "
                "%S, with spaces or punctuation (or a T) between them, such as '%d.%m.%Y'",
            )

    def _is_format(self) -> bool:
        if not isinstance(self.date_format, str) or "".join(self._parts) != self.date_format:
            return False
        given = sorted(part for part in self._parts if part.startswith("%"))
        allowed = (_DATE + _TIME[:number] for number in range(len(_TIME) + 1))
        return any(given == sorted(each) for each in allowed)

    @cached_property
    def _parts(self) -> list[str]:
        return _PARTS.findall(self.date_format or "")

    def to_sql(self, field: str) -> str:
        """Return the SQL expression of a field, rewritten: a point for decimals, ISO for dates.

        The comma of decimals and the point change places, so that a point that groups digits is
        refused as a comma would be: 1.234 is not taken for a number near 1.

        >>> WrittenValues(decimal=",").to_sql("c0")
        "translate(c0, ',.', '.,')"
        """
        plain = field if self.decimal == "." else f"translate({field}, ',.', '.,')"
        if self.date_format is None:
            return plain
        pattern = "'^ *" + "".join(map(self._to_pattern, range(len(self._parts)))) + " *$'"
        groups = [part for part in self._parts if part.startswith("%")]

        def digits(part: str) -> str:
            found = f"regexp_extract({field}, {pattern}, {groups.index(part) + 1})"
            return found if part == "%Y" else f"lpad({found}, 2, '0')"

        date = " || '-' || ".join(map(digits, _DATE))
        given = [part for part in _TIME if part in groups]
        time = " || ':' || ".join([*map(digits, given), *(["'00'"] if len(given) == 1 else [])])
        moment = f"{date} || ' ' || {time}" if time else date
        return f"CASE WHEN regexp_matches({field}, {pattern}) THEN {moment} ELSE {plain} END"

    def _to_pattern(self, place: int) -> str:
        """Return the pattern of a part; two numbers side by side have all of their digits."""
        part = self._parts[place]
        if not part.startswith("%"):
            return re.escape(part).replace("'", "''")
        beside = self._parts[max(place - 1, 0) : place] + self._parts[place + 1 : place + 2]
        is_alone = not any(each.startswith("%") for each in beside)
        return "([0-9]{4})" if part == "%Y" else f"([0-9]{{{1 if is_alone else 2},2}})"


USUAL = WrittenValues()
"""Numbers with a point, and dates in ISO 8601."""
