"""Names of datasets."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from unmuddle.datasets import Dataset, Entry, available, load, load_wine, register, registry
from unmuddle.datasets.cifar10n import FILE
from unmuddle.errors import DatasetError

IMAGES = ["c10n-aggre", "c10n-random1", "c10n-worst", "cifar10"]
BUILT_IN = sorted([
    "breast-cancer", "cifar10n", "cifar10n-worst", "cnae9", "digits", "glass", "waveform", "waveform-generated", "wine",
    *IMAGES, *(f"{name}-generated" for name in IMAGES),
])  # fmt: skip


def load_mine():
    return Dataset("mine", np.zeros((2, 1)), np.array(["a", "b"]), ("only",), "here", "none")


def load_other():
    raise NotImplementedError


MINE = Entry("mine", load_mine, "Mine", "2 x 1, 2 classes", "here", "none", lambda: "generated")


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """Without what plug-ins of other tests in this process have added."""
    entries = {name: entry for name, entry in registry._ENTRIES.items() if not is_plugin(entry.load)}
    monkeypatch.setattr(registry, "_ENTRIES", entries)


def is_plugin(loader):
    return getattr(loader, "__module__", "").startswith("unmuddle_plugin_")


def where():
    return {entry.name: entry.where() for entry in available()}


def test_built_in_datasets_are_listed_by_name():
    assert [entry.name for entry in available()] == BUILT_IN
    assert all(entry.title and entry.source and entry.licence for entry in available())


def test_the_list_says_where_the_data_are(cache):
    assert where() == {
        "breast-cancer": "embedded",
        **dict.fromkeys(IMAGES, f"missing: put {FILE} into {cache}"),
        **dict.fromkeys([f"{name}-generated" for name in IMAGES], "generated"),
        "cifar10n": f"missing: put {FILE} into {cache}",
        "cifar10n-worst": f"missing: put {FILE} into {cache}",
        "cnae9": "to download",
        "digits": "embedded",
        "glass": "to download",
        "waveform": f"missing: put waveform.csv.gz into {cache}",
        "waveform-generated": "generated",
        "wine": "embedded",
    }


def test_the_list_names_files_without_reading_them(cache):
    cache.mkdir()
    for name in ("glass.csv.gz", FILE):
        (cache / name).write_bytes(b"not read")
    assert where()["glass"] == str(cache / "glass.csv.gz")
    assert where()["cifar10n"] == str(cache / FILE)


def test_a_mistaken_folder_is_said_in_the_list(monkeypatch, tmp_path):
    monkeypatch.setenv("UNMUDDLE_DATA", str(tmp_path / "mistyped"))
    assert where()["glass"].startswith("missing: UNMUDDLE_DATA names")
    assert where()["wine"] == "embedded"


def test_shapes_in_the_list_are_those_of_the_data(known):
    for entry in available():
        if entry.name != "cifar10n":
            dataset = entry.load()
            n, d = dataset.X.shape
            rows, rest = entry.shape.split(" x ")  # of a set with a split of its own, both parts
            assert sum(map(int, rows.split(" + "))) == n
            assert rest == f"{d}, {len(np.unique(dataset.y))} classes"
            assert (entry.name, entry.source, entry.licence) == (dataset.name, dataset.source, dataset.licence)


def test_a_name_loads_what_its_loader_loads():
    assert np.array_equal(load("wine").X, load_wine().X)
    assert np.array_equal(load("waveform-generated").X, load("waveform-generated").X)


def test_an_unknown_name_is_answered_by_the_known_ones():
    with pytest.raises(DatasetError, match=r"no dataset 'vine'; choose one of breast-cancer, .*, cifar10n, .*, wine"):
        load("vine")


def test_cifar10n_points_to_its_own_function():
    with pytest.raises(DatasetError, match=r"load_cifar10n\(\)"):
        load("cifar10n")


def test_a_dataset_is_added_by_one_call():
    assert register(MINE) is MINE
    assert load("mine").feature_names == ("only",)
    assert where()["mine"] == "generated"


def test_the_same_loader_may_be_registered_again_but_no_other():
    register(MINE)
    register(replace(MINE, title="Mine, better described"))
    assert {entry.name: entry.title for entry in available()}["mine"] == "Mine, better described"
    with pytest.raises(DatasetError, match=r"'mine' is taken by .*load_mine; register .*load_other under another"):
        register(replace(MINE, load=load_other))
    with pytest.raises(DatasetError, match="'mine' is taken"):
        register(replace(MINE, load=functools.partial(load_mine)))
    assert load("mine").name == "mine"
