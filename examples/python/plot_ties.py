"""
Duplicates and ties
===================

Real data hold equal rows and equal distances: words counted twice, colours of eight bits, points of a grid. Which of equally
near points is returned is a part of the answer: by (distance, smaller index), on every device and with any number of threads.
"""
import matplotlib.pyplot as plt
import numpy as np

import kith

# %%
# A grid: the query in the middle has four neighbours at distance 1, four at the root of 2, and so on. With k = 7 (the
# query is a point of the grid, and its own nearest) two places are left for the four of the second circle: the smallest
# indices get them.
grid = np.array([(x, y) for y in range(5) for x in range(5)], np.float32)
query = np.array([[2, 2]], np.float32)
distances, indices = kith.search(grid, query, k=7, metric="euclidean")
print(np.round(distances[0], 4), indices[0])

figure, axis = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
axis.scatter(*grid.T, s=420, color="lightgray")
axis.scatter(*grid[indices[0]].T, s=420, color="tab:green")
for i, (x, y) in enumerate(grid):
    axis.text(x, y, str(i), ha="center", va="center", fontsize=9)
for radius in (1, 2**0.5):
    axis.add_patch(plt.Circle((2, 2), radius, fill=False, linestyle="--", color="gray"))
axis.set(aspect="equal", xlim=(-0.6, 4.6), ylim=(-0.6, 4.6), title="the 7 nearest of point 12, by (distance, index)",
         xlabel="x", ylabel="y")
plt.show()

# %%
# The same answer with any number of threads, any path and any instruction set, and that of a stable sort of the distances.
random = np.random.default_rng(0)
points = random.integers(0, 4, (5000, 6)).astype(np.float32)  # 4^6 = 4,096 different rows at most
queries = points[:200]
answers = [kith.search(points, queries, 15, threads=threads, isa=isa).indices for threads in (1, 2) for isa in ("", "baseline")]
print("one answer:", all(np.array_equal(answer, answers[0]) for answer in answers))

every = ((queries[:, None].astype(float) - points) ** 2).sum(2)
print("that of a stable sort:", np.array_equal(np.argsort(every, axis=1, kind="stable")[:, :15], answers[0]))

# %%
# How much of an answer hangs on the rule? Points of a few levels have many ties at the k-th place.
levels = [2, 3, 4, 6, 8, 16, 32, 64, 128, 256]
shares = []
for count in levels:
    points = random.integers(0, count, (5000, 6)).astype(np.float32)
    found = kith.graph(points, 16, f64=True)
    shares.append(np.mean(found.distances[:, 14] == found.distances[:, 15]))
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
axis.plot(levels, shares, "o-", color="tab:green")
axis.set(xscale="log", xticks=levels, xticklabels=levels, xlabel="levels of each of 6 coordinates", ylim=(0, 1.05),
         ylabel="share of the points", title="15th and 16th neighbour equally near (5,000 points)")
axis.minorticks_off()
axis.grid(alpha=0.3)
plt.show()

# %%
# A graph leaves each point out by its index, not by its distance or its place: duplicates of the point stay.
twins = np.array([[0, 0], [0, 0], [0, 0], [1, 0]], np.float32)
print(kith.graph(twins, 2).indices)
