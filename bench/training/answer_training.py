"""`python -m bench.training.answer_training`: train the reader of a question and a text, and write its file.

Changes of low rank and a head teach the embedder's weights to tell whether a text answers a question. Each question is
read with four texts: one answers and three don't. Of these three one is near by the encoder of questions, one stands
beside the answer in its talk, and one is near in another file. The loss is the cross-entropy of each pair, and of the
four against each other. The questions are those of tests/data/questions and tests/data/histories, and of no corpus that
recall is measured with. Some questions have no answer in their history. An invented note answers these, so their
wording tells nothing. `--leave FILE` trains without a file and prints the figures on its questions. `--mean FILE ...`
trains nothing and takes the mean of a reader and of those that began with it (Wortsman et al. 2022, arXiv:2109.01903).
The training needs jax and optax.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import jax
import numpy as np
import optax
from bench.texts.embedding_cache import EmbeddingCache
from bench.training.judge_training import mean_of, origins
from bench.training.pair_reader import (
    RANK,
    TOKENS_MAX,
    Encoded,
    Floats,
    Tree,
    base,
    batch_of,
    encoded,
    logits,
    stepped,
    untrained,
    widened,
    width_of,
    with_head,
)
from bench.training.question_training import CLIPPED, DATA, DECAY, DROPOUT, SECOND_MOMENT, embedded_by
from bench.training.weight_changes import read, rounded, write

from mnemesh_actors.models import question_graph
from mnemesh_actors.models.pair_graph import ANSWERS_DELTAS_FILE, ANSWERS_FORM

HISTORIES: Final = DATA.parent / "histories"
ON_HISTORIES: Final = "questions_"  # files of questions on histories begin so
EXPECTED: Final = DATA / "answer_reader_expected.json"
OTHERS: Final = 3
OTHERS_WEIGHT: Final = 2.0  # The loss of the answer counts 1.
GROUPS: Final = 8  # Questions of a batch.
NEAR: Final = 16  # The nearest texts of the file.
NEAR_IN_HISTORIES: Final = 8  # A history has 60 notes.
BESIDE: Final = 2  # Turns between an answer and its neighbour, at most.
FOREIGN: Final = 16  # The nearest texts of other files, after the first ANSWERING_ELSEWHERE.
ANSWERING_ELSEWHERE: Final = 4  # The very nearest may answer a general question in their file too.
EPOCHS: Final = 2
RATE: Final = 8e-4
WARM_UP: Final = 0.06
LAST_RATE: Final = 0.02
TOLD_EVERY: Final = 200
AMONG: Final = 10  # results that are read when a file is measured
ANSWER_CLASSES: Final = ("answers", "does not")  # of the file, of which the training has the first
FIRST: Final = 3  # results that a recall reads


class Asked(NamedTuple):
    """A question with the texts that answer it. The others don't answer: `near` are the nearest of its file, `beside`
    stand near the answers in their talk, `foreign` are the nearest of other files of its kind. `absent`: the file has
    no answer, and that in `answers` was invented."""

    file: str
    question: str
    answers: list[str]
    near: list[str]
    beside: list[str]
    absent: bool = False
    foreign: tuple[str, ...] = ()


def asked_in(path: Path, embedded: EmbeddingCache, encoder: Tree) -> list[Asked]:
    """The questions of a file of notes or talks."""
    texts: list[str] = []
    talk: list[int] = []
    wanted: list[tuple[str, list[int]]] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        start = len(texts)
        if "note" in row:
            wanted += [(question, [start]) for question in row["questions"]]
            texts.append(row["note"])
        else:
            wanted += [(one["q"], [start + turn for turn in one["evidence"]]) for one in row["questions"]]
            texts += [f"[{speaker}] {text}" for speaker, text in row["turns"]]
        talk += [number] * (len(texts) - start)
    scores = embedded_by(encoder, [question for question, _ in wanted]) @ embedded.of(texts).T
    found = []
    for row, (question, places) in zip(scores, wanted, strict=True):
        near = [at for at in np.argsort(-row, kind="stable")[: NEAR + len(places)].tolist() if at not in places]
        beside = {at + step for at in places for step in range(-BESIDE, BESIDE + 1)} - set(places)
        beside = {at for at in beside if 0 <= at < len(texts) and talk[at] == talk[places[0]]}
        answers, others, neighbours = ([texts[at] for at in chosen] for chosen in (places, near, sorted(beside)))
        found.append(Asked(path.stem, question, answers, others[:NEAR], neighbours))
    return found


def asked_of_histories(path: Path, embedded: EmbeddingCache, encoder: Tree) -> Iterator[Asked]:
    """The questions on the histories of a hand. A note that another one replaced is read for none of them."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    vectors = embedded_by(encoder, [row["q"] for row in rows])
    histories: dict[str, dict[str, str]] = {}
    for row, vector in zip(rows, vectors, strict=True):
        if row["space"] not in histories:
            memories = json.loads((path.parent / f"{row['space']}.json").read_text("utf-8"))["memories"]
            gone = {one["supersedes"] for one in memories}
            histories[row["space"]] = {one["id"]: one["content"] for one in memories if one["id"] not in gone}
        texts = histories[row["space"]]
        others = [text for id_, text in texts.items() if id_ not in row.get("answers", ())]
        near = [others[at] for at in np.argsort(-(embedded.of(others) @ vector), kind="stable")[:NEAR_IN_HISTORIES]]
        answers = [row["would"]] if "would" in row else [texts[id_] for id_ in row["answers"]]
        yield Asked(path.stem, row["q"], answers, near, [], "would" in row)


