"""
From faiss, cuVS or scikit-learn
================================

The same task in the other library's words and in kith's, both run here, with what differs. ``kith.compat`` and
``kith.sklearn`` take the other library's words, so that an import is all that changes.
"""
import faiss
import numpy as np
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import kith
import kith.sklearn

random = np.random.default_rng(0)
points = random.normal(size=(5000, 64)).astype(np.float32)
queries = random.normal(size=(100, 64)).astype(np.float32)
labels = random.integers(0, 3, len(points))


def same(ours, theirs):
    return f"{np.mean(ours == theirs):.4f} of the indices are the same"


# %%
# faiss: a flat index
# -------------------
#
# faiss:
index = faiss.IndexFlatL2(64)
index.add(points)
D, I = index.search(queries, 10)

# %%
# kith, with one import changed:
from kith.compat import faiss as exact_faiss  # noqa: E402

index = exact_faiss.IndexFlatL2(64)
index.add(points)
same_words = index.search(queries, 10)

# %%
# kith, in its own words: distances of ``sqeuclidean`` are squared, as faiss' are; ``metric="euclidean"`` has the root.
found = kith.Index(points).search(queries, 10)
print(same(found.indices, I), "; with faiss' words:", same(found.indices, same_words[1]))

# %%
# What differs: faiss sums in f32 and leaves the order of equal distances open. For many queries (more than
# ``faiss.cvar.distance_compute_blas_threshold``) it computes ``|q|² + |x|² - 2 <q, x>``, and then its neighbours are others far from
# the origin. With the threshold that older versions have, a thousand deviations away:
setattr(getattr(faiss, "cvar"), "distance_compute_blas_threshold", 20)
far, far_queries = points + 1000, queries + 1000
D, I = faiss.knn(far_queries, far, 10)
print(same(kith.search(far, far_queries, 10).indices, I))

# %%
# faiss: inner products, cosine
# -----------------------------
#
# faiss:
unit, unit_queries = points.copy(), queries.copy()
faiss.normalize_L2(unit)
faiss.normalize_L2(unit_queries)
index = faiss.IndexFlatIP(64)
index.add(unit)
D, I = index.search(unit_queries, 10)

# %%
# kith: ``cosine`` needs no normalised copy; its distance is 1 less the similarity. ``inner_product`` gives products, the largest
# first.
found = kith.search(points, queries, 10, metric="cosine")
print(same(found.indices, I), "; similarities differ by", np.abs(1 - found.distances - D).max())

# %%
# scikit-learn: NearestNeighbors
# ------------------------------
#
# scikit-learn:
model = NearestNeighbors(n_neighbors=10, metric="cityblock").fit(points)
distances, indices = model.kneighbors(queries)

# %%
# kith, with one import changed, and in its own words:
model = kith.sklearn.NearestNeighbors(n_neighbors=10, metric="cityblock").fit(points)
same_words = model.kneighbors(queries)
found = kith.search(points, queries, 10, metric="cityblock")
print(same(found.indices, indices), "; with scikit-learn's words:", same(found.indices, same_words[1]))

# %%
# What differs: distances are f32 unless ``f64=True`` is given, where scikit-learn gives f64. ``kneighbors()`` without queries
# leaves each point out; that is ``kith.graph``.
print(same(kith.graph(points, 10, metric="cityblock").indices, model.kneighbors()[1]))

# %%
# scikit-learn: a classifier
# --------------------------
theirs = KNeighborsClassifier(15).fit(points, labels).predict(queries)
ours = kith.sklearn.KNeighborsClassifier(15).fit(points, labels).predict(queries)
print("the same predictions:", np.array_equal(theirs, ours))

# %%
# cuVS: brute force
# -----------------
#
# cuVS needs a GPU, and so is not run here::
#
#    from cuvs.neighbors import brute_force
#    index = brute_force.build(points, metric="sqeuclidean")
#    distances, neighbors = brute_force.search(index, queries, 10)
#
# kith, with one import changed; on a GPU where the arrays lie there, here on the CPU:
from kith.compat.cuvs import brute_force  # noqa: E402

index = brute_force.build(points, metric="sqeuclidean")
distances, neighbors = brute_force.search(index, queries, 10)
print(same(kith.search(points, queries, 10).indices, neighbors))

# %%
# What differs: no ``resources`` are needed, neighbours are int64, and a ``prefilter`` is refused.
#
# torch: topk, cdist
# ------------------
#
# ``torch.cdist(q, x).topk(k, largest=False)`` is ``kith.search(x, q, k, metric="euclidean")``, without the matrix of all
# distances. ``kith.topk`` takes ``torch.topk``'s arguments; ``kith.torch`` has the functions of pytorch3d and torch_cluster
# (:doc:`/docs/migrate/torch`).
