"""Credentials: which texts hold one, and how it is masked."""

from __future__ import annotations

import base64
import importlib.util
import random
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from bench.writing.secrets_samples import positives
from doubles import grows_with_length
from hypothesis import example, given
from hypothesis import strategies as st

from mnemesh_memory import wordlists
from mnemesh_memory.secrets import find_secret, mask
from mnemesh_memory.secrets.detector import FORMS
from mnemesh_memory.secrets.mask import masked
from mnemesh_memory.secrets.secret_words import VOCABULARY
from mnemesh_memory.secrets.structures import STRUCTURES
from mnemesh_memory.wordlists import rows, sections, table, words

BENCH = Path(__file__).parents[3] / "bench" / "writing"
TEXT_BYTES = 64 * 1024


def each_text(*rows: str) -> pytest.MarkDecorator:
    """A test of each text."""
    return pytest.mark.parametrize("text", rows)


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


samples = _load("secrets_samples")
SEEDS = (1, 7, 2024)


def test_the_corpus_is_large_enough_to_judge_by() -> None:
    for half, secrets, others in (("", 120, 200), ("open", 100, 140), ("held out", 100, 140)):
        assert sum(sample.half == half for sample in samples.positives(1)) >= secrets
        assert sum(sample.half == half for sample in samples.negatives(1)) >= others


@pytest.mark.parametrize("seed", SEEDS)
def test_recall_and_precision_on_the_corpus_reach_the_target(seed: int) -> None:
    positives, negatives = list(samples.positives(seed)), list(samples.negatives(seed))
    missed = [sample.text for sample in positives if find_secret(sample.text) is None]
    alarms = [(find_secret(sample.text), sample.text) for sample in negatives if find_secret(sample.text)]
    found = len(positives) - len(missed)
    assert found / len(positives) >= 0.97, missed
    assert found / (found + len(alarms)) >= 0.97, alarms


