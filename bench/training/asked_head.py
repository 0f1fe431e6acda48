"""`python -m bench.training.asked_head --measured HAND`: the second head of the reader of pairs.

The reader was trained on two texts and on two texts with a question. The second head reads what the encoder makes of a
pair with a question, and gives the log odds that the newer text answers in the place of the older one. The encoder and
its first head stay as they are. The second begins as the odds of the first. It learns from hands whose questions the
encoder has not seen (logistic regression, with a penalty on the squares of what differs). The area under the ROC curve
is printed for hands that neither has seen. The training needs jax and optax. The product needs neither.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from bench.training.asked_pairs import OF_SECOND_HEAD, asked_pairs
from bench.training.judge_training import EXPECTED, HISTORIES
from bench.training.pair_reader import CLASSES, Encoded, Floats, Tree, base, batch_of, batches, encoded, features
from bench.training.weight_changes import read

from mnemesh_actors.models.pair_graph import DELTAS_FILE, JUDGE_FORM

PENALTY: Final = 0.05  # On the squares of the weights of features of unit variance. .03 to .1 are as good.
STEPS: Final = 800
RATE: Final = 3e-3
DEVIATION_MIN: Final = 1e-6
_FEATURES: Final = jax.jit(features)


class Head(NamedTuple):
    """Log odds are `features @ weight + bias`."""

    weight: Floats
    bias: float


def seen(changes: Tree, pairs: Sequence[Encoded]) -> Floats:
    """What a head sees of each pair."""
    found = np.zeros((len(pairs), 4 * base().hidden), np.float32)
    for width, places in batches(pairs, range(len(pairs)), smallest=1):
        found[places] = _FEATURES(changes, base().weights, batch_of([pairs[at] for at in places], width))
    return found


def odds_of_first(changes: Tree) -> Head:
    """The odds of the first head that a text replaces and is not apart."""
    replaces, apart = CLASSES.index("replaces"), CLASSES.index("apart")
    weight, bias = changes["head"]["weight"], changes["head"]["bias"]
    return Head(weight[replaces] - weight[apart], float(bias[replaces] - bias[apart]))


def fitted(begun: Head, read_: Floats, truth: Floats) -> Head:
    """The head that tells answers (truth 1) from others (0): `begun`, scaled, and what is added to it."""
    mean, deviation = read_.mean(0), read_.std(0) + DEVIATION_MIN
    unit, sign = jnp.asarray((read_ - mean) / deviation), jnp.asarray(2 * truth - 1)
    before = jnp.asarray(read_ @ begun.weight + begun.bias)

    def loss(head: dict[str, Any]) -> Any:
        odds = head["scale"] * before + unit @ head["added"] + head["bias"]
        return jnp.logaddexp(0, -sign * odds).mean() + PENALTY * (head["added"] ** 2).sum()

    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, STEPS))
    head = {"scale": jnp.array(1.0), "added": jnp.zeros(read_.shape[1]), "bias": jnp.array(0.0)}
    state = optimiser.init(head)

    def further(head: Any, state: Any) -> tuple[Any, Any]:
        change, state = optimiser.update(jax.grad(loss)(head), state)
        return optax.apply_updates(head, change), state

    step = jax.jit(further)
    for _ in range(STEPS):
        head, state = step(head, state)
    scale, added = float(head["scale"]), np.asarray(head["added"]) / deviation
    return Head(scale * begun.weight + added, scale * begun.bias + float(head["bias"]) - float(mean @ added))


def area(odds: Floats, truth: Floats) -> float:
    """The area under the ROC curve."""
    return float((odds[truth == 1][:, None] > odds[truth == 0][None, :]).mean())


def main(argv: Sequence[str]) -> int:
    """Fit the head, print the areas, write it into the file."""
    parser = argparse.ArgumentParser(prog="bench.training.asked_head", description=__doc__)
    parser.add_argument("--hands", nargs="+", default=OF_SECOND_HEAD, help="whose questions are learned from")
    parser.add_argument("--measured", nargs="+", default=[], help="hands whose questions are measured")
    parser.add_argument("--file", type=Path, default=DELTAS_FILE)
    options = parser.parse_args(argv)
    with np.load(options.file) as file:
        arrays = {name: file[name] for name in file.files}
    told = json.loads(arrays["meta"].tobytes())
    wanted = {*options.hands, *options.measured}
    if known := wanted & {*told["made_of"]}:
        raise SystemExit(f"hands: the encoder has learned from {', '.join(sorted(known))}")
    if both := {*options.hands} & {*options.measured}:
        raise SystemExit(f"measured: {', '.join(sorted(both))} would be learned from too")
    changes = read(options.file)
    pairs = [pair for pair in asked_pairs(HISTORIES) if pair.hand in wanted]
    if unknown := wanted - {pair.hand for pair in pairs}:
        raise SystemExit(f"hands: no question is by {', '.join(sorted(unknown))}")
    features_ = seen(changes, [encoded(pair.older, pair.newer) for pair in pairs])
    truth = np.array([pair.answers for pair in pairs], np.float32)
    learned = np.array([pair.hand in options.hands for pair in pairs])
    first = odds_of_first(changes)
    head = fitted(first, features_[learned], truth[learned])
    print(f"{learned.sum()} pairs to learn from")
    for hand in options.measured:
        here = np.array([pair.hand == hand for pair in pairs])
        areas = [area(features_[here] @ one.weight + one.bias, truth[here]) for one in (first, head)]
        print(f"{hand}: {here.sum()} pairs, area {areas[0]:.3f} by the first head, {areas[1]:.3f} by the second")
    told |= {**JUDGE_FORM, "asked_by": f"python -m bench.training.asked_head {' '.join(argv)}"}
    arrays["meta"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
    arrays["asked.weight"] = head.weight[None].astype(np.float32)
    arrays["asked.bias"] = np.array([head.bias], np.float32)
    np.savez_compressed(options.file, allow_pickle=False, **arrays)
    rows = json.loads(EXPECTED.read_text("utf-8"))
    expected = seen(changes, [encoded(row["older"], row["newer"]) for row in rows]) @ head.weight + head.bias
    for row, odds in zip(rows, expected.tolist(), strict=True):
        row["asked"] = odds
    EXPECTED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
