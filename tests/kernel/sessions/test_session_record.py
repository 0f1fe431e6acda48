"""What a hook keeps of a session: the end of a transcript as a checkpoint, the capture buffer, notes for later."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemesh.hooks import context
from mnemesh.hooks.kept import notes, transcript_tail
from mnemesh.hooks.kept.captures import CaptureBuffer
from mnemesh.hooks.kept.notes import Notes
from mnemesh.hooks.kept.session_file import FILE_BYTES_MAX, FILES_MAX

PROPERTY = settings(max_examples=100, derandomize=True, database=None)


def said(role: str, content: Any, **more: Any) -> str:
    return json.dumps({"type": role, "message": {"role": role, "content": content}, **more})


def used(name: str, **asked: Any) -> str:
    return said("assistant", [{"type": "tool_use", "id": "t1", "name": name, "input": asked}])


def failed(text: str) -> str:
    return said("user", [{"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": text}])


BLOCK = f"{context.OPENING}\n- old\n{context.CLOSING}\n"
SESSION = [
    said("user", "Fix the login loop of the mobile app"),
    said("user", "<command-name>/model</command-name>"),
    said("user", "Caveat: the messages below", isMeta=True),
    used("Edit", file_path="/p/src/login.py", old_string="a", new_string="b"),
    used("Read", file_path="/p/README.md"),
    failed("KeyError: 'sid'\n  in refresh()"),
    used("TodoWrite", todos=[{"content": "write the test", "status": "pending"}, {"status": "completed"}]),
    said("user", "a subagent's prompt", isSidechain=True),
    said("user", "ok, go on"),
    said("assistant", [{"type": "text", "text": f"{BLOCK}It loops. Shall I revert it?"}]),
]  # fmt: skip


def written(folder: Path, lines: list[str]) -> Path:
    path = folder / "session.jsonl"
    path.write_bytes("\n".join(lines).encode() + b"\n")
    return path


def test_the_end_of_a_transcript_becomes_a_checkpoint(tmp_path: Path) -> None:
    found = transcript_tail.checkpoint_fields(written(tmp_path, SESSION), None, "/p")
    assert found == {
        "task": "Fix the login loop of the mobile app",
        "files": ["src/login.py"],
        "errors": ["KeyError: 'sid' in refresh()"],
        "next_steps": ["write the test"],
        "questions": ["Shall I revert it?"],
        "custom": "Last words: It loops. Shall I revert it?",
    }


def test_a_summary_of_a_compaction_and_a_codex_transcript_are_read(tmp_path: Path) -> None:
    summary = said("user", "We fixed half of it.", isCompactSummary=True)
    assert transcript_tail.checkpoint_fields(written(tmp_path, [*SESSION, summary]), None, "/p")["custom"].startswith(
        "We fixed half of it."
    )
    payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Paint the crane"}]}
    path = written(tmp_path, [json.dumps({"type": "response_item", "payload": payload})])
    assert transcript_tail.checkpoint_fields(path, None, "/p") == {"task": "Paint the crane"}


@PROPERTY
@given(st.binary(max_size=200), st.integers(0, 3_000), st.integers(0, len(SESSION)))
def test_damage_anywhere_leaves_the_lines_beside_it(
    tmp_path_factory: pytest.TempPathFactory, damage: bytes, cut: int, place: int
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "t.jsonl"
    lines = [line.encode() for line in SESSION]
    lines.insert(place, damage.replace(b"\n", b""))
    path.write_bytes(b"\n".join(lines) + b"\n")
    transcript_tail.checkpoint_fields(path, cut, "/p")
    assert transcript_tail.checkpoint_fields(path, None, "/p")["files"] == ["src/login.py"]


def test_only_the_end_of_a_large_transcript_is_read_up_to_where_it_was_written(tmp_path: Path) -> None:
    noise = [said("assistant", "x" * 1_000) for _ in range(1_200)]
    path = written(tmp_path, [*SESSION, *noise, said("user", "Now paint the crane")])
    end = path.stat().st_size
    with open(path, "a") as file:
        file.write(said("user", "a later prompt of more words"))
    found = transcript_tail.checkpoint_fields(path, end, "/p")
    assert found["task"] == "Now paint the crane"
    assert "files" not in found


def test_the_buffer_keeps_files_and_the_plain_words_of_failed_commands(tmp_path: Path) -> None:
    buffer = CaptureBuffer(tmp_path, "claude-code", "s1")
    buffer.add({"tool_input": {"file_path": "/p/a.py"}, "cwd": "/p"}, failed=False)
    buffer.add({"file_path": "/q/b.py", "cwd": "/p"}, failed=False)
    buffer.add({"tool_input": {"command": "pytest tests/x.py -k token=hunter2hunter2"}}, failed=True)
    buffer.add({"tool_input": {"command": "curl https://u:pw@host"}}, failed=True)
    assert buffer.add({"tool_input": {"command": "PASSWORD=x ls"}}, failed=True).calls == 0
    found = buffer.add({"tool_input": {"file_path": "/p/a.py"}, "cwd": "/p"}, failed=False)
    assert (found.files, found.failures, found.calls) == (("/q/b.py", "a.py"), ("pytest tests/x.py", "curl"), 5)
    (file,) = (tmp_path / CaptureBuffer.folder).iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for _ in range(2_000):
        buffer.append(["file " + "x" * 300])
    assert file.stat().st_size <= FILE_BYTES_MAX + 400
    for number in range(FILES_MAX + 5):
        CaptureBuffer(tmp_path, "h", f"s{number}").append(["file x"])
    buffer.sweep()
    assert len(list((tmp_path / CaptureBuffer.folder).iterdir())) == FILES_MAX


def test_notes_are_private_bounded_and_a_damaged_one_goes(tmp_path: Path) -> None:
    folder = Notes(tmp_path, notes.SPOOL)
    for number in range(notes.NOTES_MAX + 3):
        folder.put(f"n{number}", {"number": number})
        os.utime(tmp_path / notes.SPOOL / f"n{number}.json", ns=(number, number))
    folder.put("large", {"text": "x" * notes.NOTE_BYTES_MAX})
    files = list((tmp_path / notes.SPOOL).iterdir())
    assert len(files) == notes.NOTES_MAX
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert [name for name, _ in folder.oldest(2)] == ["n3", "n4"]
    (tmp_path / notes.SPOOL / "n3.json").write_bytes(b"{half")
    os.utime(tmp_path / notes.SPOOL / "n3.json", ns=(3, 3))
    assert [name for name, _ in folder.oldest(2)] == ["n4", "n5"]
    assert not (tmp_path / notes.SPOOL / "n3.json").exists()
