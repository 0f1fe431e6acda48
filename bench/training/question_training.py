"""`python -m bench.training.question_training`: train the encoder of questions, and write its file.

Changes of low rank teach the embedder's weights to put a question near to the texts that answer it. The vectors of
texts stay as they are. Each question is compared with a sample of texts of its file (InfoNCE, van den Oord et al. 2018,
arXiv:1807.03748). The questions are those of tests/data/questions, and of no corpus that recall is measured with.
`--leave FILE` trains without a file and prints the figures on its questions. The training needs jax and optax.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from bench.texts.embedding_cache import EmbeddingCache
from bench.training.pair_reader import CLS, SEP, Dropout, Floats, Tree, base, states_of, tokens_of, untrained
from bench.training.weight_changes import rounded, write

from mnemesh_actors.models.embedding_model import TOKENS_MAX
from mnemesh_actors.models.question_graph import DELTAS_FILE, FORM

DATA: Final = Path(__file__).resolve().parents[2] / "tests" / "data" / "questions"
# A batch has one of these widths, because each width is compiled once.
WIDTHS: Final = (16, 24, 32, 48, 64, 128)
BATCH: Final = 32
AMONG: Final = 1_024  # texts that a question is compared with
STEPS: Final = 900
RATE: Final = 4e-4
WARM_UP: Final = 0.08
LAST_RATE: Final = 0.05
DROPOUT: Final = 0.1
DECAY: Final = 0.01
CLIPPED: Final = 1.0
SECOND_MOMENT: Final = 0.99
TEMPERATURE: Final = 0.05
# The share of each kind of file in the steps.
SHARES: Final = {"talks": 0.5, "assistant": 0.25, "notes": 0.25}
FAR: Final = -1e9
TOP: Final = 10


class Texts(NamedTuple):
    """A file: its texts as vectors (n, dimensions), its questions, and the places of the texts that answer each."""

    name: str
    vectors: Floats
    questions: list[str]
    answers: list[list[int]]


def texts_in(path: Path, embedded: EmbeddingCache) -> Texts:
    """A file of notes, each with its questions, or of talks with the turns that answer."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    texts: list[str] = []
    asked: list[tuple[str, list[int]]] = []
    for row in rows:
        if "note" in row:
            asked += [(question, [len(texts)]) for question in row["questions"]]
            texts.append(row["note"])
        else:
            asked += [(one["q"], [len(texts) + turn for turn in one["evidence"]]) for one in row["questions"]]
            texts += [f"[{speaker}] {text}" for speaker, text in row["turns"]]
    return Texts(path.stem, embedded.of(texts), [one for one, _ in asked], [places for _, places in asked])


def vectors_of(changes: Tree, weights: Mapping[str, Any], batch: Any, key: Any = None) -> Any:
    """Unit vectors of questions."""
    tokens, mask = batch
    drop = Dropout(key, DROPOUT)
    states = states_of(changes, weights, tokens, jnp.zeros_like(tokens), mask, drop)
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return mean / jnp.linalg.norm(mean, axis=-1, keepdims=True)


_vectors: Final = jax.jit(vectors_of)


def batch_of(questions: Sequence[list[int]]) -> tuple[Any, Floats]:
    """Tokens and mask of BATCH questions. Missing ones repeat the first."""
    rows = [*questions, *[questions[0]] * (BATCH - len(questions))]
    width = next((width for width in WIDTHS if width >= max(map(len, rows))), WIDTHS[-1])
    tokens, mask = np.zeros((BATCH, width), np.int32), np.zeros((BATCH, width), np.float32)
    for row, read in enumerate(rows):
        size = min(len(read), width)
        tokens[row, :size], mask[row, :size] = read[:size], 1
    return tokens, mask


def encoded(question: str) -> list[int]:
    """The tokens of a question. The longest ones lose their end."""
    return [CLS, *tokens_of(question)[: WIDTHS[-1] - 2], SEP]


def embedded_by(changes: Tree, questions: Sequence[str]) -> Floats:
    """The vectors of questions by an encoder with these changes."""
    read = [encoded(question) for question in questions]
    order = sorted(range(len(read)), key=lambda at: len(read[at]))
    found = np.zeros((len(read), base().hidden), np.float32)
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        found[places] = np.asarray(_vectors(changes, base().weights, batch_of([read[at] for at in places])))[
            : len(places)
        ]
    return found


