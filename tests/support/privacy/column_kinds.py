"""Values of each type of column, among them pairs that some library takes for equal."""

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

DAY = datetime.date(2020, 1, 1)
# Normal forms, case, spaces, digits, zero width, bytes that sort oddly, and what readers call null.
TEXTS = [
    "a",
    "A",
    "\u00e4",
    "a\u0308",
    " a",
    "a ",
    "a\0",
    "",
    "1",
    "01",
    "1.0",
    "\u0661",
    "I",
    "\u0131",
]
TEXTS += [
    "\u00df",
    "ss",
    "\ufb01",
    "fi",
    "\u200b",
    "\ud7ff",
    "\U0010ffff",
    "nan",
    "NULL",
    "None",
    "NA",
    "true",
]
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), TEXTS),
    "large text": (pa.large_string(), TEXTS),
    "text view": (pa.string_view(), TEXTS),
    "categories": (pa.dictionary(pa.int32(), pa.string()), TEXTS),
    "bytes": (pa.binary(), [b"", b"\0", b"\0\0", b"\xff", b"\xff\0", b"a", b"A", b"\x7f", b"\x80"]),
    "fixed bytes": (pa.binary(2), [b"\0\0", b"\0\1", b"\1\0", b"\xff\xff", b"\xff\0"]),
    "int8": (pa.int8(), [-128, -1, 0, 1, 127]),
    "int64": (pa.int64(), [-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1]),
    "uint64": (pa.uint64(), [0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]),
    "truth": (pa.bool_(), [True, False]),
    "date": (
        pa.date32(),
        [DAY, DAY.replace(day=2), datetime.date(1970, 1, 1), datetime.date(1, 1, 1)],
    ),
    "seconds": (pa.timestamp("s"), [0, 1, -1, 86_400]),
    "milliseconds": (pa.timestamp("ms"), [0, 1, -1, 1000, 86_400_000]),
    "microseconds": (pa.timestamp("us"), [0, 1, -1, 10**6, 10**15, 10**15 + 1]),
    "nanoseconds": (pa.timestamp("ns"), [0, 1, -1, 1000, 1001, 10**18, 10**18 + 1]),
    "instants": (pa.timestamp("us", "Europe/Zurich"), [0, 1, 3_600_000_000, 10**15, 10**15 + 1]),
    "decimals": (pa.decimal128(38, 2), [Decimal(n) / 100 for n in (0, 1, -1, 100, 10**20)]),
}


def column(values: list[Any], kind: str) -> pa.Array:
    held, _ = KINDS[kind]
    if pa.types.is_timestamp(held):
        return pa.array(values, pa.int64()).cast(held)
    if pa.types.is_dictionary(held):
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, held)
