"""scikit-learn's own battery for every network, and what users of any classifier expect."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("jax", reason="the networks need the extra `baselines`")

from unmuddle import baselines  # noqa: E402 - behind the guard
from unmuddle.errors import InvalidParameterError  # noqa: E402

NETWORKS = [
    baselines.CrossEntropyClassifier,
    baselines.GCEClassifier,
    baselines.SCEClassifier,
    baselines.CoTeachingClassifier,
    baselines.JoCoRClassifier,
    baselines.MentorNetClassifier,
    baselines.DMIClassifier,
    baselines.ForwardClassifier,
    baselines.LQFClassifier,
    baselines.RRLClassifier,
]
FEW = {"n_epochs": 30, "learning_rate": 0.02, "hidden_layer_sizes": (16,)}


@parametrize_with_checks([network(**FEW) for network in NETWORKS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
