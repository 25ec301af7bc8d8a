"""Print the plain dependencies and those of the networks pinned to their lower bounds, for ``pip install``."""

import pathlib
import re
import tomllib

project = tomllib.loads(pathlib.Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["baselines"]:
    print(re.sub(r">=", "==", requirement))
