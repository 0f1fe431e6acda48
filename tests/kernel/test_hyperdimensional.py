"""Role and filler in one vector: its pairs resemble it, and nothing else does."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemesh_memory.ranking.hyperdimensional import BITS, atom, bound, bundled, likeness

# Six standard deviations of what chance gives.
CHANCE = 6 / BITS**0.5
names = st.text(min_size=1, max_size=8)
pairs = st.frozensets(st.tuples(names, names), min_size=1, max_size=9)


def test_an_atom_is_the_same_in_every_process_and_release() -> None:
    assert sha256(atom("month").tobytes()).hexdigest().startswith("9e9640e182564f8f")
    assert atom("month").shape == (BITS // 8,)


@given(names, names)
def test_atoms_of_two_names_have_nothing_in_common(one: str, other: str) -> None:
    if one != other:
        assert abs(likeness(atom(one), [atom(other)])[0]) < CHANCE


@given(pairs)
def test_a_bundle_resembles_each_of_its_pairs_and_no_other(held: frozenset[tuple[str, str]]) -> None:
    bundle = bundled(held)
    alike = likeness(bundle, [bound(role, filler) for role, filler in sorted(held)])
    assert alike.min() > 2 * CHANCE
    assert abs(likeness(bundle, [bound("a role of none", "a filler of none")])[0]) < CHANCE


def test_the_same_filler_in_another_role_is_another_thing() -> None:
    assert abs(likeness(bound("kind", "error"), [bound("tag", "error")])[0]) < CHANCE


@given(pairs, st.randoms())
def test_the_order_of_pairs_changes_nothing(held: frozenset[tuple[str, str]], chance: object) -> None:
    shuffled = list(held)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert np.array_equal(bundled(shuffled), bundled(held))


def test_who_shares_more_pairs_is_more_alike() -> None:
    asked = bundled([("month", "5"), ("speaker", "ana"), ("kind", "decision")])
    base = [("year", "2023")]
    shared = [("month", "5"), ("speaker", "ana"), ("kind", "decision")]
    alike = likeness(asked, [bundled([*base, *shared[:number]]) for number in range(4)])
    assert list(alike) == sorted(alike)
    assert abs(alike[0]) < CHANCE


def test_who_is_known_by_nothing_resembles_nothing() -> None:
    assert likeness(bundled([]), []).shape == (0,)
    assert abs(likeness(bundled([]), [bundled([("kind", "fact")])])[0]) < CHANCE
