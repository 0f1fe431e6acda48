"""Credentials leave a text, generously, and what is left is what the detector finds nothing in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.secrets import find_secret, mask
from mnemesh_memory.secrets.mask import masked

GITHUB = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
RANDOM = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
BODY = "MIIEpAIBAAKCAQEA1234567890abcdefghijKLMNOP\n" * 3
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}-----END RSA PRIVATE KEY-----"


def test_a_text_without_a_credential_stays_as_it_is() -> None:
    text = "the deploy key is in the vault\n\tsee docs/"
    assert masked(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "left", "types"),
    [
        (f"push with {GITHUB} please\nthanks", "push with [masked: GitHub token]\nthanks", ("GitHub token",)),
        (f"before\n{KEY}\nafter", "before\n[masked: private key]\nafter", ("private key",)),
        (f"before\n{KEY.partition('-----END')[0]}", "before\n[masked: private key]", ("private key",)),
        (f"a\ntoken:\n  {RANDOM}\nb", "a\n[masked: secret in an assignment]\nb", ("secret in an assignment",)),
        (
            f"A=1\nAPI_TOKEN={RANDOM}\nGH={GITHUB}\nB=2",
            "A=1\n[masked: secret in an assignment]\n[masked: GitHub token]\nB=2",
            ("secret in an assignment", "GitHub token"),
        ),
    ],
)
def test_what_is_found_is_replaced_by_its_type(text: str, left: str, types: tuple[str, ...]) -> None:
    assert masked(text) == (left, types)


def test_every_line_of_a_key_without_its_header_on_the_same_line_goes() -> None:
    putty = "Private-Lines: 14\n" + BODY * 4
    left, types = masked(f"x\n{putty}\nafter")
    assert "MIIE" not in left
    assert left.startswith("x\n")
    assert types == ("private key",)


def test_of_a_text_that_is_full_of_findings_over_lines_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask, "FINDINGS_MAX", 2)
    left, _ = masked("\n".join(f"token:\n  {RANDOM}{n}" for n in range(5)))
    assert left == "[masked: secret in an assignment]"


PARTS = st.sampled_from(
    [GITHUB, KEY, RANDOM, BODY, "password:", "token", " = ", "\n", " ", "the db password is correcthorse", "words", '"']
)


@given(st.lists(PARTS, max_size=14).map("".join))
def test_nothing_is_ever_found_in_what_was_masked(text: str) -> None:
    left, types = masked(text)
    assert find_secret(left) is None
    assert bool(types) == (find_secret(text) is not None)
