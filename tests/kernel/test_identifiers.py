"""Identifiers are found however they are spelled; plain words stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_actors.index.bm25 import Bm25Encoder
from mnemesh_memory.text.identifiers import ENDS_MAX, HASH_CHARS, spellings

SHA = "4f2a9c17d0b3e86655aa01b7c9d24e8f7a6b5c43"
ENCODER = Bm25Encoder()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("parse_config", "parseConfig"), ("parseConfig", "ParseConfig"), ("MAX_RETRY_COUNT", "maxRetryCount"),
        ("HTTPServerFactory", "http_server_factory"), ("transactional outbox poller", "TransactionalOutboxPoller"),
        ("ORA-00942", "ora00942"), ("src/auth/tokens.py", "auth/tokens.py"), ("src/auth/tokens.py", "tokens.py"),
        ("std::string_view", "string_view"), ("grpcio 1.62.1", "v1.62.1"), ("release 1.62.1", "1.62"),
        (SHA, SHA[:HASH_CHARS]), (SHA, SHA[:10].upper()), ("order.legacyId", "order.legacy_id"),
        ("com.acme.TaxMapper", "TaxMapper"), ("--no-verify", "noVerify"), ("s3_client", "s3Client"),
        ("base64Encode", "encode in base64"), ("parseV2Config", "the v2 parser"), ("iPhone15Pro", "iPhone 15"),
        ("i18nKeys", "i18n"), ("K8sNode", "k8s"), ("userIDs", "ids of users"), ("H264Decoder", "h264"),
    ],
)  # fmt: skip
def test_two_spellings_of_one_name_share_a_term(one: str, other: str) -> None:
    memory, question = ENCODER.document(one), ENCODER.query(other)
    assert set(memory.indices) & set(question.indices)


@pytest.mark.parametrize(
    ("right", "wrong", "question"),
    [
        ("parse_config reads it", "parse the env and config", "parseConfig"),
        ("release 2.4.1", "release 2.14.0", "2.4.1"),
        ("src/auth/tokens.py", "src/billing/tokens.py", "auth/tokens.py"),
        ("handleWebhookError", "handle_webhook_event", "handle_webhook_error"),
        ("base64Encode", "base64Decode", "base64_encode"),
        ("userIDs", "userNames", "user_ids"),
    ],
)
def test_the_name_that_was_meant_shares_more_terms_than_one_like_it(right: str, wrong: str, question: str) -> None:
    asked = set(ENCODER.query(question).indices)
    assert len(asked & set(ENCODER.document(right).indices)) > len(asked & set(ENCODER.document(wrong).indices))


@given(st.lists(st.from_regex(r"[A-Za-z]?[a-z]{1,9}", fullmatch=True)))
def test_plain_words_have_no_other_spelling(words: list[str]) -> None:
    assert spellings(" ".join(words)) == []


@given(st.text())
def test_every_spelling_is_one_word_for_the_index(text: str) -> None:
    assert all(word.isalnum() for word in spellings(text))


def test_a_long_path_costs_no_more_than_its_ends() -> None:
    assert len(spellings("/".join("abcdefgh"[at % 8] for at in range(5000)))) == ENDS_MAX - 1


def test_a_lone_surrogate_in_a_name_harms_nothing() -> None:
    assert ENCODER.document("a_\ud800 parse_config").indices
