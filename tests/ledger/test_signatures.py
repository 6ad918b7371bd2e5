"""Signatures of entries with Ed25519: an auditor with the public key notices what was changed."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dphist.errors import LedgerError
from dphist.ledger import Ledger
from dphist.ledger.entries import Entry
from tests.support.ledgers import PROFILE, SCAN, rewritten


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    folder = tmp_path_factory.mktemp("keys")
    found = {}
    for name in ("own", "other", "curve"):
        key: Any = generate_private_key(SECP256R1()) if name == "curve" else None
        key = key or Ed25519PrivateKey.generate()
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        for kind, text in (("private", private), ("public", public)):
            found[f"{name} {kind}"] = folder / f"{name}-{kind}.pem"
            found[f"{name} {kind}"].write_bytes(text)
    return found


@pytest.fixture
def signed(keys: dict[str, Path], tmp_path: Path) -> Ledger:
    ledger = Ledger.create(
        tmp_path / "signed", epsilon=1, unit="one record", signing_key=keys["own private"]
    )
    ledger.release(SCAN, PROFILE, by="ana", key="k")
    return ledger


def test_signed_entries_are_checked_by_the_public_key(
    signed: Ledger, keys: dict[str, Path]
) -> None:
    assert signed.verify() == signed.verify(keys["own public"]) == 4
    assert all(len(entry.signature or "") == 128 for entry in signed.entries())
    with pytest.raises(LedgerError, match=r"^entry 1 is not signed with this key"):
        signed.verify(keys["other public"])


def test_a_signed_ledger_takes_no_entry_without_a_signature(signed: Ledger) -> None:
    other = Ledger.open(signed.place)
    with pytest.raises(LedgerError, match="open it with its signing_key"):
        other.reserve(SCAN, by="eve", key="l")
    assert signed.verify() == 4


def test_a_signed_ledger_takes_one_key(signed: Ledger, keys: dict[str, Path]) -> None:
    with pytest.raises(LedgerError, match="must be the key that signed the first entry"):
        Ledger.open(signed.place, signing_key=keys["other private"])
    Ledger.open(signed.place, signing_key=keys["own private"]).reserve(SCAN, by="eve", key="l")
    assert signed.verify(keys["own public"]) == 5


def test_a_wrong_key_does_not_make_a_copy_the_ledger(
    signed: Ledger, keys: dict[str, Path], tmp_path: Path
) -> None:
    """`moved` says that the original is gone, so nothing is marked before the key is checked."""
    copy = tmp_path / "copy"
    copy.write_bytes(Path(signed.place).read_bytes())
    for name, match in (
        ("other private", "must be the key that signed"),
        ("curve private", "must hold an Ed25519 private key"),
    ):
        with pytest.raises(LedgerError, match=match):
            Ledger.open(copy, moved=True, signing_key=keys[name])
        with pytest.raises(LedgerError, match="is a copy of a ledger"):
            Ledger.open(copy)
    Ledger.open(copy, moved=True, signing_key=keys["own private"]).close()
    assert Ledger.open(copy).verify(keys["own public"]) == 4


@pytest.mark.verify
@pytest.mark.parametrize("number", range(1, 5))
def test_edited_signatures_are_named(number: int, signed: Ledger, keys: dict[str, Path]) -> None:
    connection = sqlite3.connect(signed.place)
    for value in ("", "zz", "00" * 64, None, 5):
        connection.execute(
            "UPDATE dphist_entries SET signature = ? WHERE number = ?", (value, number)
        )
        connection.commit()
        with pytest.raises(LedgerError, match=rf"^entry {number} is not signed"):
            signed.verify(keys["own public"])
    connection.close()


def test_a_rewritten_chain_has_no_signatures(signed: Ledger, keys: dict[str, Path]) -> None:
    """Without the key, nobody makes another history that the public key accepts."""

    def renamed(entries: list[Entry]) -> list[Entry]:
        content = {**entries[2].content, "note": "harmless"}
        entries[2] = Entry(3, entries[2].time, entries[2].action, content, "")
        return entries

    signatures = [entry.signature for entry in signed.entries()]
    connection = sqlite3.connect(signed.place)
    for statement in rewritten(signed, renamed):
        text, parameters = (statement, ()) if isinstance(statement, str) else statement
        connection.execute(text, parameters)
    for number, signature in enumerate(signatures, 1):
        connection.execute(
            "UPDATE dphist_entries SET signature = ? WHERE number = ?", (signature, number)
        )
    connection.commit()
    connection.close()
    assert signed.verify() == 4
    with pytest.raises(LedgerError, match=r"^entry 3 is not signed"):
        signed.verify(keys["own public"])


@pytest.mark.verify
@pytest.mark.parametrize("use", ["sign", "check"])
@pytest.mark.parametrize("name", ["curve", "swapped", "text", "missing"])
def test_files_that_are_no_keys_are_refused(
    use: str, name: str, signed: Ledger, keys: dict[str, Path], tmp_path: Path
) -> None:
    right, wrong = ("private", "public") if use == "sign" else ("public", "private")
    (tmp_path / "text").write_text("SECRET")
    path = {
        "curve": keys[f"curve {right}"],
        "swapped": keys[f"own {wrong}"],
        "text": tmp_path / "text",
        "missing": tmp_path / "missing",
    }[name]
    match = "cannot be read" if name == "missing" else f"must hold an Ed25519 {right} key"
    with pytest.raises(LedgerError, match=match) as caught:
        if use == "sign":
            Ledger.open(signed.place, signing_key=path)
        else:
            signed.verify(path)
    assert "SECRET" not in str(caught.value)
