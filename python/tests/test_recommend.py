"""recommend: by its definition in numpy, of sparse and dense preferences; retrieve and image_features: by kl_divergence."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix
from scipy.spatial.distance import cdist

import kith
from kith import information


def preferences(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.integers(1, 6, (150, 40)) * (rng.random((150, 40)) < 0.25)


@pytest.mark.parametrize("weight", ["inverse", "uniform"])
def test_definition(weight: str) -> None:
    taken = preferences()
    far = cdist(taken, taken, "cityblock")
    np.fill_diagonal(far, np.inf)
    near = np.argsort(far, axis=1, kind="stable")[:, :12]
    weights = 1 / (np.take_along_axis(far, near, 1) + 1e-3) if weight == "inverse" else np.ones(near.shape)
    scores = np.einsum("uk,uki->ui", weights, taken[near].astype(float)) / weights.sum(axis=1, keepdims=True)
    scores[taken > 0] = 0
    found = kith.recommend(taken, 12, 5, metric="cityblock", form="as-given", weight=weight)
    np.testing.assert_allclose(found.predictions, -np.sort(-scores, axis=1)[:, :5], rtol=1e-12, atol=0)
    rows = np.arange(150)[:, None]
    np.testing.assert_allclose(scores[rows, found.items], found.predictions, rtol=1e-12)
    assert found.items.dtype == np.int64 and found.held_out is None and found.report.queries == 150


def test_kinds_of_preferences() -> None:
    taken = preferences(1)
    want = kith.recommend(taken, 10, hold_out=True, seed=3)
    row, column = np.nonzero(taken)
    shuffled = np.random.default_rng(0).permutation(len(row))
    halves = coo_matrix((np.tile(taken[row, column][shuffled] / 2, 2), (np.tile(row[shuffled], 2), np.tile(column[shuffled], 2))),
                        taken.shape)
    for other in (csr_matrix(taken), csr_matrix(taken).tocsc(), halves, taken.astype(np.float32), taken.tolist()):
        got = kith.recommend(other, 10, hold_out=True, seed=3)
        np.testing.assert_array_equal(got.items, want.items)
        np.testing.assert_array_equal(got.predictions, want.predictions)
        np.testing.assert_array_equal(got.held_out, want.held_out)
    assert want.held_out is not None and want.judged == 150
    assert (taken[np.arange(150), want.held_out] > 0).all()
    assert want.hit_rate == (want.items == want.held_out[:, None]).any(axis=1).mean()
    blocks = kith.recommend(taken, 10, hold_out=True, seed=3, users_at_once=7, threads=1)
    np.testing.assert_array_equal(blocks.predictions, want.predictions)


def test_count_and_metric() -> None:
    taken = preferences(2)
    assert kith.recommend(taken, 10).items.shape == (150, 10)
    assert kith.recommend(taken[:, :7], 10).items.shape == (150, 7)  # all of fewer
    np.testing.assert_array_equal(kith.recommend(taken, 10, count=40).items[:, :10], kith.recommend(taken, 10).items)
    with pytest.raises(ValueError, match="count: 41; expected at most the 40 items"):
        kith.recommend(taken, 10, count=41)
    np.testing.assert_array_equal(kith.recommend(taken, 10, formula="a + fabs(q - x)").predictions,
                                  kith.recommend(taken, 10, metric="cityblock").predictions)
    assert (kith.recommend(csr_matrix((5, 4)), 2).items == -1).all()  # nobody has anything


def test_refused() -> None:
    with pytest.raises(ValueError, match="form"):
        kith.recommend(preferences(), form="share")
    with pytest.raises(ValueError, match="weight"):
        kith.recommend(preferences(), weight="near")
    with pytest.raises(ValueError, match="epsilon"):
        kith.recommend(preferences(), epsilon=0)
    with pytest.raises(ValueError, match="epsilon: 5e-324"):
        kith.recommend(preferences(), epsilon=5e-324)
    with pytest.raises(ValueError, match="row 0, column 1"):
        kith.recommend([[1.0, -1.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="preferences"):
        kith.recommend(np.zeros(4))
    with pytest.raises(TypeError, match="preferences"):
        kith.recommend(np.array([["a", "b"]]))
    with pytest.raises(kith.Cancelled):
        kith.recommend(np.random.default_rng(0).random((20_000, 64)), 50, device="cpu", threads=1, progress=lambda *_: False)
    many = np.random.default_rng(1).random((8_000, 64))
    with pytest.raises(kith.Cancelled):  # each search of which is short
        kith.recommend(many, 5, device="cpu", threads=1, users_at_once=100, progress=lambda *_: False)

    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    with pytest.raises(Stop):
        kith.recommend(many, 5, device="cpu", threads=1, users_at_once=100, progress=stop)


def test_retrieve() -> None:
    rng = np.random.default_rng(2)
    images = [[rng.normal(kind, 1, (120, 3)), rng.normal(kind, 1, (80, 5)).astype(np.float32)] for kind in (0, 1, 0, 1)]
    want = np.array([[sum(information.kl_divergence(p, q, 4).value for p, q in zip(a, b)) if a is not b else 0.0
                      for b in images] for a in images])
    found = kith.retrieve(images, 4)
    np.testing.assert_array_equal(found.divergences, want)
    np.testing.assert_array_equal(found.order[:, 0], [2, 3, 0, 1])
    np.testing.assert_allclose(kith.retrieve(images, 4, both_ways=True).divergences, want + want.T, rtol=1e-12)
    some = kith.retrieve(images, 4, asked=[3])
    np.testing.assert_array_equal(some.divergences, want[3:])
    assert some.precision([0, 1, 0, 1], 1) == 1 and found.precision([0, 1, 0, 1], 3) == pytest.approx(1 / 3)
    for bad, message in ((dict(form="new"), "form"), (dict(asked=[]), "asked"), (dict(asked=[4]), "asked: 4")):
        with pytest.raises(ValueError, match=message):
            kith.retrieve(images, 4, **bad)
    with pytest.raises(ValueError, match="labels"):
        found.precision([0, 1], 1)


def test_images_of_one_scale_and_what_is_wrong_with_one() -> None:
    rng = np.random.default_rng(3)
    a, b, c = (rng.normal(size=(40, 3)) for _ in range(3))
    np.testing.assert_array_equal(kith.retrieve([a, b, c], 2).divergences, kith.retrieve([[a], [b], [c]], 2).divergences)
    with pytest.raises(TypeError, match=r"images\[1\]: expected a list of arrays"):
        kith.retrieve([[a], 3], 2)
    with pytest.raises(ValueError, match=r"images\[1\]: expected 2 dimensions"):
        kith.retrieve([[a], [b[0]]], 2)


def test_metrics_with_parameters() -> None:
    rng = np.random.default_rng(4)
    images = [[rng.normal(kind, 1, (90, 3)), rng.normal(kind, 1, (70, 3))] for kind in (0, 1, 0)]
    variances, matrix = np.array([4.0, 0.25, 100.0]), np.diag([4.0, 0.25, 0.01]) + 0.001
    of_variances: dict[str, Any] = dict(metric="seuclidean", variances=variances)
    of_matrix: dict[str, Any] = dict(metric="mahalanobis", inverse_covariance=matrix)
    for how, spread in ((of_variances, np.diag(variances**-0.5)), (of_matrix, np.linalg.cholesky(matrix))):
        # The Euclidean distances of what was transformed.
        near = [[scale @ spread for scale in image] for image in images]
        found = kith.retrieve(images, 3, **how)
        np.testing.assert_allclose(found.divergences, kith.retrieve(near, 3).divergences, rtol=1e-9)
        np.testing.assert_array_equal(
            found.divergences[0, 1], sum(information.kl_divergence(p, q, 3, **how).value for p, q in zip(*images[:2])))
        with pytest.raises(ValueError, match=how["metric"]):
            kith.retrieve(images, 3, metric=how["metric"])
        with pytest.raises(ValueError, match=how["metric"]):
            information.kl_divergence(images[0][0], images[1][0], metric=how["metric"])


def test_duplicates_first() -> None:
    rng = np.random.default_rng(5)
    samples = [rng.normal(kind, 1, (50, 3)) for kind in (0, 1, 2)]
    images = [[samples[0]], [np.ones((50, 3))], [samples[1]], [samples[0]], [samples[2]]]
    found = kith.retrieve(images, 1)
    assert found.order[0, 0] == 3 and found.order[3, 0] == 0 and found.divergences[0, 3] == -np.inf
    assert np.isnan(found.divergences[1, [0, 2, 3, 4]]).all() and found.order[1].tolist() == [0, 2, 3, 4]
    both = kith.retrieve(images, 1, both_ways=True)
    assert (both.order[[0, 2, 3, 4], -1] == 1).all()


def test_image_features() -> None:
    rng = np.random.default_rng(3)
    picture = rng.integers(0, 256, (240, 320, 3), dtype=np.uint8)
    sets = kith.image_features(picture)
    assert [s.shape for s in sets] == [(4800, 18), (2400, 18), (1200, 27)] and sets[0].dtype == np.float32
    assert [s.shape for s in kith.image_features(picture[..., 0])] == [(4800, 18), (2400, 18), (1200, 9)]
    np.testing.assert_array_equal(kith.image_features(picture[::-1][::-1], 0)[1], sets[1])
    assert (kith.image_features(picture, 1)[1] != sets[1]).any()
    with pytest.raises(ValueError, match="image"):
        kith.image_features(picture[..., :2])
    with pytest.raises(ValueError, match="32"):
        kith.image_features(picture[:20])
