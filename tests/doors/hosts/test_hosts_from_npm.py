"""Real hosts with what `mnemesh install` writes: Codex, Copilot CLI and OpenCode list the server, call its tools and
fire the hooks. The model of each is a stand-in on loopback.

Skipped with the reason where npm, a package or its platform can't be had.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent_model_stub import AgentModelStub, Call, texts_of
from node_process import NodeUnderTest
from npm_hosts import PACKAGES, RUN_S, HostFromNpm
from npm_packages import INSTALL_S
from openai_stubs import CompletionsStub, ResponsesStub
from scenario_doors import McpDoor

from mnemesh.hooks.context import CLOSING, OPENING
from mnemesh.hooks.events import CLIENT_NAMES, EVENTS
from mnemesh.hooks.kept.notes import MINING
from mnemesh.hooks.kept.shown_memories import ShownMemories

# Hosts whose programs no package of npm holds. A package of a like name is somebody else's.
NOT_ON_NPM = {
    "cursor": "Cursor and cursor-agent come from cursor.com alone; cursor-agent on npm is another program",
    "vscode": "VS Code comes from its own servers; @vscode/test-electron on npm only downloads from there",
    "antigravity": "Antigravity comes from its own servers; antigravity on npm is an empty package",
}
PROMPT = "where do deploys of the payment service run?"
STORED = "Deploys of the payment service run from CI only"
PINNED = "Never push on Fridays"

pytestmark = [pytest.mark.proof, pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(INSTALL_S + 6 * RUN_S)]


@pytest.mark.parametrize("name", [*PACKAGES, *NOT_ON_NPM])
async def test_a_real_host_lists_the_server(name: str, shared_node: NodeUnderTest, tmp_path: Path) -> None:
    if name in NOT_ON_NPM:
        pytest.skip(NOT_ON_NPM[name])
    host = await HostFromNpm.installed(name, tmp_path, shared_node)
    await host.mnemesh("install", name)
    assert "mnemesh" in await host.run("mcp", "list")
    await host.mnemesh("uninstall", name)
    assert "mnemesh" not in await host.run("mcp", "list")


async def test_codex_fires_the_hooks_that_are_trusted_and_hands_its_model_the_tools(
    shared_node: NodeUnderTest, tmp_path: Path
) -> None:
    host = await remembering("codex", shared_node, tmp_path)
    model = await codex_asked(host)
    assert blocks_of(model) == set(), "Codex fires no hook before it is trusted"
    trusted = await host.trust_hooks_of_codex()
    assert trusted == 6
    model = await codex_asked(host, *calls("mcp__mnemesh."))
    (tools,) = [tool["tools"] for tool in model.offered() if tool.get("name") == "mcp__mnemesh"]
    assert {"remember", "recall"} <= {tool["name"] for tool in tools}
    assert_called(host, model)
    block = the_block(model)
    (noted,) = (shared_node.data_dir / MINING).glob(f"*{session_of(block)}*")
    assert json.loads(noted.read_text())["event"] == "turn end"
    await host.mnemesh("uninstall", "codex")
    model = await codex_asked(host)
    assert blocks_of(model) == set()
    assert "mcp__mnemesh" not in {tool.get("name") for tool in model.offered()}


async def test_opencode_hands_its_model_the_tools_and_the_instructions(
    shared_node: NodeUnderTest, tmp_path: Path
) -> None:
    host = await remembering("opencode", shared_node, tmp_path, "--instructions")
    with CompletionsStub(calls("mnemesh_")) as model:
        options = {"baseURL": f"{model.url}/v1", "apiKey": "none"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "stub", "options": options, "models": {"x": {}}}
        settings = {"provider": {"stub": provider}, "small_model": "stub/x", "share": "disabled"}
        without = ("AUTOUPDATE", "DEFAULT_PLUGINS", "LSP_DOWNLOAD", "MODELS_FETCH")
        more = {f"OPENCODE_DISABLE_{word}": "1" for word in without}
        more["OPENCODE_CONFIG_CONTENT"] = json.dumps(settings)
        await host.run("run", "--model", "stub/x", PROMPT, **more)
    assert {"mnemesh_remember", "mnemesh_recall"} <= functions(model)
    assert_called(host, model)
    assert "## Long-term memory" in "".join(text for request in model.requests for text in texts_of(request))


async def test_copilot_fires_the_hooks_once_and_hands_its_model_the_tools(
    shared_node: NodeUnderTest, tmp_path: Path
) -> None:
    host = await remembering("copilot", shared_node, tmp_path)
    model = await copilot_asked(host, *calls("mnemesh-"))
    assert {"mnemesh-remember", "mnemesh-recall"} <= functions(model)
    assert_called(host, model)
    assert shown_by(the_block(model), shared_node) == ["copilot"]
    await host.mnemesh("install", "claude-code", "--project", str(host.project))
    model = await copilot_asked(host, trusted=True)
    assert shown_by(the_block(model), shared_node) == ["copilot"], "Copilot runs the hooks of Claude Code too"
    await host.mnemesh("uninstall")
    assert blocks_of(await copilot_asked(host, trusted=True)) == set()


async def remembering(name: str, node: NodeUnderTest, root: Path, *words: str) -> HostFromNpm:
    """A host with Mnemesh, in whose space two memories are."""
    host = await HostFromNpm.installed(name, root, node)
    door = McpDoor.over_http(node)
    await door.call("remember", content=STORED, space=host.space)
    await door.call("remember", content=PINNED, space=host.space, tier="pinned")
    await door.close()
    await host.mnemesh("install", name, *words)
    return host


def calls(prefix: str) -> tuple[Call, ...]:
    """The calls that the model of a host asks for. The names of its tools begin with `prefix`."""
    return (
        (f"{prefix}remember", {"content": "Payment deploys were asked about today"}),
        (f"{prefix}recall", {"query": "where do deploys of the payment service run"}),
    )


async def codex_asked(host: HostFromNpm, *wanted: Call) -> AgentModelStub:
    with ResponsesStub(wanted) as model:
        provider = f'{{name = "stub", base_url = "{model.url}/v1", wire_api = "responses", env_key = "STUB_KEY"}}'
        given = (
            f"model_providers.stub={provider}", "model_provider=stub", "analytics.enabled=false",
            "check_for_update_on_startup=false",
        )  # fmt: skip
        words = ("exec", "--skip-git-repo-check", "--model", "stub", *(word for line in given for word in ("-c", line)))
        await host.run(*words, PROMPT, STUB_KEY="none")
    return model


async def copilot_asked(host: HostFromNpm, *wanted: Call, trusted: bool = False) -> AgentModelStub:
    with CompletionsStub(wanted) as model:
        more = {"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_MODEL": "stub"}
        more["COPILOT_PROVIDER_BASE_URL"] = f"{model.url}/v1"
        words = ("--allow-all-tools", *(("--trust-folder",) if trusted else ()))
        await host.run("-p", PROMPT, *words, **more)
    return model


def assert_called(host: HostFromNpm, model: AgentModelStub) -> None:
    """The server answered the calls, and in the space of the host's environment."""
    stored, found = model.results()
    assert host.space in stored
    if host.name in EVENTS:
        assert f'"by":"owner/{CLIENT_NAMES[host.name]}"' in stored, "hooks sign with the name of the tools"
    assert STORED in found
    assert host.space in found


def functions(model: AgentModelStub) -> set[str]:
    return {tool["function"]["name"] for tool in model.offered()}


def the_block(model: AgentModelStub) -> str:
    """The block with the memories of the host, which was in the first request for the main loop."""
    (block,) = blocks_of(model)
    assert STORED in block
    assert PINNED in block
    return block


def session_of(block: str) -> str:
    return block.rpartition("Session: ")[2].strip()


def shown_by(block: str, node: NodeUnderTest) -> list[str]:
    """The hosts by whose hooks something was shown in the session of a block."""
    session = session_of(block)
    files = (node.data_dir / ShownMemories.folder).glob(f"*{session}*")
    return sorted({file.name.partition(f"-{session}")[0] for file in files})


def blocks_of(model: AgentModelStub) -> set[str]:
    """The blocks of memories in all that the model was sent."""
    sent = [text for request in model.requests for text in texts_of(request)]
    return {text[text.index(OPENING) : text.index(CLOSING)] for text in sent if OPENING in text}
