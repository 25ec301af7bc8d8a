"""The mathematics: arrays in, arrays out.

Notation throughout, after the paper "Robust Learning under Hybrid Noise":

====== =========== ==========================================================
symbol shape       meaning
====== =========== ==========================================================
X~     (n, d)      given features, ``problem.features``
Y~     (n, c)      given labels, one-hot, ``problem.labels``
X      (n, d)      recovered features, low rank
Z, b   (d, c), (c) projection from features to labels, and intercept
B      (n, c)      recovered labels, ``X Z + 1 b^T``
E_f    (n, d)      feature errors, ``X~ - X``
E_l    (n, c)      label errors, ``Y~ - B``
J, K               the copies of Z and X that Algorithm 1 splits off
M1..M5             multipliers of the five equality constraints
====== =========== ==========================================================
"""
