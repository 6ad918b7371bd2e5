"""What pages and summaries say of parameters of tables that change what numbers mean."""

from dphist.document.blocks import ON_JSON, Block, Fact
from dphist.document.kind import DataFacts
from dphist.release.maker import Maker
from dphist.sentence import Sentence, many
from dphist.tables import words
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.mechanism import Tables


def tell_ranges(mechanism: Maker, known: bool = False) -> list[Block]:
    """Return what is said of keys whose values are read in ranges, if there are any.

    Parameters
    ----------
    known : whether margins are known, so that errors are less than the mechanism's.
    """
    if not isinstance(mechanism, Tables) or not mechanism.by_level:
        return []
    held: dict[str, object] = {"keys": [*mechanism.by_level]}
    if not known:
        held["errors"] = mechanism.errors_of_ranges()
    return [
        Fact("Ranges", words.say_ranges(mechanism, known=known)),
        Fact("", "", "ranges", held, on=ON_JSON),
    ]


def tell_rows(mechanism: Maker, data: DataFacts) -> list[Block]:
    """Return what is said of rows of a unit that differ on a key, if they do.

    Data may be bounded so and the mechanism not know it: counts mean the same then, and rows cost
    what such as may be alike do.
    """
    if not isinstance(mechanism, Tables):
        return []
    name = mechanism.one_row_per or data.bounds.get("one_row_per")
    if name is None:
        return []
    held: dict[str, object] = {"key": name}
    if mechanism.one_row_per is not None:
        held["times_one_row"] = float(mechanism.rows_cost)
    return [
        Fact(
            Sentence("{Records} kept"),
            Sentence("one for each {name}", name=name),
            note=words.say_rows(mechanism),
        ),
        Fact("", "", "one_row_per", held, on=ON_JSON),
    ]


def tell_dropped(mechanism: Maker) -> list[Block]:
    """Return what is said of keys with one value, which tables do not have."""
    if not isinstance(mechanism, Tables) or not mechanism.dropped:
        return []
    alone = Fact("", "", "dropped", [*mechanism.dropped], on=ON_JSON)
    return [Fact("Keys with one value", words.say_dropped(mechanism)), alone]


def tell_outside(mechanism: Maker, data: DataFacts) -> list[Block]:
    """Return what is said of rows outside the keys, if they were left out."""
    if data.bounds.get("unlisted") != "drop" or not isinstance(mechanism, Tables):
        return []
    said = words.say_outside(mechanism.keys)
    alone = Fact("", "", "unlisted", "drop", on=ON_JSON)
    return [Fact("Rows outside the keys", "not counted", note=said), alone] if said else []


def tell_impossible(mechanism: Maker) -> list[Block]:
    """Return what is said of combinations of values that no record can have."""
    if not isinstance(mechanism, Tables) or mechanism.impossible is None:
        return []
    held = mechanism.impossible
    cells = words.count_marked(held, mechanism.tables)
    said = Fact(
        "Impossible",
        many(cells, "cell") if cells else "no cell",
        note=words.say_impossible(held, cells),
    )
    return [said, Fact("", "", "impossible", held.to_content()["combinations"], on=ON_JSON)]


def tell_known(value: KeyedTables) -> list[Block]:
    """Return what is said of margins that were given, and not measured."""
    if value.known is None:
        return []
    named, content = words.name_known(value.known), ["+".join(names) for names in value.known.names]
    said = Fact("Known", named, note=words.say_known(value.known))
    return [said, Fact("", "", "known", content, on=ON_JSON)]
