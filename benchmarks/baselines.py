"""The networks on two blobs, against the same network under plain cross entropy; and trials one by one or at once.

    python -m benchmarks.baselines

prints the tables of docs/baselines.md.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import time
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from unmuddle import baselines
from unmuddle.noise import spoil_labels

METHODS = {
    "cross entropy": baselines.CrossEntropyClassifier,
    "RPCA": baselines.RPCAClassifier,
    "GCE": baselines.GCEClassifier,
    "Co-teaching": baselines.CoTeachingClassifier,
    "JoCoR": baselines.JoCoRClassifier,
    "L_DMI": baselines.DMIClassifier,
    "LQF": baselines.LQFClassifier,
    "RRL": baselines.RRLClassifier,
    "SCE": baselines.SCEClassifier,
    "forward": baselines.ForwardClassifier,
    "MentorNet": baselines.MentorNetClassifier,
}
CASES = {"clean, 2 columns": (2, 0.0), "40 % uniform, 2 columns": (2, 0.4), "40 % uniform, 10 columns": (10, 0.4)}
SEEDS, N_ROWS, N_TEST, APART = 10, 300, 2000, 5.0


def blobs(n_rows, n_columns, rng):
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] += APART * y
    return X, y


def accuracies(method, n_columns, rate):
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        X, y = blobs(N_ROWS, n_columns, rng)
        given = spoil_labels(y, "uniform", rng, rate=rate).values if rate else y
        new, truth = blobs(N_TEST, n_columns, rng)
        found.append(100 * method(random_state=seed).fit(X, given).score(new, truth))
    return np.array(found)


def report_limits():
    """Forward correction with the true matrix, and RRL at the published bar for given labels."""
    n_columns, rate = CASES["40 % uniform, 10 columns"]
    told = partial(baselines.ForwardClassifier, transition=[[0.8, 0.2], [0.2, 0.8]])
    print(f"\n40 % uniform, 10 columns: forward, told T {accuracies(told, n_columns, rate).mean():.2f}")
    low = partial(baselines.RRLClassifier, low=0.1)
    print(f"40 % uniform, 10 columns: RRL, low = 0.1 {accuracies(low, n_columns, rate).mean():.2f}")
    before, after = np.mean([wrong_labels(low, n_columns, rate, seed) for seed in range(SEEDS)], axis=0)
    print(f"  wrong labels of trained rows, before {100 * before:.1f} %, after its cleaning {100 * after:.1f} %")


def wrong_labels(method, n_columns, rate, seed):
    rng = np.random.default_rng(seed)
    X, y = blobs(N_ROWS, n_columns, rng)
    given = spoil_labels(y, "uniform", rng, rate=rate).values
    model = method(random_state=seed).fit(X, given)
    rows = model.trained_rows_
    return np.mean(given[rows] != y[rows]), np.mean(model.labels_ != y[rows])


def report_blobs():
    for case, (n_columns, rate) in CASES.items():
        print(f"\n{case}: accuracy in %, and difference to cross entropy with its standard error, {SEEDS} seeds")
        control = accuracies(METHODS["cross entropy"], n_columns, rate)
        for name, method in METHODS.items():
            found = control if name == "cross entropy" else accuracies(method, n_columns, rate)
            difference = found - control
            error = difference.std(ddof=1) / np.sqrt(SEEDS)
            print(f"  {name:14} {found.mean():6.2f}  least {found.min():6.2f}  {difference.mean():+6.2f} ± {error:.2f}")


SHAPES = {"Wine": (121, 13, 3, 64, 200), "Waveform": (3400, 21, 3, 64, 60), "CNAE-9": (734, 856, 9, 256, 30)}
"""Rows, columns, classes, hidden units, epochs."""


def report_trials_at_once(n_trials=5):
    """Epochs of several trials by one vectorised program, against one after the other."""
    import jax  # noqa: PLC0415 - after the flags are set
    import jax.numpy as jnp  # noqa: PLC0415

    from unmuddle.baselines import objectives, training  # noqa: PLC0415
    from unmuddle.baselines.batches import default_batch_size, pad_batches, shuffled_batches  # noqa: PLC0415

    def trial(n, d, n_classes, hidden, seed):
        rng = np.random.default_rng(seed)
        budget = training.Budget((hidden,), 1, default_batch_size(n), 1e-3, 1e-4)
        none = np.array([], dtype=int)
        course = training.Course(rng.normal(size=(n, d)), rng.integers(0, n_classes, n), n_classes, none, budget, rng)
        batches = shuffled_batches(course.codes, budget.batch_size, rng)
        padded = jnp.asarray(pad_batches(batches, n))
        seeds = jnp.zeros((len(padded), 4), dtype=jnp.uint32)
        parameters = course.networks(1)
        return (training.State(parameters, training.ADAM.init(parameters)), course.data, padded, seeds), len(batches)

    print(f"\ntime of {n_trials} trials one by one over that of all at once, epochs only")
    for name, (*shape, n_epochs) in SHAPES.items():
        trials, counts = zip(*(trial(*shape, seed) for seed in range(n_trials)), strict=True)

        def epoch(state, data, batches, seeds, n_batches=counts[0]):
            return training.run_epoch(
                objectives.plain, training.ADAM, state, data, batches, seeds, n_batches, {}
            )[0]  # fmt: skip

        at_once, together = jax.jit(jax.vmap(epoch)), jax.tree_util.tree_map(lambda *each: jnp.stack(each), *trials)
        ratios = []
        for _ in range(4):  # the first of which compiles
            start = time.perf_counter()
            for state, *rest in trials:
                for _ in range(n_epochs):
                    state = epoch(state, *rest)  # noqa: PLW2901
                jax.block_until_ready(state)
            middle = time.perf_counter()
            state, *rest = together
            for _ in range(n_epochs):
                state = at_once(state, *rest)
            jax.block_until_ready(state)
            ratios.append((middle - start) / (time.perf_counter() - middle))
        print(f"  {name:10} {np.median(ratios[1:]):.2f}")


if __name__ == "__main__":
    warnings.simplefilter("error")
    with threadpool_limits(1):
        report_blobs()
        report_limits()
        report_trials_at_once()
