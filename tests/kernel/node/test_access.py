"""The tokens of a node's agents: shown once, kept as hashes, ended at once, and there after a kill."""

from __future__ import annotations

import hashlib
import hmac
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doubles import any_umask
from set_clock import Clock

from mnemesh_gateway.security import access as access_module
from mnemesh_gateway.security.access import MIGRATIONS, TOKEN_PREFIX, Access
from mnemesh_gateway.security.auth import Authenticator
from mnemesh_memory.access.grants import PeerGrant
from mnemesh_memory.secrets import find_secret
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import (
    DataLoss,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    Overloaded,
    PermissionDenied,
    Unauthenticated,
    Unavailable,
)
from mnemesh_memory.values.model import Caller

OWNER = Caller(agent="owner", principal="owner")
NOW = 1_800_000_000_000


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "access.sqlite"


@pytest.fixture
def access(path: Path, clock: Clock) -> Iterator[Access]:
    opened = Access(path, clock)
    yield opened
    opened.close()


def issued(access: Access, name: str = "ana", **more: object) -> str:
    fields = {"role": "writer", "spaces": ("team/*",), **more}
    return access.add(OWNER, name=name, **fields)[1]


@pytest.fixture
def token(access: Access) -> str:
    return issued(access)


def reopened(access: Access, path: Path, clock: Clock) -> Access:
    access.close()
    return Access(path, clock)


def headers(token: str, **more: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} | {name.replace("_", "-"): value for name, value in more.items()}


def test_a_token_has_its_prefix_and_256_bits_and_no_two_are_alike(access: Access) -> None:
    tokens = [issued(access, f"agent-{i}") for i in range(50)]
    assert len(set(tokens)) == 50
    assert all(token.startswith(TOKEN_PREFIX) and len(token) == len(TOKEN_PREFIX) + 43 for token in tokens)


def test_our_own_detector_finds_a_token_wherever_it_stands_in_a_text(access: Access) -> None:
    for i in range(50):
        token = issued(access, f"agent-{i}")
        for text in (token, f"export MNEMESH_TOKEN={token}", f'{{"authorization": "Bearer {token}"}}', f"({token})."):
            assert find_secret(text), f"token {i} of form {text.replace(token, 'mnm_...')!r}"


def test_a_token_of_ours_that_holds_what_looks_like_a_placeholder_is_found_and_a_written_placeholder_is_not() -> None:
    assert find_secret("mnm_3vQxXxX9fKd-pL2sWb7RtYu0iOaZcVbNmGhJkE5T6q_")
    assert not find_secret("mnm_" + "x" * 43)
    assert not find_secret("mnm_" + "your-token-here-" * 2 + "your-token-")


def test_a_token_stands_nowhere_in_the_file_and_its_hash_does(access: Access, path: Path, token: str) -> None:
    held = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert token.encode() not in held
    assert token.removeprefix(TOKEN_PREFIX).encode() not in held
    assert hashlib.sha256(token.encode()).digest() in held


def test_the_file_is_the_owners_alone_whatever_the_umask(tmp_path: Path, clock: Clock) -> None:
    with any_umask():
        Access(tmp_path / "a.sqlite", clock).close()
    assert stat.S_IMODE((tmp_path / "a.sqlite").stat().st_mode) == 0o600


def test_a_file_that_others_can_read_is_refused_with_what_to_do(access: Access, path: Path, clock: Clock) -> None:
    access.close()
    path.chmod(0o640)
    with pytest.raises(FailedPrecondition, match="chmod 600"):
        Access(path, clock)


def test_a_holder_is_found_by_the_token_and_by_nothing_else(access: Access, token: str) -> None:
    assert access.holder(token).name == "ana"
    near = [token[:-1], token + "x", token.upper(), token.removeprefix(TOKEN_PREFIX), "", "mnm_", "\ud800", "ana"]
    digest = hashlib.sha256(token.encode()).digest()
    assert [access.holder(other) for other in [*near, digest.hex(), digest.decode("latin-1")]] == [None] * 10


