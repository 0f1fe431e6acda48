"""The doctor beside a real node: while the node runs, after its stop, after a kill."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from forked import MNEMESH, NODE
from node_process import kill_node, running, start_node, stop_node

from mnemesh import Client, Recalled

RUN_TIMEOUT_S = 60.0


async def doctor(data_dir: Path, grpc: str = "127.0.0.1:0", http: str = "127.0.0.1:0") -> tuple[int, dict[str, Any]]:
    """Exit code and report of `doctor --json` on a directory, by default with free ports of its own."""
    ended = await NODE.run("doctor", "--data", data_dir, "--json", "--grpc", grpc, "--http", http)
    return ended.code, ended.json


def remember(data_dir: Path) -> str:
    with Client(data_dir=data_dir, space="team/doctor") as client:
        return client.remember("The doctor looks and changes nothing.").memory.id


def recall_with_all_indexed(client: Client, query: str) -> Recalled:
    """The answer of a new node, once its index is no longer behind."""
    deadline = time.monotonic() + RUN_TIMEOUT_S
    while (found := client.recall(query)).degraded:
        assert time.monotonic() < deadline, found.degraded_reasons
    return found


async def test_a_real_node_is_healthy_while_it_runs_and_after_it_stopped(tmp_path: Path) -> None:
    async with running(tmp_path):
        await asyncio.to_thread(remember, tmp_path)
        code, report = await doctor(tmp_path)
        assert (code, report["findings"]) == (0, [])
    code, report = await doctor(tmp_path)
    assert (code, report["findings"]) == (0, [])


TEXTS = (
    "Deploys of the payment service run from the pipeline only, never from a laptop.",
    "The kiln of pier seven fires pots at nine hundred degrees during the night.",
    "Cora Vogt owns the harbour crane and answers questions about its paint.",
    "Backups of the ledger are copied to the second building every Sunday.",
)


async def test_canaries_are_found_leave_no_trace_and_a_hidden_one_is_named_with_the_reason(tmp_path: Path) -> None:
    async with running(tmp_path):

        async def canaries() -> tuple[int, list[dict[str, str]]]:
            ended = await NODE.run("doctor", "--data", tmp_path, "--recall", "--json")
            found = [*ended.json["findings"], *ended.json["remarks"]]
            return ended.code, [one for one in found if one["check"] == "recall"]

        with Client(data_dir=tmp_path, space="team/doctor") as client:
            ids = [client.remember(text).memory.id for text in TEXTS]
            client.create_trigger("keyword", "kiln", "Wear gloves near the open furnace door.")
            recall_with_all_indexed(client, "crane")
            before = client.recall("kiln pots", limit=1, probe=True, explain=True).results[0].heat
            code, (told,) = await canaries()
            assert (code, told["problem"].split(";")[0]) == (
                0,
                "5 of 5 memories found by their own words, each also by a few",
            )
            after = client.recall("kiln pots", limit=1, probe=True, explain=True)
            assert (after.results[0].heat.uses, after.triggered) == (before.uses, ())
            assert len(client.recall("what about the kiln?").triggered) == 1
            client.add_rule("tag = hidden", "hide", space="team/doctor")
            client.update(ids[2], tags=["hidden"])
            code, (told,) = await canaries()
            assert code == 0, "a rule of the owner is no fault"
            assert f"{ids[2]} is left out of recall by the rule tag = hidden hide" in told["problem"]


async def test_without_a_node_canaries_are_a_remark(tmp_path: Path) -> None:
    async with running(tmp_path):
        pass
    ended = await NODE.run("doctor", "--data", tmp_path, "--recall", "--json", "--grpc", "127.0.0.1:0")
    assert "no node answers, so no memory was asked for" in [one["problem"] for one in ended.json["remarks"]]


async def test_another_node_on_the_ports_of_one_that_is_stopped_is_a_remark(tmp_path: Path) -> None:
    assert await stop_node(await start_node(tmp_path / "stopped")) == 0
    async with running(tmp_path / "other") as other:
        code, report = await doctor(tmp_path / "stopped", other.grpc, other.http)
        crossed, _ = await doctor(tmp_path / "stopped", other.http, other.grpc)
    assert (code, report["findings"]) == (0, [])
    told = {one["problem"].split(",")[0]: one["fix"] for one in report["remarks"] if one["check"] == "ports"}
    assert set(told) == {f"another Mnemesh node listens on {address}" for address in (other.grpc, other.http)}
    assert "--grpc 127.0.0.1:0" in told[f"another Mnemesh node listens on {other.grpc}"]
    assert crossed == 0


async def test_a_node_tells_its_settings_to_a_shell_that_has_others(tmp_path: Path) -> None:
    secret = {"MNEMESH_QDRANT_API_KEY": "a-key-of-mine"}
    async with running(tmp_path, "--recall-timeout-s", "7", "--log-format", "json", env=secret):
        code, report = await doctor(tmp_path)
    rows = {row["name"]: (row["value"], row["origin"], row["running"]) for row in report["settings"]}
    assert code == 0
    assert rows["recall_timeout_s"] == (2.0, "default", "7.0")
    assert rows["log_format"] == ("console", "default", "json")
    assert rows["qdrant_api_key"] == ("", "default", "(set, not shown)")
    assert rows["drain_s"] == (10.0, "default", "10.0")
    assert "a-key-of-mine" not in json.dumps(report)
    code, report = await doctor(tmp_path)
    assert {row["running"] for row in report["settings"]} == {None}


async def test_who_follows_the_advice_about_a_damaged_log_recalls_all_that_is_sound(tmp_path: Path) -> None:
    """The command is taken as the node and the doctor print it, with a name for the new directory."""
    old, new = tmp_path / "old", tmp_path / "new"
    node = await start_node(old)
    kept = await asyncio.to_thread(remember, old)
    with Client(data_dir=old, space="team/doctor") as client:
        lost = (await asyncio.to_thread(client.remember, "One bit of this is going to flip.")).memory.id
    await stop_node(node)
    with closing(sqlite3.connect(old / "ledger/0.sqlite")) as db:
        (raw,) = db.execute("SELECT raw FROM entry WHERE doc = ?", (lost,)).fetchone()
        db.execute("UPDATE entry SET raw = ? WHERE doc = ?", (raw[:-1] + bytes([raw[-1] ^ 1]), lost))
        db.commit()
    async with running(old):
        with Client(data_dir=old, space="team/doctor") as client:
            status = await asyncio.to_thread(client.status)
            assert (await asyncio.to_thread(client.get, lost)).content == "One bit of this is going to flip."
        code, report = await doctor(old)
    (finding,) = (one for one in report["findings"] if one["check"] == "ledger")
    assert (code, status.state) == (1, "degraded")
    assert "entry 2: " in finding["problem"]
    (advice,) = set(re.findall(r"`mnemesh (node [^`]*)`|$", finding["fix"])) - {""}
    assert f"`mnemesh {advice}`" in status.notices[0]
    salvaged = await MNEMESH.run(*(str(new) if word == "NEW_DIR" else word for word in shlex.split(advice)))
    assert salvaged.code == 0, salvaged
    assert f"entry 2 of {lost}: " in salvaged.stdout + salvaged.stderr
    async with running(new) as node:
        with Client(data_dir=new, space="team/doctor") as client:
            found = await asyncio.to_thread(recall_with_all_indexed, client, "what does the doctor change")
            assert [result.memory.id for result in found.results] == [kept]
            assert (await asyncio.to_thread(client.remember, "It goes on.")).action == "ADD"
        assert (await doctor(new))[1]["findings"] == []


async def test_a_killed_node_is_found_and_the_named_fix_mends_it(tmp_path: Path) -> None:
    node = await start_node(tmp_path)
    id_ = await asyncio.to_thread(remember, tmp_path)
    await kill_node(node)
    code, report = await doctor(tmp_path)
    assert code == 1
    found = {finding["check"]: finding for finding in report["findings"]}
    assert set(found) == {"node file"}
    assert {remark["check"] for remark in report["remarks"]} <= {"index", "installation"}
    assert "mnemesh up" in found["node file"]["fix"]
    async with running(tmp_path) as node:
        with Client(data_dir=tmp_path) as client:
            assert (await asyncio.to_thread(client.get, id_)).content == "The doctor looks and changes nothing."
        assert (await doctor(tmp_path))[0] == 0
