"""Shared data of the tests of losses: two networks' logits for six rows, and thirty rows to descend on."""

import numpy as np

Z1 = np.array([[2, 0.5, -1], [0.1, 0.2, 0.3], [-1.5, 1, 0], [0, 0, 0], [3, -2, 1], [-0.5, 0.5, 2.5]])
Z2 = np.array([[1, 1, -0.5], [-0.2, 0.4, 0.9], [0.5, 0.7, -1.2], [0.3, -0.3, 0.6], [1.5, 0, 2], [0, -1, 1]])
CODES = np.array([0, 2, 1, 1, 2, 2])
Y = np.eye(3)[CODES]
T = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.15, 0.25, 0.6]])
REAL = np.ones(6)


def rows_to_descend_on():
    """Thirty rows of three columns, their true classes and given labels, six of which are wrong."""
    i = np.arange(1, 31)
    X = np.column_stack([np.sin(i), np.cos(2 * i), np.ones(30)])
    true = (X @ np.array([[1.5, -1, 0], [0.5, 1, -1.5], [0, 0.1, 0.2]])).argmax(axis=1)
    return X, true, np.where(np.arange(30) % 5 == 0, (true + 1) % 3, true)


def padded(Z, Y, n_rows=4, n_classes=2, nowhere=-1e9):
    """The same with rows and classes that only fill up the arrays, and flags of the real rows."""
    wide = np.pad(Z, ((0, n_rows), (0, 0)), constant_values=0.7)
    wide = np.pad(wide, ((0, 0), (0, n_classes)), constant_values=nowhere)
    return wide, np.pad(Y, ((0, n_rows), (0, n_classes))), np.pad(np.ones(len(Z)), (0, n_rows))
