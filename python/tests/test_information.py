"""kith.information: known values, scikit-learn's own estimator to its last digits, arrays of any kind, refusals."""
from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_regression
from sklearn.preprocessing import scale

import kith
from kith import information

RNG = np.random.default_rng(0)


def as_scikit_learn_prepares(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The input of mutual_info_regression's estimate: columns of deviation 1 with noise of 1e-10, from one generator."""
    rng = np.random.RandomState(seed)
    x = scale(x, with_mean=False, copy=True)
    x += 1e-10 * np.maximum(1, np.mean(np.abs(x), axis=0)) * rng.standard_normal(size=x.shape)
    y = scale(y, with_mean=False)
    y += 1e-10 * np.maximum(1, np.mean(np.abs(y))) * rng.standard_normal(size=len(y))
    return x, y


@pytest.mark.parametrize("k", [1, 3, 10])
def test_scikit_learns_mutual_information(k: int) -> None:
    noise = RNG.normal(size=(4, 1500))
    correlations = np.array([0.0, 0.5, 0.95])
    x = (correlations[:, None] * noise[3] + np.sqrt(1 - correlations**2)[:, None] * noise[:3]).T
    want = mutual_info_regression(x, noise[3], n_neighbors=k, random_state=5)
    prepared_x, prepared_y = as_scikit_learn_prepares(x, noise[3], 5)
    for column, correlation, theirs in zip(prepared_x.T, correlations, want):
        ours = information.mutual_information(column, prepared_y, k).value
        assert max(0.0, ours) == pytest.approx(theirs, rel=1e-12, abs=1e-12)
        assert ours == pytest.approx(-0.5 * math.log(1 - correlation**2), abs=0.15)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_entropy_of_gaussians(d: int) -> None:
    x = RNG.normal(3, 2, (5000, d))
    want = d / 2 * math.log(2 * math.pi * math.e * 4)
    for metric in ("euclidean", "cityblock", "chebyshev"):
        found = information.entropy(x, 5, metric=metric, bootstrap=3)
        assert found.value == pytest.approx(want, abs=5 * found.error + 0.05 * d)
    assert information.entropy(x, 5, metric="minkowski", p=3).value == pytest.approx(want, abs=0.05 + 0.1 * d)


@pytest.mark.parametrize("form", ["nearest", "ball", "ball-distances"])
def test_divergence_of_gaussians(form: str) -> None:
    x, y = RNG.normal(0, 1, (5000, 3)), RNG.normal(0.5, 1.5, (6000, 3))
    want = 3 * (math.log(1.5) + 1.25 / 4.5 - 0.5)
    assert information.kl_divergence(x, y, 5, form=form).value == pytest.approx(want, abs=0.1)


def test_conditional_and_transfer() -> None:
    z, a, b = RNG.normal(size=(3, 4000))
    assert information.conditional_mutual_information(z + a, z + b, z).value == pytest.approx(0, abs=0.05)
    assert information.mutual_information(z + a, z + b).value == pytest.approx(-0.5 * math.log(0.75), abs=0.06)
    follows = np.concatenate([[0], 0.8 * z[:-1]]) + 0.6 * a
    assert information.transfer_entropy(z, follows).value == pytest.approx(-0.5 * math.log(0.36), abs=0.1)
    assert information.transfer_entropy(follows, z).value == pytest.approx(0, abs=0.05)
    two = information.transfer_entropy(z, follows, source_lags=2, target_lags=3)
    assert two.samples == 4000 - 3


def test_arrays_and_ties() -> None:
    x = RNG.integers(0, 4, 600)
    want = information.mutual_information(x, x // 2)
    for kind in (np.int8, np.float32, np.float64):
        assert information.mutual_information(x.astype(kind), (x // 2).reshape(-1, 1).astype(kind)) == want
    torch = pytest.importorskip("torch")
    assert information.mutual_information(torch.from_numpy(x), torch.from_numpy(x // 2)) == want
    assert want.value == pytest.approx(math.log(2), abs=0.02) and float(want) == want.value
    mixed = np.concatenate([RNG.normal(size=90), np.zeros(10)])
    with pytest.warns(information.EqualSamplesWarning, match="^10 of 100 samples are equal to others.* of the other 90") as told:
        assert information.entropy(mixed, 3).left_out == 10
    assert told[0].filename == __file__
    with pytest.warns(information.EqualSamplesWarning, match="^10 of 100 samples"):
        information.kl_divergence(mixed, RNG.normal(size=100))


def test_rounded_samples_are_said() -> None:
    x = RNG.normal(size=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert information.entropy(x).left_out == 0
        information.mutual_information(x.round(1), x.round(1))  # takes them for a discrete variable's
    with pytest.warns(information.EqualSamplesWarning) as told:
        found = information.entropy(x.round(1))
    assert found.left_out > 1900 and str(told[0].message).startswith(f"{found.left_out} of 2000 samples")


def test_columns_by_themselves() -> None:
    x = RNG.normal(size=(500, 4))
    y = x[:, 1] + 0.1 * RNG.normal(size=500)
    each = information.mutual_information_of_columns(x, y, 4)
    assert each == [information.mutual_information(x[:, i], y, 4) for i in range(4)]
    assert max(range(4), key=lambda i: each[i].value) == 1
    assert abs(information.mutual_information(x, y, 4).value - each[1].value) > 0.1  # the joint one is another number
    neighbors = pytest.importorskip("sklearn.feature_selection._mutual_info")
    for found, column in zip(each, x.T):
        assert max(found.value, 0) == pytest.approx(neighbors._compute_mi_cc(column, y, 4), abs=1e-9)


def test_errors() -> None:
    x, y = RNG.normal(size=(400, 2)), RNG.normal(size=(400, 1))
    assert math.isnan(information.entropy(x).error)
    assert information.entropy(x) == information.entropy(x)
    twice = information.entropy(x, bootstrap=2)
    assert twice.error > 0 and twice.value == information.entropy(x).value
    assert twice == information.entropy(x, bootstrap=information.Bootstrap(2, parts=2, stretch=1, seed=0))
    assert twice.error != information.entropy(x, bootstrap=information.Bootstrap(2, seed=-1)).error
    # One way to deal: the two halves.
    halves = information.Bootstrap(1, stretch=200)
    first, second = (information.mutual_information(x[at], y[at]).value for at in (slice(200), slice(200, None)))
    assert information.mutual_information(x, y, bootstrap=halves).error == pytest.approx(abs(first - second) / 2)
    for estimate in (information.kl_divergence(x, x + 1, bootstrap=1), information.transfer_entropy(x, y, bootstrap=1),
                     information.conditional_mutual_information(x, y, y[::-1], bootstrap=1)):
        assert estimate.error > 0
    for wrong in (-1, information.Bootstrap(1, parts=1), information.Bootstrap(1, parts=200)):
        with pytest.raises(ValueError, match="bootstrap"):
            information.entropy(x, bootstrap=wrong)
    with pytest.raises(TypeError, match="bootstrap"):
        information.entropy(x, bootstrap="two")  # type: ignore[arg-type]


def test_refused() -> None:
    x = RNG.normal(size=(30, 2))
    with pytest.raises(ValueError, match="k: 30"):
        information.entropy(x, 30)
    with pytest.raises(ValueError, match="cosine"):
        information.entropy(x, metric="cosine")
    with pytest.raises(ValueError, match="form.*'third'.*nearest"):
        information.kl_divergence(x, x, form="third")
    with pytest.raises(ValueError, match="29 samples"):
        information.mutual_information(x, x[1:])
    with pytest.raises(ValueError, match="y: row 3"):
        information.mutual_information(x, np.where(np.arange(30)[:, None] == 3, np.nan, x))
    with pytest.raises(ValueError, match="x: expected 1 or 2 dimensions"):
        information.entropy(np.zeros((2, 2, 2)))
    with pytest.raises(TypeError, match="k"):
        information.entropy(x, 2.5)  # type: ignore[arg-type]
    with pytest.raises(kith.Cancelled):
        information.entropy(RNG.normal(size=(50_000, 20)), device="cpu", threads=1, progress=lambda done, total, seconds, stage: False)
