"""Words of any script, identifiers, and the statement behind a question."""

from __future__ import annotations

import unicodedata

import pytest
from doubles import grows_with_length
from hypothesis import given
from hypothesis import strategies as st
from plain_memories import plain_memory
from qdrant_edge import Bm25, Bm25Config

from mnemesh_actors.index.bm25 import AVERAGE_TERMS, LENGTH_B, SATURATION_K, Bm25Encoder
from mnemesh_actors.rows.row_source import scored
from mnemesh_memory.ranking.coverage import coverage
from mnemesh_memory.ranking.fused import Fused
from mnemesh_memory.text.counted_words import ENDS_MAX, HASH_CHARS, spaced, spellings, stated, unaccented
from mnemesh_memory.text.text import marks, snippet
from mnemesh_memory.values.model import Memory

ENCODER = Bm25Encoder()
WITHOUT_MEANING = Fused("1", 0.5)
ENGLISH = Bm25(Bm25Config(language="english", k=SATURATION_K, b=LENGTH_B, avg_len=AVERAGE_TERMS))
# Punctuation and signs that English texts hold beside ASCII.
SIGNS = (
    "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u2022\u2192\u21d2\u2212\u00a0\u00a7\u00b0\u00b1\u00b2\u00bd\u20ac"
    "\u200b\u2122\u2264\u25cf\u2502\ufe0f"
)
PROSE = (
    "We\u2019re moving the on-call rota to Mondays \u2014 see docs/rota.md (v2.14.0), \u201cbefore 9:00\u201d.",
    "Ana: I did buy the figurines yesterday \u2013 for 12 \u20ac \u2026 they\u2019re lovely!",
    "parse_config() in src/auth/tokens.py raises HTTPServerError \u2192 retried 3\u00d7, then ORA-00942 4f2a9c17d0",
    "\u2022 The migration\n\u2022 dropped orders.legacy_id\n\u2022 and took \u2248 40 \u00b5s a row (\u00b1 2 %)",
    "Nightly exports, nightly exporting, and what was exported: the same sums, summed thrice.",
)  # fmt: skip

BESIDE = ("Zürich", "支付", "🎉")


def english(text: str, *, asked: bool = False) -> tuple[list[int], list[float]]:
    """The terms that Edge's English encoder alone makes of a text, with other spellings of identifiers."""
    more = spellings(text)
    whole = f"{text}\n{' '.join(more)}" if more else text
    made = ENGLISH.embed_query(whole) if asked else ENGLISH.embed_document(whole)
    return list(made.indices), list(made.values)


def memory(id_: str, text: str) -> Memory:
    return plain_memory(id_, text, kind="note")


def same_as_english(text: str) -> bool:
    memory, question = ENCODER.document(text), ENCODER.query(text)
    return english(text) == (list(memory.indices), list(memory.values)) and english(text, asked=True) == (
        list(question.indices),
        list(question.values),
    )


@pytest.mark.parametrize("text", PROSE)
def test_english_prose_keeps_its_terms_and_their_weights(text: str) -> None:
    assert english(text)[0]
    assert same_as_english(text)


@given(st.text(st.sampled_from([*map(chr, range(128)), *SIGNS]), max_size=80))
def test_any_text_of_english_letters_and_signs_keeps_its_terms_and_their_weights(text: str) -> None:
    assert same_as_english(text)


@given(st.lists(st.sampled_from([*" ".join(PROSE).split(), *BESIDE]), max_size=30))
def test_what_stands_beside_english_words_takes_none_of_their_terms(words: list[str]) -> None:
    plain = " ".join(word for word in words if word not in BESIDE)
    assert set(english(plain)[0]) <= set(ENCODER.document(" ".join(words)).indices)


FOUND = {
    "chinese": ("支付服务每天凌晨三点重启", "支付"),
    "japanese": ("会議室は三階にあります", "会議室はどこ"),
    "thai": ("การชำระเงินล้มเหลว", "ชำระเงิน"),
    "thai with tone marks": ("ที่นี่นั่งได้", "ที่"),
    "korean with a particle": ("결제 서비스를 멈췄다", "서비스"),
    "english in japanese": ("Qdrantの設定をAPIで変える", "qdrant"),
    "japanese beside english": ("Qdrantの設定をAPIで変える", "設定"),
    "half and full width": ("\uff21\uff30\uff29の\uff83\uff9e\uff70\uff80", "API データ"),
    "without accents": ("Prüfsummen im Café in Łódź", "prufsummen lodz"),
    "with accents": ("Prufsummen im Cafe", "Prüfsummen"),
    "accents as marks": ("Pru\u0308fsummen im Cafe\u0301", "Prüfsummen"),
    "strokes": ("die Straße am Øresund", "strasse oresund"),
    "cyrillic": ("ёлка перед домом", "елка"),
    "greek": ("το τιμολόγιο", "τιμολογιο"),
    "a common word but for its accent": ("du thé vert", "thé"),
    "an emoji": ("release 2.14 is out 🎉", "🎉"),
    "an emoji in another skin": ("approved 👍🏽", "👍"),
    "a part of an emoji": ("a trip 👨\u200d👩\u200d👧", "👧"),
    "a flag": ("the office in 🇩🇪", "🇩🇪"),
    "hindi": ("भुगतान सेवा", "भुगतान"),
}


