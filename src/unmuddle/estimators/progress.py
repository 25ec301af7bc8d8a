"""Show iterations as they pass: to scikit-learn's callbacks where it has them, and as a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from unmuddle.core.result import OnStep, ignore

__all__ = ["EXTRA_FRAMES", "CallbackSupportMixin", "progress_bar", "reporting", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks: there is nothing to support."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Leave the method as it is."""
        return method


EXTRA_FRAMES = int(hasattr(with_callbacks(lambda: None), "__wrapped__"))
"""Frames that the decorator puts between a caller and ``fit``, for warnings that should name the caller's line."""


@contextmanager
def reporting(estimator: Any, X: Any, y: Any, title: str, total: int | None) -> Iterator[OnStep]:
    """A callback for solvers that moves a bar under ``verbose`` and tells the callbacks set on the estimator.

    Each iteration is a task of its own to them, and any of them may ask the solver to stop. The task of fitting ends
    with the block, when the estimator is fitted.
    """
    root = None
    if hasattr(estimator, "_init_callback_context"):
        root = estimator._init_callback_context(max_subtasks=total)
        root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    with progress_bar(title, total, show=bool(estimator.verbose)) as show:

        def on_step(n_iter: int, record: Mapping[str, float]) -> bool | None:
            show(n_iter, record)
            if root is None or not getattr(estimator, "_skl_callbacks", None):
                return None
            task = root.subcontext(task_name="iteration").call_on_fit_task_begin(estimator=estimator)
            return bool(task.call_on_fit_task_end(estimator=estimator))

        yield on_step
    if root is not None:
        root.call_on_fit_task_end(estimator=estimator, X=X, y=y)


@contextmanager
def progress_bar(title: str, total: int | None, *, show: bool) -> Iterator[OnStep]:
    """A callback for solvers that moves a bar on standard error, or does nothing."""
    if not show:
        yield ignore
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total, note="")

        def on_step(n_iter: int, record: Mapping[str, float]) -> bool | None:
            residual = max(value for name, value in record.items() if name.startswith("residual"))
            progress.update(task, completed=n_iter, note=f"residual {residual:.1e}")
            return None

        yield on_step
