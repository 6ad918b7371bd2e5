"""Events from standard input, as its bytes come: lines, JSON objects a line, or CSV.

Each form takes what has come and gives the events that are complete. A malformed line is an error
that names its number and shows nothing of it; the events before it have been given by then.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from dphist.counting.reading.columns import UserType
from dphist.errors import ColumnError, DataError
from dphist.foreign import RepeatedKeyError, read_json
from dphist.release.label_types import IN_WORDS, LabelType, format_label
from dphist.streams.events.columns import check_user_type

LONGEST = 2**24  # bytes of a line, or of the lines of a CSV row: more is no text file
_WHOLE = range(-(2**63), 2**63)  # users that are numbers
# A field of CSV: quoted, where two quotes mean one, or without any quote or line ending.
_FIELD = re.compile(r'"([^"]*(?:""[^"]*)*)"|([^",\r\n]*)')


@dataclass(frozen=True, slots=True, repr=False)
class Event:
    """One event: its labels, and its user where users are told apart. Secret."""

    labels: list[str]
    user: str | int | None = None


class Form(ABC):
    """How events are written.

    Parameters
    ----------
    kind : the type of the labels; they are written as `dphist.release.label_types` does.
    user_type : the type of the users of the stream; None if the first event decides it.

    Attributes
    ----------
    lines : complete lines so far.
    """

    def __init__(self, kind: LabelType = "text", user_type: UserType | None = None) -> None:
        self.lines = 0
        self._kind = kind
        self._user_type = user_type
        self._rest = b""

    def events(self, data: bytes) -> Iterator[Event]:
        """Yield the events that are complete once `data` have come after what came before.

        Raises
        ------
        DataError
            If a line is malformed; the Form is of no use after that.
        """
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._rest += data
        else:
            whole, self._rest = self._rest + whole, rest
            yield from self._read_lines(whole.split(b"\n"))
        if len(self._rest) > LONGEST:
            self.lines += 1
            raise self._too_long()

    def last(self) -> Iterator[Event]:
        """Yield what is complete at the end of the input: a last line need not end in a newline."""
        rest, self._rest = self._rest, b""
        if rest:
            yield from self._read_lines([rest])

    @abstractmethod
    def _read_lines(self, lines: list[bytes]) -> Iterator[Event]:
        """Yield the events of complete lines, without their newlines."""

    def _check_labels(self, labels: list[str], line: int) -> list[str]:
        """Return the labels of a line, whose texts must be those of labels of the type."""
        if self._kind != "text" and any(format_label(each, self._kind) is None for each in labels):
            raise DataError(
                f"line {line:,} must have labels of the stream's type: {IN_WORDS[self._kind]}, "
                "each in its shortest form, such as 7, true, 2026-01-31, 2026-01-31 12:30:00 or 1.5"
            )
        return labels

    def _text(self, line: bytes) -> str:
        """Count a line and return it as text, with the carriage return at its end if it has one."""
        self.lines += 1
        if len(line) > LONGEST:
            raise self._too_long()
        try:
            text = line.decode("utf-8-sig" if self.lines == 1 else "utf-8")
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise DataError(f"line {self.lines:,} is not UTF-8")
        return text

    def _too_long(self) -> DataError:
        return DataError(f"line {self.lines:,} is longer than {LONGEST:,} bytes")


class Lines(Form):
    """A label a line, or several with a separator between them; an empty line has none."""

    def __init__(self, separator: str | None, kind: LabelType = "text") -> None:
        super().__init__(kind)
        self._separator = separator

    def _read_lines(self, lines: list[bytes]) -> Iterator[Event]:
        for line in lines:
            labels = split(self._text(line).removesuffix("\r"), self._separator)
            yield Event(self._check_labels(labels, self.lines))


class Objects(Form):
    """A JSON object a line; blank lines are no events.

    Users are text or whole numbers, as the JSON says, and all of one type: 17 and "17" may be one
    person or two, and "017" is another text than "17".
    """

    def __init__(
        self,
        label: str,
        user: str | None,
        kind: LabelType = "text",
        user_type: UserType | None = None,
    ) -> None:
        super().__init__(kind, user_type)
        self._label, self._user = label, user

    def _read_lines(self, lines: list[bytes]) -> Iterator[Event]:
        for line in lines:
            text = self._text(line)
            if not text.strip():
                continue
            labels, user = self._read(text)
            if labels is None:
                one, some = ("text", "texts") if self._kind == "text" else ("label", "labels")
                raise DataError(
                    f"line {self.lines:,} must be a JSON object whose field {self._label!r} is a "
                    f"{one}, a list of {some} or null"
                )
            if self._user is not None:
                self._check_user(user)
            yield Event(self._check_labels(labels, self.lines), user)

    def _check_user(self, user: str | int | None) -> None:
        """Refuse what is no user, or not of the type of the users before; the first decides."""
        if user is None:
            raise DataError(
                f"line {self.lines:,} must have a user in field {self._user!r}: a whole number of "
                "up to 64 bits, or a text that is not empty"
            )
        given: UserType = "text" if isinstance(user, str) else "integer"
        check_user_type(self._user_type, given, f"the user of line {self.lines:,} is")
        self._user_type = given

    def _read(self, text: str) -> tuple[list[str] | None, str | int | None]:
        """Return labels and user; None for what is not there or none."""
        try:
            found = read_json(text, skip_long=True, finite=False)
        except RepeatedKeyError:
            raise DataError(f"line {self.lines:,} has a field twice") from None
        except ValueError:
            return None, None
        if not isinstance(found, dict) or self._label not in found:
            return None, None
        labels, user = found[self._label], None if self._user is None else found.get(self._user)
        labels = [] if labels is None else labels if isinstance(labels, list) else [labels]
        labels = [self._as_text(each) for each in labels]
        if not isinstance(labels, list) or not all(map(_is_text, labels)):
            return None, None
        if type(user) is int and user in _WHOLE:
            return labels, user
        return labels, user if user and _is_text(user) else None

    def _as_text(self, label: object) -> object:
        """Return a whole number or truth value as text, where labels are such; others unchanged."""
        if self._kind in ("integer", "boolean") and not isinstance(label, str):
            return format_label(label, self._kind)
        return label


class Rows(Form):
    """CSV with a header line; an empty field is no label, and blank lines are no events.

    Fields and quotes are held to the rule of text files (docs/guides/anonymized.md). Unlike there,
    a line may end with or without a carriage return, a row may have up to `LONGEST` bytes, and an
    empty line is no event even if there is one column. Users are text.
    """

    def __init__(
        self,
        label: str,
        user: str | None,
        separator: str | None,
        kind: LabelType = "text",
        user_type: UserType | None = None,
    ) -> None:
        super().__init__(kind, user_type)
        self._label, self._user, self._separator = label, user, separator
        self._header: list[str] | None = None
        self._open: list[str] = []  # lines of a row whose quoted field goes on
        self._length = 0  # of these, bytes

    def _read_lines(self, lines: list[bytes]) -> Iterator[Event]:
        for line in lines:
            text = self._text(line)
            self._open.append(text)
            self._length += len(line)
            if self._length > LONGEST:
                raise DataError(
                    f"line {self._first:,} begins a row of more than {LONGEST:,} bytes: shorten "
                    "it, or close the quotes of its fields"
                )
            # Quotes alternate: an odd number of them in a line opens or closes a field.
            if (text.count('"') % 2 == 1) is (len(self._open) == 1):
                if len(self._open) == 1 and _split_fields(f'{text}"') is None:
                    raise self._malformed()
            else:
                yield from self._read_row("\n".join(self._open))
                self._open, self._length = [], 0

    def last(self) -> Iterator[Event]:
        """Yield what is complete at the end of the input."""
        yield from super().last()
        if self._open:
            raise self._malformed()
        if self._header is None:
            self._take_header([])

    @property
    def _first(self) -> int:
        """The number of the first line of the row."""
        return self.lines - len(self._open) + 1

    def _read_row(self, text: str) -> Iterator[Event]:
        """Yield the event of a row."""
        fields = _split_fields(text.removesuffix("\r"))
        if fields is None:
            raise self._malformed()
        if self._header is None:
            self._take_header(fields)
        elif text.removesuffix("\r"):
            yield self._event(fields, self._header, self._first)

    def _malformed(self) -> DataError:
        return DataError(
            f"line {self._first:,} is not CSV: put quotes around a field that contains a quote or "
            "a comma, and double the quotes in it"
        )

    def _take_header(self, header: list[str]) -> None:
        for name in filter(None, [self._label, self._user]):
            if header.count(name) != 1:
                raise ColumnError(f"the header line must name column {name!r}, once")
        if self._user is not None:
            check_user_type(self._user_type, "text", f"those of column {self._user!r} are")
        self._header = header

    def _event(self, row: list[str], header: list[str], line: int) -> Event:
        if len(row) != len(header):
            raise DataError(f"line {line:,} must have as many fields as the header line")
        labels = self._check_labels(split(row[header.index(self._label)], self._separator), line)
        if self._user is None:
            return Event(labels)
        user = row[header.index(self._user)]
        if not user:
            raise DataError(f"line {line:,} must have a user in column {self._user!r}")
        return Event(labels, user)


def _split_fields(row: str) -> list[str] | None:
    """Return the fields of a CSV row; None if a quote or line ending is out of place.

    >>> _split_fields('a,"b,""c"'), _split_fields(""), _split_fields('a"b'), _split_fields('"a"b')
    (['a', 'b,"c'], [''], None, None)
    """
    fields, place = [], 0
    while found := _FIELD.match(row, place):
        quoted, plain = found.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        place = found.end() + 1
        if row[place - 1 : place] != ",":
            return fields if place > len(row) else None
    return None


def split(text: str, separator: str | None) -> list[str]:
    """Return the labels of a text, those that are not empty.

    >>> split("a;b;;a", ";"), split("a;b", None), split("", None)
    (['a', 'b', 'a'], ['a;b'], [])
    """
    if not text:
        return []
    return [text] if separator is None else [part for part in text.split(separator) if part]


def _is_text(found: object) -> TypeGuard[str]:
    """Whether a JSON value is text, and not lone surrogates, of which no UTF-8 can be made."""
    if not isinstance(found, str):
        return False
    try:
        found.encode()
    except UnicodeEncodeError:
        return False
    return True
