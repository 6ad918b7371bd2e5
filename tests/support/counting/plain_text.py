"""A plain reader of text files: the documented rule, one byte after another."""

from dataclasses import dataclass

MARK = b"\xef\xbb\xbf"

QUOTE = "has a quote inside a field"
SEVERAL = "begins a record of several lines that is not valid"
ENDING = "has another line ending"
LENGTH = "has more than"
FIELDS = "must have as many fields"


@dataclass
class WrongRecord(Exception):  # noqa: N818 - it says what is wrong
    """The first record that breaks the rule: the line where it begins, and the fault."""

    line: int
    fault: str


@dataclass
class FoundFault(Exception):  # noqa: N818 - it says what is wrong
    place: int
    fault: str


Record = tuple[bytes | None, ...]


def read_plainly(text: bytes, delimiter: bytes, longest: int) -> list[Record]:
    """Return the records after the header; an empty field is None, `""` is empty bytes."""
    text = text.removeprefix(MARK)
    records: list[Record] = []
    place, line, fields, ending = 0, 1, 0, b""
    while place < len(text):
        rest_of_ending = len(ending or b"\n") - 1
        try:
            record, end, stop = _read_record(text, place, delimiter, ending)
            if end - place > longest or (fields and len(record) != fields and end > place):
                raise FoundFault(end + rest_of_ending, FIELDS)
        except FoundFault as found:
            limit = place + longest + rest_of_ending
            at = found.place + (rest_of_ending if found.fault == SEVERAL else 0)
            at, fault = (at, found.fault) if at <= limit else (limit, LENGTH)
            # How lines after the first one continue a record is not said.
            several = fault == SEVERAL or (ending or b"\n")[-1:] in text[place:at]
            raise WrongRecord(line, SEVERAL if several else fault) from None
        if not fields:
            fields, ending = len(record), text[end:stop] or b"\n"
        elif len(record) == fields:
            records.append(record)
        line += text[place:stop].count(ending[-1:])
        place = stop
    return records


def _read_record(
    text: bytes, place: int, delimiter: bytes, ending: bytes
) -> tuple[Record, int, int]:
    """Return the fields of a record, the end of the last one, and where the next record begins."""
    fields: list[bytes | None] = []
    while True:
        field, place = _read_field(text, place, delimiter)
        fields.append(field)
        if place == len(text):
            return tuple(fields), place, place
        if text[place : place + 1] != delimiter:
            break
        place += 1
    found = ending or (b"\r\n" if text.startswith(b"\r\n", place) else text[place : place + 1])
    if not text.startswith(found, place):
        is_first_of_two = found == b"\r\n" and text.startswith(b"\r", place)
        raise FoundFault(place + is_first_of_two, ENDING)
    return tuple(fields), place, place + len(found)


def _read_field(text: bytes, place: int, delimiter: bytes) -> tuple[bytes | None, int]:
    """Return a field and where it ends."""
    start, ends = place, delimiter + b"\r\n"
    if not text.startswith(b'"', place):
        while place < len(text) and text[place] not in ends:
            if text.startswith(b'"', place):
                raise FoundFault(place, QUOTE)
            place += 1
        return text[start:place] or None, place
    while True:
        place = text.find(b'"', place + 1)
        if place < 0:
            raise FoundFault(len(text), SEVERAL)
        if not text.startswith(b'""', place):
            break
        place += 1
    after = place + 1
    if after < len(text) and text[after] not in ends:
        raise FoundFault(place, QUOTE)
    return text[start + 1 : place].replace(b'""', b'"'), after