@pytest.mark.parametrize(("text", "question"), FOUND.values(), ids=FOUND)
def test_what_is_asked_in_any_script_is_found_and_covered(text: str, question: str) -> None:
    asked = set(ENCODER.query(question).indices)
    assert asked & set(ENCODER.document(text).indices)
    assert coverage(question, [(WITHOUT_MEANING, text)]) > 0.3
    by_words, *others = scored(question, [memory("1", text), memory("2", "something else 日本 ñ 🚀")])[1]
    assert (by_words.id, others) == ("1", [])


@pytest.mark.parametrize(
    ("text", "question"),
    [("支付服务", "支服"), ("🎉", "🚀"), ("🇩🇪 🇫🇷", "🇪🇫"), ("ที่", "ทน"), ("カ", "ガ"), ("ユーザー・データ", "ーデ")],
)
def test_what_only_looks_alike_is_not_found(text: str, question: str) -> None:
    assert not set(ENCODER.query(question).indices) & set(ENCODER.document(text).indices)


@given(st.text())
def test_writing_out_loses_no_letter_of_ascii(text: str) -> None:
    kept = [char for char in text if char.isascii() and char.isalnum()]
    written = iter(spaced(text))
    assert all(char in written for char in kept)


@given(st.text())
def test_terms_do_not_depend_on_how_accents_are_composed(text: str) -> None:
    assert unaccented(unaccented(text)) == unaccented(text)
    composed, apart = (ENCODER.query(unicodedata.normalize(form, text)) for form in ("NFC", "NFD"))
    assert list(composed.indices) == list(apart.indices)


@pytest.mark.parametrize("char", ["支", "🎉", "é", "\u0301", "ั", "🇩", "\ud83c", "ß"])
def test_a_long_run_takes_linear_time(char: str) -> None:
    assert grows_with_length(spaced, char * 5_000, char * 20_000, least_s=0.001)


def test_marks_and_snippets_show_what_was_asked_in_other_scripts() -> None:
    assert marks("Qdrantの設定", "qdrant") == ((0, 6),)
    assert marks("결제 서비스를", "서비스") == ((3, 6),)
    assert marks("Prüfsummen im Café", "prufsummen cafe") == ((0, 10), (14, 18))
    assert "Café" in snippet("x " * 200 + "im Café " + "y " * 200, "cafe", 60)


# ---- identifiers -----------------------------------------------------------------------------------------------------
# Identifiers are found however they are spelled; plain words stay as they are.


SHA = "4f2a9c17d0b3e86655aa01b7c9d24e8f7a6b5c43"


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


# ---- statement -------------------------------------------------------------------------------------------------------
# A question about the past looks for the past.


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("Where did Ana buy the lamp?", "bought"), ("When did she GO there?", "went"), ("Didn't he write it?", "wrote"),
        ("What have they chosen?", "chose"), ("Has Ana driven there?", "drove"), ("Who hasn\u2019t flown?", "flew"),
    ],
)  # fmt: skip
def test_the_question_shares_a_term_with_what_was_stated(question: str, memory: str) -> None:
    encoder = Bm25Encoder()
    assert set(encoder.query(question, as_stated=True).indices) & set(encoder.document(memory).indices)
    assert not set(encoder.query(question).indices) & set(encoder.document(memory).indices)


@pytest.mark.parametrize(
    "question", ["Where does Ana buy lamps?", "Which lamp will she choose?", "buying lamps", "gone, taken, driven", ""]
)
def test_a_question_that_does_not_ask_for_the_past_stays_as_it_is(question: str) -> None:
    assert stated(question) == question


def test_a_participle_is_looked_for_as_well_as_its_past() -> None:
    assert stated("What has she written?") == "What has she written wrote?"


@pytest.mark.parametrize(
    "kept", ['"go get"', "`make build`", "src/build/run.py", "os.write", "--keep", "do_it", "make-it", "find2"]
)
def test_what_is_quoted_or_a_name_stays_as_it_is_written(kept: str) -> None:
    assert stated(f"why did we change {kept} then") == f"why did we change {kept} then"


@pytest.mark.parametrize(
    ("question", "as_stated"),
    [
        ("did we break the build?", "did we broke the build?"), ("Did Ana begin to drive?", "Did Ana began to drive?"),
        ("why did the run stand for hours", "why did the run stood for hours"),
    ],
)  # fmt: skip
def test_a_noun_and_an_infinitive_are_no_verb_of_the_past(question: str, as_stated: str) -> None:
    assert stated(question) == as_stated


@given(st.text())
def test_every_text_has_a_statement_and_one_without_these_auxiliaries_is_its_own(text: str) -> None:
    changed = stated(text)
    assert changed == text or any(word in text.casefold() for word in ("did", "has", "have", "had"))
