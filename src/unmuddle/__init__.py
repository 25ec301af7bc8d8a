"""Learn from data whose features and labels are both partly wrong."""

from unmuddle.cleaning import Cleaned, HybridCleaner
from unmuddle.core.admm import ADMM
from unmuddle.core.paper import Algorithm1
from unmuddle.core.result import Status
from unmuddle.estimators import FLRClassifier, RobustPCA, flr_path, generalization_bound
from unmuddle.report import summary_html

HybridCleaner.notebook_summary = staticmethod(summary_html)

__version__ = "0.1.0"

__all__ = [
    "ADMM",
    "Algorithm1",
    "Cleaned",
    "FLRClassifier",
    "HybridCleaner",
    "RobustPCA",
    "Status",
    "flr_path",
    "generalization_bound",
]
