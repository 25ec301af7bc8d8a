"""Settings for all tests: small matrices on two shared cores are quickest with one BLAS thread."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is imported, and inherited by worker processes
