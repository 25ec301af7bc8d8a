"""Norms and lambdas chosen from the noisy data alone."""

from unmuddle.tuning.given import Given
from unmuddle.tuning.record import Setting, Trial, Tuning
from unmuddle.tuning.search import tune
from unmuddle.tuning.wishes import AUTO, Scale, Wishes

__all__ = ["AUTO", "Given", "Scale", "Setting", "Trial", "Tuning", "Wishes", "tune"]
