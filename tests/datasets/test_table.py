"""Files of tables: found, read, verified, fetched and kept."""

import gzip
import struct
from dataclasses import replace
from hashlib import sha256
from urllib.error import URLError

import numpy as np
import pytest

from unmuddle.datasets.openml import OpenML
from unmuddle.datasets.table import Table, encode, load_table, parse, whereabouts
from unmuddle.errors import DatasetError, UnmuddleError, UnmuddleWarning

CONTENT = gzip.compress(b"a,b,label\n2.5,-0.1,1\n0.1,7,2\n0.1,3,1\n", mtime=0)
IN_ORDER = [[0.1, 3.0, 1.0], [0.1, 7.0, 2.0], [2.5, -0.1, 1.0]]
TINY = Table(
    name="tiny",
    title="Tiny: three rows",
    feature_names=("a", "b"),
    counts={1: 2, 2: 1},
    source="these tests",
    licence="none",
    file_sha256=sha256(CONTENT).hexdigest(),
    content_sha256=sha256(struct.pack("<9d", *np.ravel(IN_ORDER))).hexdigest(),
    openml=OpenML(7, {"yes": 1, "no": 2}),
)
HERE_ONLY = replace(TINY, openml=None, raw_file="tiny.data", remedy="Ask the author.")


@pytest.fixture
def folder(monkeypatch, tmp_path):
    (folder := tmp_path / "data").mkdir()
    monkeypatch.setenv("UNMUDDLE_DATA", str(folder))
    return folder


@pytest.fixture
def sent(monkeypatch):
    """Let OpenML send these features and classes, or raise this error."""

    def send(X, classes=(), error=None):
        def download(data_id):
            assert data_id == 7
            if error is not None:
                raise error
            return np.array(X, dtype=float), list(classes)

        monkeypatch.setattr("unmuddle.datasets.openml.download", download)

    return send


def good(sent):
    sent([[0.1, 7.0], [2.5, -0.1], [0.1, 3.0]], ["no", "'yes'", "yes"])


def assert_is_tiny(dataset):
    assert np.column_stack([dataset.X, dataset.y]).tolist() == IN_ORDER
    assert dataset.y.dtype == np.int64
    assert (dataset.name, dataset.feature_names, dataset.scale) == ("tiny", ("a", "b"), "standard")


def test_a_file_in_the_named_folder_is_read(folder):
    (folder / "tiny.csv.gz").write_bytes(CONTENT)
    assert_is_tiny(load_table(TINY))
    assert whereabouts(TINY) == str(folder / "tiny.csv.gz")


def test_the_named_folder_comes_before_the_cache_and_the_cache_before_a_download(folder, cache):
    cache.mkdir()
    (cache / "tiny.csv.gz").write_bytes(CONTENT)
    assert whereabouts(TINY) == str(cache / "tiny.csv.gz")
    assert_is_tiny(load_table(TINY))
    (folder / "tiny.csv.gz").write_bytes(CONTENT)
    assert whereabouts(TINY) == str(folder / "tiny.csv.gz")


@pytest.mark.parametrize(
    "content",
    [
        b"label,a,b\n1,2.5,-0.1\n2,0.1,7\n1,0.1,3\n",
        b"2.5,-0.1,1\n0.1,7.0,2\n0.1,3.00,1\n",
        gzip.compress(b"a,b,label\r\n0.1,3,1\r\n2.5,-0.1,1\r\n0.1,7,2\r\n"),
    ],
    ids=["label first", "no header", "packed elsewhere, rows in another order"],
)
def test_the_same_content_in_another_form_is_the_same_table(folder, content):
    (folder / "tiny.csv.gz").write_bytes(content)
    assert_is_tiny(load_table(TINY))


def test_the_original_file_is_read_under_its_own_name(folder):
    (folder / "tiny.data").write_bytes(b"2.5,-0.1,1\n0.1,7,2\n0.1,3,1\n")
    assert_is_tiny(load_table(HERE_ONLY))


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x10]) + content[middle + 1 :]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (flipped(CONTENT), ""),
        (CONTENT[:-20], ""),
        (b"", "no rows"),
        (gzip.compress(b"a,b,label\n"), "no rows"),
        (b"<html>404 Not Found</html>", ""),
        (b"\x00\xff" * 50, ""),
        (b"a,b,label\n1,2\n", ""),
        (b"a,b,label\n2.5,-0.1,1\n0.1,7,2\n", "it is 2 x 2, not 3 x 2"),
        (b"a,b,label\n2.5,-0.1,1\n0.1,7,1\n0.1,3,1\n", "classes have sizes"),
        (b"a,b,label\n2.5,-0.1,2\n0.1,7,1\n0.1,3,1\n", "values have checksum"),
        (b"a,b,label\n2.5,-0.1,1\n0.1,7,2\n0.1,nan,1\n", "values have checksum"),
    ],
    ids=[
        "flipped bit", "cut off", "empty", "header only", "web page", "binary", "ragged", "row missing",
        "label changed", "labels exchanged", "value missing",
    ],
)  # fmt: skip
@pytest.mark.parametrize("table", [TINY, HERE_ONLY], ids=["can be fetched", "cannot be fetched"])
def test_a_damaged_file_is_named_with_both_checksums_and_a_remedy(folder, content, why, table):
    (path := folder / "tiny.csv.gz").write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        load_table(table)
    message = str(caught.value)
    for part in (str(path), TINY.file_sha256, sha256(content).hexdigest(), "Delete it", why):
        assert part in message
    assert ("fetch it" if table is TINY else "Ask the author.") in message


