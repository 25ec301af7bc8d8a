"""JAX in double precision, for values known to eight digits."""

from contextlib import AbstractContextManager

import pytest


def double() -> AbstractContextManager[None]:
    """Within it JAX computes in double precision; the context manager has moved between versions."""
    jax = pytest.importorskip("jax", reason="the networks need the extra `baselines`")
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return pytest.importorskip("jax.experimental").enable_x64(True)
