"""Every claim of the paper with a verdict from the stored runs, and what our own rows should reach.

``write_claims`` reads stores and writes one page. What was not run yet is said to be so; nothing on the page is typed
by hand that a run can say, and the same stores give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmuddle import datasets
from unmuddle.experiments import image_tables, table1
from unmuddle.experiments.campaign import Records
from unmuddle.experiments.margins import DEFAULTS, Margin, find_margin, size
from unmuddle.experiments.plan import parse
from unmuddle.experiments.stored import Form, TableRun, find_study, find_table, forms_of, look_at, read_cells
from unmuddle.experiments.studies import STUDIES, Study
from unmuddle.experiments.studies.study import make_frame, suffix_of
from unmuddle.experiments.write import fill, heading, kind_of
from unmuddle.files import write_whole

PAGE = "claims.md"
HOME = "docs/results"
"""Where the commands on the page put their files."""

NOT_RUN, NOT_YET = "not run", "not run yet"
SO_FAR = " so far"
"""Of a verdict on a run that lacks rows, columns or trials."""
FLR = "flr-told"
COMPETITORS = tuple(row.name for row in table1.ROWS if row.paper and row.name != FLR)
BASELINES = tuple(row.name for row in table1.ROWS if not row.rule and not row.ours)


@dataclass(frozen=True)
class Claim:
    """That FLR leads a table. ``name`` begins the names of its files, ``words`` are the paper's claim in ours."""

    name: str
    folder: str
    title: str
    words: str
    options: str = ""

    @property
    def command(self) -> str:
        """What makes all of it."""
        return f"unmuddle reproduce {self.name.partition('-')[0]}{self.options} --out {HOME}/{self.folder}"


def _both_noises(name: str, folder: str, title: str, told: str) -> tuple[Claim, ...]:
    readings = {"uniform": "labels redrawn over all classes", "flip": "labels moved to another class"}
    return tuple(
        Claim(f"{name}-{noise}", folder, f"{title}, {reading}", told, f" --noise {noise}")
        for noise, reading in readings.items()
    )


TABLES = (
    *_both_noises(
        "table1", "table1", "FLR leads Table 1",
        "On Glass, Wine, Waveform and CNAE-9 FLR is better than the other methods in most cases, or about as good, and "
        "stays so while the noise grows.",
    ),
    Claim(
        "table2", "images", "FLR leads Table 2",
        "With the labels that people gave to CIFAR-10N and Gaussian noise on features, FLR is as good as the others "
        "where that noise is light, and far better where it is heavy.",
    ),
    Claim("table3", "images", "FLR leads Table 3", "The same with Laplacian noise on features."),
    *_both_noises(
        "cifar10", "images", "FLR leads the CIFAR-10 study",
        "On 6,000 images of CIFAR-10 with labels made wrong FLR is clearly better than the others, most of all under "
        "heavy noise of both kinds.",
    ),
)  # fmt: skip

STUDY_TITLES = {
    "ablation": "Both recoveries help",
    "sensitivity": "FLR is insensitive to its lambdas",
    "recovery": "Recovery improves with the number of rows",
    "complexity": "What an iteration costs",
    "convergence": "Algorithm 1 converges (Theorem 1)",
    "bound": "The bound on the risk (Theorem 2)",
}


@dataclass(frozen=True)
class Finding:
    """A claim with its verdict.

    ``figures`` are what the verdict rests on, ``run`` says of what run they are. ``command`` makes that run, and
    ``whole`` the whole of it if that is another. ``page`` and ``picture`` are files beside the claims, or empty.
    """

    title: str
    claim: str
    verdict: str
    figures: str
    run: str
    command: str
    whole: str = ""
    page: str = ""
    picture: str = ""


@dataclass(frozen=True)
class Aim:
    """In how many cells one of our rows should be at or above every baseline, and in how many it is."""

    words: str
    row: str
    verdict: str
    figures: str
    run: str
    missed: tuple[Margin, ...] = ()


def write_claims(folder: Path) -> Path:
    """Read the stores under a folder and write the page there."""
    cells = {name: read_cells(folder / name) for name in dict.fromkeys(claim.folder for claim in TABLES)}
    findings = [judge_table(claim, folder, cells[claim.folder]) for claim in TABLES]
    findings += [judge_study(study, folder) for study in STUDIES.values()]
    aims, names = reckon_aims(cells), {"not_run": NOT_RUN, "home": HOME}
    helpers = {"shown": _shown, "cell": _cell, "anchor": _anchor, "heading": heading, "kind_of": kind_of, "size": size}
    content = fill(PAGE, findings=findings, aims=aims, missed=find_missed(aims), **names, **helpers)
    write_whole(folder / PAGE, content.encode())
    return folder / PAGE


