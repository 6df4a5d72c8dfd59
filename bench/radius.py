"""Searches by radius next to searches for k neighbours of the same shape, and next to scikit-learn, scipy and faiss.

usage: python3 bench/radius.py [--json FILE] [--rounds N] [--d D ...] [--q Q ...] [--without NAME ...]

Needs the package kith. Gaussian data; the radius is that at which the queries have 10 or 100 points within on average.
Interleaved rounds, of each the least time. Everything on two threads.
"""
import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import run_head  # noqa: E402

N, THREADS = 100_000, 2


def timed(calls, rounds):
    """The least seconds of each call; calls alternate."""
    best = {name: float("inf") for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def measured(d, q, near, rounds, without):
    import kith
    generator = np.random.default_rng(d)
    points, queries = (generator.standard_normal((rows, d), dtype=np.float32) for rows in (N, q))
    index = kith.Index(points, metric="euclidean", device="cpu", threads=THREADS)
    how = {"threads": THREADS}
    # The radius at which a query has that many on average, from some of them.
    some = queries[:200]
    wide = index.search(some, min(N, 20 * near), **how).distances
    r = float(np.sort(wide.ravel())[len(some) * near])
    calls = {
        "kith_search": lambda: index.search(queries, near, **how),
        "kith_radius_counts": lambda: index.radius_counts(queries, r, **how),
        "kith_radius": lambda: index.radius(queries, r, **how),
    }
    skipped = {name: "left out" for name in without}

    def wanted(name):
        if name in without:
            raise ImportError("left out")

    try:
        wanted("scikit_learn")
        from sklearn.neighbors import NearestNeighbors
        tree = NearestNeighbors(algorithm="auto" if d <= 3 else "brute", n_jobs=THREADS).fit(points)
        calls["scikit_learn"] = lambda: tree.radius_neighbors(queries, r)
    except ImportError as error:
        skipped["scikit_learn"] = str(error)
    try:
        wanted("scipy")
        from scipy.spatial import cKDTree
        if d <= 3:  # beyond, a tree visits most points
            of_scipy = cKDTree(points)
            calls["scipy_tree"] = lambda: of_scipy.query_ball_point(queries, r, workers=THREADS)
            calls["scipy_tree_counts"] = lambda: of_scipy.query_ball_point(queries, r, workers=THREADS, return_length=True)
    except ImportError as error:
        skipped["scipy"] = str(error)
    try:
        wanted("faiss")
        import faiss
        faiss.omp_set_num_threads(THREADS)
        flat = faiss.IndexFlatL2(d)
        flat.add(points)
        calls["faiss"] = lambda: flat.range_search(queries, r * r)
    except ImportError as error:
        skipped["faiss"] = str(error)
    for call in list(calls.values())[:3]:
        call()
    seconds = timed(calls, rounds)
    counts = index.radius_counts(queries, r, **how)
    return {"n": N, "d": d, "q": q, "near": near, "r": r, "mean": float(counts.counts.mean()), "path": counts.report.path,
            "candidates_of_counts": counts.report.candidates / q, "seconds": seconds, "skipped": skipped,
            "counts_over_search": seconds["kith_search"] / seconds["kith_radius_counts"],
            "radius_over_search": seconds["kith_search"] / seconds["kith_radius"]}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--d", type=int, nargs="+", default=[3, 16, 128])
    options.add_argument("--without", nargs="*", default=[], metavar="NAME", help="scikit_learn, scipy, faiss")
    options.add_argument("--q", type=int, nargs="+", default=[1000, 10000])
    options = options.parse_args()
    import kith
    results = {**run_head.head(), "kith": kith.__version__,
               "build": kith.info(), "load_before": os.getloadavg(), "rounds": options.rounds, "threads": THREADS, "rows": []}
    for module in ("numpy", "scipy", "sklearn", "faiss"):
        try:
            results[module] = __import__(module).__version__
        except ImportError:
            pass
    for d in options.d:
        for q in options.q:
            for near in (10, 100):
                row = measured(d, q, near, options.rounds, options.without)
                results["rows"].append(row)
                print(d, q, near, f"mean {row['mean']:.1f}", f"counts {row['counts_over_search']:.2f}",
                      f"lists {row['radius_over_search']:.2f} of the search's rate;",
                      " ".join(f"{name} {seconds * 1e3:.1f}" for name, seconds in row["seconds"].items()), flush=True)
    results["load_after"] = os.getloadavg()
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
