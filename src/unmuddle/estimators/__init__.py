"""scikit-learn's contract round the mathematics: validate, pose, solve, publish."""

from unmuddle.estimators.flr import FLRClassifier
from unmuddle.estimators.rpca import RobustPCA

__all__ = ["FLRClassifier", "RobustPCA"]
