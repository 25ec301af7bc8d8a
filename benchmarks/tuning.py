"""What an automatic fit costs: ``python -m benchmarks.tuning [--quick]``.

Prints the time of an automatic fit over that of a single fit at the setting it chose; the aim is at most 6. And both
over the floor: the matrix products of as many iterations as the single fit had.
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter

import numpy as np

from benchmarks.problems import low_rank_problem
from benchmarks.solver import floor_seconds
from unmuddle import FLRClassifier
from unmuddle.errors import UnmuddleWarning

AIM = 6.0


def measure(n: int, d: int) -> None:
    problem = low_rank_problem(n, d)
    X, y = problem.features, problem.labels.argmax(axis=1)
    began = perf_counter()
    model = FLRClassifier(random_state=0).fit(X, y)
    automatic = perf_counter() - began
    chosen, lambdas = model.tuning_.chosen.setting, model.lambdas_
    single = FLRClassifier(
        chosen.feature_norm,
        chosen.label_norm,
        lambda_projection=lambdas.projection,
        lambda_features=lambdas.features,
        lambda_labels=lambdas.labels,
    )
    began = perf_counter()
    single.fit(X, y)
    alone = perf_counter() - began
    assert np.allclose(single.projection_, model.projection_)
    print(f"{n} x {d}: {model.tuning_.reason}")
    print(f"automatic {automatic:.1f} s, single {alone:.1f} s ({single.n_iter_} iterations, {single.status_.name})")
    print(f"ratio {automatic / alone:.2f}, aim {AIM:g}")
    floor = single.n_iter_ * floor_seconds(X)
    print(f"over the floor of {floor:.1f} s: automatic {automatic / floor:.1f}, single {alone / floor:.1f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", UnmuddleWarning)
    measure(*((2000, 64) if "--quick" in sys.argv[1:] else (10_000, 512)))
