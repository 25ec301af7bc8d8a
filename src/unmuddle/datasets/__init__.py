"""Data to try things on; nothing here is read before it is asked for.

A file is looked for in the folder that ``UNMUDDLE_DATA`` names, then in the cache, and then fetched where that is
possible. A new dataset is one call of ``register``, from any module.
"""

from unmuddle.datasets.breast_cancer import load_breast_cancer
from unmuddle.datasets.cifar10n import FeatureSet, cifar10n_features, load_cifar10n, principal_features
from unmuddle.datasets.cnae9 import load_cnae9
from unmuddle.datasets.dataset import Dataset, Scale
from unmuddle.datasets.digits import load_digits
from unmuddle.datasets.generated_features import make_class_features
from unmuddle.datasets.glass import load_glass
from unmuddle.datasets.images import GENERATED, PEOPLE
from unmuddle.datasets.registry import Entry, available, load, register
from unmuddle.datasets.waveform import load_waveform, make_waveform
from unmuddle.datasets.wine import load_wine

__all__ = [
    "GENERATED",
    "PEOPLE",
    "Dataset",
    "Entry",
    "FeatureSet",
    "Scale",
    "available",
    "cifar10n_features",
    "load",
    "load_breast_cancer",
    "load_cifar10n",
    "load_cnae9",
    "load_digits",
    "load_glass",
    "load_waveform",
    "load_wine",
    "make_class_features",
    "make_waveform",
    "principal_features",
    "register",
]
