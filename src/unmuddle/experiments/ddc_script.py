"""DDC of robpy on the matrix of one file, its findings into another: ``python ddc_script.py IN.npz OUT.npz``.

It is run by the Python of an environment of its own, for robpy wants an older scikit-learn; it imports nothing of ours.
"""

import sys

import numpy as np
import pandas as pd


def main(source: str, target: str) -> None:
    """Absolute standardised residuals, flags, and features with flagged cells replaced by their predictions.

    DDC refuses columns of few values or without a spread. Their scores are distances from the median in standard
    deviations, and none of their cells is flagged.
    """
    from robpy.outliers.ddc import DDC  # noqa: PLC0415 - there only in that environment

    X = np.load(source)["X"]
    middle, spread = np.median(X, axis=0), X.std(axis=0)
    deviations = np.median(np.abs(X - middle), axis=0)
    usable = [len(np.unique(X[:, j])) > 3 and deviations[j] > 0 for j in range(X.shape[1])]
    scores = np.abs(X - middle) / np.where(spread > 0, spread, 1.0)
    flags, features = np.zeros(X.shape, dtype=bool), X.copy()
    if any(usable):
        model = DDC().fit(pd.DataFrame(X[:, usable]))
        scores[:, usable] = np.nan_to_num(np.abs(model.standardized_residuals_), posinf=1e6)
        flags[:, usable] = model.cellwise_outliers_
        features[:, usable] = np.where(model.cellwise_outliers_, model.rescaled_predictions_, X[:, usable])
    np.savez(target, scores=scores, flags=flags, features=features)


if __name__ == "__main__":
    main(*sys.argv[1:])