def chosen(
    asked: Sequence[Asked], left: Sequence[str], share: float, again: float, chance: np.random.Generator
) -> list[Asked]:
    """A share of the questions that no file of `left` has, and of those on no history the share `again`."""
    learned = [one for one in asked if one.file not in left]
    learned = [learned[at] for at in chance.permutation(len(learned))[: int(len(learned) * share)]]
    return [one for one in learned if one.file.startswith(ON_HISTORIES) or chance.random() < again]


def with_foreign(asked: Sequence[Asked], embedded: EmbeddingCache, encoder: Tree) -> Iterator[Asked]:
    """The questions, kind by kind, with near texts of other files."""
    vectors = embedded_by(encoder, [one.question for one in asked])
    for kind in sorted({_kind_of(one.file) for one in asked}):
        rows = [at for at, one in enumerate(asked) if _kind_of(one.file) == kind]
        file_of = {text: asked[at].file for at in rows for text in _texts_of(asked[at])}
        texts, files = list(file_of), np.array(list(file_of.values()))
        scores = vectors[rows] @ embedded.of(texts).T
        for at, scored in zip(rows, scores, strict=True):
            nearest = np.argsort(-np.where(files == asked[at].file, -np.inf, scored), kind="stable")
            chosen = nearest[ANSWERING_ELSEWHERE : ANSWERING_ELSEWHERE + FOREIGN]
            yield asked[at]._replace(foreign=tuple(texts[place] for place in chosen))


def _kind_of(file: str) -> str:
    """Talks, an assistant's, or notes, with those of histories."""
    return next((kind for kind in ("talks", "assistant") if file.startswith(kind)), "notes")


def _texts_of(one: Asked) -> list[str]:
    return [*one.near, *one.beside, *(() if one.absent else one.answers)]


def drawn(asked: Sequence[Asked], chance: np.random.Generator) -> Iterator[tuple[int, list[list[Encoded]]]]:
    """Batches of groups of one width. The first text of a group answers."""
    waiting: dict[int, list[list[Encoded]]] = {}
    for at in chance.permutation(len(asked)):
        one = asked[at]
        others = [str(text) for text in chance.choice(one.near, OTHERS - 1, replace=False)]
        if one.beside:
            others[-1] = str(chance.choice(one.beside))
        others.append(str(chance.choice(one.foreign)))
        group = [encoded(one.question, text) for text in [str(chance.choice(one.answers)), *others]]
        width = max(width_of(pair) for pair in group)
        waiting.setdefault(width, []).append(group)
        if len(waiting[width]) == GROUPS:
            yield width, waiting.pop(width)


