"""CIFAR-10N: features of 12,000 images, with the labels that people gave them beside the true ones."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from unmuddle.datasets.dataset import Dataset, Scale
from unmuddle.datasets.places import find, folder_to_fill, read_bytes
from unmuddle.datasets.registry import Entry, register
from unmuddle.errors import DatasetError, InvalidParameterError

FILE = "cifar10n_efficientnet_lite0_1280d.npz"
FILE_SHA256 = "f1bd44025bf00433805031b5bf66300e90c15dc5b27cd43a5c8412ee451c471d"
ARRAYS = (
    "X_train (10000, 1280), X_test (2000, 1280), y_test (2000,) and clean, aggre, random1, worst (10000,) each, "
    "with labels 0 to 9"
)
SOURCE = "CIFAR-10N (Wei et al., 2022), human labels; features of EfficientNet-Lite0, trained on ImageNet only"
LICENCE = "CC BY-NC 4.0 (labels)"
CLASS_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

Labels = Literal["aggre", "random1", "worst", "clean"]
Features = NDArray[np.floating[Any]]
Classes = NDArray[np.int64]


@dataclass(frozen=True)
class FeatureSet:
    """Features of images in two parts; the training part has noisy labels beside clean ones.

    ``labels`` says which noisy labels these are. ``scale`` is None, for features are used as they are.
    """

    name: str
    labels: Labels
    X_train: Features
    X_test: Features
    y_noisy: Classes
    y_clean: Classes
    y_test: Classes
    class_names: tuple[str, ...] = CLASS_NAMES
    source: str = SOURCE
    licence: str = LICENCE
    scale: Scale = None

    @property
    def noise_rate(self) -> float:
        """Share of the training labels that are wrong."""
        return float(np.mean(self.y_noisy != self.y_clean))


def load_cifar10n(labels: Labels = "aggre", path: str | os.PathLike[str] | None = None) -> FeatureSet:
    """The features as they are, 1280 columns of float32.

    Parameters
    ----------
    labels : {"aggre", "random1", "worst", "clean"}
        Which labels ``y_noisy`` holds: a vote of three people, one of them, a wrong one wherever one was given, or
        the true ones.
    path : path-like, optional
        A file of your own features with the same arrays, of any number of rows and columns. Without it the known
        file is looked for, and verified by its checksum.
    """
    if labels not in get_args(Labels):
        raise InvalidParameterError(f"labels must be one of {', '.join(get_args(Labels))}, got {labels!r}.")
    arrays = _known_arrays() if path is None else _own_arrays(Path(path))
    return FeatureSet(
        name="cifar10n" if path is None else Path(path).stem,
        labels=labels,
        X_train=arrays["X_train"].astype(np.float32),
        X_test=arrays["X_test"].astype(np.float32),
        y_noisy=arrays[labels].astype(np.int64),
        y_clean=arrays["clean"].astype(np.int64),
        y_test=arrays["y_test"].astype(np.int64),
        source=SOURCE if path is None else str(path),
    )


def cifar10n_features(
    n_components: int = 512, labels: Labels = "aggre", path: str | os.PathLike[str] | None = None
) -> FeatureSet:
    """The features as experiments use them: ``load_cifar10n``, then ``principal_features``."""
    raw = load_cifar10n(labels, path)
    X_train, X_test = principal_features(raw.X_train, raw.X_test, n_components)
    return replace(raw, X_train=X_train, X_test=X_test)


def load_people(labels: Labels = "worst", path: str | os.PathLike[str] | None = None) -> Dataset:
    """The 10,000 images that people labelled, as one table: clean labels, and beside them those that were given.

    Columns are the features as experiments use them, learned from all of these images without any label.
    """
    parts = cifar10n_features(labels=labels, path=path)
    return Dataset(
        name=f"{parts.name}-{labels}",
        X=parts.X_train.astype(np.float64),
        y=parts.y_clean,
        feature_names=tuple(f"pc{number}" for number in range(1, parts.X_train.shape[1] + 1)),
        source=parts.source,
        licence=parts.licence,
        scale=parts.scale,
        y_noisy=parts.y_noisy,
    )


def join_parts(parts: FeatureSet, name: str) -> Dataset:
    """Both parts as one table that keeps its split: raw columns, which experiments project by the training rows."""
    return Dataset(
        name=name,
        X=np.vstack([parts.X_train, parts.X_test]).astype(np.float64),
        y=np.concatenate([parts.y_clean, parts.y_test]),
        feature_names=tuple(f"f{number}" for number in range(1, parts.X_train.shape[1] + 1)),
        source=parts.source,
        licence=parts.licence,
        scale="principal",
        y_noisy=np.concatenate([parts.y_noisy, parts.y_test]),
        test=np.arange(len(parts.y_clean) + len(parts.y_test)) >= len(parts.y_clean),
    )


def join_images(parts: FeatureSet, name: str) -> Dataset:
    """All images of both parts with their clean labels, to be split at random: raw columns as in ``join_parts``."""
    return replace(join_parts(parts, name), y_noisy=None, test=None)


def principal_features(
    X_train: Features, X_test: Features, n_components: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standardise, project on principal axes, and divide all by one number; only the training rows are learned from.

    That number makes the mean variance of the training columns 1. Columns are not scaled one by one: that would
    make all variances equal, and nothing of low rank would be left.

    >>> rng = np.random.default_rng(0)
    >>> train, test = principal_features(rng.normal(size=(50, 8)), rng.normal(size=(20, 8)), n_components=3)
    >>> train.shape, test.shape, float(train.var(axis=0).mean().round(6))
    ((50, 3), (20, 3), 1.0)
    """
    most = min(X_train.shape)
    if not 1 <= n_components <= most:
        raise InvalidParameterError(f"n_components must be between 1 and {most}, got {n_components!r}.")
    scaler = StandardScaler().fit(train := X_train.astype(np.float64))
    pca = PCA(n_components, svd_solver="covariance_eigh").fit(train := scaler.transform(train))
    train, test = pca.transform(train), pca.transform(scaler.transform(X_test.astype(np.float64)))
    size = np.sqrt(train.var(axis=0).mean())
    return train / size, test / size


