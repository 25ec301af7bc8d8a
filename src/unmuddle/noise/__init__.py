"""What corrupts data: a Generator in, the noisy data out with masks of what was touched."""

from unmuddle.noise.features import (
    NoisyFeatures,
    add_gaussian,
    add_laplacian,
    remove_cells,
    spoil_cells,
    spoil_rows,
    swap_cells,
)
from unmuddle.noise.kinds import FEATURE_KINDS, LABEL_KINDS, spoil_features, spoil_labels
from unmuddle.noise.labels import (
    NoisyLabels,
    flip,
    flip_by_features,
    flip_pairs,
    redraw_by_transition,
    redraw_uniformly,
)
from unmuddle.noise.transitions import flip_transition, pair_transition, uniform_transition

__all__ = [
    "FEATURE_KINDS",
    "LABEL_KINDS",
    "NoisyFeatures",
    "NoisyLabels",
    "add_gaussian",
    "add_laplacian",
    "flip",
    "flip_by_features",
    "flip_pairs",
    "flip_transition",
    "pair_transition",
    "redraw_by_transition",
    "redraw_uniformly",
    "remove_cells",
    "spoil_cells",
    "spoil_features",
    "spoil_labels",
    "spoil_rows",
    "swap_cells",
    "uniform_transition",
]
