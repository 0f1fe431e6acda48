"""`python -m bench.training.judge_training`: train the model that reads two texts together, and write its file.

Small changes of low rank teach the embedder's weights three cases: the newer text repeats the older one, replaces it,
or stands apart. `--leave HAND` trains without the pairs of a hand and prints the figures on them. With `--limits` the
pairs that were left out give the limits of the guard. With `--ship` the file is written too, so that a run gives both
the model and its own limits. `--mean FILE ...` trains nothing and takes the mean of models that began with the same one
(Wortsman et al. 2022, arXiv:2203.05482). The training needs jax and optax. The product needs neither.
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
import numpy as np
import optax
from bench.training import pair_judge
from bench.training.pair_reader import (
    BATCH,
    CLASSES,
    RANK,
    TOKENS_MAX,
    WIDTHS,
    Floats,
    Tree,
    base,
    batch_of,
    batches,
    encoded,
    logits,
    probabilities,
    stepped,
    untrained,
    widened,
    with_head,
)
from bench.training.weight_changes import read, rounded, write
from numpy.typing import NDArray

from mnemesh_actors.models.pair_graph import DELTAS_FILE, FORM
from mnemesh_memory.policy.judge.evidence import evidence_of
from mnemesh_memory.policy.judge.reading import LIMITS_FILE, REPEATS_RATHER, Reading, score

ROOT: Final = Path(__file__).resolve().parents[2]
EXPECTED: Final = pair_judge.GUARD / "pair_judge_expected.json"
HISTORIES: Final = ROOT / "tests" / "data" / "histories"
MEASURED: Final = "measured"  # Histories that no model learns from.
LIMITS: Final = ROOT / "memory" / "mnemesh_memory" / LIMITS_FILE
NEW_HANDS: Final = tuple(path.stem for path in sorted(pair_judge.GUARD.glob("judge_*.jsonl")))
REPEATS, REPLACES, APART = range(3)
CLASS_OF: Final = {
    **dict.fromkeys(("duplicate", "paraphrase"), REPEATS),
    **dict.fromkeys(("update", "contradiction"), REPLACES),
    **dict.fromkeys(("distinct", "elaboration"), APART),
}
# The share of pairs apart that is kept of the kinds that are many and easy.
KEPT: Final = {"made": 0.35, "strangers": 0.25, "histories": 0.6}
# Of each new hand one pair in so many gives a pair of strangers.
STRANGERS_EVERY: Final = 8
# Of a memory of a history so many of its nearest elders are read, from this cosine on.
NEIGHBOURS: Final = 3
NEIGHBOURS_COSINE_MIN: Final = 0.25
# An update turned round is no pair of its class; each other pair is read in both orders.
EPOCHS: Final = 5
RATE: Final = 1e-3
FURTHER_RATE: Final = 6e-4  # Of a training that begins with a trained model.
WARM_UP: Final = 0.08
LAST_RATE: Final = 0.02
DROPOUT: Final = 0.1
SMOOTHED: Final = 0.05
DECAY: Final = 0.01
CLIPPED: Final = 1.0
SECOND_MOMENT: Final = 0.99
LEAST_BATCH: Final = BATCH // 4
DIGITS: Final = 2  # Of limits.
# By limit the share of distinct and elaborating pairs of hands that are judged wrongly. A hand wrote them to be hard.
WRONGLY: Final = {"ask": 0.15, "link": 0.02, "replace": 0.004}
# By limit the number of wrong ones by memory of a history, where each neighbour is as it comes. A mark hides nothing.
WRONGLY_IN_HISTORIES: Final = {"mark": 0.12}
OF_HISTORIES: Final = "history_"
# With the vetoes of words no new value of a hand that was left out is taken for a repeat from here on.
REPEATS_FROM: Final = 0.9


class Example(NamedTuple):
    """Two texts of one class. `turns`: they are of this class in the other order too."""

    older: str
    newer: str
    class_: int
    hand: str
    label: str
    turns: bool


def examples() -> list[Example]:
    """All examples of all hands."""
    vectors = pair_judge.embedded(pair_judge.texts())
    found = [one for row in pair_judge.pairs(vectors) if (one := _of_older_hands(row)) is not None]
    for hand in NEW_HANDS:
        rows = [json.loads(line) for line in (pair_judge.GUARD / f"{hand}.jsonl").read_text("utf-8").splitlines()]
        for row in rows:
            class_, label = CLASS_OF[row["label"]], row["label"]
            found.append(Example(row["older"], row["newer"], class_, hand, label, label != "update"))
        chance = np.random.default_rng(len(rows))
        for one, other in chance.integers(len(rows), size=(len(rows) // STRANGERS_EVERY, 2)):
            if one != other:
                found.append(Example(rows[one]["older"], rows[other]["newer"], APART, hand, "stranger", True))
    return [*found, *_of_histories()]


def _of_histories() -> Iterator[Example]:
    paths = [path for path in sorted(HISTORIES.glob("*_*.json")) if not path.stem.startswith(MEASURED)]
    histories = [json.loads(path.read_text("utf-8"))["memories"] for path in paths]
    vectors = pair_judge.embedded(sorted({one["content"] for memories in histories for one in memories}))
    for path, memories in zip(paths, histories, strict=True):
        yield from _of_history(f"{OF_HISTORIES}{path.stem.split('_')[0]}", memories, vectors)


def _of_history(
    hand: str, memories: Sequence[Mapping[str, Any]], vectors: Mapping[str, NDArray[np.float64]]
) -> list[Example]:
    """Each memory of a history beside the one that it replaces, and beside its nearest elders of other facts. An
    elder that a memory has replaced is read no more."""
    found, gone = [], set()
    for at, newer in enumerate(memories):
        near = []
        for older in memories[:at]:
            cosine = float(vectors[older["content"]] @ vectors[newer["content"]])
            if older["id"] == newer["supersedes"]:
                found.append(Example(older["content"], newer["content"], REPLACES, hand, "update", turns=False))
            elif older["id"] not in gone and cosine >= NEIGHBOURS_COSINE_MIN:
                near.append((cosine, older["content"]))
        for _, text in sorted(near, reverse=True)[:NEIGHBOURS]:
            found.append(Example(text, newer["content"], APART, hand, "distinct", turns=True))
        gone.add(newer["supersedes"])
    return found


def _of_older_hands(row: pair_judge.Labelled) -> Example | None:
    """A pair of the files that the trees learn from, where "reversed" holds contradictions in the other order."""
    again = row.kind.startswith("repeated")
    if row.kind == "reversed" and not row.contested:
        return None
    class_ = REPEATS if again else REPLACES if row.contested else APART
    return Example(row.older, row.newer, class_, row.kind.removeprefix("repeated "), "", class_ != REPLACES)


def chosen(
    found: Sequence[Example], left: Sequence[str], seed: int, new: Sequence[str] = (), again: float = 1.0
) -> list[Example]:
    """The examples to learn from. Of the many easy ones a share is taken, of a hand that is left out none. Where some
    hands are `new`, the share `again` of the others is read again, so that the model keeps what it knows."""
    chance = np.random.default_rng(seed)
    return [
        one
        for one in found
        if one.hand not in left
        and (one.class_ != APART or chance.random() < KEPT.get(one.hand, 1.0))
        and (not new or one.hand in new or chance.random() < again)
    ]


def trained(examples_: Sequence[Example], epochs: int, seed: int, begun_with: Tree | None = None) -> Iterator[Tree]:
    """The changes after each epoch. An epoch reads half of the pairs that turn in the other order."""
    chance = np.random.default_rng(seed)
    steps = epochs * (len(examples_) // BATCH + len(WIDTHS))
    peak = RATE if begun_with is None else FURTHER_RATE
    rate = optax.warmup_cosine_decay_schedule(0.0, peak, int(steps * WARM_UP), steps, peak * LAST_RATE)
    changes = with_head(untrained(seed), seed) if begun_with is None else begun_with
    matrices = jax.tree_util.tree_map(lambda values: values.ndim > 1, changes)
    optimiser = optax.chain(
        optax.clip_by_global_norm(CLIPPED),
        optax.adamw(rate, b2=SECOND_MOMENT, weight_decay=DECAY, mask=matrices),
    )
    state, step = optimiser.init(changes), jax.jit(partial(_step, optimiser))
    key = jax.random.key(seed, impl="unsafe_rbg")
    for epoch in range(epochs):
        begun, losses = time.monotonic(), []
        turned = chance.random(len(examples_)) < 0.5
        pairs = [
            encoded(one.newer, one.older) if turn and one.turns else encoded(one.older, one.newer)
            for one, turn in zip(examples_, turned, strict=True)
        ]
        for width, places in batches(pairs, chance.permutation(len(pairs)), LEAST_BATCH):
            key, use = jax.random.split(key)
            batch = batch_of([pairs[at] for at in places], width)
            truth = np.array([examples_[at].class_ for at in places])
            changes, state, loss = step(changes, state, base().weights, batch, truth, use)
            losses.append(float(loss))
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, {time.monotonic() - begun:.0f} s", flush=True)
        yield rounded(changes)


def _step(
    optimiser: Any, changes: Tree, state: Any, weights: Mapping[str, Any], batch: Any, truth: Any, key: Any
) -> tuple[Tree, Any, Any]:
    def loss(now: Tree) -> Any:
        scores = jax.nn.log_softmax(logits(now, weights, batch, key, DROPOUT), -1)
        wanted = jax.nn.one_hot(truth, len(CLASSES)) * (1 - SMOOTHED) + SMOOTHED / len(CLASSES)
        return -(wanted * scores).sum(-1).mean()

    return stepped(optimiser, loss, changes, state)


def mean_of(models: Sequence[Tree], seed: int) -> Tree:
    """The mean of each weight of models of one origin, which may have been widened with this seed."""
    ranks = [max(len(change["a"]) for change in model["lora"].values()) for model in models]
    wide = [widened(model, max(ranks), seed) for model in models]
    found: Tree = jax.tree_util.tree_map(lambda *values: np.mean(values, axis=0), *wide)
    return found


def description(learned_from: Sequence[Example], argv: Sequence[str]) -> dict[str, Any]:
    """The origin of the file and the limits of its model, as stored in the file."""
    return {
        "tokens_max": TOKENS_MAX,
        **FORM,
        "made_by": f"python -m bench.training.judge_training {' '.join(argv)}",
        "made_of": sorted({one.hand for one in learned_from}),
        "examples": hashlib.sha256(json.dumps(learned_from).encode()).hexdigest()[:12],
    }


def origins(files: Sequence[Path], left: Sequence[str], argv: Sequence[str]) -> dict[str, Any]:
    """The origin of a mean, or of a training that begins with a model: the commands and hands of the models. Raises
    SystemExit when one knows a hand of `left`."""
    told = [json.loads(np.load(file)["meta"].tobytes()) for file in files]
    seen = sorted({hand for one in told for hand in one["made_of"]})
    if both := sorted(set(seen) & set(left)):
        raise SystemExit(f"leave: {', '.join(both)} was learned from by a model of the origin")
    return {
        **description([], argv),
        "made_of": seen,
        "mean_of": [
            {"made_by": one["made_by"], **{key: one[key] for key in ("mean_of", "begun_with") if key in one}}
            for one in told
        ],
    }


def expect(changes: Tree) -> None:
    """Write the probabilities of the pairs on which a test compares the graph of the product with this encoder."""
    rows = json.loads(EXPECTED.read_text("utf-8"))
    found = probabilities(changes, [encoded(row["older"], row["newer"]) for row in rows])
    for row, told in zip(rows, found, strict=True):
        row["probabilities"] = told.tolist()
    EXPECTED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


def figures(found: Floats, held: Sequence[Example]) -> Iterator[str]:
    """Of each hand: how well replacements and repeats stand above all that is neither, by pairs the model never saw."""
    for hand in sorted({one.hand for one in held}):
        here = np.array([one.hand == hand and one.label != "stranger" for one in held])
        truth, scores = np.array([one.class_ for one in held])[here], found[here]
        yield f"{hand:10} " + "; ".join(
            f"{CLASSES[class_]} {_above(scores[truth == class_, class_], scores[others, class_])}"
            for class_, others in ((REPLACES, truth == APART), (REPEATS, truth != REPEATS))
            if (truth == class_).any()
        )


def _above(right: Floats, wrong: Floats) -> str:
    area = float((right[:, None] > wrong[None, :]).mean())
    limits = [float(np.sort(wrong)[::-1][int(share * len(wrong))]) for share in (0.01, 0.02)]
    shares = [f"{(right > limit).mean():.2f}" for limit in limits]
    return f"area {area:.3f}, {shares[0]} at .01 wrong, {shares[1]} at .02"


def limits_of(found: Floats, held: Sequence[Example]) -> dict[str, Any]:
    """The limits by pairs of hands and histories that neither the model nor the trees have seen."""
    vectors = pair_judge.embedded(sorted({text for one in held for text in (one.older, one.newer)}))
    of_hands, of_histories, memories = [], [], set()
    for one, row in zip(held, found, strict=True):
        if one.hand.startswith(OF_HISTORIES):
            memories.add(one.newer)
        if one.class_ == APART and one.label != "stranger":
            repeats, replaces, rest = map(float, row)
            words = evidence_of(one.older, one.newer, float(vectors[one.older] @ vectors[one.newer]))
            rather = repeats >= REPEATS_RATHER
            told = -np.inf if rather else score(Reading(repeats, replaces, rest, whole=True), words.likelihood)
            if one.hand in NEW_HANDS:
                of_hands.append(told)
            elif one.hand.startswith(OF_HISTORIES):
                of_histories.append(told)
    limits = {**_at(WRONGLY, of_hands, len(of_hands)), **_at(WRONGLY_IN_HISTORIES, of_histories, len(memories))}
    limits["mark"] = min(limits["mark"], limits["link"])
    hands = sorted({one.hand for one in held if one.hand in NEW_HANDS or one.hand.startswith(OF_HISTORIES)})
    return {"made of": hands, "pairs": len(of_hands), "memories": len(memories), **limits, "repeat": REPEATS_FROM}


def _at(wrongly: Mapping[str, float], scores: Sequence[float], number: int) -> dict[str, float]:
    """The limits that so many scores are above, as shares of a number."""
    ordered = np.sort(scores)[::-1]
    return {name: round(float(ordered[int(share * number)]), DIGITS) for name, share in wrongly.items()}


def main(argv: Sequence[str]) -> int:
    """Train on all hands and write the file, or on all but some, measure, and write what is asked for."""
    parser = argparse.ArgumentParser(prog="bench.training.judge_training", description=__doc__)
    parser.add_argument("--leave", action="append", default=[], help="a hand whose pairs are measured, not learned")
    parser.add_argument("--limits", action="store_true", help="write the limits by the hands that are left out")
    parser.add_argument("--ship", action="store_true", help="write the model although hands are left out")
    parser.add_argument("--further", action="store_true", help="begin with the file that is there")
    parser.add_argument("--begin", type=Path, default=DELTAS_FILE, help="the file with which --further begins")
    parser.add_argument("--rank", type=int, default=RANK, help="of the changes of --further, at least that of its file")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", type=Path, default=DELTAS_FILE)
    parser.add_argument("--new", nargs="+", default=[], help="hands that the file there has not seen")
    parser.add_argument("--mean", nargs="+", type=Path, default=[], help="trained models whose mean is taken")
    parser.add_argument("--again", type=float, default=1.0, help="the share of the other hands that is read again")
    options = parser.parse_args(argv)
    left_kinds = {hand in NEW_HANDS for hand in options.leave if hand in NEW_HANDS or hand.startswith(OF_HISTORIES)}
    if options.limits and len(left_kinds) < 2:
        raise SystemExit("leave: the limits need a hand of pairs and one of histories that are left out")
    found = examples()
    learned_from = chosen(found, options.leave, options.seed, options.new, options.again)
    print(f"{len(learned_from)} pairs to learn from", flush=True)
    ships = options.ship or not options.leave
    changes: Tree = {}
    if options.mean:
        told = origins(options.mean, options.leave, argv)
        models: Iterator[Tree] = iter([rounded(mean_of([read(file) for file in options.mean], options.seed))])
    else:
        told = description(learned_from, argv)
        begun = widened(read(options.begin), options.rank, options.seed) if options.further else None
        models = trained(learned_from, options.epochs, options.seed, begun)
    for changes in models:
        if ships:
            write(changes, options.target, told)
    if ships:
        expect(changes)
    if not options.leave:
        return 0
    held = [one for one in found if one.hand in options.leave]
    scores = probabilities(changes, [encoded(one.older, one.newer) for one in held])
    for line in figures(scores, held):
        print(line)
    if options.limits:
        told = {"made by": f"python -m bench.training.judge_training {' '.join(argv)}", **limits_of(scores, held)}
        LIMITS.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
