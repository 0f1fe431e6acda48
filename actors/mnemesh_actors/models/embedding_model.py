"""The values of embedding: what is asked for, what was found, and the fingerprint of a vector space.

The words that a model was trained to see before a question and before a text that is searched. Other words give other
vectors, so the words are a part of the generation. The model's folder names them, in the file of sentence-
transformers, or a table here for models fetched by name. Nothing is guessed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mnemesh_memory.values.errors import InvalidArgument

PROMPTS_FILE: Final = "config_sentence_transformers.json"
# They take from the tokens of each text.
PREFIX_CHARS_MAX: Final = 256
# The names that sentence-transformers looks for, in this order.
_OF_QUESTIONS: Final = ("query",)
_OF_TEXTS: Final = ("document", "passage", "corpus")


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The words before a question, and before a text to be found; "" for none."""

    query: str = ""
    passage: str = ""

    def __bool__(self) -> bool:
        return bool(self.query or self.passage)


NO_PREFIXES: Final = Prefixes()

_SEARCH: Final = Prefixes("Represent this sentence for searching relevant passages: ")
_NOMIC: Final = Prefixes("search_query: ", "search_document: ")
# As the publishers give them, for the models in fastembed's lists that need any.
KNOWN: Final[Mapping[str, Prefixes]] = {
    "BAAI/bge-base-en": _SEARCH,
    "BAAI/bge-small-en": _SEARCH,
    "intfloat/multilingual-e5-large": Prefixes("query: ", "passage: "),
    "mixedbread-ai/mxbai-embed-large-v1": _SEARCH,
    "nomic-ai/nomic-embed-text-v1": _NOMIC,
    "nomic-ai/nomic-embed-text-v1.5": _NOMIC,
    "nomic-ai/nomic-embed-text-v1.5-Q": _NOMIC,
    "snowflake/snowflake-arctic-embed-l": _SEARCH,
    "snowflake/snowflake-arctic-embed-m": _SEARCH,
    "snowflake/snowflake-arctic-embed-m-long": _SEARCH,
    "snowflake/snowflake-arctic-embed-s": _SEARCH,
    "snowflake/snowflake-arctic-embed-xs": _SEARCH,
}


def told_by(folder: Path) -> Prefixes:
    """The prefixes in the folder of a model. Raises InvalidArgument when its file can't be understood: vectors made
    without its words would be found worse, and nobody would see why."""
    path = folder / PROMPTS_FILE
    try:
        stored: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return NO_PREFIXES
    except (OSError, ValueError) as error:
        raise _refused(folder, f"JSON that can be read: {error}") from error
    prompts = stored.get("prompts") or {} if isinstance(stored, dict) else None
    if not isinstance(prompts, dict) or not all(isinstance(text, str) for text in prompts.values()):
        raise _refused(folder, 'an object whose "prompts" are texts by their names')
    usual = prompts.get(stored.get("default_prompt_name"), "")
    prefixes = Prefixes(_first(prompts, _OF_QUESTIONS, usual), _first(prompts, _OF_TEXTS, usual))
    for text in (prefixes.query, prefixes.passage):
        if len(text) > PREFIX_CHARS_MAX:
            raise _refused(folder, f"prompts of at most {PREFIX_CHARS_MAX} characters, not {len(text)}")
    return prefixes


def _first(prompts: Mapping[str, str], names: tuple[str, ...], usual: str) -> str:
    return next((prompts[name] for name in names if name in prompts), usual)


def _refused(folder: Path, wanted: str) -> InvalidArgument:
    return InvalidArgument("model_dir", str(folder), f"a folder whose {PROMPTS_FILE} is {wanted}")


PRECISIONS: Final = ("fp32", "int8")
MODEL_NAME: Final = "sentence-transformers/all-MiniLM-L6-v2"
MODEL_FILE: Final = "model.onnx"
# The length that the model was trained on; its position table is longer, its tokenizer file shorter.
TOKENS_MAX: Final = 256
# Whether a worker reads two texts side by side.
PAIRS_READY: Final = "ready"
PAIRS_OFF: Final = "off"
OWN_ENCODER: Final = "own encoder"
# How far from 1 the length of a vector in float32 may be.
LENGTH_TOLERANCE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model to use: `model_dir`, else the model called `name`, which may be fetched; without either the node
    finds one. `cache_dir` "" means ~/.cache/mnemesh."""

    model_dir: str = ""
    name: str = ""
    precision: str = "fp32"
    threads: int = 1
    cache_dir: str = ""
    download: bool = True
    pairs: bool = True  # Also read two texts side by side, for the write guard.
    questions: bool = True  # Embed questions with an encoder of their own, where there is one.


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The model in use. `generation` names its vector space: vectors of two generations must never meet.

    `source` is configured, packaged or downloaded; `directory` is where its files are. `prefixes` are for the caller to
    put before what it wants embedded.
    """

    generation: str
    name: str
    revision: str
    precision: str
    dimensions: int
    source: str
    directory: str
    prefixes: Prefixes = NO_PREFIXES
    pairs: str = PAIRS_OFF  # PAIRS_READY, PAIRS_OFF, or why two texts are not read side by side.
    pair_reader: str = ""  # The model that reads two texts side by side, "" for none.
    questions: str = ""  # OWN_ENCODER, or why questions are embedded as texts are.
    answers: str = PAIRS_OFF  # PAIRS_READY, or why a question is not read with a text.
    asked: str = PAIRS_OFF  # PAIRS_READY, PAIRS_OFF, or why pairs are not read with a question.


@dataclass(frozen=True, slots=True)
class Located:
    """A folder that holds `model_file` and tokenizer files. `pooling` is none, mean or cls: how the rows of the
    graph's output become one vector (none: the graph gives unit vectors)."""

    name: str
    revision: str
    source: str
    directory: Path
    pooling: str
    model_file: str = MODEL_FILE
    prefixes: Prefixes = NO_PREFIXES


def generation_of(name: str, revision: str, precision: str, dimensions: int, prefixes: Prefixes = NO_PREFIXES) -> str:
    """The fingerprint of a vector space: 12 hex digits."""
    parts = [name, revision, precision, str(dimensions)]
    parts += [json.dumps([prefixes.query, prefixes.passage])] if prefixes else []
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