def test_every_token_is_compared_in_constant_time_be_it_known_or_not(
    access: Access, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    lengths: list[tuple[int, int]] = []

    def compare(left: bytes, right: bytes) -> bool:
        lengths.append((len(left), len(right)))
        return left == right

    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert access.holder(token) is not None
    assert access.holder("wrong") is None
    assert lengths == [(32, 32), (32, 32)]


def test_agents_and_their_grants_are_there_after_a_restart(access: Access, path: Path, clock: Clock) -> None:
    token = issued(access, role="reader", spaces=("team/*", "ops"), toolsets=("core",), expires="1d")
    (before,) = access.list(OWNER)
    again = reopened(access, path, clock)
    assert again.holder(token) == before
    assert again.list(OWNER) == (before,)
    again.close()


def test_a_revoked_token_opens_nothing_from_the_next_call_on_and_after_a_restart(
    access: Access, path: Path, clock: Clock, token: str
) -> None:
    clock.now += 1000
    authenticator = Authenticator("owner-token", access)
    assert authenticator.authenticate(headers(token)).principal == "ana"
    done = access.revoke(OWNER, "ana")
    assert (done.state(clock.now), done.revoked_at) == ("revoked", NOW + 1000)
    with pytest.raises(Unauthenticated, match="revoked since 2027-01-15T08:00:01Z"):
        authenticator.authenticate(headers(token))
    again = reopened(access, path, clock)
    with pytest.raises(Unauthenticated, match="revoked"):
        Authenticator("owner-token", again).authenticate(headers(token))
    again.close()


def test_revoking_twice_keeps_the_first_time_and_nobody_can_not_be_revoked(access: Access, clock: Clock) -> None:
    issued(access)
    first = access.revoke(OWNER, "ana")
    clock.now += 5000
    assert access.revoke(OWNER, "ana") == first
    with pytest.raises(NotFound):
        access.revoke(OWNER, "bob")


def test_a_token_opens_nothing_from_the_moment_it_expires(access: Access, clock: Clock) -> None:
    token = issued(access, expires="10s")
    authenticator = Authenticator("owner-token", access)
    clock.now = NOW + 9_999
    assert authenticator.authenticate(headers(token)).expires_at == NOW + 10_000
    clock.now = NOW + 10_000
    with pytest.raises(Unauthenticated, match="expired since 2027-01-15T08:00:10Z"):
        authenticator.authenticate(headers(token))
    assert authenticator.peer_grant(token) is None


def test_a_new_token_for_a_revoked_name_opens_and_the_old_one_is_nobodys(access: Access) -> None:
    old = issued(access)
    access.revoke(OWNER, "ana")
    new = issued(access, role="reader")
    assert access.holder(old) is None
    found = access.holder(new)
    assert (found.role, found.revoked_at, found.calls) == ("reader", None, 0)


def test_the_number_of_names_has_a_limit(access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "AGENTS_MAX", 2)
    issued(access, "a")
    issued(access, "b")
    access.revoke(OWNER, "b")
    with pytest.raises(Overloaded, match="list of agents"):
        issued(access, "c")
    issued(access, "b")


def test_a_refused_request_leaves_no_trace(access: Access) -> None:
    with pytest.raises(InvalidArgument):
        issued(access, "Ana")
    admin = Caller(agent="adm", principal="adm", role="admin", spaces=("ops",))
    with pytest.raises(PermissionDenied):
        access.add(admin, name="bob", role="writer", spaces=("team/a",))
    assert access.list(OWNER) == ()


def test_an_admin_lists_and_revokes_within_its_spaces_only(access: Access) -> None:
    issued(access, "ana", spaces=("ops/a",))
    issued(access, "bob", spaces=("team/*",))
    admin = Caller(agent="adm", principal="adm", role="admin", spaces=("ops/*",))
    assert [agent.name for agent in access.list(admin)] == ["ana"]
    with pytest.raises(NotFound):
        access.revoke(admin, "bob")
    assert access.revoke(admin, "ana").revoked_at is not None
    assert [agent.state(NOW) for agent in access.list(OWNER)] == ["revoked", "active"]


def test_uses_are_counted_at_once_and_written_later(access: Access, path: Path, clock: Clock, token: str) -> None:
    authenticator = Authenticator("owner-token", access)
    for _ in range(3):
        clock.now += 10
        authenticator.authenticate(headers(token))
    authenticator.authenticate(headers(token), counted=False)
    authenticator.authenticate(headers("owner-token"))
    (shown,) = access.list(OWNER)
    assert (shown.calls, shown.last_used_at) == (3, NOW + 30)

    def on_disk() -> tuple[int, int | None]:
        with sqlite3.connect(path) as db:
            row: tuple[int, int | None] = db.execute("SELECT calls, last_used_at FROM agent").fetchone()
        db.close()
        return row

    assert on_disk() == (0, None)
    access.flush()
    assert on_disk() == (3, NOW + 30)
    changed = path.stat().st_mtime_ns
    access.flush()
    assert path.stat().st_mtime_ns == changed
    authenticator.authenticate(headers(token))
    access.flush()
    assert reopened(access, path, clock).list(OWNER)[0].calls == 4


def test_a_refused_call_is_no_use(access: Access, token: str) -> None:
    access.revoke(OWNER, "ana")
    with pytest.raises(Unauthenticated):
        Authenticator("owner-token", access).authenticate(headers(token))
    assert access.list(OWNER)[0].calls == 0


WRITER_THAT_IS_KILLED = """
import os, signal, sys
from pathlib import Path
from mnemesh_gateway.security.access import Access
from mnemesh_memory.values.model import Caller
owner = Caller(agent="owner", principal="owner")
access = Access(Path(sys.argv[1]), lambda: 1_800_000_000_000)
print(access.add(owner, name="kept", role="writer")[1], flush=True)
print(access.add(owner, name="ended", role="writer")[1], flush=True)
access.revoke(owner, "ended")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_issued_and_revoked_is_there_after_a_kill(path: Path, clock: Clock) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", WRITER_THAT_IS_KILLED, str(path)], capture_output=True, text=True, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    access = Access(path, clock)
    kept, ended = (access.holder(token) for token in killed.stdout.split())
    access.close()
    assert (kept.state(NOW), ended.state(NOW)) == ("active", "revoked")


def test_a_disk_that_fails_changes_nothing_and_says_so(
    access: Access, path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    access._db.execute("PRAGMA busy_timeout=1")
    for change in (lambda: issued(access, "bob"), lambda: access.revoke(OWNER, "ana")):
        with pytest.raises(Unavailable, match="nothing was changed"):
            change()
    access.note_use("ana")
    with pytest.raises(Unavailable):
        access.flush()
    other.execute("ROLLBACK")
    other.close()
    assert [agent.name for agent in access.list(OWNER)] == ["ana"]
    found = access.holder(token)
    assert found.state(NOW) == "active"
    access.flush()
    assert reopened(access, path, clock).list(OWNER)[0].calls == 1


def test_a_newer_file_is_refused_unharmed(access: Access, path: Path, clock: Clock) -> None:
    access._db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    access.close()
    before = path.read_bytes()
    with pytest.raises(FailedPrecondition, match="newer mnemesh"):
        Access(path, clock)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["garbage", "role", "spaces"])
def test_a_damaged_file_is_data_loss_and_opens_nothing(access: Access, path: Path, clock: Clock, damage: str) -> None:
    issued(access)
    if damage != "garbage":
        access._db.execute(f"UPDATE agent SET {damage} = ?", ("[1",))
    access.close()
    if damage == "garbage":
        path.write_bytes(b"this is no database " * 300)
    with pytest.raises(DataLoss, match="damaged"):
        Access(path, clock)


def test_every_step_of_the_schema_runs_once_and_old_files_are_brought_up(
    access: Access, path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:

    def later(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE agent ADD COLUMN note TEXT NOT NULL DEFAULT ''")

    access.close()
    monkeypatch.setattr(access_module, "MIGRATIONS", (*MIGRATIONS, later))
    for _ in range(2):
        again = Access(path, clock)
        assert again.holder(token) is not None
        again.close()


def test_an_agents_token_makes_its_caller(access: Access) -> None:
    token = issued(access, toolsets=("core",), expires="1d")
    found = Authenticator("owner-token", access).authenticate(headers(token, x_mnemesh_space="team/a"))
    assert found == Caller(
        agent="ana", principal="ana", role="writer", default_space="team/a", spaces=("team/*",), toolsets=("core",),
        expires_at=NOW + 86_400_000,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("header", "client", "agent"),
    [
        ("", "", "ana"), ("ana", "", "ana"), ("ana", "Cursor", "ana"), ("claude-code", "", "ana/claude-code"),
        ("ana/claude-code", "", "ana/claude-code"), ("Claude Code", "", "ana/claude-code"),
        ("", "Cursor", "ana/cursor"), ("", "bob", "ana/bob"), ("", "bob/x", "ana/bob-x"), ("ana/", "", "ana"),
    ],
)  # fmt: skip
def test_an_agent_writes_as_itself_or_as_its_own_client(
    access: Access, header: str, client: str, agent: str, token: str
) -> None:
    issued(access, "bob")
    found = Authenticator("owner-token", access).authenticate(headers(token, x_mnemesh_agent=header), client)
    assert found.agent == agent


@pytest.mark.parametrize("header", ["bob", "Bob", "bob/cli", "owner", "owner/cli", "nobody/cli", "bob%2Fcli", " bob "])
def test_an_agent_that_asks_for_anothers_name_is_refused(access: Access, header: str, token: str) -> None:
    issued(access, "bob")
    with pytest.raises(PermissionDenied) as caught:
        Authenticator("owner-token", access).authenticate(headers(token, x_mnemesh_agent=header))
    assert caught.value.fields["principal"] == "ana"
    assert "writer of team/*, @ana" in caught.value.message


@pytest.mark.parametrize("header", ["bob", "bob/cli"])
def test_the_owner_does_not_write_as_an_agent_either(access: Access, header: str) -> None:
    issued(access, "bob")
    authenticator = Authenticator("owner-token", access)
    with pytest.raises(PermissionDenied):
        authenticator.authenticate(headers("owner-token", x_mnemesh_agent=header))
    assert authenticator.authenticate(headers("owner-token", x_mnemesh_agent="cli")).agent == "owner/cli"


def test_a_stream_is_granted_what_its_token_grants_until_that_ends(access: Access) -> None:
    authenticator = Authenticator("owner-token", access)
    reader, writer = issued(access, "r", role="reader"), issued(access, "w")
    admin = issued(access, "a", role="admin")
    assert authenticator.peer_grant(reader) == PeerGrant(read=("team/*", "@r"), write=(), principal="r")
    assert authenticator.peer_grant(writer) == PeerGrant(
        read=("team/*", "@w"), write=("team/*", "@w"), principal="w", relay=False
    )
    assert authenticator.peer_grant(admin).relay
    owner = authenticator.peer_grant("owner-token")
    assert owner == PeerGrant(read=("*", "@owner"), write=("*", "@owner"), principal="owner", relay=True)
    access.revoke(OWNER, "w")
    assert [authenticator.peer_grant(token) for token in (writer, "wrong", "")] == [None, None, None]


def test_nobody_bears_the_owners_name_and_the_owner_nobodys(path: Path, clock: Clock) -> None:
    opened = Access(path, clock, "ana")
    with pytest.raises(InvalidArgument, match="name"):
        opened.add(OWNER, name="ana", role="writer")
    opened.add(OWNER, name="bob", role="writer", spaces=("team/*",))
    opened.close()
    with pytest.raises(FailedPrecondition, match=r"owner.*bob"):
        Access(path, clock, "bob")


def test_an_owner_with_a_name_of_its_own_signs_with_it_and_is_no_other(access: Access) -> None:
    authenticator = Authenticator("owner-token", access, "ana")
    found = authenticator.authenticate(headers("owner-token", x_mnemesh_agent="claude-code"))
    assert (found.agent, found.principal, found.role) == ("ana/claude-code", "ana", "owner")
    assert found.private_space == "@ana"
    assert authenticator.authenticate(headers("owner-token", x_mnemesh_agent="ana/cli")).agent == "ana/cli"
    with pytest.raises(PermissionDenied):
        authenticator.authenticate(headers("owner-token", x_mnemesh_agent="owner/cli"))
