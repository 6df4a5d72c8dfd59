"""
Distances in many dimensions
============================

In many dimensions the nearest point is hardly nearer than the others: distances concentrate. What an exact search takes for
the nearest is then decided by small differences, which must not drown in rounding; and an index that prunes by distances has
little left to prune.
"""
import matplotlib.pyplot as plt
import numpy as np

import kith

random = np.random.default_rng(0)
n, q = 20_000, 200
dimensions = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

# %%
# Uniform points in a cube. With k = n a search returns every distance, in order.
nearest, median, farthest = [], [], []
for d in dimensions:
    points, queries = random.random((n, d), np.float32), random.random((q, d), np.float32)
    found = kith.search(points, queries[:20], k=n, metric="euclidean")
    scale = np.median(found.distances, axis=1)
    nearest.append(np.mean(found.distances[:, 0] / scale))
    farthest.append(np.mean(found.distances[:, -1] / scale))

# %%
# The gap that decides: how much farther the 11th neighbour is than the 10th. Beside it two roundings of a squared distance in
# f32: of the differences, and of ``|q|² + |x|² - 2 <q, x>``, whose terms are as large as the norms. In few dimensions, where the
# nearest point is near and the norms are not, the second is larger than the gap; and so it is wherever the points lie far from
# the origin (:doc:`plot_exactness`).
gaps, norms = [], []
for d in dimensions:
    points, queries = random.random((n, d), np.float32), random.random((q, d), np.float32)
    found = kith.search(points, queries, k=11, f64=True)
    gaps.append(np.median(found.distances[:, 10] / found.distances[:, 9] - 1))
    norms.append(np.median(2 * (queries.astype(float) ** 2).sum(1) / found.distances[:, 9]))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.fill_between(dimensions, nearest, farthest, color="tab:blue", alpha=0.2, label="all points")
left.plot(dimensions, nearest, "o-", color="tab:blue", label="nearest point")
left.plot(dimensions, farthest, "s-", color="tab:purple", label="farthest point")
left.axhline(1, color="gray", linewidth=1, label="median point")
left.set(xscale="log", xlabel="dimensions d", ylabel="distance / median distance", title=f"{n:,} uniform points", ylim=(0, None))
left.legend()
epsilon = np.finfo(np.float32).eps / 2
right.plot(dimensions, gaps, "o-", color="tab:green", label="gap of 10th and 11th")
right.plot(dimensions, np.full(len(dimensions), epsilon), "--", color="gray", label="one rounding of the distance")
right.plot(dimensions, np.array(norms) * epsilon, "s--", color="tab:red", label="one rounding of the norms")
right.set(xscale="log", yscale="log", xlabel="dimensions d", ylabel="relative to the 10th squared distance", title="what decides, and what rounds",
          ylim=(1e-10, 2))
right.legend(loc="lower right")
plt.show()

for d, near, gap in zip(dimensions, nearest, gaps):
    print(f"d {d:4}: the nearest at {near:.3f} of the median distance, the 11th {gap:.1e} farther than the 10th")
