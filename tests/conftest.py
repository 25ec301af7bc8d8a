"""Settings for all tests: small matrices on two shared cores are quickest with one BLAS thread."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is imported, and inherited by worker processes
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false")
"""Networks in tests are small and many: compiling them well takes longer than training them."""
