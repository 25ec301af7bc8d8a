"""The verdict on every claim of the paper, from the stored runs: ``python -m benchmarks.claims [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path

from unmuddle.errors import UnmuddleError
from unmuddle.experiments.claims import write_claims

FOLDER = Path(__file__).parents[1] / "docs" / "results"


def main(arguments: list[str]) -> int:
    try:
        print(f"Written: {write_claims(Path(arguments[0]) if arguments else FOLDER)}")
    except UnmuddleError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
