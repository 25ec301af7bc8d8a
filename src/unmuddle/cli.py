"""The command line: parse, call, print, exit code."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from unmuddle import __version__, datasets, file_commands
from unmuddle.checks import LARGEST_SEED
from unmuddle.demo import Demo, run_demo
from unmuddle.errors import UnmuddleError
from unmuddle.experiments import campaign, catalogue
from unmuddle.experiments.grid import Request
from unmuddle.experiments.methods import load_plugin
from unmuddle.experiments.reproduce import Made, Setup

app = typer.Typer(
    name="unmuddle",
    help="Learn from data whose features and labels are both partly wrong.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
file_commands.add_to(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unmuddle {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Learn from data whose features and labels are both partly wrong."""


@app.command(epilog=file_commands.EXIT_CODES)
def demo(
    cell_noise: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of cells that are spoiled.")] = 0.1,
    label_noise: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of labels drawn anew.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the noise and of the split.")] = 0,
    as_json: file_commands.AsJson = False,
) -> None:
    """Spoil the Wine data, recover it, and show before and after.

    Example: unmuddle demo --label-noise 0.4
    """
    result = run_demo(cell_noise, label_noise, seed)
    if as_json:
        lines = {line.what: {"as given": line.before, "recovered": line.after} for line in result.lines}
        file_commands.print_json({**lines, "status": result.model.status_.name.lower()})
        return
    _show(result, Console())


def _show(result: Demo, console: Console) -> None:
    console.print(
        f"Wine, {result.n_train} training rows of {len(result.dataset.feature_names)} cells: "
        f"{result.n_wrong_cells} cells and {result.n_wrong_labels} labels were made wrong."
    )
    table = Table()
    table.add_column("")
    table.add_column("as given", justify="right")
    table.add_column("recovered", justify="right")
    for line in result.lines:
        table.add_row(line.what, f"{line.before:.3f}", f"{line.after:.3f}")
    console.print(table)
    console.print("Accuracy as given is that of logistic regression on the spoiled data.")
    model = result.model
    console.print(f"Solver: {model.status_.name.lower()} in {model.n_iter_} iterations; {model.certificate_}.")


@app.command("datasets", epilog=file_commands.EXIT_CODES)
def list_datasets(as_json: file_commands.AsJson = False) -> None:
    """List the datasets, their licence, and whether they are at hand.

    Files are looked for in the folder that UNMUDDLE_DATA names, then in the cache; the rest is downloaded when used.

    Example: unmuddle datasets --json
    """
    if as_json:
        found = {
            each.name: {"shape": each.shape, "licence": each.licence, "where": each.where()}
            for each in datasets.available()
        }
        file_commands.print_json(found)
        return
    table = Table()
    table.add_column("name", no_wrap=True)
    for title in ("rows x columns, classes", "licence", "where"):
        table.add_column(title, overflow="fold")
    for entry in datasets.available():
        table.add_row(entry.name, entry.shape, entry.licence, entry.where())
    Console().print(table)


class LabelNoise(StrEnum):
    """What symmetric label noise may mean."""

    uniform = "uniform"
    flip = "flip"


def _known(what: str) -> str:
    if what not in catalogue.names():
        raise typer.BadParameter(f"must be one of {', '.join(catalogue.names())}; got {what!r}.")
    return what


@app.command()
def reproduce(
    what: Annotated[str, typer.Argument(callback=_known, help=f"{', '.join(catalogue.names())}.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Few rows, columns and methods, two trials: a minute or a few each.")
    ] = False,
    noise: Annotated[
        LabelNoise,
        typer.Option(help="Label noise of table1 and cifar10: redrawn over all classes, or moved to another."),
    ] = LabelNoise.uniform,
    methods: Annotated[
        str, typer.Option(help="Rows to make, separated by commas; the first is compared with the rest.")
    ] = "",
    only: Annotated[str, typer.Option("--datasets", help="Datasets, separated by commas.")] = "",
    trials: Annotated[
        int,
        typer.Option(min=0, help="The first so many trials alone; 0 is all that the table or study has."),
    ] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the store and the tables.")] = Path("results"),
    jobs: Annotated[int, typer.Option(min=0, help="Processes, of one thread each; 0 is one for each core.")] = 0,
    plugin: Annotated[
        list[Path] | None, typer.Option(help="Python file that adds methods or datasets; may be repeated.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")] = False,
) -> None:
    """Make a table or study of the paper again, ours beside the printed figures; or all of them, one after the other.

    Stop it whenever you like: the next run with the same folder goes on where it was. Without features of CIFAR-10
    at hand, generated ones stand in for them, and the tables say so.

    Exit codes: 0 made, 1 cannot be made (one line says why), 2 wrong options, 130 stopped.

    Example: unmuddle reproduce table1 --quick --out results
    """
    plugins = tuple(plugin or ())
    request = Request(str(noise.value), quick, tuple(_names(methods)), tuple(_names(only)), trials)
    with explained():
        for path in plugins:
            load_plugin(path)
        with progress_bar() as on_progress:
            setup = Setup(out, jobs or os.cpu_count() or 1, on_progress, plugins, retry_failed)
            for _, made in catalogue.reproduce(what, request, setup, lambda name: _command(name, request, plugins)):
                _report(made)


def _report(made: Made) -> None:
    typer.echo(made.summary)
    typer.echo("Written: " + ", ".join(map(str, made.files)))
    if made.failed:
        typer.echo(f"{made.failed} cells have no result; the first is {made.reason}", err=True)


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _command(what: str, request: Request, plugins: Sequence[Path]) -> str:
    """The command that makes the same table, wherever and by however many processes."""
    words = ["unmuddle", "reproduce", what, "--noise", request.noise, *(["--quick"] if request.quick else [])]
    if what in catalogue.OWN_NOISE:
        words = [word for word in words if word not in ("--noise", request.noise)]
    given = ("--methods", request.methods), ("--datasets", request.datasets), ("--trials", (request.trials or "",))
    for name, values in given:
        words += [name, ",".join(map(str, values))] if any(values) else []
    return shlex.join([*words, *(f"--plugin={path.name}" for path in plugins)])


@contextmanager
def explained() -> Iterator[None]:
    """Our own errors end the program with one line and exit code 1; what was finished is kept."""
    try:
        yield
    except UnmuddleError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        typer.echo("Stopped; the same command goes on from here.", err=True)
        raise typer.Exit(130) from None


@contextmanager
def progress_bar() -> Iterator[campaign.OnProgress]:
    """A bar with the time left on a terminal, and a line now and then elsewhere."""
    if not sys.stderr.isatty():
        yield _tell
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("cells", total=None, left="")
        yield lambda progress: bar.update(
            task, completed=progress.done, total=progress.total, left=_time_left(progress)
        )  # fmt: skip


def _tell(progress: campaign.Progress) -> None:
    if progress.last and progress.done % 50 == 0:
        typer.echo(f"{progress.done} of {progress.total} cells, {_time_left(progress)}", err=True)


def _time_left(progress: campaign.Progress) -> str:
    if progress.seconds_left is None:
        return ""
    seconds, about = progress.seconds_left, "about" if progress.all_known else "perhaps"
    if seconds > 5400:
        return f"{about} {seconds / 3600:.1f} h left"
    return f"{about} {seconds / 60:.0f} min left" if seconds > 90 else f"{about} {seconds:.0f} s left"


def main() -> None:
    """Entry point of the ``unmuddle`` command."""
    app()
