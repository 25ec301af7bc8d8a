"""Downloads, through scikit-learn's own reader, from a server that is not one."""

import io
import json
import socket
from hashlib import md5
from urllib.error import URLError

import pytest

from unmuddle.datasets import openml
from unmuddle.errors import DatasetError

DOWNLOAD = openml.download  # as it is before the fixture that forbids it
ARFF = """% a comment
@relation tiny
@attribute a numeric
@attribute b numeric
@attribute kind {'first kind', second, 3}
@data
0.1,1.51793,'first kind'
2,0.30000000000000004,second
1e-3,-7,3
"""


class Answer(io.BytesIO):
    def info(self):
        return {}


def described(index, name, kind, target):
    return {
        "index": index,
        "name": name,
        "data_type": kind,
        "is_target": target,
        "is_ignore": "false",
        "is_row_identifier": "false",
        "number_of_missing_values": "0",
    }


FEATURES = [
    described("0", "a", "numeric", "false"),
    described("1", "b", "numeric", "false"),
    described("2", "kind", "nominal", "true"),
]
ANSWERS = {
    "json/data/7": {
        "data_set_description": {
            "id": "7",
            "name": "tiny",
            "version": "1",
            "description": "",
            "format": "ARFF",
            "status": "active",
            "file_id": "1",
            "url": "https://www.openml.org/data/v1/download/1/tiny.arff",
            "md5_checksum": md5(ARFF.encode()).hexdigest(),
        }
    },
    "json/data/features/7": {"data_features": {"feature": FEATURES}},
    "json/data/qualities/7": {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "3"}]}},
}


@pytest.fixture
def server(monkeypatch):
    def serve(answer):
        monkeypatch.setattr("sklearn.datasets._openml.urlopen", answer)
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        monkeypatch.setattr(openml, "download", DOWNLOAD)

    return serve


def answer(request):
    key = request.full_url.partition("/api/v1/")[2]
    return Answer(json.dumps(ANSWERS[key]).encode() if key else ARFF.encode())


def test_numbers_come_to_the_last_bit_and_classes_by_our_numbers(server):
    server(answer)
    rows = openml.fetch(openml.OpenML(7, {"first kind": 1, "second": 2}))
    assert rows.tolist() == [[0.1, 1.51793, 1.0], [2.0, 0.1 + 0.2, 2.0], [0.001, -7.0, 3.0]]


def test_without_a_network_the_error_is_ours_and_no_warning_is_given(server):
    def fail(request):
        raise URLError("Name or service not known")

    server(fail)
    with pytest.raises(DatasetError, match=r"dataset 7 of OpenML cannot be fetched: .*Name or service not known"):
        openml.fetch(openml.OpenML(7))


@pytest.mark.parametrize("content", [b"", b"<html>", b"{}", b"@relation"])
def test_a_senseless_answer_is_damage(server, content):
    server(lambda request: Answer(content))
    with pytest.raises(DatasetError, match="dataset 7 of OpenML came damaged or changed"):
        openml.fetch(openml.OpenML(7))


def test_a_silent_server_is_given_up_and_the_limit_is_taken_back(server):
    limits = []

    def hang(request):
        limits.append(socket.getdefaulttimeout())
        raise TimeoutError("timed out")

    server(hang)
    before = socket.getdefaulttimeout()
    with pytest.raises(DatasetError, match="timed out"):
        openml.fetch(openml.OpenML(7))
    assert set(limits) == {openml.PATIENCE}
    assert socket.getdefaulttimeout() == before