def _shown(verdict: str) -> str:
    """A verdict as it stands on the page."""
    return verdict.replace("not", "not reproduced", 1) if verdict in ("not", f"not{SO_FAR}") else verdict


def _cell(text: str) -> str:
    """Text that stays within a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def _anchor(title: str) -> str:
    """The name of a heading in links.

    >>> _anchor("Algorithm 1 converges (Theorem 1)")
    'algorithm-1-converges-theorem-1'
    """
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def judge_table(claim: Claim, folder: Path, records: Records) -> Finding:
    """FLR as printed, told the kind of noise, against the paper's competitors in the same run."""
    run = find_table(claim.name, records, FLR, COMPETITORS)
    if run is None:
        return Finding(claim.title, claim.words, NOT_RUN, "", NOT_YET, claim.command)
    verdict, figures = judge_lead(run, claim.name)
    options = run.options if verdict != NOT_RUN else ""
    command = claim.command.replace(" --out", f"{options} --out")
    if verdict != NOT_RUN and not run.is_whole:
        verdict += SO_FAR
    files = _files_of(claim.name, run.form, folder / claim.folder, part="--" in run.options.replace("--quick", ""))
    return Finding(
        claim.title, claim.words, verdict, figures, run.words, command, claim.command if options else "", **files
    )


def judge_lead(run: TableRun, name: str) -> tuple[str, str]:
    """Whether the first row leads: a word and the figures behind it.

    Reproduced if it is at or above every other in more than half of the cells; partly if in more than half of the
    comparisons with a single one.
    """
    ours = run.table.rows[0]
    margins = [find_margin(run.table, ours, column) for column in run.table.columns]
    known = [each for each in margins if each.reached is not None]
    if not known:
        return NOT_RUN, f"{ours.title} was not compared with any of the paper's competitors yet."
    pairs = sum(len(run.table.rows) - 1 - len(each.lacking) for each in known)
    held = pairs - sum(len(each.below) for each in known)
    reached = sum(bool(each.reached) for each in known)
    word = "reproduced" if 2 * reached > len(known) else "partly" if 2 * held > pairs else "not"
    told = [
        f"{ours.title}: at or above every competitor in {reached} of {len(known)} cells"
        f"{_of_heavy(known, name)}, and in {held} of {pairs} comparisons with a single one; against the best of a cell "
        f"{np.mean([each.margin for each in known]):+.1f} points on average "
        f"(from {min(each.margin for each in known):+.1f} to {max(each.margin for each in known):+.1f}).",
        _not_compared(margins),
        _beside_paper(run, known),
    ]
    return word, " ".join(filter(None, told))


def _of_heavy(margins: Sequence[Margin], name: str) -> str:
    levels = {f"table{number}": sigma for number, sigma in image_tables.HEAVY.items()}
    heavy = [each for each in margins if name in levels and _is_heavy(each)]
    return f" (at sigma {levels[name]} in {sum(bool(e.reached) for e in heavy)} of {len(heavy)})" if heavy else ""


def _sigma(margin: Margin) -> float | None:
    return parse(margin.column.noise.features)[1].get("sigma")


def _not_compared(margins: Sequence[Margin]) -> str:
    missing = sum(each.reached is None for each in margins)
    return f"{missing} cells could not be compared." if missing else ""


def _beside_paper(run: TableRun, margins: Sequence[Margin]) -> str:
    """The same row and its rank in the paper, where that prints it."""
    ours = run.table.rows[0]
    entries = [run.table[ours, each.column] for each in margins]
    printed = [(entry.mean - entry.printed.mean, entry.printed.mark) for entry in entries if entry.printed]
    if not printed:
        return ""
    best = sum(mark == "best" for _, mark in printed)
    gap = float(np.mean([gap for gap, _ in printed]))
    return (
        f"The paper prints it as the best in {best} of these {len(printed)}; ours is {abs(gap):.1f} points "
        f"{'below' if gap < 0 else 'above'} the printed accuracy on average."
    )


def _files_of(name: str, form: Form, folder: Path, *, part: bool) -> dict[str, str]:
    """The page and the picture of a run, where they are there, as seen from the page of claims."""
    whole = name + (datasets.GENERATED if form.stand_in else "") + ("-quick" if form.quick else "")
    stems = [f"{whole}-part", whole] if part else [whole]
    return {"page": _first(folder, stems, "md"), "picture": _first(folder, stems, "svg")}


