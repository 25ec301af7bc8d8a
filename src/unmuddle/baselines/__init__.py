"""The paper's competitors and their kin as scikit-learn estimators; networks need the extra ``baselines``."""

from unmuddle.baselines.base import NetworkClassifier
from unmuddle.baselines.coteaching import CoTeachingClassifier
from unmuddle.baselines.cross_entropy import CrossEntropyClassifier
from unmuddle.baselines.dmi import DMIClassifier
from unmuddle.baselines.forward import ForwardClassifier
from unmuddle.baselines.gce import GCEClassifier
from unmuddle.baselines.jocor import JoCoRClassifier
from unmuddle.baselines.lqf import LQFClassifier
from unmuddle.baselines.mentornet import MentorNetClassifier
from unmuddle.baselines.rpca import RPCAClassifier
from unmuddle.baselines.rrl import RRLClassifier
from unmuddle.baselines.sce import SCEClassifier
from unmuddle.baselines.selecting import SelectingClassifier

__all__ = [
    "CoTeachingClassifier",
    "CrossEntropyClassifier",
    "DMIClassifier",
    "ForwardClassifier",
    "GCEClassifier",
    "JoCoRClassifier",
    "LQFClassifier",
    "MentorNetClassifier",
    "NetworkClassifier",
    "RPCAClassifier",
    "RRLClassifier",
    "SCEClassifier",
    "SelectingClassifier",
]
