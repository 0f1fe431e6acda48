"""Rules for settings, in words and as functions, for the rows of the table in settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from mnemesh_actors.runtime.zones import zone_named
from mnemesh_memory.access.grants import OWNER, principal_name
from mnemesh_memory.policy.dynamics.heat import HALF_LIVES_ALLOWED, half_lives_of
from mnemesh_memory.policy.rules.stored_rules import ALLOWED, rules_of
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import NOT_SHOWN, InvalidArgument


@dataclass(frozen=True, slots=True)
class SettingRule:
    """The rule of a setting, in words and as a function that raises ValueError for anything else. A value that may hold
    a secret is never `shown`."""

    allowed: str
    convert: Callable[[Any], Any]
    shown: bool = True

    def __call__(self, name: str, value: Any) -> Any:
        """The value of the setting `name`. Raises InvalidArgument with the name and the rule."""
        try:
            return self.convert(value)
        except (ValueError, InvalidArgument):  # the judge names a field, here it is a setting
            raise InvalidArgument(name, value if self.shown else NOT_SHOWN, self.allowed) from None


def setting(default: Any, help: str, parse: SettingRule, unit: str = "", secret: bool = False) -> Any:
    """The help shown everywhere says what is allowed too. Text and addresses are clear from their unit. A `secret` is
    no flag, which every user of the machine could read, and is shown nowhere."""
    allowed = "" if parse in (TEXT, ADDRESS) else f" {parse.allowed[0].upper()}{parse.allowed[1:]}."
    metadata = {"help": help + allowed, "parse": parse, "unit": unit, "secret": secret}
    return field(default=default, metadata=metadata, repr=not secret)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _judged(judge: Callable[[str], object]) -> Callable[[Any], str]:
    """A text that `judge` does not refuse."""

    def convert(value: Any) -> str:
        judge(text := _text(value))
        return text

    return convert


def _flag(value: Any) -> bool:
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if str(value).lower() not in known:
        raise ValueError
    return known[str(value).lower()]


def _address(value: Any) -> str:
    host, colon, port = str(value).rpartition(":")
    digits = port.isascii() and port.isdigit()
    if not (colon and host and digits and int(port) < 65536) or any(ch.isspace() or ch in "/@" for ch in host):
        raise ValueError
    return str(value)


def _server_url(value: Any) -> str:
    parts = urlsplit(_text(value))
    simple = not (parts.username or parts.password or parts.query or parts.fragment)
    if value and not (parts.scheme in ("http", "https") and parts.hostname and simple and value.isprintable()):
        raise ValueError
    _ = parts.port  # raises ValueError beyond 65535
    return str(value)


def _key(value: Any) -> str:
    text = _text(value)
    if not (text.isascii() and text.isprintable() and " " not in text and len(text) <= KEY_CHARS_MAX):
        raise ValueError
    return text


KEY_CHARS_MAX = 4096
TEXT = SettingRule("text", _text)
SERVER_URL = SettingRule(
    "a URL http(s)://HOST[:PORT] without name, password or query; empty for none", _server_url, shown=False
)
KEY = SettingRule(f"up to {KEY_CHARS_MAX} printable ASCII characters without spaces", _key, shown=False)
ZONE = SettingRule(
    "a name of the IANA database, such as Europe/Berlin, or empty", _judged(lambda name: zone_named("time_zone", name))
)
FLAG = SettingRule("true or false", _flag)
RULES = SettingRule(ALLOWED, _judged(rules_of))
HALF_LIVES = SettingRule(HALF_LIVES_ALLOWED, _judged(half_lives_of))
PRINCIPAL = SettingRule(
    f"1 to {limits.PRINCIPAL_BYTES_MAX} of a-z 0-9 . _ -, the first a letter or digit, and no credential",
    _judged(lambda name: name == OWNER or principal_name("owner", name)),
)
ADDRESS = SettingRule("HOST:PORT, such as 127.0.0.1:7433; port 0 takes a free one", _address)


def choice(*allowed: str) -> SettingRule:
    def convert(value: Any) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return SettingRule(f"one of {', '.join(allowed)}", convert)


def whole(low: int, high: int) -> SettingRule:
    def convert(value: Any) -> int:
        number = int(str(value))
        if isinstance(value, bool) or not low <= number <= high:
            raise ValueError
        return number

    return SettingRule(f"a whole number from {low} to {high}", convert)


def number(low: float, high: float) -> SettingRule:
    def convert(value: Any) -> float:
        number = float(str(value))
        if not math.isfinite(number) or not low <= number <= high:
            raise ValueError
        return number

    return SettingRule(f"a number from {low:g} to {high:g}", convert)