def _first(folder: Path, stems: Sequence[str], end: str) -> str:
    found = (f"{folder.name}/{stem}.{end}" for stem in stems if (folder / f"{stem}.{end}").exists())
    return next(found, "")


def judge_study(study: Study, folder: Path) -> Finding:
    """A study's own verdict on what was stored of it."""
    title, command = STUDY_TITLES[study.name], f"unmuddle reproduce {study.name} --out {HOME}/studies"
    run, begun = find_study(study, folder / "studies")
    if run is None:
        told = f"{NOT_YET}; begun: {begun.words}" if begun else NOT_YET
        return Finding(title, study.claim, NOT_RUN, "", told, command)
    verdict, _, figures = study.verdict(make_frame(run.records)).partition(": ")
    verdict += SO_FAR if run.trials else ""
    told = run.words + (f"; begun: {begun.words}" if begun else "")
    name = study.name + ("-quick" if run.quick else suffix_of(run.trials) if run.trials else "")
    files = {"page": _first(folder / "studies", [name], "md"), "picture": _first(folder / "studies", [name], "svg")}
    figures = figures[:1].upper() + figures[1:]
    if not (run.quick or run.trials):
        return Finding(title, study.claim, verdict, figures, told, command, **files)
    smaller = command.replace(" --out", f"{' --quick' if run.quick else f' --trials {run.trials}'} --out")
    return Finding(title, study.claim, verdict, figures, told, smaller, command, **files)


def reckon_aims(cells: dict[str, Records]) -> list[Aim]:
    """What our rows should reach; the first default always, others if they were run."""
    aims = []
    for row in DEFAULTS:
        one = [_run_of("table1-uniform", row, cells["table1"])]
        both = [_run_of(name, row, cells["images"]) for name in ("table2", "table3")]
        told = " and ".join(map(str, sorted(image_tables.HEAVY.values())))
        every = sum(_is_heavy(each) for run in both for each in _margins(run))
        found = [
            _reckon("Table 1, labels redrawn over all classes", one, table1.WANTED),
            _reckon("Tables 2 and 3", both, image_tables.WANTED),
            _reckon(f"Tables 2 and 3 at sigma {told}", both, every, heavy_only=True),
        ]
        aims += [aim for aim in found if row == DEFAULTS[0] or aim.verdict != NOT_RUN]
    return aims


def find_missed(aims: Sequence[Aim]) -> list[Margin]:
    """Every cell that was compared and not reached, once."""
    return list({(each.row.name, each.column): each for aim in aims for each in aim.missed}.values())


def _run_of(name: str, row: str, records: Records) -> TableRun:
    """Goals are for the table as it is meant, which is its first form."""
    return look_at(forms_of(name)[0], records, row, BASELINES)


def _margins(run: TableRun) -> list[Margin]:
    return [find_margin(run.table, run.table.rows[0], column) for column in run.table.columns]


def _is_heavy(margin: Margin) -> bool:
    levels = {kind: image_tables.HEAVY[number] for number, kind in image_tables.KINDS.items()}
    return _sigma(margin) == levels[kind_of(margin.column)]


def _reckon(told: str, runs: Sequence[TableRun], wanted: int, *, heavy_only: bool = False) -> Aim:
    margins = [each for run in runs for each in _margins(run) if not heavy_only or _is_heavy(each)]
    known = [each for each in margins if each.reached is not None]
    reached = sum(bool(each.reached) for each in known)
    row = runs[0].table.rows[0]
    figures = f"{reached} of {len(margins)}, wanted {wanted}"
    if known:
        figures += f"; mean margin {np.mean([each.margin for each in known]):+.2f}. {_not_compared(margins)}".rstrip()
    so_far = "" if all(run.is_whole for run in runs) else SO_FAR
    verdict = ("reached" if reached >= wanted else "not reached") + so_far
    missed = tuple(each for each in known if not each.reached)
    return Aim(told, row.title, verdict if known else NOT_RUN, figures if known else "", _words_of(runs), missed)


def _words_of(runs: Sequence[TableRun]) -> str:
    """What was run of one table or of several; which is which where they differ."""
    told = {run.form.grid.title.partition(":")[0]: run.words for run in runs if run.begun}
    if len(told) == len(runs) and len(set(told.values())) == 1:
        return next(iter(told.values()))
    return ". ".join(f"{title}: {words}" for title, words in told.items()) or NOT_YET
