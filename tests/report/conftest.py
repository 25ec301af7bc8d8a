"""One fit for all tests of the room."""

import pytest

from report import tables


@pytest.fixture(scope="session")
def plain() -> tables.Case:
    return tables.plain_case()


@pytest.fixture(scope="session")
def nasty() -> tables.Case:
    return tables.nasty_case()
