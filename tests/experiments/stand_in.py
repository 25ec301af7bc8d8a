"""A stand-in with the contract of HybridCleaner: nearest class means, and cells far from the median of their column."""

import numpy as np
import pandas as pd


class StandIn:
    def __init__(self, estimator=None, *, scale="standard", overlap=True, random_state=0):
        self.estimator, self.scale, self.random_state = estimator, scale, random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.array([np.median(X[y == label], axis=0) for label in self.classes_])
        self.cell_scores_ = np.abs(X - np.median(X, axis=0))
        rows, columns = np.nonzero(self.cell_scores_ > 5)
        self.recovered_ = np.where(self.cell_scores_ > 5, np.median(X, axis=0), X)
        self.cell_issues_ = pd.DataFrame({"row": rows, "column": columns, "flag": True})
        suggested = self.predict(X)
        wrong = suggested != y
        lines = {
            "row": np.arange(len(y)),
            "suggested": suggested,
            "confidence": np.where(wrong, 0.9, 0.1),
            "flag": wrong,
        }
        self.label_issues_ = pd.DataFrame(lines).iloc[::-1]  # in an order that must not matter
        rate = wrong.mean()
        report = [
            ("cells", "all", "share", 0.0, 0.0, 0.0),
            ("labels", "all", "noise rate", rate, rate - 0.1, rate + 0.1),
        ]
        self.noise_report_ = pd.DataFrame(report, columns=["part", "name", "quantity", "estimate", "low", "high"])
        return self

    def predict(self, X):
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]
