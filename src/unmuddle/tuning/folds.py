"""Rows to learn from and rows to judge by, alike in their classes."""

from __future__ import annotations

import numpy as np

from unmuddle.tuning.given import NO_LABEL, Rows

SAMPLE = 1500
"""Rows that a choice is made on at most."""

FEW = 600
"""Up to so many labelled rows three folds are used, beyond it two."""

LEAST = 12
"""Fewer labelled rows than this tell nothing."""


def split(codes: Rows, rng: np.random.Generator, sample: int = SAMPLE) -> list[tuple[Rows, Rows]]:
    """Folds of a sample of the rows, as pairs (learn, judge); none where a choice would be by chance.

    Rows are sorted by class, at random within it, and dealt in turn: so folds are alike, whatever classes are called.
    Rows without a label fill what is left of the sample; they judge nothing, so every fold learns from all of them.
    """
    chance, labelled = rng.random(len(codes)), np.flatnonzero(codes != NO_LABEL)
    n, bare = len(labelled), np.flatnonzero(codes == NO_LABEL)
    _, first, inverse, counts = np.unique(codes[labelled], return_index=True, return_inverse=True, return_counts=True)
    order = labelled[np.lexsort((chance[labelled], first[inverse]))]
    order = order[np.linspace(0, n - 1, min(n, sample)).round().astype(np.intp)]
    k = 3 if len(order) <= FEW else 2
    if n < LEAST or np.count_nonzero(counts >= k) < 2:
        return []
    bare = bare[np.argsort(chance[bare])][: sample - len(order)]
    dealt = [np.sort(order[i::k]) for i in range(k)]
    return [(np.sort(np.concatenate([*dealt[:i], *dealt[i + 1 :], bare])), dealt[i]) for i in range(k)]
