"""The certificate of the cluster APIs: signed by an authority that this sandbox made for itself and keeps."""

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from clusters.sandbox.store import Store

SHELF = "kubernetes-tls"
YEARS = timedelta(days=3650)


def authority(store: Store) -> str:
    """The certificate of the authority, as PEM."""
    return str(_kept(store)["authority"])


def context(store: Store) -> ssl.SSLContext:
    """What the server speaks TLS with."""
    told = _kept(store)
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.pem"
        path.touch(mode=0o600)
        path.write_text(told["key"] + told["certificate"])
        found.load_cert_chain(path)
    return found


def _kept(store: Store) -> dict[str, str]:
    if not store.read(SHELF):
        store.put(SHELF, _made())
    told: dict[str, str] = store.read(SHELF)
    return told


def _made() -> dict[str, str]:
    root, root_key = _certificate("sandbox kubernetes authority", None, None)
    leaf, leaf_key = _certificate("sandbox kubernetes", root, root_key)
    return {
        "authority": root.public_bytes(serialization.Encoding.PEM).decode(),
        "certificate": leaf.public_bytes(serialization.Encoding.PEM).decode(),
        "key": leaf_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
    }


def _certificate(
    name: str, issuer: x509.Certificate | None, issuer_key: ec.EllipticCurvePrivateKey | None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    signing = issuer_key or key
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=issuer is None, crl_sign=issuer is None, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + YEARS)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
    )
    if issuer is not None:
        names = [
            x509.DNSName("localhost"),
            *(x509.IPAddress(ipaddress.ip_address(one)) for one in ("127.0.0.1", "::1")),
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(signing, hashes.SHA256()), key
