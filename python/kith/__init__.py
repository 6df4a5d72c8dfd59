"""Exact k-nearest-neighbour search: the true neighbours, the same bits on a CPU and on a GPU.

>>> import numpy, kith
>>> points = numpy.random.default_rng(0).random((1000, 32), numpy.float32)
>>> distances, indices = kith.search(points, points[:5], k=10, metric="euclidean")

`search` and `graph` answer one call, `Index` prepares points for many, `topk` selects, `verify` says whether given
neighbours are the true ones. `kith.sklearn` and `kith.compat` have the interfaces of other libraries.
"""
from ._core import Cancelled, DeviceError, Report
from ._core import version as __version__
from ._results import Neighbors, TopK
from ._search import Index, Verification, graph, info, inverse_covariance, search, topk, variances, verify

__all__ = ["Cancelled", "DeviceError", "Index", "Neighbors", "Report", "TopK", "Verification", "__version__", "graph",
           "info", "inverse_covariance", "search", "topk", "variances", "verify"]
