"""Table 1 of the paper: four datasets, two kinds of feature noise at three levels, two readings of label noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmuddle import datasets
from unmuddle.errors import InvalidParameterError
from unmuddle.experiments.campaign import Records
from unmuddle.experiments.methods import METHODS
from unmuddle.experiments.paper import printed
from unmuddle.experiments.plan import Block, Noise, Plan
from unmuddle.experiments.table import Column, Row, Table, collect, row_of

DATASETS = ("glass", "wine", "waveform", "cnae9")
TRIALS, QUICK_TRIALS, QUICK_ROWS, QUICK_NOISES = 5, 2, 500, ("gaussian",)
FEATURE_NOISES, LEVELS = ("gaussian", "laplacian"), ((0.2, 0.3), (0.2, 0.6), (0.5, 0.6))

BY_NOISE = {"gaussian": "flr-frobenius", "laplacian": "flr-l1"}
"""The paper's norm for each kind of feature noise."""

TOLD = ("coteaching-told", "jocor-told", "mentornet-told")
BESIDE = (*TOLD, "cross-entropy", "gce-truncated", "sce", "forward", "mentornet")
"""Variants of the competitors, their control, and what is told the noise rate."""

ROWS = (
    row_of("unmuddle"),
    row_of("unmuddle-auto"),
    Row("flr-told", "FLR as printed, told the kind of noise", BY_NOISE, "told", "FLR"),
    Row("flr-l1", "FLR as printed, l1 under both"),
    Row("flr-oracle", "FLR as printed, told, best setting in hindsight", BY_NOISE, "oracle"),
    row_of("rpca", "RPCA"),
    row_of("gce", "GCE"),
    row_of("coteaching", "Co-teaching"),
    row_of("jocor", "JoCoR"),
    row_of("dmi", "L_DMI"),
    row_of("lqf", "LQF"),
    row_of("rrl", "RRL"),
    *map(row_of, BESIDE),
    *map(row_of, ("logistic", "ridge", "forest")),
    *map(row_of, ("cleanlab", "rpca-cleanlab", "clip-pca4-cleanlab", "clip-pca80-cleanlab")),
)


@dataclass(frozen=True)
class Table1:
    """What of Table 1 is to be made."""

    label_noise: str = "uniform"
    rows: tuple[Row, ...] = ROWS
    datasets: tuple[str, ...] = DATASETS
    trials: int = TRIALS
    suffix: str = ""
    feature_noises: tuple[str, ...] = FEATURE_NOISES

    @property
    def name(self) -> str:
        """The beginning of the names of its files; what is not the whole table has a suffix."""
        return f"table1-{self.label_noise}{self.suffix}"

    @property
    def noises(self) -> tuple[Noise, ...]:
        """Kinds of feature noise at three levels."""
        return tuple(
            Noise(f"{kind}(sigma={sigma})", f"{self.label_noise}(rate={rate})")
            for kind in self.feature_noises
            for sigma, rate in LEVELS
        )

    @property
    def plan(self) -> Plan:
        """What has to be run for it."""
        return Plan(self.name, tuple(self._block(data, noise) for data in self.datasets for noise in self.noises))

    def _block(self, dataset: str, noise: Noise) -> Block:
        methods = tuple(dict.fromkeys(row.method(noise) for row in self.rows))
        oracle = tuple(row.method(noise) for row in self.rows if row.rule == "oracle")
        return Block(methods, (dataset,), (noise,), self.trials, oracle)

    def collect(self, records: Records) -> Table:
        """The table as far as the records go."""
        columns = [Column(dataset, noise) for dataset in self.datasets for noise in self.noises]
        return collect(self.rows, columns, self.trials, records, printed(1))


def quick_datasets() -> tuple[str, ...]:
    """Two that take little time; the generator stands in for the file of Waveform where that is not at hand."""
    places = {entry.name: entry.where() for entry in datasets.available()}
    at_hand = not places["waveform"].startswith("missing")
    return "wine", f"{'waveform' if at_hand else 'waveform-generated'}:{QUICK_ROWS}"


def choose_rows(names: Sequence[str] = (), *, quick: bool = False) -> tuple[Row, ...]:
    """Rows by name, those of the table or any registered method; none is the table with all methods of plug-ins.

    A quick table is without the rows that stand beside the paper's competitors.
    """
    if not names:
        rows = tuple(row for row in ROWS if row.name not in BESIDE) if quick else ROWS
        return rows + tuple(row_of(name) for name, each in METHODS.items() if not each.built_in)
    known = {name: row_of(name) for name in METHODS} | {row.name: row for row in ROWS}
    for name in names:
        if name not in known:
            raise InvalidParameterError(f"methods must be among {', '.join(known)}; got {name!r}.")
    return tuple(known[name] for name in dict.fromkeys(names))
