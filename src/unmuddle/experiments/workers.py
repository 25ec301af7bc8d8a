"""Processes that run cells, each with one thread, and what to do when one of them dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Generic, TypeVar

from threadpoolctl import threadpool_limits

from unmuddle.errors import UnmuddleError
from unmuddle.experiments.methods import load_plugin

READY = "ready"

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
"""What JAX reads when it is first imported. Recent versions heed it in part only and keep threads of their own."""


Cell = TypeVar("Cell", bound=Hashable)
Record = TypeVar("Record")


@dataclass(frozen=True)
class Trade(Generic[Cell, Record]):
    """What workers do with a cell, and what is said of one whose worker died over it; functions of a module."""

    run: Callable[[Cell], Record]
    mourn: Callable[[Cell, str], Record]


class Worker(Generic[Cell, Record]):
    """A process, the line to it, and the cell that it is busy with."""

    def __init__(self, trade: Trade[Cell, Record], plugins: Sequence[Path]) -> None:
        context = multiprocessing.get_context("spawn")  # forking a process that has threads may hang
        self.line, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_work, args=(theirs, trade.run, tuple(plugins)), daemon=True)
        with _deaf_to_ctrl_c():  # which is for the parent, and it then ends the workers
            self.process.start()
        theirs.close()  # so that the end of the process is the end of the line
        self._trade = trade
        self.cell: Cell | None = None
        self.ready = self.dead = False

    def start(self, cell: Cell) -> None:
        """Hand over a cell."""
        self.cell = cell
        with suppress(BrokenPipeError):  # a process that died between two cells shows when it is waited for
            self.line.send(cell)

    def collect(self) -> Record | None:
        """The record of the cell, a failure where the process died over it, None when there was no cell."""
        try:
            answer = self.line.recv()
        except (EOFError, OSError):
            return self._mourn()
        if answer == READY:
            self.ready = True
            return None
        self.cell = None
        return answer  # type: ignore[no-any-return]

    def _mourn(self) -> Record | None:
        self.process.join()
        self.dead, ending = True, f"exit code {self.process.exitcode}"
        if not self.ready:
            raise UnmuddleError(
                f"a worker process could not start ({ending}): perhaps there is too little memory, or a plug-in ends "
                "the program; a script that runs experiments must do so under `if __name__ == '__main__':`."
            )
        if self.cell is None:
            return None
        return self._trade.mourn(self.cell, f"the process died ({ending}), perhaps for want of memory")


class Workers(Generic[Cell, Record]):
    """So many processes, replaced when they die."""

    def __init__(self, n: int, trade: Trade[Cell, Record], plugins: Sequence[Path]) -> None:
        self._trade, self._plugins = trade, plugins
        self._workers = [Worker(trade, plugins) for _ in range(n)]

    @property
    def running(self) -> set[Cell]:
        """What is being worked on."""
        return {worker.cell for worker in self._workers if worker.cell is not None}

    @property
    def idle(self) -> list[Worker[Cell, Record]]:
        """Who waits for a cell; one that has died meanwhile is replaced."""
        for place, worker in enumerate(self._workers):
            if worker.cell is None and worker.ready and not worker.process.is_alive():
                self._workers[place] = Worker(self._trade, self._plugins)
        return [worker for worker in self._workers if worker.cell is None]

    def wait(self) -> Iterator[Record]:
        """Wait until something is finished and hand over the records."""
        lines: dict[object, Worker[Cell, Record]] = {worker.line: worker for worker in self._workers}
        for line in wait(list(lines)):  # type: ignore[arg-type]
            worker = lines[line]
            record = worker.collect()
            if worker.dead:
                self._workers[self._workers.index(worker)] = Worker(self._trade, self._plugins)
            if record is not None:
                yield record

    def stop(self) -> None:
        """End all processes, finished or not."""
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
            worker.line.close()


@contextmanager
def start_workers(n: int, trade: Trade[Cell, Record], plugins: Sequence[Path] = ()) -> Iterator[Workers[Cell, Record]]:
    """Processes that end with the block, however it ends."""
    workers = Workers(n, trade, plugins)
    try:
        yield workers
    finally:
        workers.stop()


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Hold the signal back here for a moment, and in processes started meanwhile for good."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield  # only the main thread gets signals; on Windows they cannot be held back
        return
    resource_tracker.ensure_running()  # which would let signals through again when it is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(line: Connection, run: Callable[[Cell], Record], plugins: tuple[Path, ...]) -> None:
    threading.Thread(target=_die_with_parent, daemon=True).start()
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}".strip()
    for plugin in plugins:
        load_plugin(plugin)
    with threadpool_limits(1), suppress(EOFError, BrokenPipeError):
        line.send(READY)
        while True:
            line.send(run(line.recv()))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
