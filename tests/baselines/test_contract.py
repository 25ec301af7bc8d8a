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

from unmuddle import baselines
from unmuddle.errors import InvalidParameterError

pytest.importorskip("jax", reason="the networks need the extra `baselines`")

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
FEW = {"n_epochs": 20, "learning_rate": 0.03, "hidden_layer_sizes": (16,)}


@parametrize_with_checks([network(**FEW) for network in NETWORKS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


each_network = pytest.mark.parametrize("network", NETWORKS)


@pytest.fixture(scope="module")
def wine():
    X, codes = load_wine(return_X_y=True)
    return X, np.array(["barolo", "grignolino", "barbera"])[codes]


@each_network
def test_string_labels_probabilities_and_seeds(network, wine):
    X, y = wine
    model = network(random_state=3, **FEW).fit(X, y)
    probabilities = model.predict_proba(X)
    assert set(model.predict(X)) <= set(y)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
    again = clone(model).fit(X, y)
    assert np.array_equal(again.predict_proba(X), probabilities)
    other = clone(model).set_params(random_state=4).fit(X, y)
    assert not np.array_equal(other.predict_proba(X), probabilities)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), probabilities)


def test_a_grid_search_in_a_pipeline_works(wine):
    X, y = wine
    pipeline = make_pipeline(StandardScaler(), baselines.GCEClassifier(scale=None, random_state=0, **FEW))
    search = GridSearchCV(pipeline, {"gceclassifier__q": [0.3, 0.7]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9


def test_dataframes_keep_their_column_names(wine):
    X, y = wine
    frame = pd.DataFrame(X).add_prefix("c")
    model = baselines.CrossEntropyClassifier(random_state=0, **FEW).fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize(
    ("network", "changes", "words"),
    [
        (baselines.CrossEntropyClassifier, {"hidden_layer_sizes": 64}, r"hidden_layer_sizes .* tuple .* 64"),
        (baselines.CrossEntropyClassifier, {"hidden_layer_sizes": (True,)}, "hidden_layer_sizes.*True"),
        (baselines.CrossEntropyClassifier, {"hidden_layer_sizes": np.array([4, 4])}, "hidden_layer_sizes.*array"),
        (baselines.CoTeachingClassifier, {"noise_rate": np.array([0.1, 0.2])}, "noise_rate must be 'estimate' or"),
        (baselines.ForwardClassifier, {"transition": [["a", "b"]]}, "matrix of numbers"),
        (baselines.CrossEntropyClassifier, {"n_epochs": 0}, "n_epochs must be an integer of at least 1.*0"),
        (baselines.CrossEntropyClassifier, {"batch_size": "many"}, "batch_size.*'many'"),
        (baselines.CrossEntropyClassifier, {"learning_rate": -1.0}, r"learning_rate.*-1\.0"),
        (baselines.CrossEntropyClassifier, {"validation_fraction": 1.0}, r"validation_fraction.*below 1.*1\.0"),
        (baselines.CrossEntropyClassifier, {"scale": "loud"}, "scale must be one of.*'loud'"),
        (baselines.GCEClassifier, {"q": 0.0}, r"q must be a number above 0 to 1; got 0\.0"),
        (baselines.GCEClassifier, {"truncated": "yes"}, "truncated must be True or False"),
        (baselines.SCEClassifier, {"log_zero": 4.0}, r"log_zero.*below 0; got 4\.0"),
        (baselines.CoTeachingClassifier, {"noise_rate": "guess"}, "noise_rate must be 'estimate' or.*'guess'"),
        (baselines.CoTeachingClassifier, {"noise_rate": 1.0}, r"noise_rate.*got 1\.0"),
        (baselines.JoCoRClassifier, {"agreement": 1.5}, r"agreement.*1\.5"),
        (baselines.DMIClassifier, {"fine_learning_rate": 0}, "fine_learning_rate.*got 0"),
        (baselines.ForwardClassifier, {"transition": "magic"}, "transition must be one of.*'magic'"),
        (baselines.ForwardClassifier, {"transition": np.eye(2)}, r"3 classes; got shape \(2, 2\)"),
        (baselines.ForwardClassifier, {"transition": np.ones((3, 3))}, "rows that sum to 1"),
        (baselines.LQFClassifier, {"information": "gossip"}, "information must be one of.*'gossip'"),
        (baselines.LQFClassifier, {"shrink": 2}, "shrink.*got 2"),
        (baselines.RRLClassifier, {"hidden_layer_sizes": ()}, "at least one layer"),
        (baselines.RRLClassifier, {"n_neighbors": 0}, "n_neighbors.*got 0"),
    ],
)
def test_bad_parameters_are_named_with_rule_and_value(network, changes, words, wine):
    with pytest.raises(InvalidParameterError, match=words):
        network(**{**FEW, **changes}).fit(*wine)


def test_features_beyond_single_precision_are_refused(wine):
    X, y = wine
    with pytest.raises(ValueError, match=r"X is too large.*scale='standard'"):
        baselines.CrossEntropyClassifier(scale=None, **FEW).fit(1e20 * X, y)


def test_a_given_transition_matrix_is_copied(wine):
    T = np.eye(3)
    model = baselines.ForwardClassifier(transition=T, random_state=0, **FEW).fit(*wine)
    T[:] = 0.0
    assert np.array_equal(model.transition_, np.eye(3))


def test_refitting_leaves_nothing_of_the_last_fit(wine):
    model = baselines.GCEClassifier(truncated=True, random_state=0, **FEW).fit(*wine)
    assert len(model.kept_) == len(model.trained_rows_)
    assert not hasattr(model.set_params(truncated=False).fit(*wine), "kept_")
    assert model.loss_curve_.min() > 0


WITHOUT_JAX = """
import sys
sys.modules["jax"] = sys.modules["optax"] = None
import numpy as np
import unmuddle
from unmuddle import baselines, experiments
from unmuddle.errors import MissingExtraError
X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
baselines.RPCAClassifier().fit(X, y).predict(X)
try:
    baselines.GCEClassifier().fit(X, y)
except MissingExtraError as error:
    print(error)
"""


def test_without_jax_all_can_be_imported_and_fitting_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT_JAX], capture_output=True, text=True, check=True)
    assert "GCEClassifier needs jax" in done.stdout
    assert "pip install 'unmuddle[baselines]'" in done.stdout


PREDICT_WITHOUT_JAX = """
import pickle, sys
sys.modules["jax"] = sys.modules["optax"] = None
model, X = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(model.predict_proba(X)))
"""


def test_a_fitted_network_predicts_where_there_is_no_jax(wine):
    X, y = wine
    model = baselines.CoTeachingClassifier(random_state=0, **FEW).fit(X, y)
    done = subprocess.run(
        [sys.executable, "-c", PREDICT_WITHOUT_JAX], input=pickle.dumps((model, X)), capture_output=True, check=True
    )
    assert np.array_equal(pickle.loads(done.stdout), model.predict_proba(X))
