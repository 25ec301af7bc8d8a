"""Data to try things on; nothing here is read before it is asked for."""

from unmuddle.datasets.dataset import Dataset
from unmuddle.datasets.wine import load_wine

__all__ = ["Dataset", "load_wine"]
