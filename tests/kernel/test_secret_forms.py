"""The data files of the detector: each row is read as it is meant, and each form of a vendor finds a sample."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from bench.secrets_samples import positives

from mnemesh_memory import wordlists
from mnemesh_memory.secrets import find_secret
from mnemesh_memory.secrets.structures import STRUCTURES
from mnemesh_memory.secrets.vendor_tokens import FORMS
from mnemesh_memory.secrets.vocabulary import VOCABULARY
from mnemesh_memory.wordlists import rows, sections, table, words

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
