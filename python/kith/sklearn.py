"""scikit-learn's neighbours with exact search: the same classes, parameters, attributes and methods.

`NearestNeighbors` and the transformers, classifiers and regressors of k neighbours and of a radius are scikit-learn's own
with `kneighbors` and `radius_neighbors` answered by `kith`, and so is `DBSCAN`. They take one parameter more, ``device``;
``algorithm`` and ``leaf_size`` are accepted and mean nothing. ``n_jobs=None`` takes all processors. Tensors, of bfloat16 and of a
device too, are taken as numpy's arrays, which results are. Data without such a search
(sparse matrices, callables, weighted metrics, ``precomputed``, ``nan_euclidean``) scikit-learn answers itself, as before.
"""
from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn import cluster as _clusters
from sklearn import neighbors as _theirs
from sklearn.base import _fit_context
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._density import density_clusters
from ._index import Index
from ._kinds import kind_of, on_host

__all__ = ["DBSCAN", "KNeighborsClassifier", "KNeighborsRegressor", "KNeighborsTransformer", "NearestNeighbors",
           "RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "RadiusNeighborsTransformer", "kneighbors_graph",
           "radius_neighbors_graph"]

# Metrics of the same name and definition, where no parameter is given.
_METRICS = frozenset(("euclidean", "sqeuclidean", "cityblock", "manhattan", "l1", "l2", "chebyshev", "cosine", "correlation",
                      "canberra", "hamming", "haversine", "jaccard"))


def _on_host(array: Any) -> Any:
    """torch's and cupy's arrays as numpy's, also those of a device and of bfloat16; anything else as it is."""
    return array if kind_of(array) is kind_of(None) else on_host(array)


