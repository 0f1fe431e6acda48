"""The labelled samples of the secret detection benchmark.

Sentences stand in bench/secrets_positives.txt and secrets_negatives.txt, as people and agents write them into memories.
Sentences of secrets_corpus_*.txt are younger than those but older than the rules under test, and half of them is held
out. Every credential is synthetic and assembled here from pieces, at run time and from a seed. So the repository holds
no credential and no scanner of repositories reports one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

HERE = Path(__file__).parents[1]
HEX = "0123456789abcdef"
BASE62 = string.ascii_letters + string.digits
BASE32 = string.ascii_uppercase + "234567"
URL64 = BASE62 + "-_"
ALPHABETS = {
    "hex": HEX,
    "digits": string.digits,
    "base62": BASE62,
    "base64": BASE62 + "+/",
    "url64": URL64,
    "crockford": "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    "hexup": HEX.upper(),
    "letters": string.ascii_letters,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "bases": BASE32,
}
WORDS = ("Tiger", "winter", "Blau", "coffee", "Ramen", "sailing", "Kestrel", "purple", "oaktree", "Lisbon")
SLOT = re.compile(r"\{([a-z]+\d*)(?::(\d+))?\}")


@dataclass(frozen=True, slots=True)
class Sample:
    """One text, its family, and whether it holds a credential."""

    family: str
    text: str
    secret: bool
    half: str = ""  # of the second round: "open" for work on the rules, or "held out"; "" in the first


def positives(seed: int) -> Iterator[Sample]:
    """Texts that hold exactly one credential each."""
    maker = Maker(seed)
    makers = {**maker.tokens(), **maker.named()}
    for family, line in _lines("secrets_positives.txt"):
        yield Sample(family, line.replace("{}", makers[family]()), True)
    for kind in ("RSA", "EC", "OPENSSH", "ENCRYPTED"):
        yield Sample("pem", maker.pem(kind), True)
    for family, line in _lines("secrets_corpus_positives.txt"):
        yield Sample(family, SLOT.sub(maker.fill, line), True, _half(line))


def negatives(seed: int) -> Iterator[Sample]:
    """Texts that look like credentials but hold none."""
    maker = Maker(seed)
    for family, line in _lines("secrets_negatives.txt"):
        yield Sample(family, SLOT.sub(maker.fill, line), False)
    for text in _crossed_out():
        yield Sample("placeholder", text, False)
    for family, line in _lines("secrets_corpus_negatives.txt"):
        yield Sample(family, SLOT.sub(maker.fill, line), False, _half(line))


def _lines(name: str) -> Iterator[tuple[str, str]]:
    family = ""
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            family = line.removeprefix("## ")
        elif line and family:
            yield family, line.replace("\\n", "\n")


def _half(line: str) -> str:
    return "held out" if hashlib.sha256(line.encode()).digest()[0] % 2 else "open"


def _crossed_out() -> list[str]:
    """Examples of manuals, and credentials with the value crossed out."""
    return [
        "ghp_" + "x" * 36,
        "ghp_" + "0" * 36,
        "sk-" + "x" * 48,
        "sk-ant-api03-" + "x" * 90,
        "sk_test_" + "x" * 24,
        "npm_" + "X" * 36,
        "AKIA" + "IOSFODNN7" + "EXAMPLE",
        "AKIA" + "X" * 16,
        "xoxb-" + "0" * 12 + "-" + "0" * 12 + "-" + "x" * 24,
        "aws_secret_access_key = wJalrXUtnFEMI/" + "K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
        "SG.xxxxxx.yyyyyy",
        "pypi-AgEIcHlwaS5vcmcC...",
    ]


class Maker:
    """Values from one seed: the same seed gives the same corpus."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chars(self, alphabet: str, count: int) -> str:
        return "".join(self.random.choices(alphabet, k=count))

    def fill(self, slot: re.Match[str]) -> str:
        """The value for a slot of a negative, such as {hex:40}; what is no slot of ours stays."""
        kind, size = slot.group(1), int(slot.group(2) or 0)
        if kind in ALPHABETS and size:
            return self.chars(ALPHABETS[kind], size)
        if kind == "bytes":
            return base64.b64encode(self.random.randbytes(size)).decode()
        if kind == "uuid":
            return str(UUID(int=self.random.getrandbits(128), version=4))
        if kind == "open":  # in one piece with the dashes it would be taken for a key by scanners of repositories
            return "BEG" + "IN"
        heads = {
            "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\0\0\0\1\0\x08\x06",
            "jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF",
        }
        if kind in heads:
            return base64.b64encode(heads[kind] + self.random.randbytes(240)).decode()
        return slot.group()

    def tokens(self) -> dict[str, Callable[[], str]]:
        """Credentials that a vendor's prefix marks."""
        c, pick = self.chars, self.random.choice
        return {
            "aws access key": lambda: "AK" + "IA" + c(BASE32, 16),
            "github": lambda: "gh" + pick("posu") + "_" + c(BASE62, 36),
            "github fine-grained": lambda: "github" + "_pat_" + c(BASE62, 22) + "_" + c(BASE62, 59),
            "gitlab": lambda: "gl" + "pat-" + c(URL64, 19) + c(BASE62, 1),
            "slack": lambda: "xo" + f"xb-{c(string.digits, 12)}-{c(string.digits, 13)}-{c(BASE62, 24)}",
            "slack webhook": lambda: (
                "https://hooks.sl" + f"ack.com/services/T{c(BASE32, 8)}/B{c(BASE32, 10)}/{c(BASE62, 24)}"
            ),
            "stripe": lambda: pick("sr") + "k_" + pick(["live_", "test_"]) + c(BASE62, 24),
            "google api": lambda: "AI" + "za" + c(URL64, 34) + c(BASE62, 1),
            "openai": lambda: "s" + "k-" + c(BASE62, 20) + "T3Blbk" + "FJ" + c(BASE62, 20),
            "openai project": lambda: "s" + "k-proj-" + c(URL64, 74) + "T3Blbk" + "FJ" + c(URL64, 73) + c(BASE62, 1),
            "anthropic": lambda: "s" + "k-ant-api03-" + c(URL64, 92) + c(BASE62, 1) + "AA",
            "npm": lambda: "np" + "m_" + c(BASE62, 36),
            "pypi": lambda: "py" + "pi-AgEI" + "cHlwaS5vcmc" + c(URL64, 150) + c(BASE62, 1),
            "sendgrid": lambda: "S" + f"G.{c(URL64, 21)}{c(BASE62, 1)}.{c(URL64, 42)}{c(BASE62, 1)}",
            "twilio": lambda: "S" + "K" + c(HEX, 32),
            "hugging face": lambda: "h" + "f_" + c(BASE62, 34),
        }

    def named(self) -> dict[str, Callable[[], str]]:
        """Credentials with a telling name, place or structure."""
        c, pick = self.chars, self.random.choice
        return {
            "aws secret key": lambda: c(ALPHABETS["base64"], 40),
            "twilio auth": lambda: c(HEX, 32),
            "jwt": self.jwt,
            "pem": lambda: self.pem(""),
            "bearer": lambda: c(BASE62, 40),
            "password": self.password,
            "spoken": lambda: pick(WORDS[:1]) + c(BASE62, 4) + pick("!?+") + c(string.digits, 2) + "x",
            "command": self.password,
            "connection string": self.password,
            "basic auth url": self.password,
            "curl user": self.password,
            "basic auth header": lambda: base64.b64encode(f"admin:{self.password()}".encode()).decode(),
            "api key": lambda: c(BASE62, 32),
            "hex key": lambda: c(HEX, pick([32, 40, 64])),
            "named by a verb": lambda: c(HEX, 32),
            "django key": lambda: c(BASE62 + "!@#$%^&*(-_=+)", 49) + "x",
            "azure": lambda: c(ALPHABETS["base64"], 86) + "==",
        }

    def password(self) -> str:
        """As people choose them, words with digits or a sign, or as a generator gives them."""
        pick = self.random.choice
        styles: list[Callable[[], str]] = [
            lambda: f"{pick(WORDS)}{self.random.randint(10, 99)}{pick('!?$#&')}",
            lambda: f"{pick(WORDS)}-{pick(WORDS)}-{self.random.randint(100, 9999)}",
            lambda: f"{pick(WORDS).lower()}{self.random.randint(100, 9999)}",
            lambda: self.chars(BASE62, 14) + str(self.random.randint(0, 9)),
            lambda: self.chars(BASE62, 6) + pick("!%+^~") + self.chars(BASE62, 8),
        ]
        return pick(styles)()

    def jwt(self) -> str:
        def part(value: object) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        claims = {"sub": self.chars(string.digits, 8), "exp": self.random.randint(17 * 10**8, 18 * 10**8)}
        return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}.{self.chars(URL64, 43)}"

    def pem(self, kind: str) -> str:
        dashes, label = "-" * 5, f"{kind} PRIVATE KEY".strip()
        body = "\n".join(self.chars(ALPHABETS["base64"], 64) for _ in range(4))
        return f"{dashes}BEGIN {label}{dashes}\nMII{body}\n{dashes}END {label}{dashes}"
