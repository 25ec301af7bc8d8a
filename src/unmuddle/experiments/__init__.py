"""Experiments as plain data: a plan, a store that survives, tables beside the paper's own.

>>> from unmuddle.experiments import METHODS
>>> "unmuddle" in METHODS
True
"""

from unmuddle.experiments import baselines, flr, references  # noqa: F401 - each registers its methods

from unmuddle.experiments import cleaners  # noqa: F401  # isort: skip - listed after those of Table 1
from unmuddle.experiments.methods import METHODS, Answer, Method, Task, method

__all__ = ["METHODS", "Answer", "Method", "Task", "method"]
