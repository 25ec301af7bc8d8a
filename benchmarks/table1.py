"""How the stored tables compare with the paper's FLR: ``python -m benchmarks.table1``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parents[1] / "docs" / "results" / "table1"
COLUMN = ["dataset", "features", "labels"]


def main() -> None:
    for kind in ("uniform", "flip"):
        table = pd.read_csv(FOLDER / f"table1-{kind}.csv")
        told = table[table["row"] == "flr-told"].set_index(COLUMN)
        gap, paper = told["difference"], told["paper_mean"]
        print(
            f"{kind}: FLR as printed less the paper's, mean {gap.mean():.1f}, from {gap.min():.1f} to {gap.max():.1f},"
        )
        print(f"  above it in {(gap > 0).sum()} of {len(gap)} columns")
        others = table[table["knows"].isna() & ~table["row"].isin(["unmuddle", "flr-l1"])]
        logistic = table[table["row"] == "logistic"].set_index(COLUMN)["mean"]
        print(
            f"  best plain method above the paper's FLR in {(others.groupby(COLUMN)['mean'].max() - paper > 0).sum()}"
        )
        print(f"  logistic regression above the paper's FLR in {(logistic - paper > 0).sum()}")


if __name__ == "__main__":
    main()
