"""kith.information: known values, scikit-learn's own estimator to its last digits, arrays of any kind, refusals."""
from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.feature_selection._mutual_info import _compute_mi_cc

import kith
from kith import information

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
def test_scikit_learns_mutual_information(k: int, correlation: float) -> None:
    x, noise = RNG.normal(size=(2, 1500))
    y = correlation * x + math.sqrt(1 - correlation**2) * noise
    ours = information.mutual_information(x, y, k)
    assert max(0.0, ours.value) == pytest.approx(_compute_mi_cc(x, y, k), rel=1e-12, abs=1e-12)
    assert ours.value == pytest.approx(-0.5 * math.log(1 - correlation**2), abs=0.15)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_entropy_of_gaussians(d: int) -> None:
    x = RNG.normal(3, 2, (5000, d))
    want = d / 2 * math.log(2 * math.pi * math.e * 4)
    for metric in ("euclidean", "cityblock", "chebyshev"):
        found = information.entropy(x, 5, metric=metric)
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
    assert information.entropy(mixed, 3).left_out == 10


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
        information.entropy(RNG.normal(size=(50_000, 20)), progress=lambda done, total, seconds, stage: False)
