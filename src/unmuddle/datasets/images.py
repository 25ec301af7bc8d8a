"""The image sets of Tables 2 and 3 and of the CIFAR-10 study by name, and generated sets of the same shape beside them.

``c10n-aggre``, ``c10n-random1`` and ``c10n-worst`` keep the split into training and test images and come with noisy
labels; ``cifar10`` is all these images with clean labels. Each has a twin ``...-generated``, which needs no file.
"""

from __future__ import annotations

from collections.abc import Callable

from unmuddle.datasets import cifar10n
from unmuddle.datasets.cifar10n import FeatureSet, Labels, join_images, join_parts, load_cifar10n
from unmuddle.datasets.dataset import Dataset
from unmuddle.datasets.generated_features import LICENCE, SOURCE, make_class_features
from unmuddle.datasets.registry import Entry, register

PEOPLE: tuple[Labels, ...] = ("aggre", "random1", "worst")
GENERATED = "-generated"


def _register(
    name: str, title: str, shape: str, labels: Labels, join: Callable[[FeatureSet, str], Dataset]
) -> None:  # fmt: skip
    def load() -> Dataset:
        return join(load_cifar10n(labels), name)

    def generate() -> Dataset:
        return join(make_class_features(labels), name + GENERATED)

    load.__qualname__, generate.__qualname__ = f"load {name}", f"generate {name}"  # a name belongs to one loader
    register(Entry(name, load, title, shape, cifar10n.SOURCE, cifar10n.LICENCE, cifar10n.where))
    generated = f"{title}; generated, not of images"
    register(Entry(name + GENERATED, generate, generated, shape, SOURCE, LICENCE, lambda: "generated"))


for _labels in PEOPLE:
    _register(
        f"c10n-{_labels}",
        f"CIFAR-10N with its own split, labels {_labels}",
        "10000 + 2000 x 1280, 10 classes",
        _labels,
        join_parts,
    )
_register("cifar10", "the images of CIFAR-10N with clean labels", "12000 x 1280, 10 classes", "clean", join_images)
