"""The command line: parse, call, print, exit code."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from unmuddle import __version__
from unmuddle.demo import Demo, run_demo

app = typer.Typer(
    name="unmuddle",
    help="Learn from data whose features and labels are both partly wrong.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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


@app.command()
def demo(
    cell_noise: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of cells that are spoiled.")] = 0.1,
    label_noise: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of labels drawn anew.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise and of the split.")] = 0,
) -> None:
    """Spoil the Wine data, recover it, and show before and after.

    Example: unmuddle demo --label-noise 0.4
    """
    _show(run_demo(cell_noise, label_noise, seed), Console())


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


def main() -> None:
    """Entry point of the ``unmuddle`` command."""
    app()