class _Exact:
    """The common part of the classes; stands before scikit-learn's class among the bases."""

    device: str
    algorithm: Any
    metric: Any
    metric_params: Any
    n_jobs: Any
    n_samples_fit_: Any
    effective_metric_: Any
    effective_metric_params_: Any
    _fit_X: Any
    _fit_method: Any
    _kith_index: Index | None
    _kith_given = False  # fitted to a tree or to a fitted model, whose own metric it has

    def _kith_metric(self) -> dict[str, Any] | None:
        """The fitted metric as arguments of Index, or None: scikit-learn searches."""
        params = {name: value for name, value in self.effective_metric_params_.items() if value is not None}
        name = self.effective_metric_
        if not isinstance(name, str) or issparse(self._fit_X) or self._kith_given:
            return None
        if name == "haversine" and self._fit_X.shape[1] != 2:
            return None  # scikit-learn's error
        if name in _METRICS and not params:
            return {"metric": name}
        if name == "minkowski" and set(params) == {"p"} and params["p"] >= 1:
            return {"metric": "minkowski", "p": float(params["p"])}
        if name == "seuclidean" and set(params) == {"V"}:
            return {"metric": name, "variances": params["V"]}
        if name == "mahalanobis" and set(params) in ({"VI"}, {"V"}):
            inverse = params["VI"] if "VI" in params else np.linalg.inv(params["V"])
            inverse = np.asarray(inverse, np.float64)
            if np.allclose(inverse, inverse.T, rtol=1e-9, atol=0):  # but for the rounding of who inverted it
                inverse = (inverse + inverse.T) / 2
                if np.linalg.eigvalsh(inverse)[0] > 0:
                    return {"metric": name, "inverse_covariance": inverse}
        return None

    def _fit(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        self.__dict__.pop("_their_fit_method", None)  # of an earlier fit
        # No tree for what is searched here: scikit-learn looks at the parameter, whose value the caller gets back. For other
        # metrics it chooses itself, as values differ between its trees and its brute force.
        algorithm = self.algorithm
        if algorithm == "auto" and isinstance(self.metric, str) and self._searched_here(self.metric_params or {}):
            self.algorithm = "brute"
        self._kith_index = None
        try:
            fitted = super()._fit(_on_host(X), _on_host(y))  # type: ignore[misc]
        finally:
            self.algorithm = algorithm
        self._kith_given = isinstance(X, (_theirs.BallTree, _theirs.KDTree)) or getattr(X, "_tree", None) is not None
        metric = self._kith_metric()
        if metric is not None:
            self._index(metric)
        return fitted

    def _searched_here(self, given: Any) -> bool:
        """True if the metric is one of `_kith_metric`, by its name and the names of its parameters."""
        if self.metric == "mahalanobis":
            return "VI" in given and "V" not in given  # without VI scikit-learn's trees say what lacks
        return self.metric in _METRICS or self.metric in ("minkowski", "seuclidean")

    def _double(self, metric: dict[str, Any], X: Any) -> bool:  # noqa: N803
        """True if distances are float64, as scikit-learn's are but for the cosine of float32 rows."""
        return metric["metric"] != "cosine" or any(rows.dtype != np.float32 for rows in (self._fit_X, X) if rows is not None)

    def _index(self, metric: dict[str, Any]) -> Index:
        index: Index | None = getattr(self, "_kith_index", None)
        if index is None:
            index = Index(np.asarray(self._fit_X), device=self.device, threads=self._threads(), missing="ignore", **metric)
            self._kith_index = index
        return index

    def _threads(self) -> int:
        return self.n_jobs if self.n_jobs is not None and self.n_jobs > 0 else 0

    def __getstate__(self) -> Any:
        state = super().__getstate__()  # type: ignore[misc]
        state.pop("_kith_index", None)  # made again when it is needed
        return state


class _ExactNeighbors(_Exact):
    """As above, for the classes that search for the k nearest."""

    n_neighbors: Any

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:  # noqa: N803
        """The k nearest neighbours of each row of X, or of each fitted point, itself excluded: as scikit-learn's."""
        check_is_fitted(self)
        metric = self._kith_metric()
        if metric is None or issparse(X):
            return self._their_neighbors(X, n_neighbors, return_distance)
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        elif n_neighbors <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
        elif not isinstance(n_neighbors, numbers.Integral):
            raise TypeError(f"n_neighbors does not take {type(n_neighbors)} value, enter integer value")
        if X is not None:
            X = validate_data(self, _on_host(X), accept_sparse="csr", reset=False, order="C")
            if issparse(X):
                return self._their_neighbors(X, n_neighbors, return_distance)
        most = self.n_samples_fit_ - (X is None)
        if n_neighbors > most:
            raise ValueError(f"Expected n_neighbors {'<' if X is None else '<='} n_samples_fit, but n_neighbors = "
                             f"{n_neighbors}, n_samples_fit = {self.n_samples_fit_}, n_samples = "
                             f"{self.n_samples_fit_ if X is None else X.shape[0]}")
        return self._found(metric, X, n_neighbors, False, return_distance)

    def _their_neighbors(self, X: Any, n_neighbors: int | None, return_distance: bool) -> Any:  # noqa: N803
        method = self._fit_method
        self._fit_method = getattr(self, "_their_fit_method", method)
        try:
            return super().kneighbors(X, n_neighbors, return_distance)  # type: ignore[misc]
        finally:
            self._fit_method = method

    def _found(self, metric: dict[str, Any], X: Any, k: int, include_self: bool, return_distance: bool) -> Any:  # noqa: N803
        how: dict[str, Any] = {"f64": self._double(metric, X), "threads": self._threads()}
        index = self._index(metric)
        found = index.graph(k, include_self=include_self, **how) if X is None else index.search(X, k, missing="ignore", **how)
        return (found.distances, found.indices) if return_distance else found.indices


class _ExactRadius(_Exact):
    """As above, for the classes that search within a radius."""

    radius: Any

    def radius_neighbors(self, X: Any = None, radius: Any = None, return_distance: bool = True,  # noqa: N803
                         sort_results: bool = False) -> Any:
        """The points within a radius of each row of X, or of each fitted point, itself excluded: always in order."""
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        metric = self._kith_metric()
        if metric is not None and X is not None and not issparse(X):
            X = validate_data(self, _on_host(X), accept_sparse="csr", reset=False, order="C")
        if metric is None or issparse(X):
            return self._their_radius_neighbors(X, radius, return_distance, sort_results)
        r = self.radius if radius is None else radius
        if r is None:
            raise TypeError("radius is None: expected a number")
        if np.ndim(r) == 0 and not r >= 0:  # negative or NaN: scikit-learn finds nothing
            empty = np.zeros(1 + (self.n_samples_fit_ if X is None else X.shape[0]), np.int64)
            indices = _objects(empty[:0], empty)
            return (_objects(np.empty(0), empty), indices) if return_distance else indices
        how: dict[str, Any] = {"f64": self._double(metric, X), "threads": self._threads()}
        index = self._index(metric)
        found = index.radius_graph(r, **how) if X is None else index.radius(X, r, missing="ignore", **how)
        indices = _objects(found.indices, found.offsets)
        return (_objects(found.distances, found.offsets), indices) if return_distance else indices

    def _their_radius_neighbors(self, X: Any, radius: Any, return_distance: bool, sort_results: bool) -> Any:  # noqa: N803
        method = self._fit_method
        self._fit_method = getattr(self, "_their_fit_method", method)
        try:
            return super().radius_neighbors(X, radius, return_distance, sort_results)  # type: ignore[misc]
        finally:
            self._fit_method = method


def _objects(values: Any, offsets: Any) -> Any:
    """Rows of different lengths as scikit-learn has them: an array of arrays."""
    rows = np.empty(len(offsets) - 1, object)
    for i, row in enumerate(np.split(values, offsets[1:-1])):
        rows[i] = row
    return rows


def _constraints(theirs: type) -> dict[str, Any]:
    return {**theirs._parameter_constraints, "device": [str]}  # type: ignore[attr-defined]


class NearestNeighbors(_ExactNeighbors, _ExactRadius, _theirs.NearestNeighbors):
    """`sklearn.neighbors.NearestNeighbors` whose neighbours are exact and of the same bits everywhere.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's.

    Examples
    --------
    >>> from kith.sklearn import NearestNeighbors
    >>> nearest = NearestNeighbors(n_neighbors=1).fit([[0.0, 0.0], [1.0, 1.0]])
    >>> nearest.kneighbors([[0.9, 0.8]], return_distance=False)
    array([[1]])
    """

    _parameter_constraints = _constraints(_theirs.NearestNeighbors)

    def __init__(self, *, n_neighbors: Any = 5, radius: Any = 1.0, algorithm: Any = "auto", leaf_size: Any = 30,
                 metric: Any = "minkowski", p: Any = 2, metric_params: Any = None, n_jobs: Any = None,
                 device: Any = "auto") -> None:
        super().__init__(n_neighbors=n_neighbors, radius=radius, algorithm=algorithm, leaf_size=leaf_size, metric=metric,
                         p=p, metric_params=metric_params, n_jobs=n_jobs)
        self.device = device


class KNeighborsTransformer(_ExactNeighbors, _theirs.KNeighborsTransformer):
    """`sklearn.neighbors.KNeighborsTransformer`; `fit_transform` keeps each point as its own first neighbour.

    Where points have more duplicates than neighbours, scikit-learn's may lose the diagonal; here it is always there.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's.

    Examples
    --------
    >>> from kith.sklearn import KNeighborsTransformer
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    _parameter_constraints = _constraints(_theirs.KNeighborsTransformer)

    def __init__(self, *, mode: Any = "distance", n_neighbors: Any = 5, algorithm: Any = "auto", leaf_size: Any = 30,
                 metric: Any = "minkowski", p: Any = 2, metric_params: Any = None, n_jobs: Any = None,
                 device: Any = "auto") -> None:
        super().__init__(mode=mode, n_neighbors=n_neighbors, algorithm=algorithm, leaf_size=leaf_size, metric=metric, p=p,
                         metric_params=metric_params, n_jobs=n_jobs)
        self.device = device

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        """Fit to X, then its graph with the diagonal: n_neighbors + 1 entries a row in mode "distance"."""
        self.fit(X)
        metric = self._kith_metric()
        k = self.n_neighbors + (self.mode == "distance")
        if metric is None or k > self.n_samples_fit_:
            return self.transform(X)
        distances, indices = self._found(metric, None, k, True, True)
        values = distances.ravel() if self.mode == "distance" else np.ones(indices.size)
        rows = np.arange(0, indices.size + 1, k)
        return csr_matrix((values, indices.ravel(), rows), shape=(self.n_samples_fit_, self.n_samples_fit_))


class KNeighborsClassifier(_ExactNeighbors, _theirs.KNeighborsClassifier):
    """`sklearn.neighbors.KNeighborsClassifier` on exact neighbours.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's.

    Examples
    --------
    >>> from kith.sklearn import KNeighborsClassifier
    >>> KNeighborsClassifier(n_neighbors=1).fit([[0.0], [1.0]], [3, 4]).predict([[0.2]])
    array([3])
    """

    _parameter_constraints = _constraints(_theirs.KNeighborsClassifier)

    def __init__(self, n_neighbors: Any = 5, *, weights: Any = "uniform", algorithm: Any = "auto", leaf_size: Any = 30,
                 p: Any = 2, metric: Any = "minkowski", metric_params: Any = None, n_jobs: Any = None,
                 device: Any = "auto") -> None:
        super().__init__(n_neighbors, weights=weights, algorithm=algorithm, leaf_size=leaf_size, p=p, metric=metric,
                         metric_params=metric_params, n_jobs=n_jobs)
        self.device = device

    def _fit(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        fitted = super()._fit(X, y)
        if self._kith_metric() is not None:
            self._their_fit_method = self._fit_method
            self._fit_method = "exact"  # anything but "brute", whose votes scikit-learn counts without kneighbors()
        return fitted


class KNeighborsRegressor(_ExactNeighbors, _theirs.KNeighborsRegressor):
    """`sklearn.neighbors.KNeighborsRegressor` on exact neighbours.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's.

    Examples
    --------
    >>> from kith.sklearn import KNeighborsRegressor
    >>> KNeighborsRegressor(n_neighbors=1).fit([[0.0], [1.0]], [3.0, 4.0]).predict([[0.2]])
    array([3.])
    """

    _parameter_constraints = _constraints(_theirs.KNeighborsRegressor)

    def __init__(self, n_neighbors: Any = 5, *, weights: Any = "uniform", algorithm: Any = "auto", leaf_size: Any = 30,
                 p: Any = 2, metric: Any = "minkowski", metric_params: Any = None, n_jobs: Any = None,
                 device: Any = "auto") -> None:
        super().__init__(n_neighbors, weights=weights, algorithm=algorithm, leaf_size=leaf_size, p=p, metric=metric,
                         metric_params=metric_params, n_jobs=n_jobs)
        self.device = device


class RadiusNeighborsTransformer(_ExactRadius, _theirs.RadiusNeighborsTransformer):
    """`sklearn.neighbors.RadiusNeighborsTransformer` on exact neighbours.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's.

    Examples
    --------
    >>> from kith.sklearn import RadiusNeighborsTransformer
    >>> RadiusNeighborsTransformer(radius=1).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """

    _parameter_constraints = _constraints(_theirs.RadiusNeighborsTransformer)

    def __init__(self, *, mode: Any = "distance", radius: Any = 1.0, algorithm: Any = "auto", leaf_size: Any = 30,
                 metric: Any = "minkowski", p: Any = 2, metric_params: Any = None, n_jobs: Any = None,
                 device: Any = "auto") -> None:
        super().__init__(mode=mode, radius=radius, algorithm=algorithm, leaf_size=leaf_size, metric=metric, p=p,
                         metric_params=metric_params, n_jobs=n_jobs)
        self.device = device


class RadiusNeighborsClassifier(_ExactRadius, _theirs.RadiusNeighborsClassifier):
    """`sklearn.neighbors.RadiusNeighborsClassifier` on exact neighbours.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's.

    Examples
    --------
    >>> from kith.sklearn import RadiusNeighborsClassifier
    >>> RadiusNeighborsClassifier(radius=1).fit([[0.0], [2.0]], [3, 4]).predict([[0.2]])
    array([3])
    """

    _parameter_constraints = _constraints(_theirs.RadiusNeighborsClassifier)

    def __init__(self, radius: Any = 1.0, *, weights: Any = "uniform", algorithm: Any = "auto", leaf_size: Any = 30,
                 p: Any = 2, metric: Any = "minkowski", outlier_label: Any = None, metric_params: Any = None,
                 n_jobs: Any = None, device: Any = "auto") -> None:
        super().__init__(radius, weights=weights, algorithm=algorithm, leaf_size=leaf_size, p=p, metric=metric,
                         outlier_label=outlier_label, metric_params=metric_params, n_jobs=n_jobs)
        self.device = device

    def _fit(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        fitted = super()._fit(X, y)
        if self._kith_metric() is not None:
            self._their_fit_method = self._fit_method
            self._fit_method = "exact"  # as in KNeighborsClassifier
        return fitted


class RadiusNeighborsRegressor(_ExactRadius, _theirs.RadiusNeighborsRegressor):
    """`sklearn.neighbors.RadiusNeighborsRegressor` on exact neighbours.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's.

    Examples
    --------
    >>> from kith.sklearn import RadiusNeighborsRegressor
    >>> RadiusNeighborsRegressor(radius=1).fit([[0.0], [2.0]], [3.0, 4.0]).predict([[0.2]])
    array([3.])
    """

    _parameter_constraints = _constraints(_theirs.RadiusNeighborsRegressor)

    def __init__(self, radius: Any = 1.0, *, weights: Any = "uniform", algorithm: Any = "auto", leaf_size: Any = 30,
                 p: Any = 2, metric: Any = "minkowski", metric_params: Any = None, n_jobs: Any = None,
                 device: Any = "auto") -> None:
        super().__init__(radius, weights=weights, algorithm=algorithm, leaf_size=leaf_size, p=p, metric=metric,
                         metric_params=metric_params, n_jobs=n_jobs)
        self.device = device


class DBSCAN(_clusters.DBSCAN):  # type: ignore[misc,unused-ignore]
    """`sklearn.cluster.DBSCAN` on exact neighbours within ``eps``, of which it never holds more than 256 MiB.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's.

    Examples
    --------
    >>> from kith.sklearn import DBSCAN
    >>> DBSCAN(eps=1, min_samples=2).fit_predict([[0.0], [1.0], [5.0]])
    array([ 0,  0, -1])
    """

    _parameter_constraints = _constraints(_clusters.DBSCAN)

    def __init__(self, eps: Any = 0.5, *, min_samples: Any = 5, metric: Any = "euclidean", metric_params: Any = None,
                 algorithm: Any = "auto", leaf_size: Any = 30, p: Any = None, n_jobs: Any = None,
                 device: Any = "auto") -> None:
        super().__init__(eps, min_samples=min_samples, metric=metric, metric_params=metric_params, algorithm=algorithm,
                         leaf_size=leaf_size, p=p, n_jobs=n_jobs)
        self.device = device

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator,unused-ignore]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # noqa: N803
        """Clusters the rows of X: as scikit-learn's."""
        if self.metric == "precomputed" or issparse(X):
            return super().fit(X, y, sample_weight)
        rows = validate_data(self, _on_host(X), accept_sparse="csr")
        p = 2 if self.p is None and "p" not in (self.metric_params or {}) else self.p
        nearest = NearestNeighbors(radius=self.eps, algorithm=self.algorithm, leaf_size=self.leaf_size, metric=self.metric,
                                   p=p, metric_params=self.metric_params, n_jobs=self.n_jobs, device=self.device).fit(rows)
        metric = nearest._kith_metric()
        if metric is None:
            return super().fit(X, y, sample_weight)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows)
        core, labels = density_clusters(nearest._index(metric), self.eps, self.min_samples, weights, nearest._threads())
        self.core_sample_indices_: np.ndarray[Any, Any] = np.flatnonzero(core)
        self.labels_ = labels
        self.components_: np.ndarray[Any, Any] = rows[self.core_sample_indices_].copy()
        return self


