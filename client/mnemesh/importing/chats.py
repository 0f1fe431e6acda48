"""The chat exports of Claude and of ChatGPT (`conversations.json`) as turns of transcripts. Values in, values out.

A conversation is a session. Of ChatGPT's tree of messages the branch that ends in its current node is kept: a person
reads this one. Kept is what the person and the model said, tools and hidden system messages are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from mnemesh.importing.claude_code import Malformed, Read, Said, Skipped, Titled, own_left_out, sound, time_of
from mnemesh.importing.items import clip_title, pieces

if TYPE_CHECKING:
    from mnemesh.api.calls.options import TurnItem

ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
ID_CHARS_MAX: Final = 100
DEPTH_MAX: Final = 100_000  # messages of one conversation


def read_chats(value: object) -> Iterator[tuple[int, Read]]:
    """The content of each conversation of an export, with its number from 1."""
    chats = value.get("conversations") if isinstance(value, dict) else value
    if not isinstance(chats, list):
        yield 0, Malformed("holds no list of conversations")
        return
    for number, chat in enumerate(chats, 1):
        if not isinstance(chat, dict):
            yield number, Malformed("is no conversation but another value")
            continue
        session = _id(chat.get("uuid") or chat.get("conversation_id") or chat.get("id"))
        title = chat.get("name") or chat.get("title")
        if not session:
            yield number, Malformed("a conversation without an id")
            continue
        if isinstance(title, str) and title.strip():
            yield number, Titled(session, clip_title((sound(title),)))
        if isinstance(chat.get("chat_messages"), list):
            messages = (_of_claude(message) for message in chat["chat_messages"] if isinstance(message, dict))
        elif isinstance(chat.get("mapping"), dict):
            messages = (_of_chatgpt(message) for message in branch(chat["mapping"], chat.get("current_node")))
        else:
            yield number, Malformed("a conversation without messages")
            continue
        for id_, role, text, at in messages:
            for read in _turns(session, id_, role, text, at):
                yield number, read


def branch(mapping: Mapping[str, Any], last: object) -> list[Mapping[str, Any]]:
    """The messages from the root to the node `last` in order; without such a node, to the node written last."""
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    if last not in nodes:
        last = max(nodes, key=lambda key: _seconds(nodes[key]), default=None)
    chain: list[Mapping[str, Any]] = []
    seen: set[object] = set()
    while isinstance(last, str) and last in nodes and last not in seen and len(seen) < DEPTH_MAX:
        seen.add(last)
        message = nodes[last].get("message")
        if isinstance(message, dict):
            chain.append(message)
        last = nodes[last].get("parent")
    return chain[::-1]


Message = tuple[str, str, str, datetime | None]


def _of_claude(message: Mapping[str, Any]) -> Message:
    blocks = message.get("content")
    texts = [block.get("text") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    text = "\n\n".join(text for text in texts if isinstance(text, str) and text.strip()) or message.get("text")
    role = ROLES.get(str(message.get("sender")), "")
    return _id(message.get("uuid")), role, text if isinstance(text, str) else "", time_of(message.get("created_at"))


def _of_chatgpt(message: Mapping[str, Any]) -> Message:
    author, content, metadata = (message.get(name) for name in ("author", "content", "metadata"))
    hidden = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation") is True
    role = ROLES.get(str(author.get("role")), "") if isinstance(author, dict) and not hidden else ""
    parts = content.get("parts") if isinstance(content, dict) else None
    text = "\n\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
    seconds = message.get("create_time")
    try:
        at = datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int | float) else None
    except (ValueError, OverflowError, OSError):
        at = None
    return _id(message.get("id")), role, text, at


def _turns(session: str, id_: str, role: str, text: str, at: datetime | None) -> Iterator[Read]:
    if not role or not id_:
        yield Skipped("tool or system message")
        return
    text = own_left_out(sound(text)).strip()
    if not text:
        yield Skipped("message without text")
    for part, piece in enumerate(pieces(text) if text else [], 1):
        turn: TurnItem = {"id": id_ if part == 1 else f"{id_}~{part}", "role": role, "text": piece, "at": at}
        yield Said(session=session, part_of="", dir="", turn=turn)


def _id(value: object) -> str:
    """An id as it stands in URLs, without a slash; "" for anything else."""
    return sound(value)[:ID_CHARS_MAX].replace("/", "-") if isinstance(value, str) else ""


def _seconds(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    seconds = message.get("create_time") if isinstance(message, dict) else None
    return float(seconds) if isinstance(seconds, int | float) else 0.0
