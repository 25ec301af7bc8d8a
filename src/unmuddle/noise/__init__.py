"""What corrupts data: a Generator in, the noisy data out with masks of what was touched."""

from unmuddle.noise.features import NoisyFeatures, add_gaussian, spoil_cells
from unmuddle.noise.labels import NoisyLabels, redraw_uniformly

__all__ = ["NoisyFeatures", "NoisyLabels", "add_gaussian", "redraw_uniformly", "spoil_cells"]
