"""docs/mcp.md and docs/doors.md say what is true: every example parses, every tool, toolset and option stands there."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from mnemesh.stdio import program as stdio
from mnemesh.stdio import rpc as stdio_rpc
from mnemesh_gateway.doors.mcp.answers import answer_text
from mnemesh_gateway.doors.mcp.tools.operation_tools import build_tools
from mnemesh_gateway.doors.mcp.tools.toolsets import TOOLSETS
from mnemesh_gateway.operations.operation_table import by_name

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs" / "mcp.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)


def test_every_example_of_a_configuration_parses() -> None:
    for text in blocks("toml"):
        assert "mnemesh" in tomllib.loads(text)["mcp_servers"]
    servers = [block for block in map(json.loads, blocks("json")) if "mcpServers" in block]
    assert len(servers) >= 3
    for block in servers:
        assert set(block["mcpServers"]["mnemesh"]) & {"command", "httpUrl"}


def test_every_example_of_a_call_is_a_request_that_the_tools_accept() -> None:
    calls = [block for block in map(json.loads, blocks("json")) if "arguments" in block]
    assert {call["name"] for call in calls} == {"remember", "recall"}
    for call in calls:
        by_name(call["name"]).read_json(call["arguments"])


def test_the_table_of_toolsets_is_complete() -> None:
    for toolset in TOOLSETS:
        row = next(line for line in DOCS.splitlines() if line.startswith(f"| `{toolset}`"))
        names = re.findall(r"`(\w+)`", row.split("|")[2])
        assert set(names) == {tool.name for tool in build_tools().values() if tool.toolset == toolset}


def test_the_page_about_doors_names_the_tools_of_core_and_curate() -> None:
    text = (ROOT / "docs/doors.md").read_text("utf-8")
    passage = text[text.index("Agents see") : text.index("`memory://{id}`")]
    names = set(re.findall(r"`(\w+)`", passage))
    assert names == {tool.name for tool in build_tools().values() if tool.toolset in ("core", "curate")}


def test_every_option_and_error_code_of_the_proxy_is_explained() -> None:
    options = {word for action in stdio.parser()._actions for word in action.option_strings} - {"-h", "--help"}
    assert options == set(re.findall(r"^\| `(--[a-z-]+)", DOCS, re.MULTILINE))
    codes = (stdio_rpc.NODE_UNREACHABLE, stdio_rpc.NODE_REFUSED, stdio_rpc.OUTCOME_UNKNOWN, stdio_rpc.BUSY)
    assert [int(code) for code in re.findall(r"^\| (-\d+) ", DOCS, re.MULTILINE)] == list(codes)


def test_the_block_of_recalled_text_is_shown_as_it_is() -> None:
    assert f'<memories note="{answer_text.NOTE}">' in DOCS
