"""The searched texts of a memory: texts to embed and texts to match by words.

A long memory has several texts (chunks); a match of any is a match of the memory.
"""

from __future__ import annotations

from typing import Final

from mnemesh_memory.text.text import beginning, chunks, estimate_wordpieces
from mnemesh_memory.values.model import Draft, Memory

# Of a title and a chunk together, as estimated. The model reads 256 tokens, two of them its own, and counts up to a
# tenth more than the estimate in code and marks. A full chunk leaves 28, an English title of 100 characters.
EMBEDDED_TOKENS_MAX: Final = 228
# Versions searched of a memory in conflict, the shown version among them. A text has at most 164 chunks, and the index
# takes 1,024 of a memory.
VERSIONS_SEARCHED_MAX: Final = 5


def index_texts(memory: Memory | Draft) -> tuple[tuple[str, str], ...]:
    """Pairs (text to embed, text for BM25), one a chunk. A memory in conflict gives those of every version, so each
    writer's words are found. Title, keywords, tags and paths help the words to match. The title alone is embedded,
    because a list of words pulls a sentence's vector away from its meaning. Of a title too long for the model beside a
    chunk only the beginning is embedded, so no end of a chunk is lost."""
    extra = "\n".join(
        part for part in (" ".join(memory.keywords), " ".join(memory.tags), " ".join(memory.paths)) if part
    )
    texts = _texts(memory.title, memory.content, extra)
    for head in memory.conflicts[: VERSIONS_SEARCHED_MAX - 1] if isinstance(memory, Memory) else ():
        texts += [pair for pair in _texts(head.title, head.content, extra) if pair not in texts]
    return tuple(texts)


def _texts(title: str, content: str, extra: str) -> list[tuple[str, str]]:
    head = f"{title}\n" if title else ""
    return [
        (_beside(title, chunk) + chunk, f"{head}{chunk}\n{extra}" if extra else head + chunk)
        for chunk in chunks(content)
    ]


def _beside(title: str, chunk: str) -> str:
    """The part of `title` that is embedded before `chunk`."""
    if not title:
        return ""
    return beginning(title, EMBEDDED_TOKENS_MAX - estimate_wordpieces(chunk)) + "\n"
