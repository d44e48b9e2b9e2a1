# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Certificates for TLS on 127.0.0.1, made when a test needs them.

As a program (with the Python of .venv-service, which has the package cryptography): `certificates.py FOLDER` writes them.
"""

import datetime
import ipaddress
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wheels


@dataclass(frozen=True)
class Certificates:
    """The files of one folder. NAME.pem is a certificate, NAME.key its key; `stranger` signed none of them."""

    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "authority.pem"

    @property
    def stranger(self) -> Path:
        return self.folder / "stranger.pem"

    @property
    def server(self) -> Path:
        return self.folder / "server.pem"

    @property
    def server_key(self) -> Path:
        return self.folder / "server.key"

    @property
    def client(self) -> Path:
        return self.folder / "client.pem"

    @property
    def client_key(self) -> Path:
        return self.folder / "client.key"

    @classmethod
    def make(cls, folder: Path) -> "Certificates":
        """Writes authority, stranger, server, client, expired (a server's), expired_client and other_host (a server's)."""
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([wheels.PYTHON, __file__, str(folder)], check=True)
        return cls(folder)


def _write(folder: Path, name: str, issuer: Any, names: list[str], days: int) -> Any:
    """Writes one certificate, signed by `issuer` (a certificate and its key), or by itself; returns both."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"tensoa test {name}")])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=10))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if names:
        entries: list[x509.GeneralName] = [
            x509.IPAddress(ipaddress.ip_address(text)) if text[0].isdigit() else x509.DNSName(text) for text in names
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(entries), critical=False)
    certificate = builder.sign(issuer[1] if issuer else key, hashes.SHA256())
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / f"{name}.key").write_bytes(private)
    return certificate, key


def main() -> None:
    folder = Path(sys.argv[1])
    authority = _write(folder, "authority", None, [], 10)
    _write(folder, "stranger", None, [], 10)
    _write(folder, "server", authority, ["127.0.0.1", "localhost"], 10)
    _write(folder, "client", authority, [], 10)
    _write(folder, "expired", authority, ["127.0.0.1", "localhost"], -1)
    _write(folder, "expired_client", authority, [], -1)
    _write(folder, "other_host", authority, ["other.example"], 10)


if __name__ == "__main__":
    main()
