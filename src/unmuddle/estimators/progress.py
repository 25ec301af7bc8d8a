"""Show iterations as they pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from unmuddle.core.result import OnStep, ignore


@contextmanager
def progress_bar(title: str, total: int | None, *, show: bool) -> Iterator[OnStep]:
    """A callback for solvers that moves a bar on standard error, or does nothing."""
    if not show:
        yield ignore
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total, note="")

        def on_step(n_iter: int, record: Mapping[str, float]) -> None:
            residual = max(value for name, value in record.items() if name.startswith("residual"))
            progress.update(task, completed=n_iter, note=f"residual {residual:.1e}")

        yield on_step
