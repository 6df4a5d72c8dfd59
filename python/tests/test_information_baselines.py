"""kith.information next to the estimators of other packages: equal to the last digits where the formula is theirs, and where it is
another, which. In the environment of `scripts/test-python --full`."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kith import information

RNG = np.random.default_rng(2)
K = 4
X, NOISE, Z = RNG.normal(size=(3, 1200))
Y = 0.6 * X + 0.8 * NOISE
FOLLOWS = np.concatenate([[0.0], 0.6 * X[:-1]]) + 0.8 * NOISE
POINTS, OTHERS = RNG.normal(size=(1200, 3)), RNG.normal(0.5, 1.5, (1300, 3))
DIGITS = 1e-12


def equal(value: float) -> Any:
    return pytest.approx(value, rel=DIGITS, abs=DIGITS)


def mutual() -> float:
    return information.mutual_information(X, Y, K).value


def conditional() -> float:
    return information.conditional_mutual_information(X + Z, Y + Z, Z, K).value


def entropy(metric: str = "chebyshev") -> float:
    return information.entropy(POINTS, K, metric=metric).value


def test_ennemi() -> None:
    ennemi = pytest.importorskip("ennemi")
    # Its digamma is a series that ends early, its open balls closed ones less 1e-12.
    near = 2e-7
    assert ennemi.estimate_mi(Y, X, k=K, preprocess=False).item() == pytest.approx(mutual(), abs=near)
    assert ennemi.estimate_mi(Y + Z, X + Z, cond=Z, k=K, preprocess=False).item() == pytest.approx(conditional(), abs=near)
    assert float(ennemi.estimate_entropy(POINTS, k=K, multidim=True)) == pytest.approx(entropy(), abs=near)


def test_infomeasure() -> None:
    infomeasure = pytest.importorskip("infomeasure")
    same = {"k": K, "noise_level": 0}
    assert infomeasure.mutual_information(X, Y, approach="ksg", **same) == equal(mutual())
    assert infomeasure.conditional_mutual_information(X + Z, Y + Z, cond=Z, approach="ksg", **same) == equal(conditional())
    assert infomeasure.transfer_entropy(X, FOLLOWS, approach="ksg", **same) == equal(information.transfer_entropy(X, FOLLOWS, K).value)
    for metric, p in (("chebyshev", np.inf), ("euclidean", 2)):
        assert infomeasure.entropy(POINTS, approach="metric", minkowski_p=p, **same) == equal(entropy(metric))


def test_infomeasures_second_form() -> None:
    # Closed balls of one radius for x and y, where Kraskov's eq. 9 takes the extents in each.
    infomeasure = pytest.importorskip("infomeasure")
    theirs = infomeasure.mutual_information(X, Y, approach="ksg", k=K, noise_level=0, ksg_id=2)
    assert theirs == equal(closed_balls() - 1 / K)
    assert abs(theirs - information.mutual_information(X, Y, K, form="second").value) > 0.1


def closed_balls() -> float:
    """Kraskov's first estimator with those on the ball's surface counted as well."""
    special = pytest.importorskip("scipy.special")
    apart = [np.abs(v[:, None] - v) for v in (X, Y)]
    joint = np.maximum(*apart)
    np.fill_diagonal(joint, np.inf)
    radius = np.partition(joint, K - 1, axis=1)[:, K - 1, None]
    counts = [(of <= radius).sum(axis=1) for of in apart]  # with the sample itself
    return float(special.digamma(len(X)) + special.digamma(K) - sum(special.digamma(c).mean() for c in counts))


def test_entropy_estimators() -> None:
    continuous = pytest.importorskip("entropy_estimators.continuous")
    assert continuous.get_h(POINTS, k=K) == equal(entropy())
    # Twice the distance next to the volume of a ball of radius 1.
    assert continuous.get_h(POINTS, k=K, norm="euclidean") == equal(entropy("euclidean") + 3 * math.log(2))
    assert continuous.get_mi(X, Y, k=K) == equal(closed_balls())


def test_npeet() -> None:
    npeet = pytest.importorskip("npeet_plus")
    assert npeet.kldiv(POINTS, OTHERS, k=K, base=math.e) == equal(information.kl_divergence(POINTS, OTHERS, K, metric="chebyshev").value)
    # Noise of up to 1e-10 is added to the samples.
    assert npeet.mi(X, Y, k=K, base=math.e) == pytest.approx(mutual(), abs=1e-8)
    assert npeet.mi(X + Z, Y + Z, Z, k=K, base=math.e) == pytest.approx(conditional(), abs=1e-8)
    assert npeet.entropy(POINTS, k=K, base=math.e) == pytest.approx(entropy(), abs=1e-8)
