"""What of a memory is searched: the texts that are embedded and the texts that are matched by words.

A long memory has several texts (chunks); a match of any is a match of the memory.
"""

from __future__ import annotations

from mnemesh_memory.model import Memory
from mnemesh_memory.text import chunks


def index_texts(memory: Memory) -> tuple[tuple[str, str], ...]:
    """Pairs (text to embed, text for BM25), one a chunk. Title, keywords, tags and paths help the words to match;
    of them only the title is embedded, because a list of words pulls a sentence's vector away from its meaning."""
    head = f"{memory.title}\n" if memory.title else ""
    extra = "\n".join(
        part for part in (" ".join(memory.keywords), " ".join(memory.tags), " ".join(memory.paths)) if part
    )
    return tuple(
        (head + chunk, f"{head}{chunk}\n{extra}" if extra else head + chunk) for chunk in chunks(memory.content)
    )
