"""Settings of hosts as text: an installation adds its own and nothing else, and leaves again without a trace."""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemesh.hooks.events import EVENTS, ON_DEMAND
from mnemesh.hooks.installation import settings_json
from mnemesh.hooks.installation.host_table import HANDED_ON, HOSTS, JSON, Host, HostFile
from mnemesh.hooks.installation.registration import (
    VERSIONED,
    ForeignSettings,
    has_ours,
    installed,
    is_bare,
    uninstalled,
)
from mnemesh.hooks.installation.settings_json import BadSettings
from mnemesh_gateway.operations.operation_table import OPERATIONS

COMMAND = "/opt/my tools/mnemesh"
CLAUDE, CODEX, CURSOR = HOSTS["claude-code"], HOSTS["codex"], HOSTS["cursor"]
HOST_FILES = [
    pytest.param(host, host_file, id=f"{host.name}-{host_file.kind}")
    for host in HOSTS.values()
    for host_file in host.files
]
JSON_FILES = [param for param in HOST_FILES if param.values[1].format == JSON]
keys = st.text(max_size=8) | st.sampled_from(["mcpServers", "hooks", "SessionStart", "servers", "mcp"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(keys, values, max_size=5)
indents = st.sampled_from([None, 0, 2, 4, "\t"])
# A comment or a blank that may stand between any two tokens.
fillers = st.sampled_from(["", " ", "\n", "\r\n", '/* it\'s {"mcpServers" */', "// [,\n", "\t"])


@given(objects, indents, keys)
def test_a_member_goes_in_and_out_of_any_object(value: dict[str, Any], indent: Any, key: str) -> None:
    text = json.dumps(value, indent=indent)
    if key in value:
        with pytest.raises(BadSettings, match="already"):
            settings_json.put(text, (key,), 1)
        return
    put = settings_json.put(text, (key,), {"a": [1]})
    assert json.loads(put) == {**value, key: {"a": [1]}}
    assert settings_json.take(put, (key,)).split() == text.split()


@given(objects, st.data())
def test_comments_and_blanks_between_the_tokens_stay(value: dict[str, Any], data: st.DataObject) -> None:
    tokens = json.JSONEncoder(ensure_ascii=True).iterencode(value)
    text = "".join(token + data.draw(fillers) for token in tokens)
    put = settings_json.put(text, ("ours of long name",), 7)
    assert settings_json.read(put) == {**value, "ours of long name": 7}
    taken = settings_json.take(put, ("ours of long name",))
    assert settings_json.read(taken) == value
    assert taken.count("/*") == text.count("/*")
    assert taken.count("//") == text.count("//")


@given(st.text(alphabet='{}[]",:/*\\ \n1tab\ufeff', max_size=30))
def test_any_text_is_read_as_json_reads_it_or_refused(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    if isinstance(expected, dict):
        assert settings_json.read(text) == expected
        return
    with suppress(BadSettings):
        settings_json.read(text)


@pytest.mark.parametrize(("host", "host_file"), JSON_FILES)
@given(value=objects, indent=indents)
def test_an_installation_adds_its_own_and_leaves_again(
    host: Host, host_file: HostFile, value: dict[str, Any], indent: Any
) -> None:
    text = json.dumps(value, indent=indent)
    try:
        new = installed(text, host, host_file, COMMAND)
    except (BadSettings, ForeignSettings):
        assert host_file.key[0] in value
        return
    assert has_ours(new, host_file)
    assert installed(new, host, host_file, COMMAND) == new
    versioned = {"version": 1} if host_file is host.hooks and host.name in VERSIONED else {}
    assert json.loads(uninstalled(new, host, host_file, text)) == versioned | value


@pytest.mark.parametrize(("host", "host_file"), HOST_FILES)
def test_a_new_file_is_bare_again(host: Host, host_file: HostFile) -> None:
    new = installed("", host, host_file, COMMAND)
    assert not is_bare(new, host_file)
    assert installed(new, host, host_file, COMMAND) == new
    assert is_bare(uninstalled(new, host, host_file), host_file)


@pytest.mark.parametrize(("host", "host_file"), HOST_FILES)
def test_a_moved_program_is_repaired_in_place(host: Host, host_file: HostFile) -> None:
    old = installed("", host, host_file, "/old/bin/mnemesh")
    new = installed(old, host, host_file, COMMAND)
    assert "/old/bin" not in new
    assert new == installed("", host, host_file, COMMAND)


@pytest.mark.parametrize(("host", "host_file"), [param for param in HOST_FILES if param.values[1].kind == "server"])
def test_a_foreign_server_of_our_name_is_not_touched(host: Host, host_file: HostFile) -> None:
    outer, name = host_file.key
    if host_file.format == JSON:
        foreign = json.dumps({outer: {name: {"command": "/opt/other/memory", "args": ["mcp"]}}})
    else:
        foreign = f'[{outer}.{name}]\ncommand = "/opt/other/memory"\nargs = ["mcp"]\n'
    with pytest.raises(ForeignSettings, match=name):
        installed(foreign, host, host_file, COMMAND)
    assert uninstalled(foreign, host, host_file) == foreign


def test_an_entry_with_settings_of_the_users_own_is_not_touched() -> None:
    own = json.dumps({"mcpServers": {"mnemesh": {"command": COMMAND, "args": ["mcp"], "env": {"MNEMESH_SPACE": "a"}}}})
    with pytest.raises(ForeignSettings):
        installed(own, CLAUDE, CLAUDE.server, COMMAND)
    assert uninstalled(own, CLAUDE, CLAUDE.server) == own


def test_foreign_hooks_keep_their_places_even_inside_a_shared_group() -> None:
    assert CLAUDE.hooks is not None
    text = json.dumps({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine.sh"}]}]}})
    new = json.loads(installed(text, CLAUDE, CLAUDE.hooks, COMMAND))
    assert [len(groups) for groups in new["hooks"].values()] == [
        2,
        *[1] * (len(EVENTS["claude-code"]) - 1 - len(ON_DEMAND)),
    ]
    assert (
        new["hooks"]["SessionStart"][1]["hooks"][0]["command"]
        == "'/opt/my tools/mnemesh' hook claude-code SessionStart"
    )
    shared = {"hooks": {"Stop": [{"hooks": [new["hooks"]["SessionStart"][1]["hooks"][0], {"command": "mine.sh"}]}]}}
    left = json.loads(uninstalled(json.dumps(shared), CLAUDE, CLAUDE.hooks))
    assert left == {"hooks": {"Stop": [{"hooks": [{"command": "mine.sh"}]}]}}


def test_empty_containers_of_the_user_stay() -> None:
    assert CLAUDE.hooks is not None
    text = '{\n  "hooks": {"SessionStart": []}\n}\n'
    assert json.loads(
        uninstalled(installed(text, CLAUDE, CLAUDE.hooks, COMMAND), CLAUDE, CLAUDE.hooks, text)
    ) == json.loads(text)


def test_the_form_of_a_file_is_kept() -> None:
    text = '\ufeff// mine\r\n{\r\n\t"a": 1, // one\r\n\t"b": [1,2,3] // two\r\n}\r\n'
    new = installed(text, CURSOR, CURSOR.server, "/bin/mnemesh")
    assert new == (
        '\ufeff// mine\r\n{\r\n\t"a": 1, // one\r\n\t"b": [1,2,3], // two\r\n\t"mcpServers": {\r\n\t\t"mnemesh": {\r\n'
        '\t\t\t"command": "/bin/mnemesh",\r\n\t\t\t"args": [\r\n\t\t\t\t"mcp"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}\r\n'
    )
    assert uninstalled(new, CURSOR, CURSOR.server, text) == text


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"mcpServers": []}', '{"a": 1, "a": 2}', '{"a": 1} x', "\x00", "{'a': 1}"]
)
def test_a_file_that_is_no_object_of_settings_is_refused(text: str) -> None:
    with pytest.raises(BadSettings):
        installed(text, CLAUDE, CLAUDE.server, COMMAND)


@pytest.mark.parametrize(
    "text",
    [
        "",
        'model = "x"\n',
        "# mine\r\n[mcp_servers.other]\r\ncommand = 'a'\r\n",
        '[mcp_servers.other]\ncommand = "a"',
        "[a]\nb = [\n  1,\n]\n",
    ],
)
def test_codex_gets_a_table_and_loses_it_again(text: str) -> None:
    new = installed(text, CODEX, CODEX.server, COMMAND)
    assert new.startswith(text)
    server = tomllib.loads(new)["mcp_servers"]["mnemesh"]
    assert server == {"command": COMMAND, "args": ["mcp"], "env_vars": list(HANDED_ON)}
    later = f"{new}\n[later]\nx = 1\n"
    assert tomllib.loads(uninstalled(later, CODEX, CODEX.server)) == {**tomllib.loads(text), "later": {"x": 1}}
    assert uninstalled(new, CODEX, CODEX.server).rstrip() == text.rstrip()


def test_a_codex_table_of_an_earlier_installation_gets_the_variables_and_a_foreign_list_is_refused() -> None:
    earlier = f'[mcp_servers.mnemesh]\ncommand = "{COMMAND}"\nargs = ["mcp"]\n'
    later = installed(earlier, CODEX, CODEX.server, COMMAND)
    assert tomllib.loads(later)["mcp_servers"]["mnemesh"]["env_vars"] == list(HANDED_ON)
    assert installed(later, CODEX, CODEX.server, COMMAND) == later
    with pytest.raises(ForeignSettings):
        installed(f'{earlier}env_vars = ["MINE"]\n', CODEX, CODEX.server, COMMAND)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("model = ", "it is no TOML"),
        ("mcp_servers = {}", "^its form does not allow a safe change$"),
        ("mcp_servers = {other = {command = 'a'}}", "^its form does not allow a safe change$"),
        ("mcp_servers = 3", "an object was expected at mcp_servers"),
    ],
)
def test_a_codex_file_that_can_not_take_a_table_is_refused_in_words_about_that_file(text: str, why: str) -> None:
    with pytest.raises(BadSettings, match=why):
        installed(text, CODEX, CODEX.server, COMMAND)


def test_every_host_with_hooks_has_events() -> None:
    assert {host.name for host in HOSTS.values() if host.hooks} == set(EVENTS)


def test_the_plugin_has_the_version_of_the_package() -> None:
    root = Path(__file__).resolve().parents[3]
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    plugin = json.loads((root / "plugin/.claude-plugin/plugin.json").read_text())
    (listed,) = json.loads((root / ".claude-plugin/marketplace.json").read_text())["plugins"]
    assert plugin["version"] == listed["version"] == version


def test_the_bundle_follows_agent_plugins_and_its_skill_names_tools_that_are_there() -> None:
    plugin = Path(__file__).resolve().parents[3] / "plugin"
    manifest = json.loads((plugin / "plugin.json").read_text())
    claude = json.loads((plugin / ".claude-plugin/plugin.json").read_text())
    assert set(manifest) <= {
        "$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords",
        "extensions",
    }  # fmt: skip
    assert {name: manifest[name] for name in claude} == claude
    servers = json.loads((plugin / "mcp.json").read_text())
    assert set(servers) == {"$schema", "mcpServers"}
    assert servers["mcpServers"] == json.loads((plugin / ".mcp.json").read_text())["mcpServers"]
    (skill,) = (plugin / "skills").iterdir()
    _, front, body = (skill / "SKILL.md").read_text().split("---\n", 2)
    assert f"name: {skill.name}\n" in front
    tools = {row.mcp_name for row in OPERATIONS if row.mcp_name}
    called = set(re.findall(r"[Cc]all `(\w+)`", body))
    assert called
    assert called <= tools


@pytest.mark.parametrize("tail", ["# mine\n[other]\nx = 1\n", "\n# the end\n", "# a\n\n# b\n[[x.y]]\nz = 2\n"])
def test_comments_behind_our_table_stay(tail: str) -> None:
    host_file = CODEX.server
    text = installed("model = 'x'\n", CODEX, host_file, COMMAND) + tail
    assert uninstalled(text, CODEX, host_file).replace("\n\n", "\n").endswith(tail.replace("\n\n", "\n").lstrip("\n"))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_file_with_a_comma_behind_each_last_member_keeps_its_form(newline: str) -> None:
    host = HOSTS["claude-code"]
    assert host.hooks is not None
    text = '{\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"command": "say done"}]},\n    ],\n  },\n}\n'.replace(
        "\n", newline
    )
    done = installed(text, host, host.hooks, COMMAND)
    assert done != text
    assert uninstalled(done, host, host.hooks, text) == text
