"""Files of other kinds that are damaged, cut or strange: errors of ours that terminals can show."""

import contextlib
import io
import json
import random
import sqlite3
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.cli import main
from dphist.commands.records import read_known_labels
from dphist.errors import DphistError
from dphist.lab.comparing.results import ComparedRow, format_text, read_earlier
from dphist.lab.disclosure.about import read_about
from dphist.ledger.document import make_document
from dphist.parameters import decimal_text
from dphist.render.text import text

CONTROL = "\x1b[2J\r\x07\u202e"
NAME = f"a{CONTROL}b"
DEEP = "[" * 10**5
LONG = "9" * 5000
ROWS = pa.table({"label": ["a", "b"], "user": [1, 2]})

BYTES: dict[str, bytes] = {
    "nothing": b"",
    "no text": b"\xff\xfe\x00\x80",
    "other encoding": "[a]\ncommand = 'labels'\n".encode("utf-16"),
    "zeros": b"\x00" * 4096,
    "controls": CONTROL.encode() + b"\n",
    "deep": f"x = {DEEP}".encode(),
    "deep JSON": DEEP.encode(),
    "long number": f"x = {LONG}".encode(),
    "long JSON": LONG.encode(),
    "a line": b"x" * 10**6,
}


def _command(*words: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        assert main([str(path) if word == "FILE" else word for word in words]) in (1, 2)

    return run


AUDIT = ("audit", "AdaptiveScan", "--epsilon", "1", "--seconds", "1", "--neighbours", "FILE")
# Everything that reads a file which somebody else may have made, apart from rows of data.
READERS: dict[str, Callable[[Path], Any]] = {
    "about": read_about,
    "about, command": _command("disclose", "some.json", "--about", "FILE"),
    "comparison": lambda path: read_earlier(path, {}),
    "configuration": _command("run", "FILE", "--dry-run"),
    "configuration of a command": _command("labels", "--config", "FILE", "--dry-run"),
    "ledger": dh.Ledger.open,
    "ledger, command": _command("ledger", "show", "FILE"),
    "neighbors": _command(*AUDIT),
    "part": dh.Partial.load,
    "part, merged": lambda path: dh.LabelCounts.merge([path]),
    "plan": dh.Plan.load,
    "plan, command": _command("check", "some.json", "--plan", "FILE"),
    "public key": lambda path: dh.Ledger.open("old.ledger").verify(path),
    "release": dh.Release.load,
    "release, command": _command("show", "FILE"),
    "release, its sources": _command("cite", "FILE"),
    "signing key": lambda path: dh.Ledger.create(
        f"{path}.ledger", epsilon=1, unit="user", signing_key=path
    ),
    "state": dh.ContinualHistogram.open,
    "state, command": _command("stream", "--state", "FILE"),
    "state, loaded": dh.ContinualHistogram.load,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    dh.Ledger.create("old.ledger", epsilon=1, unit="user")
    dh.LeafCounts(epsilon=1, bins=2).release([1, 2]).save("some.json")
    return tmp_path


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.quick(every=4)
def test_what_is_no_such_file_is_refused(reader, folder, capfd) -> None:
    """And what says so can be shown by a terminal, whatever the file is called."""
    path = folder / NAME
    for damage, content in [*BYTES.items(), ("missing", None)]:
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        said = ""
        if damage == "missing" and reader == "comparison":
            continue  # there is nothing to go on from
        try:
            READERS[reader](path)
        except DphistError as error:
            said = str(error)
        out, err = capfd.readouterr()
        assert said or err, damage
        assert f"{said}{out}{err}".replace("\n", "").isprintable(), damage
        assert "unexpected" not in err, damage


CONFIGURATIONS = {
    "section": '["\\u001b[2J"]\ncommand = "labels"',
    "command": '[a]\ncommand = "\\u001b[2J"',
    "key": '[a]\ncommand = "labels"\n"\\u001b[2J" = 1',
    "file": '[a]\ncommand = "labels"\nlabel = "l"\nepsilon = 1\ndelta = 0.1\nfile = "\\u001b[2J"',
    "output": '[a]\ncommand = "labels"\nlabel = "l"\nepsilon = 1\nfile = "x"\noutput = "\\u001b/x"',
    "default": '[defaults]\n"\\u001b[2J" = 1\n[a]\ncommand = "labels"',
    "twice": "[a]\n[a]",
    "no value": "[a]\nx =",
    "table": "a = 1",
}


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_names_in_a_configuration_cannot_control_a_terminal(name, folder, capfd) -> None:
    path = folder / NAME
    path.write_text(CONFIGURATIONS[name])
    for words in (["run", str(path)], ["labels", "--config", str(path)]):
        assert main(words) in (1, 2)
        out, err = capfd.readouterr()
        assert err.startswith("dphist: ")
        assert f"{out}{err}".replace("\n", "").isprintable()


@pytest.mark.verify
def test_a_column_of_any_name_is_shown(capfd) -> None:
    table = pa.table({NAME: [1, 2], f"{NAME}$x_$<b>": [1, 2]})
    for columns, edges in ((NAME, [0, 2, 5]), (table.column_names, [[0, 2, 5]] * 2)):
        data = dh.bin_counts(table, column=columns, edges=edges)
        release = dh.LeafCounts(epsilon=1, bins=data.bins).release(data)
        for shown in (data, release, release.value):
            assert shown._repr_html_().replace("\n", "").isprintable()
            assert repr(shown).isprintable()
        release.plot()
        release.value.plot()
        Path("r.json").write_text(release.to_json())
        for words in (["show"], ["show", "--json"], ["cite"]):
            assert main([*words, "r.json"]) == 0
    assert "".join(capfd.readouterr()).replace("\n", "").isprintable()


# --- Lists of labels, and events


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a\nb\na\n", "each once"),
        (b"\n\n", "at least one label"),
        (b"a\xff\n", "must hold known labels"),
        (b"\xef\xbb\xbfa\r\nb", ""),
    ],
)
def test_lists_of_labels(content, said, folder) -> None:
    path = folder / NAME
    path.write_bytes(content)
    if not said:
        assert read_known_labels(str(path)) == ["a", "b"]
        return
    with pytest.raises(dh.InputFileError, match=said) as refused:
        read_known_labels(str(path))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"label": "a", "label": "b"}', "line 2 has a field twice"),
        ('{"label": ' + DEEP + "}", "line 2 must be a JSON object whose field 'label'"),
        ('{"label": 1, "user": 7}', "whose field 'label'"),
        ('{"label": ' + LONG + "}", "whose field 'label'"),
        ('{"label": "a"}', "line 2 must have a user in field 'user'"),
        ('{"label": "a", "user": ' + LONG + "}", "must have a user in field 'user'"),
        ('{"label": "a", "user": ""}', "must have a user in field 'user'"),
        ('{"label": "a", "user": 1.5}', "must have a user in field 'user'"),
        ('{"label": "a", "user": 8, "more": ' + LONG + "}", ""),
    ],
    ids=lambda value: value[:30],
)
@pytest.mark.quick(every=3)
def test_events_name_the_field_that_is_wrong(line, said, monkeypatch, capfd) -> None:
    """A field that nobody reads may be anything."""
    path = Path("events")
    path.write_text(f'{{"label": "a", "user": 7}}\n{line}\n', encoding="utf-8")
    words = ["stream", "--state", "s.db", "--epsilon", "9", "--delta", "0.1", "--horizon", "99"]
    words += ["--format", "ndjson", "--user", "user", "--max-events-per-user", "9", "--json"]
    with path.open(encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        code = main(words)
    err = capfd.readouterr().err
    assert code == (1 if said else 0), err
    assert said in err


# --- Databases


def _state(path: str) -> None:
    with dh.ContinualHistogram.open(path, epsilon=9, delta="0.1", horizon=9) as stream:
        stream.update_many([["a"]] * 5)
        stream.counts()


def _ledger(path: str) -> None:
    with dh.Ledger.create(path, epsilon=9, delta="0.1", unit="record") as ledger:
        ledger.allow("ann", epsilon=1)
        data = dh.Profile.from_counts([3, 1])
        ledger.release(dh.AdaptiveScan(epsilon="0.5"), data, by="ann", key="k", note="n")


def _use_ledger(path: str) -> None:
    with dh.Ledger.open(path) as ledger:
        uses: list[Callable[[], Any]] = [
            *(
                ledger.verify,
                lambda: text(make_document(ledger)),
                lambda: ledger.entries().to_arrow(),
            ),
            *(lambda: ledger.stored("k"), lambda: ledger.balance(by="ann")),
            *(lambda: ledger.accounts, lambda: ledger.allow("bob", epsilon=1)),
        ]
        for use in uses:
            try:
                shown = use()
            except DphistError as error:
                shown = str(error)
            assert not isinstance(shown, str) or shown.replace("\n", "").isprintable()


DATABASES: dict[str, tuple[Callable[[str], None], Callable[[str], Any]]] = {
    "state": (_state, lambda path: dh.ContinualHistogram.open(path).close()),
    "ledger": (_ledger, _use_ledger),
}
# Each as SQL sees it; the last is text that is no UTF-8, which Python's module cannot read.
VALUES = [
    *("NULL", "-1", "0", "9223372036854775807", "1.5", "''", "'x'", "'{}'", "'[]'"),
    *("'\x1b[2J'", f"'{LONG}'", f"'{DEEP}'", '\'{"a": 1, "a": 2}\'', "x''", "x'fffe'"),
    "CAST(x'41ff80' AS TEXT)",
]


@pytest.mark.long(every=2)
@pytest.mark.parametrize("kind", DATABASES)
def test_databases_with_any_value_in_any_column(kind) -> None:
    _try_values(kind, VALUES)


@pytest.mark.long(every=2)
@pytest.mark.parametrize("kind", DATABASES)
def test_databases_with_text_that_is_none(kind) -> None:
    _try_values(kind, VALUES[-1:])


def _try_values(kind: str, values: list[str]) -> None:
    make, use = DATABASES[kind]
    make("whole.db")
    database = sqlite3.connect("whole.db")
    tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    columns = [
        (table, row[1])
        for (table,) in tables
        for row in database.execute(f"PRAGMA table_info({table})")
    ]
    database.close()
    for table, column in columns:
        for number, value in enumerate(values):
            path = f"{table}{column}{number}.db"
            make(path)
            database = sqlite3.connect(path)
            with contextlib.suppress(sqlite3.Error), database:  # what the schema does not allow
                database.execute(f"UPDATE {table} SET {column} = {value}")  # noqa: S608
            database.close()
            try:
                use(path)
            except DphistError as error:
                shown = str(error)
                assert shown.isprintable()


@pytest.mark.verify
@pytest.mark.parametrize("kind", DATABASES)
def test_databases_with_bytes_changed_or_cut(kind) -> None:
    make, use = DATABASES[kind]
    make("d.db")
    content = Path("d.db").read_bytes()
    places = random.Random(kind)
    for number in range(30):
        place = places.randrange(len(content))
        changed = bytearray(content)
        if number % 3:
            changed[place] ^= 1 << places.randrange(8)
        else:
            del changed[place:]
        with Path("d.db").open("r+b") as file:  # the same file, not another one
            file.truncate(0)
            file.write(changed)
        with contextlib.suppress(DphistError):
            use("d.db")


# --- Results of comparisons

COMPARED = ComparedRow(
    mechanism="AdaptiveScan",
    given="epsilon",
    guarantee="1-DP",
    epsilon=Fraction(1, 3),
    measure="error",
    unit="records",
    error=1.25,
    standard_error=0.0125,
    runs=12,
    seconds=0.0625,
    parameters="",
)
RESULTS = format_text([COMPARED], {"format": 1, "delta": None})


@pytest.mark.verify
def test_results_that_are_cut_are_refused() -> None:
    """Or have fewer rows: a number that has lost digits would be another one."""
    path = Path("results.csv")
    for place in range(len(RESULTS) + 1):
        path.write_text(RESULTS[:place])
        rows: tuple[ComparedRow, ...] = ()
        with contextlib.suppress(dh.OutputFileError):
            rows = read_earlier(path, {"format": 1})
        assert rows == ((COMPARED,) if place == len(RESULTS) else ())


@pytest.mark.parametrize("field", ["0.3333", "1.25", "0.0125", "12", "0.0625"])
@pytest.mark.parametrize("number", ["nan", "inf", "1e400", "-1", "1_2", "\u0661", LONG, "x", "\0"])
@pytest.mark.quick(every=3)
def test_results_with_other_numbers_are_refused(field, number) -> None:
    path, written = Path("results.csv"), decimal_text(Fraction(1, 3), 150)
    old = written if field == "0.3333" else field
    assert f",{old}" in RESULTS
    path.write_text(RESULTS.replace(f",{old}", f",{number}", 1), encoding="utf-8")
    with pytest.raises(dh.OutputFileError, match="no result of a comparison"):
        read_earlier(path, {"format": 1})


# --- Parts


@pytest.mark.verify
def test_parts_with_any_head() -> None:
    part = dh.LabelCounts.partial(ROWS, label="label", user="user", max_labels=1, part=0, parts=1)
    part.save("part.parquet")
    table = pq.read_table("part.parquet")
    [(key, head)] = table.schema.metadata.items()
    heads = [b"", b"\xff", b"{", DEEP.encode(), LONG.encode(), b"[]", b"null"]
    heads += [b'{"kind": "labels", ' + head[1:], f'{{"x": {LONG}, '.encode() + head[1:]]
    for name in (content := json.loads(head)):
        heads += [
            json.dumps({**content, name: value}).encode()
            for value in (None, -1, 1.5, 10**30, "x", CONTROL, [], {}, [[]])
        ]
    for each in heads:
        pq.write_table(table.replace_schema_metadata({key: each}), "other.parquet")
        with contextlib.suppress(DphistError):
            dh.LabelCounts.merge([dh.Partial.load("other.parquet")])
