"""When one engine is better than another."""

import pytest

from unmuddle.cleaning.judging import Trial, Tried


def tried(accuracy, n_rows=100):
    return Tried({}, {}, (), Trial("raw", 1.0, 1.0, 1.0, accuracy, accuracy), n_rows)


@pytest.mark.parametrize(("better", "worse", "beats"), [(0.59, 0.50, False), (0.66, 0.50, True), (1.0, 0.99, False)])
def test_an_engine_is_better_if_by_two_standard_errors(better, worse, beats):
    """Half of 100 labels have an error of 0.05; that all are right in one of both is no proof."""
    assert tried(better).beats(tried(worse)) is beats
    assert not tried(worse).beats(tried(better))
