"""The Wiener filter and its noise level against simulated noise and known truths."""

import numpy as np
import pytest

from unmuddle.core.wiener import Wiener, noise_quantiles, noise_variance, stands_out

SHAPES = [(2000, 100), (400, 300), (300, 300), (200, 500), (100, 1000)]


def low_rank(shape, rank=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))


def noise(shape, level, seed=1):
    return level * np.random.default_rng(seed).normal(size=shape)


def spectrum(X):
    return np.linalg.eigvalsh(X.T @ X / len(X))


@pytest.mark.parametrize("shape", SHAPES)
def test_quantiles_of_noise_are_those_of_simulated_eigenvalues(shape):
    n, d = shape
    samples = [np.linalg.svd(noise(shape, 1.0, seed), compute_uv=False) ** 2 / n for seed in range(10)]
    eigenvalues = np.sort(np.mean(samples, axis=0))
    shares = (np.arange(len(eigenvalues)) + 0.5) / len(eigenvalues)
    assert np.allclose(noise_quantiles(shares, d / n), eigenvalues, atol=0.015 * eigenvalues[-1])


def test_lowest_quantiles_of_square_noise_are_exact():
    """The law of a square table is that of a squared quarter circle: F(x) = (r sqrt(1 - r^2) + arcsin r) 2 / pi."""
    x = np.geomspace(1e-6, 3.9, 50)
    r = np.sqrt(x) / 2
    shares = (r * np.sqrt(1 - r**2) + np.arcsin(r)) * 2 / np.pi
    assert np.allclose(noise_quantiles(shares, 1.0), x, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rank", [0, 5])
def test_the_variance_of_noise_is_found_with_and_without_signal(shape, rank):
    X = noise(shape, 0.5) + low_rank(shape, rank)
    assert noise_variance(spectrum(X), len(X)) == pytest.approx(0.25, rel=0.1)


def test_the_variance_of_noise_scales_with_the_squared_data_and_is_never_negative():
    values = spectrum(noise((100, 20), 1.0))
    assert noise_variance(9 * values, 100) == pytest.approx(9 * noise_variance(values, 100))
    assert noise_variance(np.array([-1e-17, -1e-18, 3.0]), 50) == 0.0
    assert noise_variance(np.array([2.0]), 1000) == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize("shape", [(800, 40), (60, 150)])
def test_the_filter_shrinks_every_direction_and_brings_rows_nearer_to_the_truth(shape):
    clean = 3 + low_rank(shape, 3)
    rows = clean + noise(shape, 0.7)
    wiener = Wiener.of(rows.mean(axis=0), np.cov(rows.T, bias=True), rows)
    assert np.all((wiener.gains >= 0) & (wiener.gains <= 1))
    assert 3 <= wiener.rank == np.sum(wiener.gains > 0) < shape[1]
    assert np.mean((wiener.apply(rows) - clean) ** 2) < 0.6 * np.mean((rows - clean) ** 2)
    assert np.allclose(wiener.apply(wiener.mean[None]), wiener.mean)


def test_the_filter_is_the_best_linear_one_for_a_known_covariance():
    """Signal covariance times the inverse of that of the rows, both dense."""
    rows = low_rank((500, 12), 3) + noise((500, 12), 0.5)
    covariance = np.cov(rows.T, bias=True) + 0.5 * np.eye(12)
    wiener = Wiener.of(np.zeros(12), covariance, rows)
    assert wiener.noise < 0.5
    signal = covariance - wiener.noise * np.eye(12)
    assert np.allclose(wiener.apply(rows), rows @ np.linalg.solve(covariance, signal))


def test_data_without_noise_pass_unchanged():
    rows = low_rank((200, 20), 4)
    assert np.allclose(Wiener.of(rows.mean(axis=0), np.cov(rows.T, bias=True), rows).apply(rows), rows, atol=1e-6)
    assert np.array_equal(Wiener.of(np.ones(3), np.eye(3), np.ones((1, 3))).apply(np.eye(3)), np.eye(3))


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_a_new_row_is_filtered_as_much_as_it_is_noisy(level):
    """Noise of variance ``level`` times that of the training rows; half the noise is half way to the clean row."""
    signal = low_rank((1500, 200), 3)
    wiener = Wiener.of(np.zeros(200), np.cov((signal + noise((1500, 200), 7.0)).T), signal + noise((1500, 200), 7.0))
    new = low_rank((300, 200), 3, seed=0)[:300] + noise((300, 200), 7.0 * np.sqrt(level), seed=3)
    assert wiener.shares(new).mean() == pytest.approx(level, abs=0.1)  # gains of pure noise are a little high
    expected = level * wiener.apply(new) + (1 - level) * new
    assert np.linalg.norm(wiener.adapt(new) - expected) < 0.15 * np.linalg.norm(new)


def test_how_noisy_a_row_is_does_not_depend_on_its_company_and_is_not_asked_without_noise():
    rows = low_rank((400, 30)) + noise((400, 30), 1.0)
    wiener = Wiener.of(rows.mean(axis=0), np.cov(rows.T), rows)
    assert np.allclose(wiener.shares(rows[7:8]), wiener.shares(rows)[7])
    exact = Wiener(np.zeros(2), np.eye(2), np.ones(2), 0.0)
    assert np.array_equal(exact.adapt(rows[:, :2]), rows[:, :2])
    few = Wiener(np.zeros(2), np.eye(2), np.array([0.0, 0.9]), 1.0)
    assert few.shares(np.zeros((1, 2)))[0] == pytest.approx(4 / 5)  # one direction against four that were made up


def test_under_heavy_noise_a_few_columns_that_vary_more_are_not_lost():
    """Under noise of variance 49 a filter leaves less of them than it errs by in judging how noisy rows are."""
    rng = np.random.default_rng(0)
    variances = np.r_[30.0, 15.0, 10.0, np.zeros(197)]
    signal = rng.normal(size=(4000, 200)) * np.sqrt(variances)
    rows = signal + 7.0 * rng.normal(size=(4000, 200))
    covariance = np.diag(variances + 49.0)
    assert Wiener.of(np.zeros(200), covariance, rows).is_idle  # columns in units of their own may vary as they like
    found = Wiener.of(np.zeros(200), covariance, rows, alike=True)
    assert not found.is_idle
    assert np.linalg.norm(found.apply(rows) - signal) < 0.25 * np.linalg.norm(rows - signal)


@pytest.mark.parametrize("shape", [(1000, 8), (400, 100), (3000, 300)])
def test_of_noise_alone_nothing_stands_out_and_of_a_factor_something_does(shape):
    """Simulated: the share of samples in which the largest eigenvalue is beyond the limit."""
    rng = np.random.default_rng(0)
    said = [stands_out(rng.normal(size=shape), 1.0) for _ in range(60)]
    assert np.mean(said) <= 0.02
    factor = rng.normal(size=(shape[0], 1)) @ np.full(
        (1, shape[1]), 2.0 * (shape[1] / shape[0]) ** 0.25 / shape[1] ** 0.5
    )
    assert stands_out(rng.normal(size=shape) + factor, 1.0)


def test_columns_that_have_nothing_to_do_with_each_other_pass():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 8))
    found = Wiener.of(np.zeros(8), np.cov(rows.T), rows)
    assert found.is_idle
    assert np.allclose(found.apply(rows), rows)
    assert np.allclose(found.adapt(3 * rows), 3 * rows)
    together = rows + 2.0 * rng.normal(size=(1000, 1))
    assert not Wiener.of(np.zeros(8), np.cov(together.T), together).is_idle