def _known_arrays() -> Mapping[str, NDArray[Any]]:
    path = find(FILE)
    if path is None:
        raise DatasetError(
            f"CIFAR-10N features are not at hand and cannot be downloaded; put {FILE} into {folder_to_fill()}. "
            f"It holds {ARRAYS}. Features of your own with such arrays are loaded by path=."
        )
    content = read_bytes(path)
    if (found := sha256(content).hexdigest()) != FILE_SHA256:
        raise DatasetError(
            f"{path} is damaged or another file: its SHA-256 should be {FILE_SHA256} and is {found}. Put a good copy "
            "in its place. Features of your own are loaded by path=."
        )
    return _unpack(path, content)


def _own_arrays(path: Path) -> Mapping[str, NDArray[Any]]:
    arrays = _unpack(path, read_bytes(path))
    if problem := _inconsistency(arrays):
        raise DatasetError(f"{path} cannot be used: {problem}. It should hold {ARRAYS}, or other sizes that agree.")
    return arrays


def _unpack(path: Path, content: bytes) -> Mapping[str, NDArray[Any]]:
    names = ("X_train", "X_test", "y_test", *get_args(Labels))
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except (OSError, EOFError, BadZipFile, zlib.error, ValueError, TypeError, KeyError, IndexError) as error:
        raise DatasetError(f"{path} is damaged or not an NPZ file that holds {ARRAYS}: {error}") from error


def _inconsistency(arrays: Mapping[str, NDArray[Any]]) -> str | None:
    """In words, what does not fit together."""
    train, test = arrays["X_train"], arrays["X_test"]
    if train.ndim != 2 or test.ndim != 2 or train.shape[1] != test.shape[1]:
        return f"X_train has shape {train.shape} and X_test {test.shape}, so they are not tables of the same columns"
    if not (_all_finite(train) and _all_finite(test)):
        return "a feature is not a finite number"
    rows = dict.fromkeys(get_args(Labels), len(train)) | {"y_test": len(test)}
    wrong = [name for name, n in rows.items() if not _are_labels(arrays[name], n)]
    return f"{', '.join(wrong)} should hold a label of 0 to 9 for each row" if wrong else None


def _all_finite(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "fiu" and bool(np.isfinite(values).all())


def _are_labels(values: NDArray[Any], n: int) -> bool:
    return values.shape == (n,) and values.dtype.kind in "iu" and bool(np.isin(values, range(len(CLASS_NAMES))).all())


def where() -> str:
    """The path of the file of features, or what to put where; it is not read."""
    path = find(FILE)
    return f"missing: put {FILE} into {folder_to_fill()}" if path is None else str(path)


def iswhere() -> bool:
    """Whether the file of features is there; it is not read."""
    return find(FILE) is not None


def _load_by_name() -> NoReturn:
    """Say that a set in two parts is not a Dataset."""
    raise DatasetError("cifar10n comes in two parts with two kinds of labels; load it by load_cifar10n().")


register(
    Entry(
        name="cifar10n",
        load=_load_by_name,
        title="CIFAR-10N: features of images, labelled by people",
        shape="10000 + 2000 x 1280, 10 classes",
        source=SOURCE,
        licence=LICENCE,
        at_hand=where,
    )
)
register(
    Entry(
        name="cifar10n-worst",
        load=load_people,
        title="CIFAR-10N as one table, with the worst labels that people gave",
        shape="10000 x 512, 10 classes",
        source=SOURCE,
        licence=LICENCE,
        at_hand=where,
    )
)
