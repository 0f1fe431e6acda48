"""Settings: flag before variable before file before default; whatever is not known or not allowed is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemesh_gateway.node.settings import FILE_NAME, Loaded, Settings, load, table
from mnemesh_memory.values.errors import InvalidArgument


def loaded(
    tmp_path: Path,
    flags: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    file: str | None = None,
    config: Path | None = None,
) -> Loaded:
    """Settings of a home in `tmp_path`, whose data directory holds `file`."""
    data = tmp_path / "data"
    if file is not None:
        data.mkdir(exist_ok=True)
        (data / FILE_NAME).write_text(file, "utf-8")
    return load(flags or {}, {"MNEMESH_DATA_DIR": str(data), **(environ or {})}, config)


def refusal(*args: Any, **kwargs: Any) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        loaded(*args, **kwargs)
    assert all(caught.value.fields[part] for part in ("field", "value", "limit"))
    return caught.value


# ---- where a value comes from -------------------------------------------------------------------------------------


def test_a_flag_beats_a_variable_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    flag = {"grpc": "127.0.0.1:1"}
    environ = {"MNEMESH_GRPC": "127.0.0.1:2", "MNEMESH_HTTP": "127.0.0.1:3"}
    file = 'grpc = "127.0.0.1:4"\nhttp = "127.0.0.1:5"\nlog_level = "debug"\n'
    made = loaded(tmp_path, flag, environ, file)
    settings = made.settings
    assert (settings.grpc, settings.http, settings.log_level) == ("127.0.0.1:1", "127.0.0.1:3", "debug")
    assert settings.log_format == "console"
    assert made.origins["grpc"] == "flag --grpc"
    assert made.origins["http"] == "variable MNEMESH_HTTP"
    assert made.origins["log_level"] == f"file {tmp_path / 'data' / FILE_NAME}"
    assert made.origins["log_format"] == "default"


def test_the_owners_name_that_the_directory_keeps_comes_before_the_default_alone(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    manifest = tmp_path / "data" / "manifest.json"
    for text, owner, origin in (
        ('{"format": 1, "owner": "ana"}', "ana", f"file {manifest}"),
        ('{"format": 1}', "owner", "default"),
        ("{damaged", "owner", "default"),
    ):
        manifest.write_text(text, "utf-8")
        made = loaded(tmp_path)
        assert (made.settings.owner, made.origins["owner"]) == (owner, origin)
    manifest.write_text('{"owner": "ana"}', "utf-8")
    assert loaded(tmp_path, file='owner = "ben"\n').settings.owner == "ben"
    assert loaded(tmp_path, {"owner": "carol"}).settings.owner == "carol"


def test_the_owners_name_is_that_of_the_directory_which_a_given_file_names(tmp_path: Path) -> None:
    for name, owner in (("data", "ana"), ("other", "ben")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(f'{{"owner": "{owner}"}}', "utf-8")
    config = tmp_path / "node.toml"
    config.write_text(f'data_dir = "{tmp_path / "other"}"\n', "utf-8")
    assert load({}, {"XDG_DATA_HOME": str(tmp_path)}, config).settings.owner == "ben"
    assert loaded(tmp_path, config=config).settings.owner == "ana"
    assert loaded(tmp_path, {"data_dir": str(tmp_path / "other")}).settings.owner == "ben"


def test_every_setting_has_an_origin(tmp_path: Path) -> None:
    assert set(loaded(tmp_path).origins) == {entry.name for entry in table()}


def test_a_flag_of_two_words_is_named_as_it_is_typed(tmp_path: Path) -> None:
    assert loaded(tmp_path, {"log_level": "debug"}).origins["log_level"] == "flag --log-level"


def test_nothing_given_means_the_defaults(tmp_path: Path) -> None:
    made = load({}, {"HOME": str(tmp_path)})
    expected = dataclasses.replace(Settings(), data_dir=str(tmp_path / ".local/share/mnemesh"))
    assert made.settings == expected
    assert set(made.origins.values()) == {"default"}


def test_every_default_is_a_value_that_its_setting_allows() -> None:
    for entry in table():
        assert entry.metadata["parse"](entry.name, entry.default) == entry.default, entry.name
        assert entry.metadata["help"].endswith(".")


# ---- the data directory and the file ------------------------------------------------------------------------------


def test_the_data_directory_may_come_from_a_flag_a_variable_or_the_users_home(tmp_path: Path) -> None:
    environ = {"HOME": "/home/alice", "XDG_DATA_HOME": "/xdg", "MNEMESH_DATA_DIR": "/variable"}
    flagged = load({"data_dir": "/flag"}, environ)
    assert (str(flagged.data_dir), flagged.origins["data_dir"]) == ("/flag", "flag --data")
    named = load({}, environ)
    assert (str(named.data_dir), named.origins["data_dir"]) == ("/variable", "variable MNEMESH_DATA_DIR")
    del environ["MNEMESH_DATA_DIR"]
    assert str(load({}, environ).data_dir) == "/xdg/mnemesh"
    del environ["XDG_DATA_HOME"]
    assert str(load({}, environ).data_dir) == "/home/alice/.local/share/mnemesh"


def test_an_empty_variable_for_the_data_directory_means_none(tmp_path: Path) -> None:
    made = load({}, {"HOME": str(tmp_path), "MNEMESH_DATA_DIR": ""})
    assert str(made.data_dir) == str(tmp_path / ".local/share/mnemesh")
    assert made.origins["data_dir"] == "default"


def test_the_data_directory_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/alice")
    assert load({"data_dir": "here"}, {}).data_dir == tmp_path / "here"
    assert load({"data_dir": "~/there"}, {}).data_dir == Path("/home/alice/there")


def test_the_file_lies_in_the_data_directory_of_a_flag_too(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE_NAME).write_text("drain_s = 3\n")
    assert loaded(tmp_path, {"data_dir": str(tmp_path / "other")}).settings.drain_s == 3.0


def test_a_named_file_is_read_instead_of_the_one_in_the_data_directory(tmp_path: Path) -> None:
    config = tmp_path / "my.toml"
    config.write_text("drain_s = 3\n")
    made = loaded(tmp_path, file="drain_s = 4\nready_timeout_s = 5\n", config=config)
    assert (made.settings.drain_s, made.settings.ready_timeout_s) == (3.0, 60.0)
    assert made.origins["drain_s"] == f"file {config}"


def test_a_named_file_may_name_the_data_directory(tmp_path: Path) -> None:
    config = tmp_path / "my.toml"
    config.write_text('data_dir = "/named/in/the/file"\n')
    made = load({}, {"HOME": "/home/alice"}, config)
    assert str(made.data_dir) == "/named/in/the/file"
    assert made.origins["data_dir"] == f"file {config}"
    stronger = load({"data_dir": "/flag"}, {"HOME": "/home/alice"}, config)
    assert (str(stronger.data_dir), stronger.origins["data_dir"]) == ("/flag", "flag --data")


def test_a_file_that_lies_in_the_data_directory_cannot_move_it(tmp_path: Path) -> None:
    assert refusal(tmp_path, file='data_dir = "/elsewhere"\n').fields["field"] == "data_dir"


def test_a_named_file_that_is_not_there_or_no_file_is_refused(tmp_path: Path) -> None:
    for config in (tmp_path / "missing.toml", tmp_path, tmp_path / "data" / "x" / "y.toml"):
        error = refusal(tmp_path, config=config)
        assert error.fields["field"] == "config"
        assert str(config) in error.message


@pytest.mark.parametrize("text", ["grpc = ", "= 1", "[", 'grpc = "a"\ngrpc = "b"', "\x00"])
def test_a_file_that_is_not_toml_is_refused_by_name(tmp_path: Path, text: str) -> None:
    error = refusal(tmp_path, file=text)
    assert error.fields["field"] == "config"
    assert FILE_NAME in error.message


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / FILE_NAME).write_bytes(b"grpc = \xff\xfe")
    assert refusal(tmp_path).fields["field"] == "config"


# ---- unknown keys -------------------------------------------------------------------------------------------------


def test_an_unknown_key_is_refused_by_name_in_every_source(tmp_path: Path) -> None:
    in_file = refusal(tmp_path, file="grcp = 1\n")
    assert in_file.fields["field"] == "grcp"
    assert FILE_NAME in in_file.message
    (tmp_path / "data" / FILE_NAME).unlink()
    assert refusal(tmp_path, environ={"MNEMESH_GRCP": "x"}).fields["field"] == "MNEMESH_GRCP"
    assert refusal(tmp_path, flags={"grcp": "x"}).fields["field"] == "grcp"
    for error in (in_file, refusal(tmp_path, environ={"MNEMESH_GRCP": "x"}), refusal(tmp_path, flags={"grcp": "x"})):
        assert "recall_timeout_s" in error.message, "it says which there are"
        assert "no such setting, did you mean grpc?" in error.message


def test_a_table_in_the_file_is_an_unknown_key(tmp_path: Path) -> None:
    assert refusal(tmp_path, file='[node]\ngrpc = "127.0.0.1:1"\n').fields["field"] == "node"


@pytest.mark.parametrize(
    "name",
    ["MNEMESH_ENDPOINT", "MNEMESH_TOKEN", "MNEMESH_AGENT", "MNEMESH_SPACE", "MNEMESH_CONFIG", "MNEMESH_TEST_X", "PATH"],
)
def test_variables_of_the_client_the_tests_and_other_programs_are_left_alone(tmp_path: Path, name: str) -> None:
    assert loaded(tmp_path, environ={name: "anything"}).settings == loaded(tmp_path).settings


# ---- values -------------------------------------------------------------------------------------------------------

GOOD: list[tuple[str, Any, Any]] = [
    ("expose", "true", True),
    ("expose", "True", True),
    ("expose", "1", True),
    ("expose", "yes", True),
    ("expose", "false", False),
    ("expose", "0", False),
    ("expose", "NO", False),
    ("model_threads", "64", 64),
    ("model_workers", "0", 0),
    ("model_workers", "64", 64),
    ("recall_timeout_s", "0.05", 0.05),
    ("recall_timeout_s", "60", 60.0),
    ("write_timeout_s", "0.1", 0.1),
    ("write_timeout_s", "600", 600.0),
    ("recall_weight_dense", "0", 0.0),
    ("abstain_below", "1", 1.0),
    ("recall_rules", "tag=x +0.5; kind=run hide", "tag=x +0.5; kind=run hide"),
    ("runtime", "ray", "ray"),
    ("owner", "ana.b-2", "ana.b-2"),
    ("owner", "owner", "owner"),
    ("grpc", "127.0.0.1:0", "127.0.0.1:0"),
    ("grpc", "[::1]:7433", "[::1]:7433"),
    ("grpc", "localhost:65535", "localhost:65535"),
    ("model_dir", "/a b/ö", "/a b/ö"),
]
BAD: list[tuple[str, str]] = [
    ("expose", "maybe"), ("expose", ""), ("expose", "2"),
    ("model_workers", "-1"), ("model_workers", "65"),
    ("model_threads", "0"), ("model_threads", "65"), ("model_threads", "1.5"), ("model_threads", "x"),
    ("model_threads", ""), ("recall_timeout_s", "0.01"), ("recall_timeout_s", "61"), ("recall_timeout_s", "nan"),
    ("recall_timeout_s", "inf"), ("recall_timeout_s", "-1"), ("recall_timeout_s", "two"),
    ("write_timeout_s", "0"), ("write_timeout_s", "601"),
    ("recall_weight_bm25", "-0.1"), ("recall_weight_phrases", "1.1"), ("recall_rules", "tag=x"),
    ("abstain_below", "1.01"), ("runtime", "cluster"), ("runtime", "Local"),
    ("owner", ""), ("owner", "Ana"), ("owner", "@ana"), ("owner", "ana/cli"), ("owner", "a" * 41), ("owner", ".a"),
    ("log_level", "loud"), ("log_format", "xml"), ("model_precision", "fp16"),
    ("grpc", "7433"), ("grpc", ":7433"), ("grpc", "localhost"), ("grpc", "localhost:"), ("grpc", "localhost:x"),
    ("grpc", "localhost:65536"), ("grpc", "localhost:-1"), ("grpc", ""), ("http", "localhost:\u00b2"),
    ("http", "localhost:\u0661"), ("http", "http://localhost:7434/"), ("http", "http://localhost:7434"),
    ("http", "local host:7434"), ("http", "me@localhost:7434"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "value"), GOOD)
def test_a_value_is_read_from_text(tmp_path: Path, name: str, text: str, value: Any) -> None:
    assert getattr(loaded(tmp_path, {name: text}).settings, name) == value
    made = getattr(loaded(tmp_path, environ={f"MNEMESH_{name.upper()}": text}).settings, name)
    assert (made, type(made)) == (value, type(value))


@pytest.mark.parametrize(("name", "text"), BAD)
def test_a_value_that_is_not_allowed_is_refused_by_name_with_what_is(tmp_path: Path, name: str, text: str) -> None:
    for error in (refusal(tmp_path, {name: text}), refusal(tmp_path, environ={f"MNEMESH_{name.upper()}": text})):
        assert error.fields["field"] == name
        assert (repr(text) if text else "missing") in error.message


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("expose = true", "expose", True),
        ("model_threads = 2", "model_threads", 2),
        ("recall_timeout_s = 1", "recall_timeout_s", 1.0),
        ("recall_timeout_s = 1.5", "recall_timeout_s", 1.5),
    ],
)
def test_a_file_may_use_the_types_of_toml(tmp_path: Path, line: str, name: str, value: Any) -> None:
    assert getattr(loaded(tmp_path, file=line).settings, name) == value


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("model_threads = true", "model_threads"), ("model_threads = 2.0", "model_threads"),
        ("model_dir = 7", "model_dir"), ("runtime = 1", "runtime"), ("expose = []", "expose"),
        ("recall_timeout_s = true", "recall_timeout_s"),
        ("grpc = 7433", "grpc"), ("log_level = {}", "log_level"),
    ],
)  # fmt: skip
def test_a_file_may_not_use_another_type(tmp_path: Path, line: str, name: str) -> None:
    assert refusal(tmp_path, file=line).fields["field"] == name


def test_help_and_unit_of_every_setting_are_given() -> None:
    for entry in table():
        assert entry.metadata["help"].strip()
        assert isinstance(entry.metadata["unit"], str)
        assert entry.name.endswith("_s") == (entry.metadata["unit"] == "s")


def test_recall_needs_a_signal_with_a_weight(tmp_path: Path) -> None:
    fields = refusal(tmp_path, file="recall_weight_dense = 0\nrecall_weight_bm25 = 0").fields
    assert fields["field"] == "recall_weight_dense, recall_weight_bm25"
    fields = refusal(tmp_path, file="recall_weight_rerank = 0.5").fields
    assert (fields["field"], "reranker_model" in fields["limit"]) == ("recall_weight_rerank", True)
    assert loaded(tmp_path, file="recall_weight_dense = 0").settings.recall_weight_bm25 > 0


def test_the_help_of_a_setting_says_what_it_may_be() -> None:
    helps = {entry.name: entry.metadata["help"] for entry in table()}
    assert "One of debug, info, warning, error." in helps["log_level"]
    assert "A whole number from 1 to 64." in helps["model_threads"]
    assert "A number from 0 to 1." in helps["abstain_below"]
    assert "True or false." in helps["expose"]
    assert "connector" in helps["mcp_toolsets"]


# ---- the Qdrant server ----------------------------------------------------------------------------------------------


KEY = {"MNEMESH_QDRANT_API_KEY": "the-key-of-the-tests"}


def test_the_key_of_the_server_comes_by_variable_or_file_and_is_never_shown(tmp_path: Path) -> None:
    for made in (loaded(tmp_path, environ=KEY), loaded(tmp_path, file='qdrant_api_key = "the-key-of-the-tests"\n')):
        assert made.settings.qdrant_api_key == "the-key-of-the-tests"
        assert "the-key" not in repr(made)


def test_the_key_of_the_server_is_no_flag(tmp_path: Path) -> None:
    error = refusal(tmp_path, {"qdrant_api_key": "the-key-of-the-tests"})
    assert "MNEMESH_QDRANT_API_KEY" in error.message
    assert "the-key" not in error.message


@pytest.mark.parametrize("key", ["with space", "with\nline", "schl\u00fcssel", "x" * 4097])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(tmp_path: Path, key: str) -> None:
    error = refusal(tmp_path, environ={"MNEMESH_QDRANT_API_KEY": key})
    assert key[:6] not in error.message


@pytest.mark.parametrize(
    "url",
    ["localhost:6333", "ftp://host", "http://", "http://host:99999", "https://name:hush@host", "http://h/?key=hush"],
)
def test_an_address_of_the_server_that_is_none_or_has_a_password_is_refused_unseen(tmp_path: Path, url: str) -> None:
    error = refusal(tmp_path, {"qdrant_url": url})
    assert error.fields["field"] == "qdrant_url"
    assert "hush" not in error.message


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:6333", "https://qdrant.example/prefix", "http://[::1]:6333"])
def test_an_address_of_the_server_is_taken_as_it_is(tmp_path: Path, url: str) -> None:
    assert loaded(tmp_path, {"qdrant_url": url}, KEY).settings.qdrant_url == url


def test_the_key_travels_in_clear_only_when_that_is_allowed(tmp_path: Path) -> None:
    url = {"qdrant_url": "http://qdrant.example:6333"}
    assert "--expose" in refusal(tmp_path, url, KEY).message
    assert loaded(tmp_path, {**url, "expose": "true"}, KEY).settings.qdrant_url == url["qdrant_url"]
    assert loaded(tmp_path, url).settings.qdrant_url == url["qdrant_url"]


def test_no_more_copies_can_be_asked_to_take_a_change_than_there_are() -> None:
    with pytest.raises(InvalidArgument, match=r"qdrant_write_consistency.*at most qdrant_replicas, 2"):
        load({"qdrant_replicas": "2", "qdrant_write_consistency": "3"}, {}, None)
    assert load({"qdrant_replicas": "3", "qdrant_write_consistency": "2"}, {}, None).settings.qdrant_replicas == 3
