"""
Recommending by neighbours
==========================

Who took much the same as you has probably taken what you will like: the neighbours of a user's preferences predict what is
missing among them. Kato and Hosino (2009) did this with the Hellinger distance, all users against all.
:func:`kith.graph` gives the neighbours of every user at once, exactly. Whether the prediction is good shows where one item of
each user is held out: is it among the ten best of those that are new to the user?
"""

# %%
# Preferences of users, made up from a fixed seed. Each user mixes a few of 20 tastes; a taste likes some items better than
# others, and popular ones above all (Zipf's law). What users took are counts, most of them zero: a sparse matrix.
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix

import kith


def preferences(users, items, seed=0, tastes=20):
    """Counts of users x items, and the probability with which each user takes each item, as two factors."""
    rng = np.random.default_rng(seed)
    liking = rng.gamma(0.2, size=(tastes, items)) / np.arange(1, items + 1) ** 0.6
    liking /= liking.sum(axis=1, keepdims=True)
    mixture = rng.dirichlet(np.full(tastes, 0.1), users)
    taken = rng.multinomial(5 + rng.poisson(rng.gamma(2, 12, users)), mixture)  # by taste
    rows = [np.repeat(np.arange(users), taken[:, taste]) for taste in range(tastes)]
    columns = [rng.choice(items, len(row), p=liking[taste]) for taste, row in enumerate(rows)]
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    return csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), (users, items)), (mixture, liking)


counts, (mixture, liking) = preferences(users=4000, items=300)
print(f"{counts.shape[0]} users, {counts.shape[1]} items, {counts.nnz / counts.shape[0]:.1f} different ones of a user")

# %%
# One item of each user, any of them, is held out. What is left becomes the user's vector: the shares of the items in all that
# the user took. kith reads dense rows.


def hold_one_out(counts, seed=1):
    """The counts without one item of each user, and those items."""
    rng = np.random.default_rng(seed)
    place = counts.indptr[:-1] + (rng.random(counts.shape[0]) * np.diff(counts.indptr)).astype(np.int64)
    held = counts.indices[place]
    known = counts.copy()
    known.data[place] = 0
    known.eliminate_zeros()
    return known, held


def shares(counts):
    return csr_matrix(counts.multiply(1 / np.maximum(counts.sum(axis=1), 1)), dtype=np.float32)


known, held = hold_one_out(counts)
vectors = shares(known)

# %%
# An item's score for a user is the mean of the neighbours' shares, weighted by nearness. A hit is a held-out item among the
# ten of the highest scores that the user has not taken yet; items of equal score count in part.


def by_neighbours(indices, distances, vectors):
    users, k = indices.shape
    weights = 1 / (distances + 1e-3)
    near = csr_matrix((weights.ravel(), indices.ravel(), np.arange(0, users * k + 1, k)), (users, vectors.shape[0]))
    return lambda first, last: (near[first:last] @ vectors).toarray()


def hits(scores, known, held, best=10, block=2000):
    """Of each user whether the held-out item is a hit, by scores(first, last) of a block of users."""
    found = np.empty(len(held))
    for first in range(0, len(held), block):
        last = min(first + block, len(held))
        score = np.array(scores(first, last), np.float32)
        score[known[first:last].nonzero()] = -1
        own = score[np.arange(last - first), held[first:last]][:, None]
        above, level = (score > own).sum(axis=1), (score == own).sum(axis=1)
        found[first:last] = np.clip((best - above) / level, 0, 1)
    return found


metrics = "hellinger", "jensenshannon", "cosine", "braycurtis", "euclidean"
ks = 5, 10, 20, 50, 100, 200
found = {}
for metric in metrics:
    graph = kith.graph(vectors.toarray(), max(ks), metric=metric)
    for k in ks:
        scores = by_neighbours(graph.indices[:, :k], graph.distances[:, :k], vectors)
        found[metric, k] = hits(scores, known, held)
    print(f"{metric:14}", "  ".join(f"k {k}: {found[metric, k].mean():.3f}" for k in ks))

# %%
# Below it lies what everybody is told: the most popular items. Above it, what somebody could tell who knows the tastes.
popularity = np.asarray(known.sum(axis=0)).ravel()
popular = hits(lambda first, last: np.tile(popularity, (last - first, 1)), known, held)
tastes = hits(lambda first, last: mixture[first:last] @ liking, known, held)
print(f"the most popular {popular.mean():.3f}, the tastes themselves {tastes.mean():.3f}")

# %%
# Neighbours find what is rare, too; the most popular items are all that popularity finds.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for metric in metrics:
    left.plot(ks, [found[metric, k].mean() for k in ks], marker="o", markersize=3, label=metric)
left.axhline(tastes.mean(), color="black", linestyle=":", label="the tastes themselves")
left.axhline(popular.mean(), color="black", linestyle="--", label="the most popular")
left.set(xscale="log", xticks=ks, xticklabels=ks, xlabel="neighbours", ylabel="hit rate among ten", ylim=(0, None))
left.minorticks_off()
left.legend(frameon=False, fontsize=8)
group = (np.argsort(np.argsort(-popularity)) * 5 // len(popularity))[held]
names = "most popular\nfifth", "second", "third", "fourth", "least popular\nfifth"
for shift, (name, which) in enumerate({"hellinger, k 100": found["hellinger", 100], "the most popular": popular}.items()):
    right.bar(np.arange(5) + 0.4 * shift - 0.2, [which[group == i].mean() for i in range(5)], 0.4, label=name,
              color=("tab:blue", "0.4")[shift])
right.set(xticks=range(5), xticklabels=names, xlabel="the held-out item", ylabel="hit rate")
right.tick_params(axis="x", labelsize=8)
right.legend(frameon=False, fontsize=8)
plt.show()