def trained(files: Sequence[Texts], steps: int, seed: int) -> Tree:
    """The changes that bring questions near to their answers."""
    chance = np.random.default_rng(seed)
    rate = optax.warmup_cosine_decay_schedule(0.0, RATE, int(steps * WARM_UP), steps, RATE * LAST_RATE)
    changes = untrained(seed)
    matrices = jax.tree_util.tree_map(lambda values: values.ndim > 1, changes)
    optimiser = optax.chain(
        optax.clip_by_global_norm(CLIPPED), optax.adamw(rate, b2=SECOND_MOMENT, weight_decay=DECAY, mask=matrices)
    )
    state, step = optimiser.init(changes), jax.jit(partial(_step, optimiser))
    key, losses, begun = jax.random.key(seed, impl="unsafe_rbg"), [], time.monotonic()
    read = {file.name: [encoded(question) for question in file.questions] for file in files}
    shares = np.array([_share(file, files) for file in files])
    for number in range(1, steps + 1):
        file = files[chance.choice(len(files), p=shares / shares.sum())]
        places = chance.choice(len(file.questions), BATCH, replace=False).tolist()
        among, right = _compared(file, places, chance)
        key, use = jax.random.split(key)
        batch = batch_of([read[file.name][at] for at in places])
        changes, state, loss = step(changes, state, base().weights, batch, among, right, use)
        losses.append(float(loss))
        if number % 100 == 0:
            print(f"step {number}: loss {np.mean(losses[-100:]):.3f}, {time.monotonic() - begun:.0f} s", flush=True)
    return rounded(changes)


def _share(file: Texts, files: Sequence[Texts]) -> float:
    kind = next(kind for kind in SHARES if file.name.startswith(kind))
    of_kind = sum(len(other.questions) for other in files if other.name.startswith(kind))
    return SHARES[kind] * len(file.questions) / of_kind


def _compared(file: Texts, places: Sequence[int], chance: np.random.Generator) -> tuple[Floats, Any]:
    """Vectors of AMONG texts, with all that answer, and which of these answer each question."""
    answers = sorted({text for at in places for text in file.answers[at]})
    others = np.setdiff1d(np.arange(len(file.vectors)), answers)
    room = AMONG - len(answers)
    chosen = [*answers, *chance.choice(others, room, replace=len(others) < room)]
    right = np.zeros((BATCH, AMONG), np.bool_)
    for row, at in enumerate(places):
        right[row, [answers.index(text) for text in file.answers[at]]] = True
    return file.vectors[chosen], right


def _step(
    optimiser: Any, changes: Tree, state: Any, weights: Mapping[str, Any], batch: Any, among: Any, right: Any, key: Any
) -> tuple[Tree, Any, Any]:
    def loss(now: Tree) -> Any:
        scores = vectors_of(now, weights, batch, key) @ among.T / TEMPERATURE
        # Each text that answers must stand above all that don't: one that is found does not make up for another.
        wrong = jax.nn.logsumexp(jnp.where(right, FAR, scores), -1, keepdims=True)
        missed = jnp.where(right, jax.nn.softplus(wrong - scores), 0.0)
        return (missed.sum(-1) / right.sum(-1)).mean()

    value, slope = jax.value_and_grad(loss)(changes)
    change, state = optimiser.update(slope, state, changes)
    return optax.apply_updates(changes, change), state, value


def figures(changes: Tree, file: Texts) -> str:
    """How well the vectors of a file's questions find the texts that answer, among all texts of the file."""
    hits, ranks = [], []
    scores = embedded_by(changes, file.questions) @ file.vectors.T
    for row, answers in zip(scores, file.answers, strict=True):
        best = np.argsort(-row, kind="stable")[:TOP].tolist()
        places = [place for place, text in enumerate(best, 1) if text in answers]
        hits.append(bool(places))
        ranks.append(1 / places[0] if places else 0.0)
    return f"{file.name:12} {len(hits)} questions: hit@10 {np.mean(hits):.3f}, MRR {np.mean(ranks):.3f}"


def main(argv: Sequence[str]) -> int:
    """Train on all files and write the encoder, or on all but some, and measure."""
    parser = argparse.ArgumentParser(prog="bench.training.question_training", description=__doc__)
    parser.add_argument("--leave", action="append", default=[], help="a file that is measured, not learned")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vectors", type=Path, default=Path("question_vectors.npz"), help="vectors of texts, kept")
    parser.add_argument("--target", type=Path, default=DELTAS_FILE)
    options = parser.parse_args(argv)
    cache = EmbeddingCache(options.vectors)
    files = [texts_in(path, cache) for path in sorted(DATA.glob("*.jsonl"))]
    cache.save()
    learned_from = [file for file in files if file.name not in options.leave]
    print(f"{sum(len(file.questions) for file in learned_from)} questions to learn from", flush=True)
    changes = trained(learned_from, options.steps, options.seed)
    for line in _told(changes, [file for file in files if file.name in options.leave]):
        print(line)
    if not options.leave:
        told = {
            "tokens_max": TOKENS_MAX,
            **FORM,
            "made_by": f"python -m bench.training.question_training, {options.steps} steps",
            "made_of": [file.name for file in learned_from],
            "examples": hashlib.sha256(json.dumps([file.questions for file in learned_from]).encode()).hexdigest()[:12],
        }
        write(changes, options.target, told)
    return 0


def _told(changes: Tree, left: Sequence[Texts]) -> Iterator[str]:
    for file in left:
        yield "before  " + figures(untrained(0), file)
        yield "after   " + figures(changes, file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
