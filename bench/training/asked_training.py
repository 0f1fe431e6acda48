"""`python -m bench.training.asked_training`: train the reader of asked pairs, and write its file.

A question is read with an older text, beside a newer one: does the newer text answer in the place of the older one?
Changes of low rank and a head teach the embedder's weights. The training begins with the reader of pairs or with an
earlier reader of asked pairs (`--begun-with`). It reads all questions of the hands that came last, and a share of the
others (`--again`). The loss is the cross-entropy of each pair, with smoothed labels. `--mean FILE ...` trains nothing
and takes the mean of models that began with the same one (Wortsman et al. 2022, arXiv:2203.05482). The area under the
ROC curve is printed for the hands that are left out (`--leave`), before and after. The training needs jax and optax.
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
from typing import Any, Final

import jax
import numpy as np
import optax
from bench.training.answer_training import of_two_classes
from bench.training.asked_pairs import OF_ASKED_READER, AskedPair, asked_pairs
from bench.training.judge_training import (
    CLIPPED,
    DECAY,
    DROPOUT,
    HISTORIES,
    LAST_RATE,
    LEAST_BATCH,
    SECOND_MOMENT,
    SMOOTHED,
    WARM_UP,
    mean_of,
    origins,
)
from bench.training.pair_judge import GUARD
from bench.training.pair_reader import (
    BATCH,
    CLASSES,
    TOKENS_MAX,
    WIDTHS,
    Encoded,
    Floats,
    Tree,
    base,
    batch_of,
    batches,
    encoded,
    logits,
    stepped,
)
from bench.training.weight_changes import read, rounded, write

from mnemesh_actors.models.pair_graph import ASKED_DELTAS_FILE, ASKED_FORM, DELTAS_FILE

EXPECTED: Final = GUARD / "asked_reader_expected.json"
RATE: Final = 6e-4
LEFT: Final = "contested_bl"  # Two projects that no training has seen.
TOLD_EVERY: Final = 200


def chosen(
    pairs: Sequence[AskedPair], left: Sequence[str], again: float, chance: np.random.Generator
) -> list[AskedPair]:
    """The pairs to learn from: all of the last hands, and a share of the others."""
    kept = [pair for pair in pairs if pair.hand not in left]
    others = [pair for pair in kept if pair.hand not in OF_ASKED_READER]
    drawn = np.flatnonzero(chance.random(len(others)) < again)
    return [*(pair for pair in kept if pair.hand in OF_ASKED_READER), *(others[at] for at in drawn)]


def begun_by(changes: Tree) -> Tree:
    """The changes of a file as a training begins with them. Of the reader of pairs the head becomes the log odds that
    the newer text replaces the older one and is not apart."""
    head = changes["head"]
    if len(head["bias"]) == len(CLASSES):
        replaces, apart = CLASSES.index("replaces"), CLASSES.index("apart")
        return {**changes, "head": {part: (values[replaces] - values[apart])[None] for part, values in head.items()}}
    return {**changes, "head": {part: values[:1] for part, values in head.items()}}


def trained(
    pairs: Sequence[AskedPair], epochs: int, rate: float, chance: np.random.Generator, seed: int, begun: Tree
) -> Iterator[Tree]:
    """The changes after each epoch."""
    steps = epochs * (len(pairs) // BATCH + len(WIDTHS))
    rates = optax.warmup_cosine_decay_schedule(0.0, rate, int(steps * WARM_UP), steps, rate * LAST_RATE)
    matrices = jax.tree_util.tree_map(lambda values: values.ndim > 1, begun)
    optimiser = optax.chain(
        optax.clip_by_global_norm(CLIPPED), optax.adamw(rates, b2=SECOND_MOMENT, weight_decay=DECAY, mask=matrices)
    )
    changes, state, step = begun, optimiser.init(begun), jax.jit(partial(_step, optimiser))
    key, losses, since = jax.random.key(seed, impl="unsafe_rbg"), [], time.monotonic()
    texts = [encoded(pair.older, pair.newer) for pair in pairs]
    truth = np.array([pair.answers for pair in pairs], np.float32)
    for _ in range(epochs):
        for width, places in batches(texts, chance.permutation(len(texts)), LEAST_BATCH):
            key, use = jax.random.split(key)
            batch = batch_of([texts[at] for at in places], width)
            changes, state, loss = step(changes, state, base().weights, batch, truth[places], use)
            losses.append(float(loss))
            if len(losses) % TOLD_EVERY == 0:
                spent = time.monotonic() - since
                print(f"step {len(losses)} of {steps}: {np.mean(losses[-TOLD_EVERY:]):.3f}, {spent:.0f} s", flush=True)
        yield rounded(changes)


def _step(
    optimiser: Any, changes: Tree, state: Any, weights: Any, batch: Any, truth: Any, key: Any
) -> tuple[Tree, Any, Any]:
    def loss(now: Tree) -> Any:
        odds = logits(now, weights, batch, key, DROPOUT)[:, 0]
        wanted = truth * (1 - SMOOTHED) + SMOOTHED / 2
        return (wanted * jax.nn.softplus(-odds) + (1 - wanted) * jax.nn.softplus(odds)).mean()

    return stepped(optimiser, loss, changes, state)


_logits: Final = jax.jit(logits)


def odds_of(changes: Tree, pairs: Sequence[Encoded]) -> Floats:
    """The log odds of each pair that its newer text answers."""
    found = np.zeros(len(pairs), np.float32)
    for width, places in batches(pairs, range(len(pairs)), smallest=1):
        found[places] = np.asarray(_logits(changes, base().weights, batch_of([pairs[at] for at in places], width)))[
            :, 0
        ]
    return found


def area(odds: Floats, truth: Floats) -> float:
    """The area under the ROC curve."""
    return float((odds[truth == 1][:, None] > odds[truth == 0][None, :]).mean())


def expect(changes: Tree) -> None:
    """Write the probabilities of the pairs on which a test compares the graph of the product with this encoder."""
    rows = json.loads(EXPECTED.read_text("utf-8"))
    odds = odds_of(changes, [encoded(row["asked"], row["newer"]) for row in rows])
    for row, found in zip(rows, odds.astype(float), strict=True):
        row["probability"] = round(1 / (1 + np.exp(-found)), 5)
    EXPECTED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main(argv: Sequence[str]) -> int:
    """Train, print the areas after each epoch, write the file."""
    parser = argparse.ArgumentParser(prog="bench.training.asked_training", description=__doc__)
    parser.add_argument("--leave", nargs="+", default=[LEFT], help="hands whose questions are measured, not learned")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--again", type=float, default=0.35, help="of the pairs of the hands before the last ones")
    parser.add_argument("--begun-with", type=Path, default=DELTAS_FILE, help="a file of changes to begin with")
    parser.add_argument("--mean", nargs="+", type=Path, default=[], help="trained models whose mean is taken")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", type=Path, default=ASKED_DELTAS_FILE)
    options = parser.parse_args(argv)
    pairs = asked_pairs(HISTORIES)
    if unknown := {*options.leave} - {pair.hand for pair in pairs}:
        raise SystemExit(f"leave: no question is by {', '.join(sorted(unknown))}")
    chance = np.random.default_rng(options.seed)
    learned = [] if options.mean else chosen(pairs, options.leave, options.again, chance)
    print(f"{len(learned)} pairs to learn from", flush=True)
    begun = begun_by(read(options.begun_with))
    origin = origins(options.mean or [options.begun_with], options.leave, argv)
    told = {
        "tokens_max": TOKENS_MAX,
        **ASKED_FORM,
        "made_by": f"python -m bench.training.asked_training {' '.join(argv)}",
        "made_of": sorted({pair.hand for pair in learned} | {*origin["made_of"]}),
        "mean_of" if options.mean else "begun_with": origin["mean_of"],
        "examples": hashlib.sha256(json.dumps(learned).encode()).hexdigest()[:12],
    }
    if options.mean:
        models = iter([rounded(mean_of([begun_by(read(file)) for file in options.mean], options.seed))])
    else:
        models = trained(learned, options.epochs, options.rate, chance, options.seed, begun)
    for changes in models:
        for hand in options.leave:
            held = [pair for pair in pairs if pair.hand == hand]
            truth = np.array([pair.answers for pair in held], np.float32)
            found = [odds_of(one, [encoded(pair.older, pair.newer) for pair in held]) for one in (begun, changes)]
            before, after = (area(odds, truth) for odds in found)
            print(f"{hand}: {len(held)} pairs, area {before:.3f} before, {after:.3f} after", flush=True)
        write(of_two_classes(changes), options.target, told)
    if options.target == ASKED_DELTAS_FILE:
        expect(changes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
