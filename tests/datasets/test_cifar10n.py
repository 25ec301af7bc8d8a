"""Features of images with human labels: the known file, files of one's own, and the projection."""

from hashlib import sha256

import numpy as np
import pytest

from unmuddle.datasets import cifar10n, cifar10n_features, load_cifar10n, principal_features
from unmuddle.errors import DatasetError, InvalidParameterError


def own_arrays():
    rng = np.random.default_rng(0)
    labels = {name: rng.integers(10, size=30).astype(np.uint8) for name in ("clean", "aggre", "random1", "worst")}
    features = {"X_train": rng.normal(size=(30, 8)).astype(np.float16), "X_test": rng.normal(size=(12, 8))}
    return {**features, **labels, "y_test": rng.integers(10, size=12)}


@pytest.fixture
def own(tmp_path):
    def save(**changes):
        arrays = {name: value for name, value in {**own_arrays(), **changes}.items() if value is not None}
        np.savez_compressed(tmp_path / "own.npz", **arrays)
        return tmp_path / "own.npz"

    return save


def correlated(n_train=200, n_test=60, d=12):
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(d, d)) * np.linspace(3.0, 0.1, d)[:, None]
    return rng.normal(size=(n_train, d)) @ mixing + 5.0, rng.normal(size=(n_test, d)) @ mixing + 5.0


@pytest.mark.parametrize(("labels", "rate"), [("aggre", 9.1), ("random1", 17.8), ("worst", 41.0), ("clean", 0.0)])
def test_the_known_file_has_the_published_sizes_and_rates(known, labels, rate):
    images = load_cifar10n(labels)
    assert (images.X_train.shape, images.X_test.shape) == ((10_000, 1280), (2_000, 1280))
    assert images.X_train.dtype == images.X_test.dtype == np.float32
    assert (len(images.y_noisy), len(images.y_clean), len(images.y_test)) == (10_000, 10_000, 2_000)
    assert round(100 * images.noise_rate, 1) == rate
    assert round(100 * np.mean(images.X_train == 0)) == 41
    assert (images.labels, images.scale) == (labels, None)


def test_classes_have_their_names(known):
    """The first training images of CIFAR-10 are a frog, two trucks, a deer, an automobile."""
    images = load_cifar10n()
    first = [images.class_names[label] for label in images.y_clean[:5]]
    assert first == ["frog", "truck", "truck", "deer", "automobile"]


def test_known_features_are_projected_to_512_columns_of_mean_variance_1(known):
    raw, images = load_cifar10n("worst"), cifar10n_features(labels="worst")
    assert (images.X_train.shape, images.X_test.shape) == ((10_000, 512), (2_000, 512))
    assert images.X_train.var(axis=0).mean() == pytest.approx(1.0)
    assert np.array_equal(images.y_noisy, raw.y_noisy)
    standard = (raw.X_train - raw.X_train.mean(axis=0, dtype=float)) / raw.X_train.std(axis=0, dtype=float)
    spectrum = np.linalg.eigvalsh(standard.T @ standard / len(standard))[::-1][:512]
    assert np.allclose(images.X_train.var(axis=0), spectrum / spectrum.mean(), rtol=1e-4)


def test_a_missing_file_is_described_and_placed(cache):
    with pytest.raises(DatasetError) as caught:
        load_cifar10n()
    for part in (cifar10n.FILE, str(cache), "X_train (10000, 1280)", "clean, aggre, random1, worst", "path="):
        assert part in str(caught.value)


def test_another_file_of_that_name_is_refused_with_both_checksums(own, cache):
    cache.mkdir()
    own().rename(path := cache / cifar10n.FILE)
    found = sha256(path.read_bytes()).hexdigest()
    with pytest.raises(DatasetError, match=rf"{cifar10n.FILE_SHA256} and is {found}"):
        load_cifar10n()


def test_labels_must_be_one_of_four():
    with pytest.raises(
        InvalidParameterError, match="labels must be one of aggre, random1, worst, clean, got 'random2'"
    ):
        load_cifar10n("random2")