def trained(
    asked: Sequence[Asked], epochs: int, highest: float, seed: int, begun_with: Tree | None = None
) -> Iterator[Tree]:
    """The changes after each epoch."""
    chance = np.random.default_rng(seed)
    steps = epochs * (len(asked) // GROUPS)
    rate = optax.warmup_cosine_decay_schedule(0.0, highest, int(steps * WARM_UP), steps, highest * LAST_RATE)
    changes = with_head(untrained(seed), seed, 1) if begun_with is None else begun_with
    matrices = jax.tree_util.tree_map(lambda values: values.ndim > 1, changes)
    optimiser = optax.chain(
        optax.clip_by_global_norm(CLIPPED), optax.adamw(rate, b2=SECOND_MOMENT, weight_decay=DECAY, mask=matrices)
    )
    state, step = optimiser.init(changes), jax.jit(partial(_step, optimiser))
    key, losses, begun = jax.random.key(seed, impl="unsafe_rbg"), [], time.monotonic()
    for _ in range(epochs):
        for width, groups in drawn(asked, chance):
            key, use = jax.random.split(key)
            batch = batch_of([pair for group in groups for pair in group], width)
            changes, state, loss = step(changes, state, base().weights, batch, use)
            losses.append(float(loss))
            if len(losses) % TOLD_EVERY == 0:
                spent = time.monotonic() - begun
                print(f"step {len(losses)} of {steps}: {np.mean(losses[-TOLD_EVERY:]):.3f}, {spent:.0f} s", flush=True)
        yield rounded(changes)


def _step(optimiser: Any, changes: Tree, state: Any, weights: Any, batch: Any, key: Any) -> tuple[Tree, Any, Any]:
    def loss(now: Tree) -> Any:
        scores = logits(now, weights, batch, key, DROPOUT)[:, 0].reshape(GROUPS, 1 + OTHERS)
        first, others = scores[:, 0], scores[:, 1:]
        each = (jax.nn.softplus(-first) + OTHERS_WEIGHT * jax.nn.softplus(others).mean(-1)).mean()
        return each + (jax.nn.logsumexp(scores, -1) - first).mean()

    return stepped(optimiser, loss, changes, state)


_logits: Final = jax.jit(logits)


def odds(changes: Tree, pairs: Sequence[Encoded]) -> Floats:
    """The log odds of each pair that its text answers its question."""
    found = np.zeros(len(pairs), np.float32)
    order = sorted(range(len(pairs)), key=lambda at: len(pairs[at].tokens))
    size = GROUPS * (1 + OTHERS)
    for start in range(0, len(order), size):
        places = order[start : start + size]
        chosen = [pairs[at] for at in places] + [pairs[places[0]]] * (size - len(places))
        width = max(width_of(pair) for pair in chosen)
        found[places] = np.asarray(_logits(changes, base().weights, batch_of(chosen, width)))[: len(places), 0]
    return found


def of_two_classes(changes: Tree) -> Tree:
    """The changes as the graph reads them, whose softmax of two classes is the logistic function of one."""
    head = {part: np.concatenate([values, np.zeros_like(values)]) for part, values in changes["head"].items()}
    return {**changes, "head": head}


def begun_by(changes: Tree, seed: int) -> Tree:
    """The changes of a file as a training begins with them: with the head of one class of a reader of answers, or else
    with a new head."""
    head = changes["head"]
    if len(head["bias"]) != len(ANSWER_CLASSES):
        return with_head({part: value for part, value in changes.items() if part != "head"}, seed, 1)
    return {**changes, "head": {part: values[:1] for part, values in head.items()}}


def expect(changes: Tree) -> None:
    """Write the probabilities of the questions on which a test compares the graph of the product with this encoder."""
    rows = json.loads(EXPECTED.read_text("utf-8"))
    for row in rows:
        found = odds(changes, [encoded(row["question"], text) for text in row["texts"]])
        row["probabilities"] = (1 / (1 + np.exp(-found.astype(float)))).round(5).tolist()
    EXPECTED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


def figures(changes: Tree, asked: Sequence[Asked]) -> str:
    """How often the reader puts a text that answers above the nearest that don't, and the area under the ROC curve of
    all pairs. Of histories also the area of answered questions against others by the best of FIRST texts: a right one
    and the nearest others, or the nearest alone."""
    groups = [[one.answers[0], *one.near[:AMONG]] for one in asked]
    pairs = [encoded(one.question, text) for one, group in zip(asked, groups, strict=True) for text in group]
    scores = odds(changes, pairs).reshape(len(asked), -1)
    absent = np.array([one.absent for one in asked])
    topical = ""
    if absent.any():
        answered, others = scores[~absent, :FIRST].max(1), scores[absent, 1 : 1 + FIRST].max(1)
        topical = f", absent below answered {(answered[:, None] > others[None, :]).mean():.3f}"
    ranks = (scores >= scores[:, :1]).sum(1)
    right, wrong = scores[:, 0], np.sort(scores[:, 1:].ravel())
    area = np.searchsorted(wrong, right).mean() / len(wrong)
    order = f"first {np.mean(ranks == 1):.3f}, MRR {np.mean(1 / ranks):.3f}"
    return f"{len(asked)} questions: {order}, area {area:.3f}{topical}"


def main(argv: Sequence[str]) -> int:
    """Train on all files and write the reader, or on all but some, and measure."""
    parser = argparse.ArgumentParser(prog="bench.training.answer_training", description=__doc__)
    parser.add_argument("--leave", action="append", default=[], help="a file that is measured, not learned")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--share", type=float, default=1.0, help="of the questions, for a short trial")
    parser.add_argument("--again", type=float, default=1.0, help="of the questions that are not of histories")
    parser.add_argument("--rank", type=int, default=RANK, help="at least that of --begun-with")
    origin_of = parser.add_mutually_exclusive_group()
    origin_of.add_argument("--begun-with", type=Path, help="a file of changes to begin with")
    origin_of.add_argument("--mean", nargs="+", type=Path, default=[], help="trained readers whose mean is taken")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vectors", type=Path, default=Path("question_vectors.npz"), help="vectors of texts, kept")
    parser.add_argument("--target", type=Path, default=ANSWERS_DELTAS_FILE)
    options = parser.parse_args(argv)
    cache, encoder = EmbeddingCache(options.vectors), read(question_graph.DELTAS_FILE)
    asked = [one for path in sorted(DATA.glob("*.jsonl")) for one in asked_in(path, cache, encoder)]
    on_histories = sorted(HISTORIES.glob(f"{ON_HISTORIES}*.jsonl"))
    asked += [one for path in on_histories for one in asked_of_histories(path, cache, encoder)]
    chance = np.random.default_rng(options.seed)
    learned = [] if options.mean else chosen(asked, options.leave, options.share, options.again, chance)
    learned = list(with_foreign(learned, cache, encoder))
    cache.save()
    print(f"{len(learned)} questions to learn from", flush=True)
    before = options.mean or ([options.begun_with] if options.begun_with else [])
    origin = origins(before, options.leave, argv)
    readers = [begun_by(read(file), options.seed) for file in before]
    told = {
        "tokens_max": TOKENS_MAX,
        **ANSWERS_FORM,
        "made_by": f"python -m bench.training.answer_training {' '.join(argv)}",
        "made_of": sorted({one.file for one in learned} | {*origin["made_of"]}),
        "mean_of" if options.mean else "begun_with": origin["mean_of"],
        "examples": hashlib.sha256(json.dumps(learned).encode()).hexdigest()[:12],
    }
    if options.mean:
        models = iter([rounded(mean_of(readers, options.seed))])
    else:
        begun = widened(readers[0], options.rank, options.seed) if readers else None
        models = trained(learned, options.epochs, options.rate, options.seed, begun)
    for changes in models:
        for name in options.leave:
            print(name, figures(changes, [one for one in asked if one.file == name]), flush=True)
        write(of_two_classes(changes), options.target, told)
    if options.target == ANSWERS_DELTAS_FILE:
        expect(changes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
