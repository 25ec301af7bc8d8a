"""Verdicts on the paper's claims, from small stores whose verdicts are counted by hand."""

import json
import re

import pytest

from unmuddle.errors import StoreError
from unmuddle.experiments import image_tables
from unmuddle.experiments.claims import BASELINES, PAGE, TABLES, reckon_aims, write_claims
from unmuddle.experiments.methods import get_method
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.run import Record, Trial
from unmuddle.experiments.store import SCHEMA
from unmuddle.experiments.studies import STUDIES, data, study

PEOPLE = ("c10n-aggre", "c10n-random1", "c10n-worst")
TABLE_2 = [(name, Noise(f"gaussian(sigma={s})", "real")) for s in (3, 7) for name in PEOPLE]
TABLE_3 = [(name, Noise(f"laplacian(sigma={s})", "real")) for s in (3, 5) for name in PEOPLE]
TABLE_1 = [
    (name, Noise(f"{kind}(sigma={sigma})", f"uniform(rate={rate})"))
    for name in ("glass", "wine", "waveform", "cnae9")
    for kind in ("gaussian", "laplacian")
    for sigma, rate in ((0.2, 0.3), (0.2, 0.6), (0.5, 0.6))
]


def records_of(method, columns, values, trials):
    """A record for each column and trial, accuracies in per cent; with a choice of setting where the method has one."""
    found = []
    for (dataset, noise), value in zip(columns, values, strict=True):
        for trial in range(trials):
            cell = Cell(method, dataset, noise, trial)
            if get_method(method).settings is not None:
                found.append(Record(cell._replace(setting="tune"), "done", tuning=(Trial({}, 0.5),)))
                cell = cell._replace(setting="0")
            found.append(Record(cell, "done", {"accuracy": value / 100}))
    return found


def store(path, records, schema=SCHEMA):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in (schema.header, *(r.to_plain() for r in records))))


def store_study(folder, name, quick, numbers, points=None):
    """Numbers of every point by a function of it."""
    points = STUDIES[name].points(quick) if points is None else points
    found = [study.Measured(study.name_of(point), "done", numbers(point), 1.0) for point in points]
    store(folder / "studies" / f"{name}.jsonl", found, study.SCHEMA)


def verdicts(folder):
    """Lines of the first table: verdict and run by title."""
    page = write_claims(folder).read_text("utf-8")
    return {
        title: (word, run) for title, word, run in re.findall(r"^\| \[(.*?)\].*\*\*(.*)\*\* \| (.*) \|$", page, re.M)
    }


