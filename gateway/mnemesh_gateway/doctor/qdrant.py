"""The check of the Qdrant server that the settings name. Sends two GET requests, the second with the key."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding

TIMEOUT_S = 3.0
VERSION_MIN = (1, 19)
REFUSED = (http.client.UNAUTHORIZED, http.client.FORBIDDEN)


def server(examined: ExaminedNode) -> Iterator[DoctorFinding]:
    """It has to answer, to be new enough, and to take the key."""
    url = examined.settings.qdrant_url
    if not url:
        return
    host = urlsplit(url).netloc
    ca_file = examined.settings.qdrant_ca_file
    try:
        trusted = ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:
        problem = f"qdrant_ca_file {ca_file} holds no certificate that can be read ({error})"
        yield DoctorFinding("qdrant", problem, "give a file in PEM form")
        return
    status, body, why = _get(url, "/", "", trusted)
    if status != http.client.OK:
        yield DoctorFinding(
            "qdrant", f"Qdrant not reachable: {host} {why or f'answers {status}'}",
            "start it (`docker run -p 6333:6333 qdrant/qdrant`) or correct qdrant_url; while the server is away a node "
            "keeps every write and matches by words; afterwards the index catches up by itself",
        )  # fmt: skip
        return
    version = _version(body)
    if version is None:
        yield DoctorFinding("qdrant", f"{host} answers, but not as Qdrant does", "correct qdrant_url")
        return
    if version < VERSION_MIN:
        running, needed = (".".join(map(str, numbers)) for numbers in (version, VERSION_MIN))
        yield DoctorFinding("qdrant", f"{host} is Qdrant {running}", f"install Qdrant {needed} or newer there")
        return
    status, _, why = _get(url, "/collections", examined.settings.qdrant_api_key, trusted)
    if status in REFUSED:
        given = "the key in qdrant_api_key" if examined.settings.qdrant_api_key else "calls without a key"
        yield DoctorFinding(
            "qdrant", f"{host} refuses {given}",
            "set qdrant_api_key to a key with write access: MNEMESH_QDRANT_API_KEY or the settings file",
        )  # fmt: skip
    elif status != http.client.OK:
        yield DoctorFinding(
            "qdrant", f"{host} lists no collections: {why or f'it answers {status}'}", "look at the server's own log"
        )


def _version(body: bytes) -> tuple[int, ...] | None:
    try:
        numbers = str(json.loads(body)["version"]).split(".")[:2]
        return tuple(int(number) for number in numbers)
    except (ValueError, KeyError, TypeError):
        return None


def _get(url: str, path: str, key: str, trusted: ssl.SSLContext) -> tuple[int, bytes, str]:
    """Status, body, and why there is none. Status 0 then."""
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port
    connection = (
        http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=trusted)
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    )
    try:
        connection.request("GET", parts.path.rstrip("/") + path, headers={"api-key": key} if key else {})
        answer = connection.getresponse()
        return answer.status, answer.read(), ""
    except TimeoutError:
        return 0, b"", f"has not answered within {TIMEOUT_S:g} s"
    except (OSError, http.client.HTTPException) as error:
        return 0, b"", f"does not answer ({error})"
    finally:
        connection.close()