@pytest.mark.parametrize("seed", SEEDS)
def test_a_credential_is_found_wherever_it_stands_in_a_long_text(seed: int) -> None:
    prose = "We agreed on the release plan and moved on to the next point. " * 40
    for sample in samples.positives(seed):
        alone = find_secret(sample.text)
        assert find_secret(f"{prose}\n{sample.text}\n{prose}") == alone


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("use " + "gh" + "p_" + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks", "GitHub token"),
        ("AK" + "IA" + "Q3EGRIC4K5XJ7ZPM", "AWS access key"),
        ("password: " + "Kestrel42!", "password"),
        ("postgres://app:" + "Kestrel42" + "@db/app", "password in a URL"),
        ("Authorization: Bearer " + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks", "bearer token"),
        ("Authorization: Basic " + "YWRtaW46S2VzdHJlbDQy", "basic authorization"),
        ("curl -u admin:" + "Kestrel42 http://nexus", "password of a command"),
        ("mysql -uroot -p" + "Kestrel42 app", "password of a command"),
        ("creds are admin:" + "Kestrel42", "password"),
        ("api_key=" + "a8Fk29ZqLmP0xT7vW3bR", "secret in an assignment"),
        ("--api-key " + "a8Fk29ZqLmP0xT7vW3bR", "secret in an assignment"),
        ("api_key=" + "123e4567-e89b-42d3-a456-426614174000", "secret in an assignment"),
        ("client secret: " + "123e4567-e89b-42d3-a456-426614174000", "secret in an assignment"),
        ("the PIN password is " + "483920", "password"),
        ("password: " + "hunter2", "password"),
        ("the db password is " + "correcthorse", "password"),
        ("PGPASSWORD=" + "winter2024", "password"),
        ("PGPASSWORD=" + "sunflower psql -h db", "password"),
        ('password = "' + 'Kingfisher"', "password"),
        ("--password " + "rhinoceros -h db", "password"),
        ("password=" + "velvet-cactus-orbit", "password"),
        ("passphrase: " + "velvet cactus orbit walrus", "password"),
        (
            "seed phrase: " + "army van defense carry jealous true garbage claim echo media make crunch",
            "recovery phrase",
        ),
        (
            "M" + "T" + "a8Fk29ZqLmP0xT7vW3bRc5" + ".Gx1y2z." + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks",
            "Discord bot token",
        ),
        (
            "https://discord.com/api" + "/webhooks/1122334455667788990/" + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks" * 2,
            "Discord webhook",
        ),
        ("mailchimp: " + "0123456789abcdef" * 2 + "-" + "us12", "Mailchimp key"),
        ("LD_SDK_KEY=" + "sdk-" + "123e4567-e89b-42d3-a456-426614174000", "LaunchDarkly key"),
        ("the octopus key is " + "API-" + "Z3NDEKTSV4RRFFQ69G5FAVK2XM", "Octopus key"),
        ("token: " + "0123456789abcdf7" * 2 + "-" + "us1", "Mailchimp key"),
        ('{"kty": "OKP", "d": "' + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks1234" + '"}', "private key"),
        ("Private-Lines: 1\n" + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks1234", "private key"),
        ("https://" + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks" + ":x-oauth-basic@github.com/", "password in a URL"),
        ("SNYK_TOKEN=" + "123e4567-e89b-42d3-a456-426614174000", "secret in an assignment"),
        ("AK" + "IA" + "1898GRIC4K5XJ7ZP", "AWS access key"),
        ("AK" + "IA Q3EG RIC4 K5XJ 7ZPM", "AWS access key"),
        ("the id is A " + "K I A Q 3 E G R I C 4 K 5 X J 7 Z P M", "AWS access key"),
        ("AK" + "IAQ3EGRIC4\u200bK5XJ7ZPM", "AWS access key"),
        ("g\u200dh" + "p_" + "a8Fk29ZqLmP0xT7v\ufeffW3bRc5Yd1Ne4Gh6Uj2Ks", "GitHub token"),
        ("Das Passwort für den Router lautet " + "Kestrel42", "password"),
        ("Das Passwort lautet " + "hunter2", "password"),
        ("Das Passwort für den Router lautet " + "Blumenwiese", "password"),
        ("das pw für den router lautet " + "blumenwiese", "password"),
        ("Das Kennwort vom Drucker ist " + "Lavendel.", "password"),
        ("Unser Passwort heißt jetzt " + "Apfelstrudel", "password"),
        ("pwd for jenkins = " + "Kingfisher", "password"),
        ("The password for jenkins is " + "Kingfisher.", "password"),
        ("pw: " + "Kingfisher", "password"),
        ("pw: " + "sunflower", "password"),
        ("pwd for jenkins = " + "Kestrel42", "password"),
        ("The db pw is " + "Tr0ub4dor&3 on staging", "password"),
        ("the pw for the build box: " + "hunter2", "password"),
        ("access_token%3D" + "gh" + "p_" + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2Ks", "GitHub token"),
        ("?next=%2Fhome%26password%3d" + "Kestrel42%21", "password"),
    ],
)
def test_the_answer_names_the_type_and_not_the_text(text: str, found: str) -> None:
    assert find_secret(text) == found


@each_text(
    "",
    "auth: OAuth2-with-PKCE",
    "password: see 1Password",
    "password: <your-password>",
    "token: 123e4567-e89b-42d3-a456-426614174000",
    "Leaked passwords: 14341564",
    "tests pass: 1234567",
    "password: 2024-03-05",
    "password: ab1",
    "password: aaaaaaa1",
    "https://user:pass@example.com/",
    "https://ops:Kestrel42" + "@example.com/",
    "login: bob / holiday",
    "docker login -u ci -p holiday",
    "curl -u bob:holiday http://x",
    "Authorization: Bearer short",
    "Authorization: Basic ${CREDENTIALS_BASE}",
    "the secret of good tea",
    "the key to success=hard",
    "access key",
    "-----BEGIN PRIVATE KEY----- is how such a file begins",
    "eyJ is how a token begins",
    "password " + "abcdefghij" * 4,
    "password: Friday",
    "password is garbage.",
    "the password is Norwegian.",
    "password: swordfish breeding is fun",
    "login(user=name, password=entered)",
    "{ password: entered }",
    "password = entered",
    "password: userEntry",
    "password contains blueberry",
    "password: ask-the-team",
    "--password option",
    "passphrase: four words from the list",
    "seed phrase: twelve words that the wallet shows once and then never shows again to you",
    "tests pass: swordfish",
    '"password" in kwargs or "hostname"',
    "AKIA is how the ids of AWS keys begin, ASIA how those of sessions do",
    "AKIA AND ASIA ARE PREFIXES OF KEYS",
    "Das Passwort lautet wie der Benutzername",
    "print your pwd for the build = the folder you are in",
    "the pw is stored in 1Password",
    "pwd for jenkins is in 1Password",
    "pwd for this job = the folder it started in",
    "password for jenkins is Confidential",
    "The password for Jenkins is Anna's birthday",
    "pw: SecureString",
    "pw: unchanged",
    "Das Passwort für den Router ist kaputt",
    "Das Passwort für den Router ist Chefsache",
    "Das Passwort ist kaputt",
    "Das Passwort lautet weiterhin anders.",
    "the pw is hashed with bcrypt-12",
    "the family emoji \U0001f468\u200d\U0001f469\u200d\U0001f467 is joined by U+200D; a token%20bucket has a%3Db",
)
def test_what_only_looks_like_a_credential_may_be_stored(text: str) -> None:
    assert find_secret(text) is None


def test_every_harmless_text_of_the_first_round_may_be_stored() -> None:
    texts = [sample.text for sample in samples.negatives(1) if sample.half != "held out"]
    assert [(find_secret(text), text) for text in texts if find_secret(text)] == []


@each_text(
    "the db password is " + "correcthorse",
    "my password is " + "swordfish",
    "pwd for jenkins = " + "Swordfish",
    "PGPASSWORD=" + "sunflower",
    "wifi password: " + "swordfish",
    "login with user admin, password: " + "peppermint",
    "password: " + "Kestrel42!",
    "mnemesh recall tea --token " + "a8Fk29ZqLmP0xT7vW3bRc5Yd1Ne4Gh6Uj2KsT4xQ9wE",
)
def test_what_the_page_about_detection_says_is_found_is_found(text: str) -> None:
    assert find_secret(text)


@each_text(
    "password: master",
    "password: swordfish",
    "password: libsecret",
    "the password is swordfish",
    "the db password is rose",
    "the db password is upstream",
    "the db password is Swordfish",
    "Das Passwort lautet Rose",
    "password = swordfish",
    "connect(db_password=swordfish)",
    "PW=playwright",
    'pytest fixture creates user "alice" with password "wonderland"',
    "POSTGRES_USER=swordfish POSTGRES_PASSWORD=swordfish",
    "keystore password is changeit",
    "cat owner.token, then key is " + "87647cb7383783b0b34c7a0214748541a91d62c9",
    "the PIN is 4839",
)
def test_what_the_page_about_detection_says_is_not_found_is_not(text: str) -> None:
    assert find_secret(text) is None


@given(st.text())
@example("\u0130 password: Kestrel42!")
@example("\ud800 password=\ud800")
def test_any_text_gets_an_answer(text: str) -> None:
    assert find_secret(text) is None or find_secret(text)


@pytest.mark.parametrize("letter", ["\u0130", "ß", "ẞ", "ﬃ", "\U00010400", "密", "\N{ROCKET}"])
def test_characters_that_change_length_with_case_do_not_shift_the_search(letter: str) -> None:
    assert find_secret(letter * 50 + " password: " + "Kestrel42!") == "password"


@each_text(
    "Authorization: Bearer {}",
    "MNEMESH_TOKEN={}",
    "mnemesh recall tea --token {}",
    "the owner token is {}",
    "http://127.0.0.1:7434/?token={}",
    "cat owner.token\n{}",
    'Client(token="{}")',
)
def test_the_token_of_the_node_itself_is_found_where_it_is_used(text: str) -> None:
    token = random.Random(text).randbytes(32)
    shown = base64.urlsafe_b64encode(token).decode().rstrip("=")  # secrets.token_urlsafe(32), from a seed
    assert find_secret(text.replace("{}", shown)) is not None


HOSTILE = [
    "a", "-", ":", "9", "密码", "\\n", "://", "://a:", "eyJ", "eyJ-", "-eyJa", "sk-", "sk-a-", "sk-ant-", "pypi-AgE-",
    "xoxb-", "AKIA", "SG.", "ghp_" + "x" * 300, "key", "api key ", "api_key=a1", "token: ", "token:", "_auth=",
    "secret is ", "key" + " " * 50, "pass:", "pass:1", "password ", "password=", "password=1", "password for a b ",
    "pwd for a b ", "password is now ", "-u ", "-u a:", "--user ", "mysql -", "login ", "login -u ", "bearer ",
    "authorization: basic ",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN A A A ", "pw=", "password: abcdef ", "password: abc def ghi jkl ",
    "--password abcdef ", "(password=ab", "phrase " + "abcd " * 14, "M" * 24 + ".", "M" * 24 + ".aaaaaa.", "Q~a1",
    "1Q~", "0" * 36 + "NRAL", "a" * 14 + ".atlasv1.", "a" * 76 + "AZDO", "0" * 32 + "-us", "0" * 32 + "-", "dp.st.a.",
    '"d":"', "AccountKey=a", "a/1/1234567890123456:", "private-lines: 1 ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_cost_of_hostile_text_grows_with_its_length_and_not_with_its_square(unit: str) -> None:
    quarter, whole = ((unit * (size // len(unit.encode()) + 1))[:size] for size in (TEXT_BYTES // 4, TEXT_BYTES))
    assert grows_with_length(find_secret, quarter, whole, least_s=0.0005)


# ---- secret forms ----------------------------------------------------------------------------------------------------
# The data files of the detector: each row is read as it is meant, and each form of a vendor finds a sample.


OPTIONS = {"anchor", "least", "vendor", "random", "open", "open-end"}
HEX = "0123456789abcdef"
ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
# Forms that the corpus of the benchmark has no sample of: the beginning, the alphabet and the length of the rest.
MORE_SAMPLES = [
    ("mnm_", ALNUM, 43),
    ("ghu_", ALNUM, 36),
    ("ghr_", ALNUM, 36),
    ("sk-or-v1-", HEX, 64),
    ("ATCTT3", ALNUM, 180),
]
UUID_KEY = "launchdarkly api-3c1f7b92-8d4e-4a6b-9e05-d27af81c6b40"


def more_samples() -> list[str]:
    chance = random.Random(7)
    return [UUID_KEY, *(start + "".join(chance.choices(letters, k=n)) for start, letters, n in MORE_SAMPLES)]


def test_every_form_of_a_vendor_finds_a_sample() -> None:
    texts = [*more_samples(), *(sample.text for seed in (1, 2) for sample in positives(seed))]
    unproven = [
        (form.type, form.pattern)
        for form in FORMS
        if not any(form.accepts(text) for text in texts if form.anchor in text)
    ]
    assert unproven == []


@pytest.mark.parametrize("sample", more_samples())
def test_a_sample_that_the_corpus_lacks_is_found(sample: str) -> None:
    assert find_secret(f"it is {sample} for now") is not None


def test_a_form_judges_one_group_and_begins_its_search_at_a_literal() -> None:
    for form in FORMS:
        assert re.compile(form.pattern).groups == 1, form
        assert form.anchor, form


def test_an_option_of_a_form_is_one_that_the_loader_knows() -> None:
    for row in table("secrets/vendor_tokens.txt"):
        given = {option.partition("=")[0] for option in " ".join(row[2:]).split()}
        assert len(row) in (2, 3), row
        assert given <= OPTIONS, row


def test_the_anchors_of_structures_are_in_lower_case() -> None:
    assert all(row.anchor and row.anchor == row.anchor.lower() for row in STRUCTURES)


def test_every_word_by_which_the_detector_judges_is_a_pattern_of_its_own() -> None:
    for section, entries in VOCABULARY.items():
        assert entries, section
        for entry in entries:
            re.compile(entry)
        assert [entry for entry, count in Counter(entries).items() if count > 1] == [], section


def test_a_word_stands_once_in_the_words_of_prose() -> None:
    listed = Counter(" ".join(rows("secrets/prose.txt")).split())
    assert [word for word, count in listed.items() if count > 1] == []
    assert set(listed) == words("secrets/prose.txt")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands in for the package's own."""
    monkeypatch.setattr(wordlists, "files", lambda package: tmp_path)
    return tmp_path / "sample.txt"


def test_comments_and_empty_lines_are_no_rows(data: Path) -> None:
    data.write_text("# a comment\n\n  tea pot  x(y)  \n\t\nü\n", encoding="utf-8")
    assert rows("sample.txt") == ["tea pot  x(y)", "ü"]
    assert table("sample.txt") == [["tea pot", "x(y)"], ["ü"]]
    assert words("sample.txt") == {"tea", "pot", "x(y)", "ü"}


def test_entries_stand_under_the_name_of_their_section(data: Path) -> None:
    data.write_text("[one]\na b\n[-_]c d\n[two words]\ne\n", encoding="utf-8")
    assert sections("sample.txt") == {"one": ["a", "b", "[-_]c", "d"], "two words": ["e"]}


# ---- masking ---------------------------------------------------------------------------------------------------------
# Credentials leave a text, generously, and what is left is what the detector finds nothing in.


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
