"""
Exactness in pictures
=====================

How can fast arithmetic that rounds give an answer that is exact? In three steps: it proposes, float64 decides, and a bound
proves that nothing was missed. :doc:`/docs/contract` has the definitions, :doc:`/docs/proofs/README` the proofs; these are their pictures.
"""
import matplotlib.pyplot as plt
import numpy as np

import kith

random = np.random.default_rng(0)

# %%
# What goes wrong without
# -----------------------
#
# The fast way to many distances is a matrix product: ``|q|² + |x|² - 2 <q, x>``. Far from the origin its terms are large and
# their difference is small: in f32 the digits that tell neighbours apart are lost. Here 2,000 points around a centre, which
# moves away from the origin; the true order does not change.
n, d, k = 2000, 16, 10
cloud = random.normal(size=(n, d))


def by_products(x, q):
    """The k smallest of the expanded form, in f32."""
    squares = (q**2).sum(1)[:, None] + (x**2).sum(1) - 2 * q @ x.T
    return np.argsort(squares, axis=1, kind="stable")[:, :k]


def share(found, truth):
    return np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found, truth)])


offsets = np.logspace(0, 5, 16)
products, ours = [], []
for offset in offsets:
    x = (cloud + offset).astype(np.float32)
    q = x[:200]
    exact = ((q[:, None].astype(float) - x.astype(float)) ** 2).sum(2)  # differences first, in float64
    truth = np.argsort(exact, axis=1, kind="stable")[:, :k]
    products.append(share(by_products(x, q), truth))
    ours.append(share(kith.search(x, q, k).indices, truth))
figure, axis = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axis.plot(offsets, ours, "o-", color="tab:green", label="kith")
axis.plot(offsets, products, "s-", color="tab:red", label="products in f32")
axis.set(xscale="log", xlabel="distance of the centre from the origin, per coordinate (the points' deviation is 1)",
         ylabel="true neighbours among 10", ylim=(0, 1.05), title="f32 points, far from the origin")
axis.legend()
axis.grid(alpha=0.3)
plt.show()
print(f"at {offsets[-1]:.0f}: products {products[-1]:.3f}, kith {ours[-1]:.3f}")

# %%
# Propose, decide, certify
# ------------------------
#
# One query. A distance in low precision (dots) is wrong by at most a known bound (bars). Every point whose bar begins below
# the threshold may be among the k nearest: these candidates get their distance in float64 (circles). All others are certainly
# farther, for their bars lie above. Here the low precision are coordinates rounded to sixths, so that the bars can be seen; the
# bound is the triangle inequality: rounding moves the query and the point, and the distance by no more than both.
x, q = random.normal(size=(60, 4)), random.normal(size=4)
true = np.sqrt(((q - x) ** 2).sum(1))
rounded_x, rounded_q = np.round(x * 6) / 6, np.round(q * 6) / 6
proposed = np.sqrt(((rounded_q - rounded_x) ** 2).sum(1))
bound = np.sqrt(((q - rounded_q) ** 2).sum()) + np.sqrt(((x - rounded_x) ** 2).sum(1))
threshold = np.sort(proposed + bound)[k - 1]
candidate = proposed - bound <= threshold

order = np.argsort(proposed, kind="stable")
place = np.empty(len(x), int)
place[order] = np.arange(1, len(x) + 1)
seen = place <= 32
figure, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
for chosen, color, name in ((seen & candidate, "tab:green", "candidate"), (seen & ~candidate, "gray", "certainly farther")):
    axis.errorbar(place[chosen], proposed[chosen], bound[chosen], fmt=".", color=color, capsize=3, label=f"{name}: value and bound")
axis.plot(place[seen & candidate], true[seen & candidate], "o", markerfacecolor="none", color="tab:blue", markersize=9,
          label="distance in float64")
axis.axhline(threshold, color="tab:red", linestyle="--", label=f"threshold: {k} points are certainly within")
axis.set(xlabel="points in the order of the low-precision values", ylabel="distance", title=f"one query, k = {k}")
axis.legend(loc="lower right")
plt.show()
assert set(np.argsort(true)[:k]) <= set(np.flatnonzero(candidate))  # no neighbour was missed
print(f"{candidate.sum()} of {len(x)} points are evaluated in float64 for k = {k}")

# %%
# How often float64 is needed
# ---------------------------
#
# The bounds of the real filters are far tighter. A report counts the distances that were evaluated in float64.
points, queries = (random.normal(size=(rows, 64)).astype(np.float32) for rows in (20_000, 500))
for count in (10, 100, 1000):
    report = kith.search(points, queries, count).report
    print(f"k {count:4}: {report.candidates / report.queries:7.1f} of 20,000 distances a query in float64, by {report.path}; "
          f"{report.certified} of {report.queries} queries certified at once")
