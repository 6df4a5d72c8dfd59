"""kith.sklearn.kneighbors_graph and radius_neighbors_graph next to scikit-learn's functions."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

neighbors = pytest.importorskip("sklearn.neighbors")
import kith.sklearn as ours  # noqa: E402

X = np.random.default_rng(0).random((80, 4))


@pytest.mark.parametrize("include_self", [False, True, "auto"])
@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("how", [{}, {"metric": "manhattan"}, {"p": 3}, {"metric": "chebyshev", "n_jobs": 1}])
def test_graphs(how: dict[str, Any], mode: str, include_self: Any) -> None:
    for name, size in (("kneighbors_graph", 5), ("radius_neighbors_graph", 0.4)):
        found, expected = (getattr(module, name)(X, size, mode=mode, include_self=include_self, **how)
                           for module in (ours, neighbors))
        assert found.format == "csr" and found.shape == expected.shape and found.nnz == expected.nnz
        assert abs(found - expected).max() < 1e-12


def test_of_a_fitted_estimator() -> None:
    fitted = ours.NearestNeighbors(n_neighbors=4).fit(X)
    assert (ours.kneighbors_graph(fitted, 4) != neighbors.kneighbors_graph(X, 4)).nnz == 0
    for function in (ours.kneighbors_graph, ours.radius_neighbors_graph):
        with pytest.raises(ValueError, match="metric"):
            function(fitted, 4, metric="cosine")
        with pytest.raises(ValueError, match="mode"):
            function(X, 4, mode="closeness")
        with pytest.raises(ValueError, match="include_self"):
            function(X, 4, include_self="perhaps")
