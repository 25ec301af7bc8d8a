"""The paper's own numbers, held against what else the paper says of them."""

from itertools import groupby

import pytest

from unmuddle.experiments.paper import printed

FLR_TABLE_1 = {  # the FLR rows of Table 1, typed from the paper a second time
    "glass": ([68.37, 66.98, 51.43], [68.37, 50.48, 47.14]),
    "wine": ([96.57, 84.57, 78.28], [92.56, 81.71, 74.86]),
    "cnae9": ([89.72, 76.57, 67.49], [84.91, 68.60, 53.33]),
    "waveform": ([84.48, 76.08, 71.98], [82.16, 74.60, 74.68]),
}


def test_tables_have_every_method_in_every_column():
    assert [len(printed(table)) for table in (1, 2, 3)] == [7 * 24, 8 * 6, 8 * 6]
    for table in (1, 2, 3):
        places = {(p.method, p.noise, p.dataset, p.sigma, p.rate) for p in printed(table)}
        assert len(places) == len(printed(table))


def test_the_flr_rows_are_those_of_the_paper():
    for dataset, by_noise in FLR_TABLE_1.items():
        for noise, expected in zip(("gaussian", "laplacian"), by_noise, strict=True):
            found = [p.mean for p in printed(1) if (p.method, p.dataset, p.noise) == ("FLR", dataset, noise)]
            assert found == expected


def place(p):
    return p.table, p.noise, p.dataset, p.sigma, p.rate or 0.0


COLUMNS = [list(group) for table in (1, 2, 3) for _, group in groupby(sorted(printed(table), key=place), place)]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: "-".join(map(str, place(column[0]))))
def test_bold_is_the_highest_and_underlined_the_second_of_its_column(column):
    order = sorted(column, key=lambda p: -p.mean)
    assert [p.mark for p in column].count("best") == [p.mark for p in column].count("second") == 1
    assert [p.mean for p in column if p.mark == "best"] == [order[0].mean]
    assert [p.mean for p in column if p.mark == "second"] == [order[1].mean]