def kneighbors_graph(X: Any, n_neighbors: int, *, mode: str = "connectivity", metric: Any = "minkowski",  # noqa: N803
                     p: Any = 2, metric_params: Any = None, include_self: Any = False, n_jobs: Any = None,
                     device: str = "auto") -> csr_matrix:
    """`sklearn.neighbors.kneighbors_graph` on exact neighbours.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's. X may be a fitted `NearestNeighbors`.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n, n)

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> from kith.sklearn import kneighbors_graph
    >>> kneighbors_graph([[0.0], [3.0], [1.0]], 1, include_self=True).toarray()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    nearest, query = _fitted(X, {"n_neighbors": n_neighbors}, mode, metric, p, metric_params, include_self, n_jobs, device)
    return nearest.kneighbors_graph(query, n_neighbors=n_neighbors, mode=mode)


def radius_neighbors_graph(X: Any, radius: float, *, mode: str = "connectivity", metric: Any = "minkowski",  # noqa: N803
                           p: Any = 2, metric_params: Any = None, include_self: Any = False, n_jobs: Any = None,
                           device: str = "auto") -> csr_matrix:
    """`sklearn.neighbors.radius_neighbors_graph` on exact neighbours.

    Parameters
    ----------
    device : str
        "auto", "cpu", "cuda", "cuda:N" or "cuda:all"; the others are scikit-learn's. X may be a fitted `NearestNeighbors`.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n, n)

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> from kith.sklearn import radius_neighbors_graph
    >>> radius_neighbors_graph([[0.0], [3.0], [1.0]], 1.5, mode="distance").toarray()
    array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """
    nearest, query = _fitted(X, {"radius": radius}, mode, metric, p, metric_params, include_self, n_jobs, device)
    return nearest.radius_neighbors_graph(query, radius, mode)


def _fitted(X: Any, how: dict[str, Any], mode: str, metric: Any, p: Any, metric_params: Any, include_self: Any,  # noqa: N803
            n_jobs: Any, device: str) -> tuple[Any, Any]:
    """A fitted estimator, and what to ask it for: None, or with include_self the points as queries."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode is {mode!r}: expected 'connectivity' or 'distance'")
    if include_self not in (True, False, "auto"):
        raise ValueError(f"include_self is {include_self!r}: expected True, False or 'auto'")
    if isinstance(X, _theirs.NearestNeighbors):
        wanted = {"metric": metric, "p": p, "metric_params": metric_params}
        for name, value in wanted.items():
            if getattr(X, name) != value:
                raise ValueError(f"{name} is {value!r}: X was fitted with {getattr(X, name)!r}")
    else:
        X = NearestNeighbors(metric=metric, p=p, metric_params=metric_params, n_jobs=n_jobs, device=device, **how).fit(X)
    itself = mode == "connectivity" if include_self == "auto" else include_self
    return X, X._fit_X if itself else None
