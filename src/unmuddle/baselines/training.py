"""The one training loop: an epoch is one compiled program; objective, batches and schedule are what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from unmuddle.baselines import objectives, robust
from unmuddle.baselines.batches import Index, pad_batches, round_columns_up, round_up, shuffled_batches
from unmuddle.baselines.losses import NOWHERE
from unmuddle.baselines.network import Parameters, initial_layer, mean_probabilities, stack
from unmuddle.baselines.objectives import Batch, Knobs, Objective
from unmuddle.baselines.schedules import MOMENTUM, step_sizes

FEWEST_ROWS = 256
"""Data of fewer rows are filled up to so many: the programs are then the same, and the rows cost next to nothing."""

WINDOW = 10
"""Epochs over which noisy validation accuracies are averaged before the best is taken: single ones jump."""


class Data(NamedTuple):
    """Rows on the device, filled up to a common size; the last row is always one that counts for nothing."""

    X: Array
    targets: Array
    weights: Array
    real: Array
    offset: Array


class State(NamedTuple):
    """What an epoch changes."""

    parameters: Parameters
    optimiser: Any


@dataclass(frozen=True)
class Budget:
    """What every method gets alike."""

    hidden: tuple[int, ...]
    n_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float


@dataclass
class Trained:
    """Networks as they were at the best epoch, and how it went; without a finite epoch, as they were at the start."""

    parameters: Parameters
    epoch: int = -1
    level: float = 0.0
    scores: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)


class Change(NamedTuple):
    """What a method changes before an epoch."""

    data: Data
    knobs: Mapping[str, Any] = MappingProxyType({})


class Progress(NamedTuple):
    """What a method may look at before an epoch: its networks now, and at the best epoch so far."""

    epoch: int
    now: Parameters
    best: Parameters


def _adam(learning_rate: float, beta: float, decay: float) -> optax.GradientTransformation:
    """Adam with weights decaying as part of the gradient."""
    return optax.chain(
        optax.add_decayed_weights(decay),
        optax.scale_by_adam(b1=beta),
        optax.scale_by_learning_rate(learning_rate),
    )


ADAM = optax.inject_hyperparams(_adam)(learning_rate=1e-3, beta=MOMENTUM, decay=0.0)
"""Adam whose numbers may change from epoch to epoch without a new compilation."""


@partial(jax.jit, static_argnames=("objective", "optimiser"))
def run_epoch(
    objective: Objective,
    optimiser: optax.GradientTransformation,
    state: State,
    data: Data,
    batches: Array,
    seeds: Array,
    n_batches: int,
    knobs: Knobs,
) -> tuple[State, Array]:
    """One step for each batch, which has a seed of its own; also the mean of the objective, NaN if weights overflow."""

    def step(place: Any, carry: tuple[State, Array]) -> tuple[State, Array]:
        (parameters, optimiser_state), total = carry
        rows = batches[place]
        key = jax.random.wrap_key_data(seeds[place], impl="rbg")  # compiled in a tenth of the time of the default
        batch = Batch(data.X[rows], data.targets[rows], data.weights[rows], data.real[rows], data.offset, key)
        value, gradient = jax.value_and_grad(objective)(parameters, batch, knobs)
        updates, optimiser_state = optimiser.update(gradient, optimiser_state, parameters)
        return State(optax.apply_updates(parameters, updates), optimiser_state), total + value

    state, total = jax.lax.fori_loop(0, n_batches, step, (state, jnp.zeros(())))
    size = sum(jnp.abs(array).sum() for array in jax.tree_util.tree_leaves(state.parameters))
    return state, jnp.where(jnp.isfinite(size), total / n_batches, jnp.nan)


@jax.jit
def accuracy(parameters: Parameters, data: Data) -> Array:
    """Share of real rows whose label the averaged networks predict."""
    predicted = mean_probabilities(parameters, data.X, data.offset).argmax(axis=1)
    return ((predicted == data.targets.argmax(axis=1)) * data.real).sum() / data.real.sum()


probabilities = jax.jit(mean_probabilities)


class Course:
    """Noisy data to train on and to judge by, on the device, and the budget; methods train one or more times on it."""

    objectives, robust, change = objectives, robust, Change

    def __init__(
        self,
        X: np.ndarray,
        codes: Index,
        n_classes: int,
        judged: Index,
        budget: Budget,
        rng: np.random.Generator,
    ) -> None:
        """``judged`` are the rows that are kept to judge epochs by; there may be none."""
        self.n_classes, self.n_columns, self.budget, self.rng = n_classes, X.shape[1], budget, rng
        self.rows = np.setdiff1d(np.arange(len(codes)), judged)
        self.X, self.codes = X[self.rows], codes[self.rows]
        self.data = self._place(self.X, self.codes)
        self._judge = self._place(X[judged], codes[judged]) if len(judged) else None
        self.diverged_at: int | None = None

    def networks(self, n: int) -> Parameters:
        """Fresh networks."""
        return stack([self._network() for _ in range(n)])

    def layer(self, n_in: int, n_out: int) -> tuple[Array, Array]:
        """A fresh layer of a method with one network and parts of its own."""
        weights, biases = initial_layer(self.rng, n_in, n_out)
        return jnp.asarray(weights[None]), jnp.asarray(biases[None])

    def predict(self, parameters: Parameters) -> np.ndarray:
        """Class probabilities of the training rows."""
        found = probabilities(parameters, self.data.X, self.data.offset)
        return np.asarray(found, dtype=np.float64)[: len(self.codes), : self.n_classes]

    def train(
        self,
        objective: Objective,
        parameters: Parameters,
        knobs: Mapping[str, Any] | None = None,
        *,
        each_epoch: Mapping[str, Any] | None = None,
        learning_rate: float | None = None,
        n_epochs: int | None = None,
        deal: Callable[[Index, int, np.random.Generator], list[Index]] = shuffled_batches,
        before: Callable[[Progress], Change | None] | None = None,
    ) -> Trained:
        """Train to the end and hand back the networks of the epoch that noisy validation data like best.

        Where objective or weights are no longer finite, training stops, and ``diverged_at`` is that epoch.

        ``each_epoch`` are knobs with a value for each epoch; ``before`` an epoch, a method may change data and knobs.
        """
        n_epochs = n_epochs or self.budget.n_epochs
        sizes = step_sizes(learning_rate or self.budget.learning_rate, n_epochs)
        series = {"beta": np.full(n_epochs, MOMENTUM), **(each_epoch or {}), "learning_rate": sizes}
        data, best, fixed = self.data, Trained(parameters), _as_arrays(knobs or {})
        state = State(parameters, ADAM.init(parameters))
        for epoch in range(n_epochs):
            change = before(Progress(epoch, state.parameters, best.parameters)) if before is not None else None
            if change is not None:
                data, fixed = change.data, {**fixed, **_as_arrays(change.knobs)}
            batches = deal(self.codes, self.budget.batch_size, self.rng)
            padded = pad_batches(batches, len(self.codes))
            now = {name: jnp.float32(values[epoch]) for name, values in series.items()}
            state, loss = run_epoch(
                objective,
                ADAM,
                self._set_optimiser(state, now),
                data,
                padded,
                self.rng.integers(2**32, size=(len(padded), 4), dtype=np.uint32),
                len(batches),
                {**fixed, **now},
            )
            if not np.isfinite(loss):
                self.diverged_at = epoch
                break
            best.losses.append(float(loss))
            self._judge_epoch(state.parameters, epoch, min(WINDOW, n_epochs), best)
        return best

    def pad_matrix(self, matrix: np.ndarray) -> Array:
        """A matrix of class by class, filled up with the identity."""
        padded = np.eye(self.data.targets.shape[1], dtype=np.float32)
        padded[: self.n_classes, : self.n_classes] = matrix
        return jnp.asarray(padded)

    def pad_rows(self, values: np.ndarray) -> Array:
        """Numbers of the training rows, filled up with zeros, as are classes."""
        shape = (len(self.data.real), *self.data.targets.shape[1:])[: values.ndim]
        padded = np.zeros(shape, dtype=np.float32)
        padded[tuple(slice(size) for size in values.shape)] = values
        return jnp.asarray(padded)

    def unpad(self, parameters: Parameters) -> list[dict[str, Any]]:
        """Each network by itself, without what only fills up, for use without the device."""
        n_networks = len(parameters["output"][1])
        return [
            {
                "hidden": [
                    _layer(layer, network, None if place else self.n_columns)
                    for place, layer in enumerate(parameters["hidden"])
                ],
                "output": _layer(
                    parameters["output"],
                    network,
                    None if parameters["hidden"] else self.n_columns,
                    self.n_classes,
                ),
            }
            for network in range(n_networks)
        ]

    def _judge_epoch(self, parameters: Parameters, epoch: int, window: int, best: Trained) -> None:
        """Keep the networks where the mean over the last epochs is as high as ever, and while there is none yet."""
        level = 0.0
        if self._judge is not None:
            best.scores.append(float(accuracy(parameters, self._judge)))
            level = float(np.mean(best.scores[-window:]))
        if epoch < window or level >= best.level - 1e-9:
            best.parameters, best.epoch, best.level = parameters, epoch, level

    def _set_optimiser(self, state: State, now: Mapping[str, Array]) -> State:
        numbers = {"learning_rate": now["learning_rate"], "beta": now["beta"]}
        numbers["decay"] = jnp.float32(self.budget.weight_decay)
        return state._replace(optimiser=state.optimiser._replace(hyperparams=numbers))

    def _network(self) -> Parameters:
        sizes = [self.n_columns, *self.budget.hidden]
        inputs = [self.data.X.shape[1], *self.budget.hidden]
        layers = [
            initial_layer(self.rng, n_in, n_out, (padded, n_out))
            for n_in, n_out, padded in zip(sizes[:-1], sizes[1:], inputs[:-1], strict=True)
        ]
        shape = inputs[-1], self.data.targets.shape[1]
        return {"hidden": layers, "output": initial_layer(self.rng, sizes[-1], self.n_classes, shape)}

    def _place(self, X: np.ndarray, codes: Index) -> Data:
        shape = round_up(len(codes) + 1, FEWEST_ROWS), round_columns_up(self.n_columns), round_up(self.n_classes)
        rows = np.zeros(shape[:2], dtype=np.float32)
        rows[: len(codes), : self.n_columns] = X
        targets = np.zeros(shape[::2], dtype=np.float32)
        targets[np.arange(len(codes)), codes] = 1.0
        real = np.zeros(shape[0], dtype=np.float32)
        real[: len(codes)] = 1.0
        offset = np.where(np.arange(shape[2]) < self.n_classes, 0.0, NOWHERE).astype(np.float32)
        return Data(*map(jnp.asarray, (rows, targets, real, real, offset)))


def _as_arrays(knobs: Mapping[str, Any]) -> dict[str, Array]:
    return {name: jnp.asarray(value, dtype=jnp.float32) for name, value in knobs.items()}


def _layer(layer: Any, network: int, n_in: int | None, n_out: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    weights, biases = (np.asarray(array[network], dtype=np.float64) for array in layer)
    return weights[:n_in, :n_out], biases[:n_out]
