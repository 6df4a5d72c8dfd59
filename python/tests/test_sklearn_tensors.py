"""kith.sklearn's estimators of torch's tensors."""
from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
torch = pytest.importorskip("torch", exc_type=ImportError)
import kith.sklearn as ours  # noqa: E402


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_tensors(dtype: str) -> None:
    """For any type, with or without a gradient; results are numpy's."""
    x = torch.from_numpy(np.random.default_rng(0).random((60, 3))).to(getattr(torch, dtype))
    host, labels = x.float().numpy(), torch.arange(60) % 4
    classes = ours.KNeighborsClassifier(3).fit(x.clone().requires_grad_(), labels).predict(x[:9])
    np.testing.assert_array_equal(classes, ours.KNeighborsClassifier(3).fit(host, labels.numpy()).predict(host[:9]))
    nearest = ours.NearestNeighbors(radius=0.3).fit(x)
    np.testing.assert_array_equal(nearest.kneighbors(x, 2)[1], nearest.kneighbors(host, 2)[1])
    assert len(nearest.radius_neighbors(x[:5])[0]) == 5
    np.testing.assert_array_equal(ours.DBSCAN(0.2).fit_predict(x), ours.DBSCAN(0.2).fit_predict(host))