def test_a_named_folder_that_is_not_there_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("UNMUDDLE_DATA", str(tmp_path / "mistyped"))
    with pytest.raises(DatasetError, match=r"UNMUDDLE_DATA names .*mistyped, which is not a folder"):
        load_table(TINY)


def test_a_file_that_cannot_be_read_is_said(folder, monkeypatch):
    (folder / "tiny.csv.gz").write_bytes(CONTENT)

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(DatasetError, match=r"tiny\.csv\.gz cannot be read: Permission denied"):
        load_table(TINY)


def test_what_cannot_be_downloaded_says_which_file_to_put_where(folder):
    with pytest.raises(DatasetError, match=rf"put tiny\.csv\.gz into {folder}\. Ask the author\."):
        load_table(HERE_ONLY)
    assert whereabouts(HERE_ONLY) == f"missing: put tiny.csv.gz into {folder}"


def test_a_download_is_verified_kept_and_not_repeated(sent, cache):
    good(sent)
    assert whereabouts(TINY) == "to download"
    assert_is_tiny(load_table(TINY))
    assert whereabouts(TINY) == str(cache / "tiny.csv.gz")
    sent([], error=AssertionError("a second download"))
    assert_is_tiny(load_table(TINY))
    assert [path.name for path in cache.iterdir()] == ["tiny.csv.gz"]


@pytest.mark.parametrize(
    ("X", "classes"),
    [
        ([[0.1, 7.0], [2.5, -0.1]], ["no", "yes"]),
        ([[0.1, 7.0], [2.5, -0.1], [0.1, 3.0]], ["yes", "yes", "yes"]),
        ([[0.1, 7.0], [2.5, -0.1], [0.1, 3.0]], ["yes", "yes", "no"]),
        ([[0.1, 7.0], [2.5, -0.1], [0.1, 3.0 + 1e-15]], ["no", "yes", "yes"]),
        ([[0.1, 7.0], [2.5, -0.1], [0.1, 3.0]], ["no", "yes", "perhaps"]),
        ([[0.1, 7.0], [2.5, -0.1], [0.1, 3.0]], ["no", "yes"]),
        ([], []),
    ],
    ids=["row missing", "label changed", "labels exchanged", "last bit", "unknown class", "label missing", "nothing"],
)
def test_a_damaged_download_is_refused_and_not_kept(sent, cache, X, classes):
    sent(X, classes)
    with pytest.raises(DatasetError, match=rf"put tiny\.csv\.gz into {cache}"):
        load_table(TINY)
    assert not cache.exists()


@pytest.mark.parametrize(
    "error",
    [
        URLError("Name or service not known"),
        TimeoutError("timed out"),
        ConnectionResetError("reset"),
        EOFError("Compressed file ended"),
        ValueError("md5 checksum"),
        KeyError("data_set_description"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_failed_download_says_why_and_which_file_to_put_where(sent, cache, error):
    sent([], error=error)
    with pytest.raises(DatasetError, match=rf"tiny: dataset 7 of OpenML .*; try again later, or put .* into {cache}"):
        load_table(TINY)


def test_data_are_not_lost_when_the_cache_cannot_be_written(sent, monkeypatch, tmp_path):
    good(sent)
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("UNMUDDLE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UnmuddleWarning, match="tiny was downloaded but not kept: cannot write"):
        assert_is_tiny(load_table(TINY))


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"UNMUDDLE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"UNMUDDLE_CACHE": "~/a"}, "/home/nobody/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/unmuddle"),
        ({"XDG_CACHE_HOME": ""}, "/home/nobody/.cache/unmuddle"),
    ],
)
def test_the_cache_is_where_the_first_variable_says(monkeypatch, variables, place):
    monkeypatch.delenv("UNMUDDLE_CACHE")
    monkeypatch.setenv("HOME", "/home/nobody")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert whereabouts(HERE_ONLY) == f"missing: put tiny.csv.gz into {place}"


def test_without_a_home_folder_a_variable_is_asked_for(monkeypatch):
    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("UNMUDDLE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", fail)
    with pytest.raises(DatasetError, match="UNMUDDLE_CACHE"):
        load_table(TINY)


def test_encoded_rows_are_read_back_to_the_last_bit():
    rows = np.array([[1e-300, 0.1 + 0.2, 1.0], [1e22, -1.0 / 3.0, 2.0]])
    assert np.array_equal(parse(encode(TINY, rows)), rows)


def test_every_error_is_one_of_ours_and_an_os_error():
    assert issubclass(DatasetError, UnmuddleError)
    assert issubclass(DatasetError, OSError)
