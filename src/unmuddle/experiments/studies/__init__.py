"""The figures of the paper as studies: points to measure, a picture, a verdict.

>>> list(STUDIES)
['ablation', 'sensitivity', 'recovery', 'complexity', 'convergence', 'bound']
"""

from unmuddle.experiments.studies.ablation import Ablation
from unmuddle.experiments.studies.bound import BoundStudy
from unmuddle.experiments.studies.complexity import Complexity
from unmuddle.experiments.studies.convergence import Convergence
from unmuddle.experiments.studies.recovery import Recovery
from unmuddle.experiments.studies.sensitivity import Sensitivity
from unmuddle.experiments.studies.study import Study, run_study

_ALL: tuple[Study, ...] = (Ablation(), Sensitivity(), Recovery(), Complexity(), Convergence(), BoundStudy())

STUDIES: dict[str, Study] = {study.name: study for study in _ALL}
"""Every study by the name of its command. A new one is entered here."""

__all__ = ["STUDIES", "Study", "run_study"]
