"""The tables that are built in, against the facts published with them."""

import gzip
import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest

from unmuddle.datasets import load, load_cnae9, load_glass, load_waveform, load_wine
from unmuddle.datasets.cnae9 import CNAE9
from unmuddle.datasets.glass import GLASS
from unmuddle.datasets.waveform import WAVEFORM
from unmuddle.errors import DatasetError

TABLES = [GLASS, CNAE9, WAVEFORM]
named = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def counts(y):
    return dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True))


def plain_rows(path):
    """Rows of a file, the label last, by the csv rules a reader would guess."""
    header, *lines = gzip.decompress(path.read_bytes()).decode().split()
    label = header.split(",").index("label")
    cells = [[float(cell) for cell in line.split(",")] for line in lines]
    return [row[:label] + row[label + 1 :] + [row[label]] for row in cells]


@pytest.mark.parametrize(
    ("loader", "shape", "sizes", "scale"),
    [
        (load_glass, (214, 9), {1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29}, "standard"),
        (load_cnae9, (1080, 856), dict.fromkeys(range(1, 10), 120), "spread"),
        (load_waveform, (5000, 21), {0: 1657, 1: 1647, 2: 1696}, "standard"),
    ],
)
def test_sizes_are_those_published(known, loader, shape, sizes, scale):
    dataset = loader()
    assert dataset.X.shape == shape
    assert counts(dataset.y) == sizes
    assert len(dataset.feature_names) == shape[1]
    assert dataset.scale == scale
    assert dataset.licence == "CC BY 4.0"


@named
def test_rows_are_those_of_the_file_sorted(known, table):
    dataset = load(table.name)
    assert np.column_stack([dataset.X, dataset.y]).tolist() == sorted(plain_rows(known / table.files[0]))


@named
def test_the_file_has_the_checksum_in_the_code(known, table):
    assert sha256((known / table.files[0]).read_bytes()).hexdigest() == table.file_sha256


@named
def test_content_alone_is_accepted_too(known, table, monkeypatch, tmp_path):
    again = gzip.compress(gzip.decompress((known / table.files[0]).read_bytes()), compresslevel=1)
    (tmp_path / table.files[0]).write_bytes(again)
    monkeypatch.setenv("UNMUDDLE_DATA", str(tmp_path))
    assert sha256(again).hexdigest() != table.file_sha256
    assert load(table.name).X.shape == (sum(table.counts.values()), len(table.feature_names))


@named
def test_one_flipped_bit_or_a_cut_end_is_found(known, table, monkeypatch, tmp_path):
    content = (known / table.files[0]).read_bytes()
    monkeypatch.setenv("UNMUDDLE_DATA", str(tmp_path))
    middle = len(content) // 2
    for damaged in (content[:middle], content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]):
        (tmp_path / table.files[0]).write_bytes(damaged)
        with pytest.raises(DatasetError, match=table.file_sha256):
            load(table.name)


@pytest.mark.parametrize("table", [GLASS, CNAE9], ids=lambda table: table.name)
def test_a_download_gives_the_rows_of_the_file(known, table, monkeypatch):
    rows = np.array(plain_rows(known / table.files[0]))
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    names = {number: f"'{name}'" for name, number in table.openml.classes.items()}
    sent = rows[:, :-1], [names.get(label, f"{label:g}") for label in rows[:, -1]]
    by_file = load(table.name)
    monkeypatch.delenv("UNMUDDLE_DATA")
    monkeypatch.setattr("unmuddle.datasets.openml.download", lambda data_id: sent)
    for _ in ("downloaded", "from the cache"):
        dataset = load(table.name)
        assert np.array_equal(dataset.X, by_file.X)
        assert np.array_equal(dataset.y, by_file.y)


def test_cnae9_is_sparse_with_one_row_of_zeros_and_28_rows_twice(known):
    cnae9 = load_cnae9()
    X = cnae9.X
    assert round(100 * np.mean(X == 0), 2) == 99.22
    assert np.sum(~X.any(axis=1)) == 1
    assert set(np.unique(X)) == {0, 1, 2, 3, 4}
    assert len(X) - len(np.unique(np.column_stack([X, cnae9.y]), axis=0)) == 28


def test_wine_of_scikit_learn_is_the_published_file(known):
    rows, wine = np.array(plain_rows(known / "wine.csv.gz")), load_wine()
    assert np.array_equal(wine.X, rows[:, :-1])
    assert np.array_equal(wine.y, [f"class_{label - 1:g}" for label in rows[:, -1]])
    assert counts(rows[:, -1]) == {1: 59, 2: 71, 3: 48}


def test_waveform_without_a_file_names_uci_and_the_generator(cache):
    with pytest.raises(DatasetError, match=r"archive\.ics\.uci\.edu/dataset/107.*make_waveform\(\)") as caught:
        load_waveform()
    assert f"put waveform.csv.gz into {cache}" in str(caught.value)


def test_import_opens_no_file_of_data_and_no_connection():
    script = """
import sys
def watch(event, args):
    if event.startswith(("socket.connect", "urllib")) or (event == "open" and str(args[0]).endswith((".gz", ".npz"))):
        sys.exit(f"{event} {args}")
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+") and ".pyc" not in str(args[0]):
        sys.exit(f"{event} {args}")
import sklearn.datasets, sklearn.decomposition, sklearn.preprocessing
sys.addaudithook(watch)
import unmuddle.datasets
"""
    subprocess.run([sys.executable, "-c", script], check=True)
