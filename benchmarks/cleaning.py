"""The leaderboard of cleaners: ``python -m benchmarks.cleaning --quick`` in minutes, without that in hours.

Stop it whenever you like: the next run with the same folder goes on where it was.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from unmuddle.cli import progress_bar
from unmuddle.errors import UnmuddleError
from unmuddle.experiments.board import make_leaderboard
from unmuddle.experiments.ddc import make_environment
from unmuddle.experiments.leaderboard import (
    DATASETS,
    NOISES,
    QUICK_DATASETS,
    QUICK_NOISES,
    QUICK_TRIALS,
    TRIALS,
    Leaderboard,
    at_hand,
    choose_methods,
)
from unmuddle.experiments.methods import load_plugin


def main(arguments: list[str] | None = None) -> int:
    options = read_options(arguments)
    try:
        for path in options.plugin:
            load_plugin(path)
        board, remarks = plan(options)
        if "ddc" in board.methods and (reason := make_environment()):
            print(f"DDC is left out: {reason}", file=sys.stderr)
        with progress_bar() as on_progress:
            made = make_leaderboard(
                board, options.out, command(options), options.jobs, on_progress, options.plugin, remarks,
                retry=options.retry_failed,
            )  # fmt: skip
    except UnmuddleError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    print("Written: " + ", ".join(map(str, made.files)))
    if made.failed:
        print(f"{made.failed} cells have no result; the first is {made.reason}", file=sys.stderr)
    return 0


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cleaning", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/cleaning"), help="folder for the store and the files")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--quick", action="store_true", help="three sets that need no file, four noises, two trials")
    parser.add_argument("--trials", type=int, default=0, help="trials; 0 is 5, or 2 with --quick")
    parser.add_argument("--methods", type=names, default=[], help="methods, separated by commas")
    parser.add_argument("--datasets", type=names, default=[], help="datasets, separated by commas")
    parser.add_argument("--plugin", type=Path, action="append", default=[], help="Python file that adds methods")
    parser.add_argument("--retry-failed", action="store_true", help="run failed cells again")
    options = parser.parse_args(arguments)
    if options.jobs < 1 or options.trials < 0:
        parser.error(f"--jobs must be at least 1 and --trials at least 0; got {options.jobs} and {options.trials}.")
    return options


def names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def plan(options: argparse.Namespace) -> tuple[Leaderboard, list[str]]:
    """What to run, and what to say of datasets that are left out because their file is missing."""
    found, lacking = at_hand(QUICK_DATASETS if options.quick else DATASETS)
    remarks = [f"Left out, for the file is not at hand: {', '.join(lacking)}."] if lacking else []
    board = Leaderboard(
        choose_methods(options.methods),
        tuple(options.datasets) or found,
        QUICK_NOISES if options.quick else NOISES,
        options.trials or (QUICK_TRIALS if options.quick else TRIALS),
    )
    return board, [] if options.datasets else remarks


def command(options: argparse.Namespace) -> str:
    """The command that makes the same leaderboard, wherever and by however many processes."""
    words = ["python", "-m", "benchmarks.cleaning", *(["--quick"] if options.quick else [])]
    for name in ("methods", "datasets"):
        words += [f"--{name}", ",".join(getattr(options, name))] if getattr(options, name) else []
    words += ["--trials", str(options.trials)] if options.trials else []
    return shlex.join([*words, *(f"--plugin={path.name}" for path in options.plugin)])


if __name__ == "__main__":
    sys.exit(main())
