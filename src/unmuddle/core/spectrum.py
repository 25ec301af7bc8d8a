"""Singular values, and thresholding of them, through Gram matrices that are added up from row blocks.

``S^T S = V s^2 V^T`` gives the singular values of S, and the prox of ``step |.|_*`` at S as ``S V f V^T`` with
``f = max(1 - step / s, 0)``: a map on rows, which never needs the whole matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg

from unmuddle.core.blocks import tiles
from unmuddle.core.prox import Array

EXACT_SIZE, GRAM_RESOLUTION = 1 << 17, 1e-13
"""Entries up to which singular values are computed directly; part of the largest square below which they are noise."""

PARTIAL = (100, 7)
"""Order from which on, and part of the order up to which, finding some eigenvectors is quicker than finding all."""


def singular_values(matrix: Array) -> Array:
    """All singular values, largest first; of large matrices through the smaller Gram matrix.

    That halves the digits of those that are small next to the largest, and is much quicker. What is below its
    resolution is set to zero, lest hundreds of zeros add up to something.
    """
    if matrix.size <= EXACT_SIZE:
        return np.linalg.svd(matrix.astype(np.float64, copy=False), compute_uv=False)
    return _roots(double_gram(matrix if len(matrix) >= matrix.shape[1] else matrix.T))


def nuclear_norm(matrix: Array) -> float:
    """The sum of the singular values."""
    return float(singular_values(matrix).sum())


def spectral_norm(matrix: Array) -> float:
    """The largest singular value."""
    return float(singular_values(matrix).max(initial=0.0))


def gram_of(block: Array) -> Array:
    """``A^T A`` of a row block, to be added up in double precision."""
    return (block.T @ block).astype(np.float64, copy=False)


def double_gram(matrix: Array) -> Array:
    """``A^T A`` in double precision throughout, for what single precision cannot resolve."""
    if matrix.dtype == np.float64:
        return matrix.T @ matrix
    pieces = tiles(slice(0, len(matrix)), matrix.shape[1])
    return sum((gram_of(matrix[rows].astype(np.float64)) for rows in pieces), np.zeros((matrix.shape[1],) * 2))


def _roots(gram: Array) -> Array:
    squares = np.linalg.eigvalsh(gram)[::-1]
    return np.sqrt(np.where(squares > GRAM_RESOLUTION * squares[0], squares, 0.0))


@dataclass(frozen=True)
class Spectrum:
    """Singular values of a matrix that comes in row blocks: a Gram matrix if it is tall and large, else its rows."""

    gram: Array | None
    rows: list[Array]

    @classmethod
    def of(cls, block: Array, shape: tuple[int, int]) -> Spectrum:
        """Begin with one row block of a matrix of the given shape; add the others in order."""
        n, d = shape
        return cls(gram_of(block), []) if n * d > EXACT_SIZE and n >= d else cls(None, [block])

    def __add__(self, other: Spectrum) -> Spectrum:
        gram = None if self.gram is None or other.gram is None else self.gram + other.gram
        return Spectrum(gram, self.rows + other.rows)

    def singular_values(self) -> Array:
        """All of them, largest first."""
        return singular_values(np.concatenate(self.rows)) if self.gram is None else _roots(self.gram)


@dataclass(frozen=True)
class Shrinkage:
    """The singular vectors that are left, the factors on them, and the shrunken singular values (all > 0)."""

    V: Array
    factors: Array
    singular_values: Array

    @classmethod
    def of_gram(cls, gram: Array, step: float, rank: int | None = None) -> Shrinkage:
        """From ``S^T S``; for a wide S from ``S S^T``, and the map is then one on columns.

        ``rank`` is a guess at the rank to come: where it is low, only eigenvalues above ``step**2`` are sought.
        """
        if rank is not None and len(gram) >= PARTIAL[0] and rank * PARTIAL[1] <= len(gram):
            squares, V = linalg.eigh(gram, subset_by_value=(step**2, np.inf), driver="evr")
        elif gram.dtype == np.float32 and len(gram) > 1:  # numpy's is no quicker than in double precision
            squares, V = linalg.eigh(gram, driver="evd")
        else:
            squares, V = np.linalg.eigh(gram)
        return cls._keep(np.sqrt(np.maximum(squares, 0.0)), V, step)

    @classmethod
    def of_rows(cls, S: Array, step: float) -> Shrinkage:
        """From S itself by an SVD, where the step is below what a Gram matrix resolves."""
        _, s, Vt = np.linalg.svd(S, full_matrices=False)
        return cls._keep(s, Vt.T, step)

    @classmethod
    def _keep(cls, s: Array, V: Array, step: float) -> Shrinkage:
        kept = s > step
        return cls(V[:, kept], 1.0 - step / s[kept], s[kept] - step)

    def double(self) -> Shrinkage:
        """In double precision, for sums of what single precision found."""
        return Shrinkage(
            *(part.astype(np.float64, copy=False) for part in (self.V, self.factors, self.singular_values))
        )

    @property
    def rank(self) -> int:
        """How many singular values are left."""
        return len(self.factors)

    def map(self, dtype: DTypeLike = np.float64) -> RowMap:
        """The map ``V f V^T``: two thin factors while the rank is below half the order."""
        left = (self.V * self.factors).astype(dtype, copy=False)
        right = np.ascontiguousarray(self.V.T, dtype=dtype)
        return RowMap(left, right) if 2 * len(right) <= len(left) else RowMap(left @ right, None)

    def times(self, small: Array) -> Array:
        """``V f V^T`` times a matrix of few columns."""
        return (self.V * self.factors) @ (self.V.T @ small)

    def gram(self) -> Array:
        """``X^T X`` of the result."""
        half = self.V * self.singular_values
        return half @ half.T


@dataclass(frozen=True)
class RowMap:
    """A square matrix, or its two thin factors, applied to rows."""

    left: Array
    right: Array | None

    def __call__(self, rows: Array, out: Array | None = None) -> Array:
        """Rows times the matrix; into ``out``, another array, if one is given."""
        if self.right is None:
            return np.matmul(rows, self.left, out=out)
        return np.matmul(rows @ self.left, self.right, out=out)
