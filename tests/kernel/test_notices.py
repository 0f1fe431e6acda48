"""A node's notices to a person: each subject once, the latest last, and no outdated notice."""

from __future__ import annotations

from mnemesh_actors.notices import NOTICES_MAX, Notice, Notices


def test_what_is_told_again_stands_once_and_last() -> None:
    notices = Notices()
    for text in ("index away", "index back", "index away"):
        notices(text)
    assert list(notices) == ["index back", "index away"]


def test_of_one_subject_the_later_takes_the_place_of_the_earlier() -> None:
    notices = Notices()
    notices("embedded with one", "model")
    notices("index away")
    notices("embedded with other", "model")
    assert list(notices) == ["index away", "embedded with other"]


def test_of_very_many_the_latest_are_kept() -> None:
    notices = Notices()
    for number in range(NOTICES_MAX + 3):
        notices(str(number))
    assert list(notices) == [str(number) for number in range(3, NOTICES_MAX + 3)]


def test_of_a_subject_the_latest_is_kept_and_an_empty_text_takes_it_back() -> None:
    notices = Notices()
    notices("the disk is slow")
    notices(Notice("index", "index away: no answer"))
    notices(Notice("index", "index back: 3 entries to take in"))
    assert list(notices) == ["the disk is slow", "index back: 3 entries to take in"]
    notices(Notice("index", ""))
    notices(Notice("ledger", ""))
    assert list(notices) == ["the disk is slow"]
