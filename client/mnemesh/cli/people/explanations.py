"""Why a result stands where it does, as lines: the parts of its score, and its heat."""

from __future__ import annotations

from collections.abc import Iterator

from mnemesh.api import values

# A score that differs so much from the estimate shares the mean of its neighbours in the order.
MEAN_SHOWN = 0.0005


def heat_parts(heat: values.Heat) -> str:
    """The parts of a heat: how long half of it lasts, by which factors, and its strength."""
    cooling = f"half-life {heat.half_life_days:g} d" if heat.half_life_days else "does not cool"
    factors = f"{heat.usage:.2f} usage x {heat.usefulness:.2f} usefulness x {heat.valence:.2f} valence"
    return f"{cooling} x {factors}, strength {heat.strength:.2f}"


def estimated(estimate: values.Estimate, score: float) -> str:
    """How measurements made a score, as a sum: cosine 0.38 x 4.7 + alone 1.4 - 5.75 = -2.56, a probability of 0.071."""
    addends = []
    for part in estimate.parts:
        sign = "-" if part.weight < 0 else "+"
        name = "" if part.name == "constant" else f"{part.name} "
        measured = "" if part.raw is None else f"{part.value:.3f} x "
        addends.append(f"{sign} {name}{measured}{abs(part.weight):g}")
    total = sum(part.share for part in estimate.parts)
    line = f"{' '.join(addends).removeprefix('+ ')} = {total:.2f}, a probability of {estimate.probability:.3f}"
    moved = abs(score - estimate.probability) >= MEAN_SHOWN
    mean = f"; {score:.3f} is the mean with its neighbours, or what rules leave" if moved else ""
    return f"{line}{mean}"


def explained(result: values.Result) -> Iterator[tuple[str, bool]]:
    """The part of each signal in the score of a result, and their sum. The others by their names."""
    if not result.signals:
        return
    width = max(len(signal.name) for signal in result.signals)
    yield f"          {'signal':<{width}}  measured   value  weight   share", True
    for part in result.signals:
        if part.share:
            raw = "" if part.raw is None else f"{part.raw:.3f}"
            yield (
                f"          {part.name:<{width}}  {raw:>8}   {part.value:.3f}   {part.weight:.3f}   {part.share:.3f}",
                False,
            )
    yield f"          {'score':<{width}}  {'':>8}   {'':>5}   {'':>5}   {result.score:.3f}", False
    if result.estimate:
        yield f"          {estimated(result.estimate, result.score)}", False
    if result.heat:
        yield f"          heat {result.heat.value:.2f}: {heat_parts(result.heat)}", True
    if idle := [signal.name for signal in result.signals if not signal.share]:
        yield f"          nothing from {', '.join(idle)}", True