def section(folder, title):
    return (folder / PAGE).read_text("utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("there", [False, True])
def test_without_any_run_every_claim_is_not_run_and_says_how_to_run_it(tmp_path, there):
    if there:
        for name in ("table1", "images", "studies"):
            (tmp_path / name).mkdir()
    found = verdicts(tmp_path)
    assert len(found) == 12
    assert set(found.values()) == {("not run", "not run yet")}
    page = (tmp_path / PAGE).read_text("utf-8")
    assert page.count("**not run** | \N{EN DASH} | not run yet |") == 3
    for what in (
        "table1 --noise flip --out docs/results/table1",
        "table3 --out docs/results/images",
        "bound --out docs/results/studies",
    ):
        assert f"\nunmuddle reproduce {what}  # to make it\n" in page


def test_flr_leads_a_table_where_it_leads_in_most_cells(tmp_path):
    """Gce is five points ahead in two of the three cells at sigma 7 and ten behind elsewhere; Co-teaching is behind."""
    store(
        tmp_path / "images" / "cells.jsonl",
        records_of("flr-frobenius", TABLE_2, [90] * 6, 3)
        + records_of("gce", TABLE_2, [80, 80, 80, 95, 95, 80], 3)
        + records_of("coteaching", TABLE_2, [70] * 6, 3),
    )
    word, run = verdicts(tmp_path)["FLR leads Table 2"]
    assert word == "reproduced so far"
    assert run.startswith("partial: 3 trials; 3 of 8 methods: flr-told, gce, coteaching")
    told = section(tmp_path, "FLR leads Table 2")
    assert "in 4 of 6 cells (at sigma 7 in 1 of 3), and in 10 of 12 comparisons with a single one" in told
    assert "+5.0 points on average (from -5.0 to +10.0)" in told
    # the paper prints 95.70, 96.05, 94.92, 95.93, 93.75, 95.08 for FLR, bold in all but the first
    assert "the best in 5 of these 6; ours is 5.2 points below the printed accuracy" in told
    assert "reproduce table2 --methods flr-told,gce,coteaching --out docs/results/images\n" in told


@pytest.mark.parametrize(
    ("rivals", "word"), [({"coteaching": 70}, "not reproduced"), ({"coteaching": 70, "jocor": 60}, "partly")]
)
def test_flr_leads_partly_where_it_wins_most_comparisons_but_no_cell(tmp_path, rivals, word):
    found = records_of("flr-l1", TABLE_3, [90] * 6, 3) + records_of("gce", TABLE_3, [95] * 6, 3)
    for name, value in rivals.items():
        found += records_of(name, TABLE_3, [value] * 6, 3)
    store(tmp_path / "images" / "cells.jsonl", found)
    assert verdicts(tmp_path)["FLR leads Table 3"][0] == f"{word} so far"
    assert f"in 0 of 6 cells (at sigma 5 in 0 of 3), and in {6 * len(rivals)} of {6 * len(rivals) + 6} " in section(
        tmp_path, "FLR leads Table 3"
    )


def test_as_many_trials_are_compared_as_most_rows_have_and_rows_without_flr_are_no_verdict(tmp_path):
    found = records_of("flr-frobenius", TABLE_2, [90] * 6, 3)
    for name in ("gce", "coteaching"):
        found += records_of(name, TABLE_2, [80] * 6, 1)
    found += records_of("gce", TABLE_3, [80] * 6, 1)
    store(tmp_path / "images" / "cells.jsonl", found)
    told = verdicts(tmp_path)
    assert told["FLR leads Table 2"][1].startswith("partial: 1 of 3 trials; 3 of 8 methods: flr-told, gce, coteaching")
    assert "--methods flr-told,gce,coteaching --trials 1 --out" in section(tmp_path, "FLR leads Table 2")
    word, run = told["FLR leads Table 3"]
    assert word == "not run"
    assert run == "partial: 1 of 3 trials; 1 of 8 methods: gce"
    assert "\nunmuddle reproduce table3 --out docs/results/images  # to make it\n" in section(
        tmp_path, "FLR leads Table 3"
    )


def test_a_quick_run_on_generated_features_is_used_only_where_there_is_no_other_and_says_so(tmp_path):
    quick = [("c10n-worst-generated:600", Noise(f"gaussian(sigma={s})", "real")) for s in (3, 7)]
    found = records_of("flr-frobenius", quick, [90, 90], 2) + records_of("gce", quick, [80, 80], 2)
    store(tmp_path / "images" / "cells.jsonl", found)
    word, run = verdicts(tmp_path)["FLR leads Table 2"]
    assert (word, run[:38]) == ("reproduced so far", "quick, on generated data: 2 trials; 2 ")
    found += records_of("flr-frobenius", TABLE_2, [90] * 6, 3) + records_of("gce", TABLE_2, [95] * 6, 3)
    store(tmp_path / "images" / "cells.jsonl", found)
    assert verdicts(tmp_path)["FLR leads Table 2"][0] == "not reproduced so far"


@pytest.mark.parametrize(("lost", "verdict"), [(4, "reached"), (5, "not reached")])
def test_our_row_should_reach_20_of_the_24_cells_of_table_1(lost, verdict):
    found = records_of("hybrid", TABLE_1, [80] * 24, 5)
    for name in BASELINES:
        found += records_of(name, TABLE_1, [81 if name == "ridge" and place < lost else 80 for place in range(24)], 5)
    aims = reckon_aims({"table1": {record.cell: record for record in found}, "images": {}})
    assert [aim.verdict for aim in aims] == [verdict, "not run", "not run"]
    assert aims[0].figures == f"{24 - lost} of 24, wanted 20; mean margin {-lost / 24:+.2f}."
    assert aims[0].run == "full: 5 trials, all methods that are compared"
    assert [(each.column.dataset, [row.name for row in each.below]) for each in aims[0].missed] == [
        ("glass", ["ridge"])
    ] * lost


def test_our_row_is_counted_over_tables_2_and_3_together_and_at_their_heavy_levels(tmp_path):
    """Ridge is ahead in one cell at sigma 5 alone: 11 of 12, and 5 of the 6 heavy ones."""
    found = []
    for method, last in (("hybrid", 90), ("ridge", 91), ("unmuddle-auto", 60)):
        found += records_of(method, TABLE_2, [90 if method == "hybrid" else 85] * 6, 1)
        found += records_of(method, TABLE_3, [90 if method == "hybrid" else 85] * 5 + [last], 1)
    store(tmp_path / "images" / "cells.jsonl", found)
    write_claims(tmp_path)
    told = section(tmp_path, "Ours against every baseline")
    lines = [line.split(" | ") for line in told.splitlines() if line.startswith("| Tables 2 and 3")]
    assert [(line[0], line[2], line[3].partition(";")[0]) for line in lines] == [
        ("| Tables 2 and 3", "**reached so far**", "11 of 12, wanted 10"),
        ("| Tables 2 and 3 at sigma 5 and 7", "**not reached so far**", "5 of 6, wanted 6"),
        ("| Tables 2 and 3", "**reached so far**", "11 of 12, wanted 10"),
        ("| Tables 2 and 3 at sigma 5 and 7", "**not reached so far**", "5 of 6, wanted 6"),
    ]
    missed = [line for line in section(tmp_path, "Cells not reached").splitlines() if "c10n" in line]
    assert missed == [
        "| c10n-worst (5) | laplacian | hybrid | -1.00 | ridge | ridge |",
        "| c10n-worst (5) | laplacian | unmuddle-auto | -31.00 | ridge | ridge |",
    ]


def accuracy_of_ablation(point):
    drop = {"full": 0.0, "no feature recovery": 0.1, "no label recovery": 0.2}[point["variant"]]
    return {"accuracy": 0.9 - drop, "labels_right": 1.0, "feature_error": 0.0, "certificate": 0.0}


def test_a_study_says_its_verdict_its_run_and_shows_its_figure(tmp_path):
    store_study(tmp_path, "ablation", True, accuracy_of_ablation)
    assert verdicts(tmp_path)["Both recoveries help"] == ("reproduced", "quick, on generated data: 36 points")
    told = section(tmp_path, "Both recoveries help")
    assert "on average +10.0 points over 'without feature recovery' and +20.0 points over" in told
    assert "![" not in told
    assert (
        "ablation --quick --out docs/results/studies\nunmuddle reproduce ablation --out docs/results/studies  # to"
        in told
    )
    (tmp_path / "studies" / "ablation-quick.svg").write_text("<svg/>")
    write_claims(tmp_path)
    image = "![Both recoveries help: reproduced, quick, on generated data: 36 points](studies/ablation-quick.svg)"
    assert image in section(tmp_path, "Both recoveries help")


def test_a_study_that_is_not_finished_has_no_verdict_but_a_finished_quick_one_has(tmp_path):
    full = [{**point, "source": "cifar10n"} for point in STUDIES["ablation"].points(False)]
    quick = STUDIES["ablation"].points(True)
    store_study(tmp_path, "ablation", False, accuracy_of_ablation, full[:5])
    begun = f"begun: full, on features of CIFAR-10N: 5 of {len(full)} points"
    assert verdicts(tmp_path)["Both recoveries help"] == ("not run", f"not run yet; {begun}")
    store_study(tmp_path, "ablation", False, accuracy_of_ablation, [*full[:5], *quick])
    told = verdicts(tmp_path)["Both recoveries help"]
    assert told == ("reproduced", f"quick, on generated data: 36 points; {begun}")
    store_study(tmp_path, "ablation", False, accuracy_of_ablation, [*full, *quick])
    assert verdicts(tmp_path)["Both recoveries help"][1] == f"full, on features of CIFAR-10N: {len(full)} points"


def test_a_study_of_which_some_trials_are_finished_is_judged_by_them_and_says_so(tmp_path):
    full = [{**point, "source": "cifar10n"} for point in STUDIES["ablation"].points(False)]
    first = [point for point in full if point["trial"] < 2]
    store_study(tmp_path, "ablation", False, accuracy_of_ablation, [*STUDIES["ablation"].points(True), *first])
    told = verdicts(tmp_path)["Both recoveries help"]
    assert told == ("reproduced so far", f"2 trials, on features of CIFAR-10N: {len(first)} points")
    assert "ablation --trials 2 --out docs/results/studies\n" in section(tmp_path, "Both recoveries help")
    last = next(point for point in full if point["trial"] == 2)
    store_study(tmp_path, "ablation", False, accuracy_of_ablation, [*first, last])
    told = verdicts(tmp_path)["Both recoveries help"][1]
    assert told.endswith(f"; begun: full, on features of CIFAR-10N: {len(first) + 1} of {len(full)} points")


def test_points_that_a_quick_run_shares_with_the_full_one_do_not_begin_the_full_one(tmp_path):
    """The bound grows with both noises but is vacuous throughout, so its claim holds partly."""
    names = ("nuclear", "feature", "constant", "label", "E_l_rows", "gap_noisy", "vacuous")
    store_study(
        tmp_path, "bound", True, lambda point: dict.fromkeys(names, 1.0) | {"bound": 2 + point["sigma"] + point["rate"]}
    )
    told = verdicts(tmp_path)["The bound on the risk (Theorem 2)"]
    assert told == ("partly", f"quick, on generated data: {len(STUDIES['bound'].points(True))} points")


def test_what_is_read_does_not_depend_on_which_data_are_at_hand(tmp_path, monkeypatch):
    store_study(tmp_path, "ablation", True, accuracy_of_ablation)
    store(
        tmp_path / "images" / "cells.jsonl",
        records_of("hybrid", TABLE_2, [90] * 6, 1) + records_of("ridge", TABLE_2, [80] * 6, 1),
    )
    pages = set()
    for there in (False, True):
        monkeypatch.setattr(data, "find", lambda file, there=there: tmp_path if there else None)
        monkeypatch.setattr(image_tables, "features_at_hand", lambda there=there: there)
        pages.add(write_claims(tmp_path).read_bytes())
    assert len(pages) == 1


def test_a_damaged_store_is_an_error_and_the_old_page_stays(tmp_path):
    old = write_claims(tmp_path).read_bytes()
    (tmp_path / "table1").mkdir()
    (tmp_path / "table1" / "cells.jsonl").write_text("something else\n")
    with pytest.raises(StoreError, match=r"cells.jsonl is not a store"):
        write_claims(tmp_path)
    assert (tmp_path / PAGE).read_bytes() == old


def test_claims_name_tables_by_their_command():
    assert [claim.command.split()[2] for claim in TABLES] == ["table1"] * 2 + ["table2", "table3"] + ["cifar10"] * 2