def test_features_of_ones_own_are_loaded_by_their_path(own):
    images, arrays = load_cifar10n("worst", path=own()), own_arrays()
    assert np.array_equal(images.X_train, arrays["X_train"])
    assert np.array_equal(images.y_noisy, arrays["worst"])
    assert np.array_equal(images.y_clean, arrays["clean"])
    assert np.array_equal(images.y_test, arrays["y_test"])
    assert images.y_noisy.dtype == np.int64
    assert cifar10n_features(3, "worst", own()).X_train.shape == (30, 3)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"worst": None}, "worst"),
        ({"X_test": np.zeros((12, 7))}, "same columns"),
        ({"X_train": np.zeros(30)}, "same columns"),
        ({"X_test": np.full((12, 8), np.nan)}, "not a finite number"),
        ({"X_test": np.full((12, 8), "a")}, "not a finite number"),
        ({"clean": np.zeros(29, dtype=int)}, "clean should hold a label"),
        ({"y_test": np.full(12, 10)}, "y_test should hold a label"),
        ({"aggre": np.zeros(30)}, "aggre should hold a label"),
        ({"aggre": np.array([None] * 30, dtype=object)}, "pickle"),
    ],
    ids=["missing", "columns", "flat", "nan", "text", "short", "label 10", "float labels", "objects"],
)
def test_arrays_that_do_not_fit_are_refused(own, changes, why):
    with pytest.raises(DatasetError, match=rf"own\.npz.*{why}"):
        load_cifar10n(path=own(**changes))


def test_a_damaged_cut_or_foreign_file_is_refused(own):
    path = own()
    content = path.read_bytes()
    middle = len(content) // 2
    for damaged in (content[:middle], content[:middle] + b"\x00\x00" + content[middle + 2 :], b"", b"text"):
        path.write_bytes(damaged)
        with pytest.raises(DatasetError, match=r"own\.npz is damaged or not an NPZ file"):
            load_cifar10n(path=path)
    np.save(single := path.with_name("single.npy"), np.zeros(3))
    with pytest.raises(DatasetError, match=r"single\.npy is damaged or not an NPZ file"):
        load_cifar10n(path=single)
    with pytest.raises(DatasetError, match=r"nowhere\.npz cannot be read"):
        load_cifar10n(path=path.with_name("nowhere.npz"))


def test_the_training_part_has_mean_variance_1_and_columns_of_decreasing_variance():
    train, _ = principal_features(*correlated(), n_components=6)
    variances = train.var(axis=0)
    assert variances.mean() == pytest.approx(1.0)
    assert np.all(np.diff(variances) < 0)
    assert variances[0] > 2 * variances[-1]
    assert np.allclose(np.corrcoef(train.T), np.eye(6), atol=1e-10)


def test_all_components_keep_all_distances_but_for_one_factor():
    train, test = correlated()
    mean, spread = train.mean(axis=0), train.std(axis=0)
    both = (np.vstack([train, test]) - mean) / spread
    found = np.vstack(principal_features(train, test, n_components=12))
    assert np.allclose(found @ found.T, both @ both.T, atol=1e-8)  # the factor is 1: so is the mean variance before


def test_only_training_rows_are_learned_from():
    train, test = correlated()
    first, _ = principal_features(train, test, n_components=4)
    again, moved = principal_features(train, 100.0 * test[::-1] + 7.0, n_components=4)
    assert np.array_equal(first, again)
    assert np.abs(moved).max() > 50


def test_a_constant_column_does_no_harm():
    train, test = correlated()
    train[:, 3] = test[:, 3] = 2.0
    assert np.isfinite(np.vstack(principal_features(train, test, n_components=5))).all()


@pytest.mark.parametrize("n_components", [0, 13])
def test_components_are_bounded(n_components):
    with pytest.raises(InvalidParameterError, match=f"n_components must be between 1 and 12, got {n_components}"):
        principal_features(*correlated(), n_components=n_components)
