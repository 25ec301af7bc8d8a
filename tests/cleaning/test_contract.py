"""scikit-learn's own battery for the cleaner."""

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from unmuddle import HybridCleaner

WEIGHTS = "weights are on labels: features count once for each row, and folds and trees are drawn by rows"


@parametrize_with_checks(
    [HybridCleaner(random_state=0), HybridCleaner(LogisticRegression(), recovery="none", random_state=0)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": "sparse data are refused",  # old versions ask
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
