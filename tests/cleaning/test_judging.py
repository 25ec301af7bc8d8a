"""Who is heard: heads that know the labels, know nothing, or are wrong on purpose."""

import numpy as np
import pytest

from unmuddle.cleaning.heads import Given, Heard
from unmuddle.cleaning.judging import Trial, Tried, _worth_hearing

N, N_CLASSES = 300, 3
CODES = np.arange(N) % N_CLASSES
GIVEN = Given.of(CODES, np.ones(N), N_CLASSES, seed=0)


def head(share, seed, sure=0.8):
    """Right on that share of the rows, at random; as sure of itself as any other."""
    rng = np.random.default_rng(seed)
    said = np.where(rng.random(N) < share, CODES, (CODES + 1) % N_CLASSES)
    scores = np.full((N, N_CLASSES), (1 - sure) / (N_CLASSES - 1))
    scores[np.arange(N), said] = sure
    return Heard(f"head {seed}", scores)


def names(heads):
    return [each.head for each in heads]


def test_heads_that_are_as_good_as_each_other_are_all_heard():
    heads = [head(0.8, seed) for seed in range(3)]
    assert names(_worth_hearing(heads, GIVEN)) == ["head 0", "head 1", "head 2"]


def test_two_that_outvote_the_one_who_knows_are_not_heard():
    liar = head(0.05, 2)
    heads = [head(0.9, 0), liar, Heard("again", liar.held_out)]
    assert names(_worth_hearing(heads, GIVEN)) == ["head 0"]


def test_only_the_one_who_spoils_the_mean_is_silenced():
    wise, liar = head(0.9, 0, sure=0.6), head(0.05, 2, sure=0.98)
    heard = _worth_hearing([wise, Heard("as wise", wise.held_out), liar], GIVEN)
    assert names(heard) == ["head 0", "as wise"]


def tried(accuracy, n_rows=100):
    return Tried({}, {}, (), Trial("raw", 1.0, 1.0, 1.0, accuracy, accuracy), n_rows)


@pytest.mark.parametrize(("better", "worse", "beats"), [(0.59, 0.50, False), (0.66, 0.50, True), (1.0, 0.99, False)])
def test_an_engine_is_better_if_by_two_standard_errors(better, worse, beats):
    """Half of 100 labels have an error of 0.05; that all are right in one of both is no proof."""
    assert tried(better).beats(tried(worse)) is beats
    assert not tried(worse).beats(tried(better))


def test_fewer_that_are_better_by_chance_only_do_not_silence_the_others():
    rng = np.random.default_rng(0)
    one = head(0.8, 0)
    other = one.held_out.copy()
    rows = rng.permutation(np.flatnonzero(one.held_out.argmax(axis=1) == CODES))[:3]
    other[rows] = 0.98 * np.eye(N_CLASSES)[(CODES[rows] + 1) % N_CLASSES] + 0.01
    heads = [one, Heard("three more wrong", other)]
    means = [GIVEN.accuracy(one.held_out), GIVEN.accuracy((one.held_out + other) / 2)]
    assert means[0] > means[1]
    assert len(_worth_hearing(heads, GIVEN)) == 2


@pytest.mark.parametrize("weight", [0.0, 100.0])
def test_rows_count_by_their_weights(weight):
    """The liar is right in the first half: with all the weight there he is heard, without any he is not."""
    first = np.arange(N) < N // 2
    half = np.where(first[:, None], head(0.9, 0).held_out, head(0.05, 1).held_out)
    other = np.where(first[:, None], head(0.05, 2).held_out, head(0.9, 3).held_out)
    given = Given.of(CODES, np.where(first, weight, 1.0), N_CLASSES, seed=0)
    heard = _worth_hearing([Heard("first", half), Heard("second", other)], given)
    assert names(heard) == (["first"] if weight else ["second"])
