"""
Start in five minutes
=====================

The wheel is built by ``make wheel`` and installed by ``pip install build/release/wheel/kith_knn-*.whl``; it needs numpy, which pip
brings, and no CUDA toolkit. Then everything is one import.
"""
import numpy as np

import kith

# %%
# Search
# ------
#
# Points and queries are arrays with one vector a row. ``search`` gives the k nearest points of each query.
random = np.random.default_rng(0)
points = random.normal(size=(10_000, 64)).astype(np.float32)
queries = random.normal(size=(5, 64)).astype(np.float32)

distances, indices = kith.search(points, queries, k=10, metric="euclidean")
print(indices.shape, indices[0])
print(distances[0].round(2))

# %%
# Rows are in the order of (distance, index): the same order, and the same bits, on every machine. What the call did is in its
# report.
found = kith.search(points, queries, k=10)
print(found.report.path, found.report.device, found.report.certified, "of", found.report.queries, "queries at once")

# %%
# Graph
# -----
#
# Each point's neighbours among the others. The point itself is left out by its index, so duplicates stay; ``include_self``
# keeps it, as UMAP and scikit-learn want it.
distances, indices = kith.graph(points, k=15, metric="cosine")
print(indices.shape)

# %%
# Search again
# ------------
#
# An Index prepares the points once; it may be searched from several threads.
index = kith.Index(points, metric="inner_product")
print(index, index.search(queries, 3).indices[0])

# %%
# Select
# ------
#
# The k largest (or smallest) of many values, with ``torch.topk``'s arguments.
scores = random.normal(size=(3, 100_000))
values, columns = kith.topk(scores, k=5)
print(columns)

# %%
# Check
# -----
#
# Are neighbours that another program gave the true ones?
print(kith.verify(points, points[:100], indices[:100], distances[:100], metric="cosine").exact)

# %%
# False, and rightly: the graph leaves out the point itself, which the search for it finds first. Searched for, they are:
distances, indices = kith.search(points, points[:100], 10, metric="cosine")
print(kith.verify(points, points[:100], indices, distances, metric="cosine").exact)

# %%
# On a GPU
# --------
#
# Arrays of torch or cupy that lie on a GPU are searched there; ``device="cuda"`` sends those of the host, ``device="cuda:all"``
# to all GPUs. The answer is the same. Without a GPU that is an error that says so:
try:
    kith.search(points, queries, 10, device="cuda")
except kith.DeviceError as error:
    print(error)

# %%
# Further: :doc:`/docs/metrics` to choose a metric, :doc:`/docs/python` for arrays and other libraries, :doc:`migration` for code
# that uses them already, :doc:`/docs/cli` for files, :doc:`/docs/scale` for what is larger than one run.
