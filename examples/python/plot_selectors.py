"""
Every selector, one answer
==========================

Five papers between 2008 and 2023 say how the k smallest values of a row are best found. Their selectors are all here by
name, and those of the CPU. Each gives the same result, in the order of a stable sort; they differ in time alone.
"""
import time

import matplotlib.pyplot as plt
import numpy as np

import kith

# %%
# A list has the names that can be asked for. A GPU's selectors reach from Garcia et al. 2008 to Hanak 2023, if this build
# has them and this machine a GPU.
gpu = "\ncuda:0 " in kith.info()
selectors = [selector for selector in kith.selectors() if selector.on_gpu == gpu]
for selector in selectors[:8]:
    most = selector.max_k or "n"
    print(f"{selector.name:24} k {selector.min_k} to {most}: {selector.what}")

# %%
# The plan of a selection says which one kith takes by itself, and why.
rows, cols = 200, 20_000
device = "cuda" if gpu else "cpu"
plan = kith.plan_topk(rows, cols, 10, device=device)
print(plan)

# %%
# All of them on distances of random points, for some k.
random = np.random.default_rng(0)
points, queries = random.random((cols, 16), np.float32), random.random((rows, 16), np.float32)
distances = kith.distances(points, queries)
sizes = [1, 10, 100, 200]
expected = np.argsort(distances, axis=1, kind="stable")
families = ("vector", "nth-element", "heap", "insertion", "insertion-queue", "merge-queue-aligned+buffer+hp",
            "truncated-bitonic", "bits", "warp-select", "radix-select", "sampled")
times = {}
for selector in (selector for selector in selectors if selector.name in families):
    for k in sizes:
        if k < selector.min_k or selector.max_k and k > selector.max_k:
            continue
        taken = []
        for _ in range(3):
            start = time.perf_counter()
            found = kith.topk(distances, k, largest=False, device=device, selector=selector.name)
            taken.append(time.perf_counter() - start)
        assert np.array_equal(found.indices, expected[:, :k]) and found.report.selector == selector.name
        times.setdefault(selector.name, []).append((k, 1e3 * min(taken)))

figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, measured in times.items():
    axis.plot(*zip(*measured), "o-", label=name)
axis.set(xscale="log", yscale="log", xlabel="k", ylabel="milliseconds, the best of 3",
         title=f"{rows} rows of {cols:,} distances, {plan.device}")
axis.legend(fontsize=8)
axis.grid(alpha=0.3)
plt.show()

# %%
# :doc:`/docs/papers` and :doc:`/docs/selection` have the measurements on GPUs.
