"""scikit-learn's contract round the mathematics: validate, pose, solve, publish."""

from unmuddle.estimators.bound import generalization_bound
from unmuddle.estimators.flr import FLRClassifier
from unmuddle.estimators.path import flr_path
from unmuddle.estimators.rpca import RobustPCA

__all__ = ["FLRClassifier", "RobustPCA", "flr_path", "generalization_bound"]
