"""Pattern completion in a modern continuous Hopfield network whose stored patterns are the candidates of one question.

H. Ramsauer et al., "Hopfield Networks is All You Need", ICLR 2021, arXiv:2008.02217: the state xi moves to
X^T softmax(beta X xi), which never raises the energy E = -lse(beta, X xi) + xi.xi / 2 + const (theorem 1). A large
beta completes to one pattern, a small one to the mean of many. One step ranks as the cosine of the question does; only
more steps, compared with the completed state, can say anything new. Whether that helps recall is a matter of
measurement: see docs/decisions/score-fusion.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

BETA: Final = 16.0
STEPS_MAX: Final = 8
# The state has come to rest when it moves less than this (Euclidean).
REST: Final = 1e-4


def completed(
    question: NDArray[np.float32], patterns: NDArray[np.float32], beta: float = BETA, steps: int = STEPS_MAX
) -> NDArray[np.float64]:
    """The state (dimensions,) at which a question (dimensions,) comes to rest among patterns (n, dimensions), or is
    after `steps`. Without a pattern it is the question."""
    state = question.astype(np.float64)
    if not len(patterns):
        return state
    stored = patterns.astype(np.float64)
    for _ in range(steps):
        before, state = state, stored.T @ _softmax(beta * (stored @ state))
        if np.linalg.norm(state - before) < REST:
            break
    return state


def resemblance(state: NDArray[np.float64], patterns: NDArray[np.float32]) -> NDArray[np.float64]:
    """The cosine of each pattern (n, dimensions) with a state, (n,) in [0, 1]: below 0 counts as 0."""
    norms = np.linalg.norm(patterns, axis=1) * float(np.linalg.norm(state))
    cosines = np.divide(patterns @ state, norms, out=np.zeros(len(patterns)), where=norms > 0)
    return np.asarray(np.clip(cosines, 0.0, 1.0))


def recalled(question: NDArray[np.float32], vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """How much each of the vectors resembles the state to which a question comes to rest among them."""
    patterns = np.stack(vectors)
    return resemblance(completed(question, patterns), patterns)


def _softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    raised = np.exp(values - values.max())
    return np.asarray(raised / raised.sum())
