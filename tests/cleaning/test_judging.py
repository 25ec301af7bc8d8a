"""When one engine is better than another, and what models count."""

import numpy as np
import pytest

from unmuddle.cleaning.heads import Given, Heard
from unmuddle.cleaning.judging import Trial, Tried, _holds, voices_of


def tried(accuracy, n_rows=100):
    return Tried({}, {}, (), Trial("raw", 1.0, 1.0, 1.0, accuracy, accuracy), n_rows)


@pytest.mark.parametrize(("better", "worse", "beats"), [(0.59, 0.50, False), (0.66, 0.50, True), (1.0, 0.99, False)])
def test_an_engine_is_better_if_by_two_standard_errors(better, worse, beats):
    """Half of 100 labels have an error of 0.05; that all are right in one of both is no proof."""
    assert tried(better).beats(tried(worse)) is beats
    assert not tried(worse).beats(tried(better))


def said(codes, right, rng):
    """Predictions of two classes that are right in so many of the rows."""
    flipped = rng.permutation(len(codes)) >= round(right * len(codes))
    return np.eye(2)[np.where(flipped, 1 - codes, codes)]


@pytest.mark.parametrize(("n_rows", "least", "most"), [(10_000, 5.9, 6.25), (40, 3.5, 4.2)])
def test_a_model_counts_by_the_square_of_its_skill_and_few_labels_tell_skills_less_apart(n_rows, least, most):
    """0.95 and 0.68 of even classes are 0.45 and 0.18 above chance: 6.25 in squares, with errors added 6.0 and 3.9."""
    rng = np.random.default_rng(0)
    codes = np.arange(n_rows) % 2
    given = Given.of(codes, np.ones(n_rows), 2, 0)
    better, worse = voices_of([said(codes, right, rng) for right in (0.95, 0.68)], given)
    assert better + worse == pytest.approx(1)
    assert least < better / worse < most


def test_models_no_better_than_chance_count_alike_and_next_to_nothing_beside_one_that_is():
    codes = np.arange(1000) % 2
    given = Given.of(codes, np.ones(1000), 2, 0)
    always, never, perfect = np.tile([1.0, 0.0], (1000, 1)), np.eye(2)[1 - codes], np.eye(2)[codes]
    assert voices_of([always, always], given) == pytest.approx([0.5, 0.5])
    voices = voices_of([always, never, perfect], given)
    assert voices[2] > 0.99
    assert np.isfinite(voices_of([never, never], given)).all()


@pytest.mark.parametrize(("right", "holds"), [(0.7, True), (0.55, False)])
def test_clouds_are_held_against_the_plain_mean_of_the_others(right, holds):
    """The vote of one model that is right in 0.9 of the rows and two that guess is right in 0.7; by skill it is 0.9."""
    rng = np.random.default_rng(0)
    codes = np.arange(10_000) % 2
    given = Given.of(codes, np.ones(10_000), 2, 0)
    others = [Heard(None, said(codes, share, rng)) for share in (0.9, 0.5, 0.5)]
    assert _holds(Heard(None, said(codes, right, rng)), others, given) is holds
