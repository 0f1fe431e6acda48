"""What a node tells a person: each thing once, the latest last, and nothing that a later one made untrue."""

from __future__ import annotations

from mnemesh_actors.notices import NOTICES_MAX, Notices


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
