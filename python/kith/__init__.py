"""Exact k-nearest-neighbour search: the true neighbours, the same bits on a CPU and on a GPU.

>>> import numpy, kith
>>> points = numpy.random.default_rng(0).random((1000, 32), numpy.float32)
>>> distances, indices = kith.search(points, points[:5], k=10, metric="euclidean")

`search` and `graph` answer one call, `Index` prepares points for many. `radius` gives all points within a radius, `radius_blocks` and
`radius_csr` more of them than fit into memory. `search_batches` answers many small searches at once, and `distances` gives the whole matrix.
`match` finds the rows of two sets that belong together, `recommend` the items of users with much the same preferences, `retrieve` images by
their patches. `plan` says how a call would run, `paths` and `selectors` what can be asked for by name.
`topk` selects, `verify` says whether given neighbours are the true ones. `kith.information` estimates entropy and information.
`kith.sklearn`, `kith.torch` and `kith.compat` have the interfaces of other libraries, `kith.scanpy`, `kith.umap` and `kith.opentsne` what these
take. `kith.groundtruth`, `kith.shards`, `kith.dask` and `kith.ray` cut what is larger than one run. Everything is imported at its first use,
numpy too. `kith.arguments` says what the arguments of calls mean; the command line is ``kith`` or ``python -m kith``.
"""
from __future__ import annotations

from importlib import import_module as _import_module

TYPE_CHECKING = False  # typing's own, without typing, which takes longer than all else here
if TYPE_CHECKING:
    from typing import Any as _Any

    from . import arguments, compat, dask, groundtruth, information, opentsne, ray, scanpy, shards, sklearn, torch, umap
    from ._batches import search_batches
    from ._core import Cancelled, DeviceError, Report
    from ._core import version as __version__
    from ._distances import distances
    from ._index import Index
    from ._match import Matches, match
    from ._missing import MissingValuesWarning
    from ._plan import Path, Plan, Selector, paths, plan, plan_topk, selectors
    from ._radius import RadiusCounts, RadiusNeighbors, radius, radius_counts, radius_graph
    from ._radius_blocks import RadiusBlock, radius_blocks, radius_csr
    from ._recommend import Recommendations, recommend
    from ._results import Neighbors, TopK
    from ._retrieval import Retrieved, image_features, retrieve
    from ._search import graph, info, inverse_covariance, search, variances
    from ._topk import topk
    from ._verify import Verification, verify

__all__ = ["Cancelled", "DeviceError", "Index", "Matches", "MissingValuesWarning", "Neighbors", "Path", "Plan", "RadiusBlock", "RadiusCounts", "RadiusNeighbors",
           "Recommendations", "Report", "Retrieved", "Selector", "TopK", "Verification", "__version__", "distances", "graph", "image_features",
           "info", "inverse_covariance", "match", "paths", "plan", "plan_topk", "radius", "radius_blocks", "radius_counts", "radius_csr", "radius_graph",
           "recommend", "retrieve", "search", "search_batches", "selectors", "topk", "variances", "verify"]

# Where each name is: those above once more, for who runs the program.
_NAMES = {name: module for module, names in {
    "_batches": ("search_batches",),
    "_core": ("Cancelled", "DeviceError", "Report"),
    "_distances": ("distances",),
    "_index": ("Index",),
    "_match": ("Matches", "match"),
    "_missing": ("MissingValuesWarning",),
    "_plan": ("Path", "Plan", "Selector", "paths", "plan", "plan_topk", "selectors"),
    "_radius": ("RadiusCounts", "RadiusNeighbors", "radius", "radius_counts", "radius_graph"),
    "_radius_blocks": ("RadiusBlock", "radius_blocks", "radius_csr"),
    "_recommend": ("Recommendations", "recommend"),
    "_results": ("Neighbors", "TopK"),
    "_retrieval": ("Retrieved", "image_features", "retrieve"),
    "_search": ("graph", "info", "inverse_covariance", "search", "variances"),
    "_topk": ("topk",),
    "_verify": ("Verification", "verify"),
}.items() for name in names}
_MODULES = ("arguments", "compat", "dask", "groundtruth", "information", "opentsne", "ray", "scanpy", "shards", "sklearn", "torch", "umap")


def __getattr__(name: str) -> _Any:
    if name in _NAMES:
        value = globals()[name] = getattr(_import_module(f"{__name__}.{_NAMES[name]}"), name)
        return value
    if name == "__version__":
        value = globals()[name] = _import_module(f"{__name__}._core").version
        return value
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return _import_module(f"{__name__}.{name}")
    except ImportError as error:  # an attribute, as far as hasattr() and its kin can tell
        raise AttributeError(f"{__name__}.{name} needs a package that is not installed: {error}") from error


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
