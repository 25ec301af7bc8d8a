"""What the command line does with a user's files: clean, apply, predict, report."""

from unmuddle.jobs.apply import apply_changes
from unmuddle.jobs.clean import Job, Outcome, clean_file, describe
from unmuddle.jobs.model import Model, load_model, save_model
from unmuddle.jobs.predict import predict_file
from unmuddle.jobs.stages import Stages
from unmuddle.jobs.summary import read_summary, verdict

__all__ = [
    "Job", "Model", "Outcome", "Stages", "apply_changes", "clean_file", "describe", "load_model", "predict_file",
    "read_summary", "save_model", "verdict",
]  # fmt: skip
