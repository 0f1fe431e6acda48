"""Texts that the tests of rules and those of doors tell alike."""

from __future__ import annotations

from typing import Final

# The kinds of contradiction that other memories refuse to store: an older and a newer text.
SIX: Final = [
    ("The billing service stores invoices in PostgreSQL", "The billing service stores invoices in MySQL"),
    ("Always squash commits before merging", "Never squash commits before merging"),
    ("Session tokens expire after 15 minutes", "Session tokens expire after 60 minutes"),
    ("The owner of the checkout module is Alice", "The owner of the checkout module is Bob"),
    ("The API docs are at https://docs.a.example", "The API docs are at https://docs.b.example"),
    ("The search cluster has 3 nodes", "The search cluster has 5 nodes"),
]
# Episodes of one group, which become one fact.
EPISODES: Final = (
    "The nightly backup failed because the disk of the archive host was full.",
    "Nightly backup failed again: the disk of the archive host was full.",
    "The backup failed at night, because the archive host had a full disk.",
)
