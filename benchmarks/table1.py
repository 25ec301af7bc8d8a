"""How the stored tables compare with the paper's: ``python -m benchmarks.table1``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parents[1] / "docs" / "results" / "table1"
COLUMN = ["dataset", "features", "labels"]
COMPETITORS = ["rpca", "gce", "coteaching", "jocor", "dmi", "lqf", "rrl"]
OTHERS = ["logistic", "ridge", "forest", "cleanlab", "rpca-cleanlab", "clip-pca4-cleanlab", "clip-pca80-cleanlab"]


def main() -> None:
    for kind in ("uniform", "flip"):
        table = pd.read_csv(FOLDER / f"table1-{kind}.csv")
        means = table.pivot_table(index=COLUMN, columns="row", values="mean")
        print(f"\n{kind}, {len(means)} columns")
        report_paper(table)
        paper = table[table["row"] == "flr-told"].set_index(COLUMN)["paper_mean"]
        report_flr(means, paper)


def report_paper(table: pd.DataFrame) -> None:
    """Each row that the paper prints too."""
    printed = table[table["paper_mean"].notna() & table["mean"].notna()]
    for row, lines in printed.groupby("row", sort=False):
        gap = lines["mean"] - lines["paper_mean"]
        print(
            f"  {row:12} ours less the paper's: mean {gap.mean():+.1f}, from {gap.min():+.1f} to {gap.max():+.1f}; "
            f"above it in {(gap > 0).sum()} of {len(gap)}"
        )


def report_flr(means: pd.DataFrame, paper: pd.Series) -> None:
    """FLR against its competitors and against plain methods."""
    competitors = means[[row for row in COMPETITORS if row in means]]
    flr = means["flr-told"]
    print(f"  FLR as printed, told: above all competitors in {(flr > competitors.max(axis=1)).sum()} columns;")
    for row in competitors:
        print(f"    above {row} in {(flr > competitors[row]).sum()} of {competitors[row].notna().sum()}")
    best, plain, paper = competitors.max(axis=1), means[OTHERS].max(axis=1), paper.reindex(means.index)
    print(f"  best competitor above the paper's FLR in {(best > paper).sum()}")
    print(f"  best plain method above the paper's FLR in {(plain > paper).sum()}")
    print(f"  logistic regression above the paper's FLR in {(means['logistic'] > paper).sum()}")
    print(f"  best competitor above the best plain method in {(best > plain).sum()}")


if __name__ == "__main__":
    main()
