"""DDC of robpy, which lives in an environment of its own: files out, a process, files back.

robpy wants an older scikit-learn than ours. ``make_environment`` installs it once, in the cache of the datasets; who
finds it missing says why the installation failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmuddle.datasets.places import cache_folder
from unmuddle.errors import MissingExtraError
from unmuddle.files import make_folder, write_whole

PACKAGE = "robpy==0.0.6"
SCRIPT = Path(__file__).with_name("ddc_script.py")
PATIENCE = 1800
"""Seconds after which an installation or a fit is given up."""


class Cells(NamedTuple):
    """What DDC says of cells: absolute standardised residuals, flags, and features with flagged cells replaced."""

    scores: NDArray[np.float64]
    flags: NDArray[np.bool_]
    features: NDArray[np.float64]


def make_environment() -> str:
    """Install robpy if it is not there yet; returns the reason if that fails, which is kept for those who look."""
    if _python(_home()).is_file():
        return ""
    part = _home().with_name(f"{_home().name}.{os.getpid()}.part")
    make_folder(part.parent)
    try:
        _call(sys.executable, "-m", "venv", str(part))
        _call(str(_python(part)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE)
        with suppress(FileExistsError):  # another run was quicker
            part.rename(_home())
        _reason_file().unlink(missing_ok=True)
    except (OSError, subprocess.SubprocessError) as error:
        write_whole(_reason_file(), _last_line(error).encode())
        return _last_line(error)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return ""


def find_cells(X: NDArray[np.floating], script: Path = SCRIPT, python: Path | None = None) -> Cells:
    """Run the script on a matrix by the Python of that environment, or by another."""
    python = python or _installed()
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(source, X=X)
        try:
            _call(str(python), str(script), str(source), str(target))
        except subprocess.SubprocessError as error:
            raise RuntimeError(f"{script.name} failed: {_last_line(error)}") from error
        with np.load(target) as found:
            return Cells(found["scores"], found["flags"], found["features"])


def _installed() -> Path:
    python = _python(_home())
    if not python.is_file():
        reason = _reason_file().read_text() if _reason_file().is_file() else "it was not tried yet"
        raise MissingExtraError(
            f"ddc needs {PACKAGE} in {_home()}, which `python -m benchmarks.cleaning` installs by pip; {reason}."
        )
    return python


def _home() -> Path:
    return cache_folder() / PACKAGE.replace("==", "-")


def _reason_file() -> Path:
    return _home().with_name(f"{_home().name}.failed.txt")


def _python(home: Path) -> Path:
    return home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _call(*words: str) -> None:
    """Run a program to its end, without our own packages in its way."""
    hidden = ("PYTHONPATH", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["MPLBACKEND"] = "Agg"
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=PATIENCE, env=environment)


def _last_line(error: Exception) -> str:
    """What a program said last, which is why it ended."""
    lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
