"""Signatures of entries with Ed25519, so that an auditor can check a ledger they were handed.

Needs the package `cryptography`: ``pip install 'dphist[sign]'``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dphist.errors import LedgerError

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )
except ImportError:
    raise LedgerError("signatures need cryptography: pip install 'dphist[sign]'") from None


def load_signer(path: str | Path) -> Callable[[str], str]:
    """Return what signs a hash with the private key in a PEM file."""
    key = _load_key(path, lambda text: serialization.load_pem_private_key(text, None))
    if not isinstance(key, Ed25519PrivateKey):
        raise LedgerError(f"{path} must hold an Ed25519 private key (PEM, no password)")
    return lambda text: key.sign(bytes.fromhex(text)).hex()


def load_checker(path: str | Path) -> Callable[[str, str | None], bool]:
    """Return what checks the signature of a hash with the public key in a PEM file."""
    key = _load_key(path, serialization.load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise LedgerError(f"{path} must hold an Ed25519 public key (PEM)")

    def check(text: str, signature: str | None) -> bool:
        try:
            key.verify(bytes.fromhex(signature or ""), bytes.fromhex(text))
        except (InvalidSignature, ValueError):
            return False
        return True

    return check


def _load_key(path: str | Path, load: Callable[[bytes], Any]) -> Any:
    try:
        return load(Path(path).read_bytes())
    except OSError:
        raise LedgerError(f"{path} cannot be read; name the file of a key") from None
    except (ValueError, TypeError):
        return None
