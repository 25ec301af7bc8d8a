"""Make wine.csv, a table with known mistakes: run it as `python examples/muddled_wine.py`.

A fifth of the labels of the Wine data are wrong, and a tenth of the cells are eight standard deviations off. What was
right is in wine-truth.csv, to compare with.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

CULTIVARS = np.array(["barolo", "grignolino", "barbera"])


def make(seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table with mistakes, and the same table without them."""
    rng = np.random.default_rng(seed)
    X, codes = load_wine(return_X_y=True, as_frame=True)
    truth = X.assign(cultivar=CULTIVARS[codes])
    truth.insert(0, "bottle", [f"b{number:03d}" for number in range(len(truth))])
    muddled = truth.astype(dict.fromkeys(X.columns, float))
    for row in rng.permutation(len(X))[: len(X) // 5]:
        others = CULTIVARS[truth.loc[row, "cultivar"] != CULTIVARS]
        muddled.loc[row, "cultivar"] = rng.choice(others)
    for place in rng.permutation(X.size)[: X.size // 10]:
        row, column = place // X.shape[1], X.columns[place % X.shape[1]]
        muddled.loc[row, column] = round(truth.loc[row, column] + rng.choice([-8, 8]) * X[column].std(), 3)
    return muddled, truth


if __name__ == "__main__":
    muddled, truth = make()
    muddled.to_csv("wine.csv", index=False)
    truth.to_csv("wine-truth.csv", index=False)
    print("Written: wine.csv, wine-truth.csv")
