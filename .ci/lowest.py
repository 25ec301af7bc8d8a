"""Print the plain dependencies pinned to their lower bounds, one a line, for ``pip install``."""

import pathlib
import re
import tomllib

project = tomllib.loads(pathlib.Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
for requirement in project["dependencies"]:
    print(re.sub(r">=", "==", requirement))
