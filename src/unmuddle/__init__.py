"""Learn from data whose features and labels are both partly wrong."""

from unmuddle.core.admm import ADMM
from unmuddle.core.paper import Algorithm1
from unmuddle.core.result import Status
from unmuddle.estimators import FLRClassifier, RobustPCA, flr_path

__version__ = "0.1.0"

__all__ = ["ADMM", "Algorithm1", "FLRClassifier", "RobustPCA", "Status", "flr_path"]
