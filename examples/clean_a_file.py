"""Clean a CSV with planted mistakes by the command, and count how many of them were found.

Run it as `python examples/clean_a_file.py`; it writes into the current folder.
"""

import subprocess

import pandas as pd
from muddled_wine import make

muddled, truth = make()
muddled.to_csv("wine.csv", index=False)

command = ["unmuddle", "clean", "wine.csv", "--label", "cultivar", "--id", "bottle", "--force"]
subprocess.run(command, check=True)

cleaned = pd.read_csv("wine-cleaned/cleaned.csv")
audit = pd.read_csv("wine-cleaned/audit.csv")
for kind in ("label", "cell"):
    changed = audit[audit["kind"] == kind]
    columns = ["cultivar"] if kind == "label" else truth.columns[1:-1]
    wrong = (muddled[columns] != truth[columns]).to_numpy().sum()
    right = sum(muddled.loc[row, column] != truth.loc[row, column] for row, column in changed[["row", "column"]].values)
    print(f"{kind}s: {wrong} were wrong; {len(changed)} were changed, {right} of them rightly")
before, after = ((table["cultivar"] == truth["cultivar"]).mean() for table in (muddled, cleaned))
print(f"right labels: {before:.0%} before, {after:.0%} after")
