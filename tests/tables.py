"""A small table with known slips, as a file of any format."""

import numpy as np
import pandas as pd

N_ROWS = 120
WRONG_LABELS = (3, 24, 50)
WRONG_CELL = (10, "width", 900.0)
MISSING_CELL = (31, "height")


def small_frame():
    """Three well separated classes, three labels swapped, one cell far off, one missing.

    With rows enough that the swaps are found whatever the seed: half as many left one of them in doubt.
    """
    rng = np.random.default_rng(0)
    codes = np.arange(N_ROWS) % 3
    centres = np.array([[10, 200, 5, 1], [30, 260, 9, 5], [50, 320, 2, 9]])
    base = centres[codes] + rng.normal(size=(N_ROWS, 4)) * [1.5, 8, 0.5, 0.5]
    frame = pd.DataFrame(base.round(2), columns=["length", "width", "depth", "height"])
    frame["count"] = (codes * 10 + rng.integers(0, 5, N_ROWS)).astype(int)
    frame["colour"] = np.array(["red", "green", "blue"])[codes]
    frame["species"] = np.array(["ash", "birch", "cedar"])[codes]
    for row in WRONG_LABELS:
        frame.loc[row, "species"] = "ash" if frame.loc[row, "species"] != "ash" else "cedar"
    frame.loc[WRONG_CELL[0], WRONG_CELL[1]] = WRONG_CELL[2]
    frame.loc[MISSING_CELL[0], MISSING_CELL[1]] = np.nan
    frame.insert(0, "tag", [f"tree-{row}" for row in range(N_ROWS)])
    return frame


def csv_text(delimiter=",", comma=False, end="\r\n"):
    """With quotes and spaces that a writer would not make, to see that they are kept."""
    lines = ['tag , length,width,depth,height,count,colour,"species"'.replace(",", delimiter)]
    for row in small_frame().itertuples(index=False):
        numbers = ["" if value != value else f"{value:.2f}" for value in row[1:5]]
        numbers = [number.replace(".", ",") for number in numbers] if comma else numbers
        cells = [row.tag, *numbers, f" {row.count}", f'"{row.colour}"', row.species]
        lines.append(delimiter.join(cells))
    return end.join(lines) + end
