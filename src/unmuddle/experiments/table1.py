"""Table 1 of the paper: four datasets, two kinds of feature noise at three levels, two readings of label noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmuddle import datasets
from unmuddle.experiments.grid import Grid, Request, choose
from unmuddle.experiments.margins import Goal
from unmuddle.experiments.notes import MEANING, TABLE_1
from unmuddle.experiments.paper import printed
from unmuddle.experiments.plan import Noise, Plan
from unmuddle.experiments.table import Column, Row, row_of

DATASETS = ("glass", "wine", "waveform", "cnae9")
TRIALS, QUICK_TRIALS, QUICK_ROWS, QUICK_NOISES = 5, 2, 500, ("gaussian",)
FEATURE_NOISES, LEVELS = ("gaussian", "laplacian"), ((0.2, 0.3), (0.2, 0.6), (0.5, 0.6))
WANTED = 20
"""Columns, of the 24, in which our default should be at or above every baseline under ``uniform``."""

BY_NOISE = {"gaussian": "flr-frobenius", "laplacian": "flr-l1", "none": "flr-frobenius"}
"""The paper's norm for each kind of feature noise; it names none where there is no noise."""

TOLD = ("coteaching-told", "jocor-told", "mentornet-told")
BESIDE = (*TOLD, "cross-entropy", "gce-truncated", "sce", "forward", "mentornet")
"""Variants of the competitors, their control, and what is told the noise rate."""

ROWS = (
    row_of("hybrid"),
    row_of("unmuddle-auto"),
    row_of("unmuddle"),
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
        return self.grid.plan

    @property
    def grid(self) -> Grid:
        """Rows, columns and what the pages say."""
        columns = tuple(Column(dataset, noise) for dataset in self.datasets for noise in self.noises)
        return Grid(
            name=self.name,
            title=f"Table 1 under {self.label_noise} label noise",
            rows=self.rows,
            columns=columns,
            trials=self.trials,
            printed=printed(1),
            notes=(f"Label noise, {self.label_noise}: {MEANING[self.label_noise]}.", *TABLE_1),
            goals=()
            if self.suffix or self.label_noise != "uniform"
            else (Goal("in the whole table", columns, WANTED),),
        )


def make_grid(request: Request) -> Grid:
    """Table 1 as a user asked for it."""
    return Table1(
        request.noise,
        choose_rows(request.methods, quick=request.quick),
        request.datasets or (quick_datasets() if request.quick else DATASETS),
        request.trials or (QUICK_TRIALS if request.quick else TRIALS),
        request.suffix,
        QUICK_NOISES if request.quick else FEATURE_NOISES,
    ).grid


def quick_datasets() -> tuple[str, ...]:
    """Two that take little time; the generator stands in for the file of Waveform where that is not at hand."""
    places = {entry.name: entry.where() for entry in datasets.available()}
    at_hand = not places["waveform"].startswith("missing")
    return "wine", f"{'waveform' if at_hand else 'waveform-generated'}:{QUICK_ROWS}"


def choose_rows(names: Sequence[str] = (), *, quick: bool = False) -> tuple[Row, ...]:
    """Rows by name; a quick table is without the rows that stand beside the paper's competitors."""
    rows = tuple(row for row in ROWS if row.name not in BESIDE) if quick else ROWS
    return choose(names, rows, ROWS)
