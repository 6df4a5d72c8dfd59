"""
Exact and approximate graphs
============================

An approximate index answers sooner and loses neighbours. How many, only an exact search can say: here kith is the ground
truth for two indexes of faiss, a graph (HNSW) and inverted lists (IVF), in three kinds of data.
"""
import time

import faiss
import matplotlib.pyplot as plt
import numpy as np

import kith

random = np.random.default_rng(0)
n, k = 5_000, 10


def clusters(d):
    centres = random.normal(size=(100, d)) * 3
    return (centres[random.integers(100, size=n)] + random.normal(size=(n, d))).astype(np.float32)


data = {
    "uniform, d 4": random.random((n, 4), np.float32),
    "100 clusters, d 32": clusters(32),
    "Gaussian, d 64": random.normal(size=(n, 64)).astype(np.float32),
}


# %%
# Recall: the share of the true neighbours that the approximate graph has. Each index is built once, then searched with more
# and more effort; a row of the result begins with the point itself, which is left out here. The time is that of the search of
# all points, without building the index; kith's is that of everything.
def recall(found, truth):
    hits = [len(np.intersect1d(row[row != i], true)) for i, (row, true) in enumerate(zip(found, truth))]
    return sum(hits) / truth.size


def curve(index, x, truth, efforts, apply):
    index.train(x)
    index.add(x)
    points = []
    for effort in efforts:
        apply(index, effort)
        start = time.perf_counter()
        _, found = index.search(x, k + 1)
        points.append((1e3 * (time.perf_counter() - start), recall(found, truth)))
    return np.array(points)


def hnsw(index, effort):
    index.hnsw.efSearch = effort


def ivf(index, effort):
    index.nprobe = effort


faiss.omp_set_num_threads(2)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True, layout="constrained")
for axis, (name, x) in zip(axes, data.items()):
    exact = kith.graph(x, k, threads=2)
    d = x.shape[1]
    graph = curve(faiss.IndexHNSWFlat(d, 16), x, exact.indices, [12, 30, 75, 190], hnsw)
    lists = curve(faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, 50), x, exact.indices, [1, 4, 15, 50], ivf)
    axis.plot(*graph.T, "o-", color="tab:orange", label="HNSW, efSearch 12 to 190")
    axis.plot(*lists.T, "s-", color="tab:blue", label="IVF, 1 to 50 of 50 lists")
    axis.plot(1e3 * exact.report.seconds, 1, "*", color="tab:green", markersize=13, label="kith, exact")
    axis.set(title=name, xlabel="milliseconds, two threads", xscale="log", xlim=(3, 9000), ylim=(0, 1.08))
    axis.set_xticks([10, 100, 1000], ["10", "100", "1000"])
    axis.grid(alpha=0.3)
    print(f"{name}: recall of HNSW {graph[0, 1]:.3f} to {graph[-1, 1]:.3f}, of IVF {lists[0, 1]:.3f} to {lists[-1, 1]:.3f}")
axes[0].set_ylabel(f"recall of {k} neighbours")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# All 50 lists are a full scan in f32, whose neighbours are nearly all true: at the k-th place rounding swaps a few. kith does
# not lose them, because float64 decides.
#
# What the recall of an index is depends on the data as much as on the index. ``kith.verify`` says of given neighbours whether
# they are the true ones, and which rows are not.
x = data["Gaussian, d 64"]
index = faiss.IndexHNSWFlat(x.shape[1], 16)
index.add(x)
distances, indices = index.search(x[:100], k)
check = kith.verify(x, x[:100], indices, distances)
print(f"exact: {check.exact}; {len(check.wrong_rows)} of {check.rows} rows are wrong; recall {check.recall:.3f}")
