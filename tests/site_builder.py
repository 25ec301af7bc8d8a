"""docs/build.py as a module."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def load_builder():
    spec = importlib.util.spec_from_file_location("site_builder_script", ROOT / "docs" / "build.py")
    builder = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = builder
    spec.loader.exec_module(builder)
    return builder
