"""Exact k-nearest-neighbour search: the true neighbours, the same bits on a CPU and on a GPU.

>>> import numpy, kith
>>> points = numpy.random.default_rng(0).random((1000, 32), numpy.float32)
>>> distances, indices = kith.search(points, points[:5], k=10, metric="euclidean")

`search` and `graph` answer one call, `Index` prepares points for many, `radius` gives all points within a radius,
`search_batches` answers many small searches at once, `distances` gives the whole matrix, `match` what belongs together in two sets, `recommend` what users with
much the same preferences have, `retrieve` images by their patches, `topk` selects, `verify` says whether given neighbours are the true ones.
`kith.information` estimates entropy and mutual information; `kith.sklearn` and `kith.compat` have the interfaces of other
libraries.
"""
from ._batches import search_batches
from ._core import Cancelled, DeviceError, Report
from ._core import version as __version__
from ._distances import distances
from ._match import Matches, match
from ._radius import RadiusCounts, RadiusNeighbors, radius, radius_counts, radius_graph
from ._recommend import Recommendations, recommend
from ._results import Neighbors, TopK
from ._retrieval import Retrieved, image_features, retrieve
from ._search import Index, Verification, graph, info, inverse_covariance, search, topk, variances, verify

__all__ = ["Cancelled", "DeviceError", "Index", "Matches", "Neighbors", "RadiusCounts", "RadiusNeighbors",
           "Recommendations", "Report", "Retrieved", "TopK", "Verification", "__version__", "distances", "graph",
           "image_features", "info", "inverse_covariance", "match", "radius", "radius_counts", "radius_graph", "recommend",
           "retrieve", "search", "search_batches", "topk", "variances", "verify"]
