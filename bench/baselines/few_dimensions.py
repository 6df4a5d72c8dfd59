"""Graphs (all points' k nearest) of few dimensions: kith with and without its tree, next to the trees of others.

    python3 bench/baselines/few_dimensions.py --library build/ci/src/libkith.so [--json FILE] [--case NAME] [--curve]

Every time counts from the array to the neighbours, trees included. Rounds are interleaved, figures are medians in
seconds; --curve times kith, cKDTree and pykdtree for 10,000 to 10,000,000 uniform points of three dimensions. The
neighbours of the first round are compared: as distances in binary64, a tie is no difference.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import machine
import run_head


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--library", metavar="FILE", help="libkith.so (default: the newest below build/)")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--case", action="append", metavar="NAME", help="only this case (repeatable)")
    p.add_argument("--only", type=lambda s: s.split(","), metavar="A,B", help="only these contestants")
    p.add_argument("--curve", action="store_true", help="the growth with n instead of the cases")
    p.add_argument("--most", type=int, default=10**7, help="the most points of --curve")
    p.add_argument("--json", metavar="FILE")
    settings = p.parse_args()
    settings.kernels, settings.device = "shipped", "cpu"
    return settings


SETTINGS = parse()
machine.set_environment(SETTINGS)  # before numpy

import numpy as np  # noqa: E402

import library  # noqa: E402


def uniform(n, d):
    return np.random.default_rng(1).random((n, d), dtype=np.float32)


def gaussian(n, d):
    return np.random.default_rng(2).standard_normal((n, d)).astype(np.float32)


def surface(n):
    """Points of a wavy sheet, noise of a thousandth across it."""
    rng = np.random.default_rng(3)
    u, v = rng.random((2, n))
    height = 0.2 * np.sin(6 * u) * np.cos(5 * v) + 0.001 * rng.standard_normal(n)
    return np.stack([u, v, height], axis=1).astype(np.float32)


CASES = {  # points, k
    "100,000 x 3 uniform": (lambda: uniform(100_000, 3), 10),
    "1,000,000 x 3 uniform": (lambda: uniform(1_000_000, 3), 10),
    "200,000 x 3 surface": (lambda: surface(200_000), 16),
    "100,000 x 8 uniform": (lambda: uniform(100_000, 8), 10),
    "100,000 x 8 gaussian": (lambda: gaussian(100_000, 8), 10),
    "100,000 x 2 uniform": (lambda: uniform(100_000, 2), 10),
}
HOPELESS_SECONDS = 20.0  # who takes longer than that keeps the first time


def contestants(kith, x, k, threads):
    """Name -> a function that returns n x k ids, the point itself left out."""
    def own(path):
        options = kith.options("euclidean", threads, "cpu", path)
        return lambda: kith.graph(x, k, options)[0]

    def others(ids):
        """k + 1 neighbours without the point itself, wherever it stands among its duplicates."""
        keep = ids != np.arange(len(ids))[:, None]
        keep[keep.all(axis=1), -1] = False
        return ids[keep].reshape(len(ids), -1)

    found = {"kith": own(""), "kith without its tree": own("direct-f32")}

    def scipy():
        from scipy.spatial import cKDTree
        return lambda: others(cKDTree(x).query(x, k + 1, workers=threads)[1])

    def scikit_learn(algorithm):
        from sklearn.neighbors import NearestNeighbors
        return lambda: NearestNeighbors(n_neighbors=k, algorithm=algorithm, n_jobs=threads).fit(x).kneighbors()[1]

    def pykdtree():
        from pykdtree.kdtree import KDTree
        return lambda: others(KDTree(x).query(x, k=k + 1)[1].astype(np.int64))

    for name, make in (("scipy cKDTree", scipy), ("scikit-learn KDTree", lambda: scikit_learn("kd_tree")),
                       ("scikit-learn BallTree", lambda: scikit_learn("ball_tree")), ("pykdtree", pykdtree)):
        if SETTINGS.only and not any(part in name for part in SETTINGS.only):
            continue
        try:
            found[name] = make()
        except ImportError as error:
            print(f"skipped: {name}: {error}")
    return found


def distances(x, ids):
    """Squared, in binary64, of the first rows."""
    rows = min(len(x), 2000)
    wide = x.astype(np.float64)
    return ((wide[:rows, None] - wide[ids[:rows]]) ** 2).sum(axis=2)


def timed(call):
    start, start_cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - start, time.process_time() - start_cpu


def race(kith, name, x, k):
    runs = contestants(kith, x, k, SETTINGS.threads)
    seconds, cpu, wrong, reference = {who: [] for who in runs}, {who: [] for who in runs}, {}, None
    for turn in range(SETTINGS.rounds):
        order = list(runs)[turn % len(runs):] + list(runs)[:turn % len(runs)]
        for who in order if turn else runs:
            if turn and seconds[who][0] > HOPELESS_SECONDS:
                continue
            ids, spent, processor = timed(runs[who])
            seconds[who].append(spent)
            cpu[who].append(processor)
            if turn == 0:
                near = distances(x, ids)
                reference = near if reference is None else reference
                wrong[who] = int((near > reference).sum())
    rows = [{"who": who, "median_s": statistics.median(seconds[who]), "min_s": min(seconds[who]),
             "cpu_s": statistics.median(cpu[who]), "rounds": len(seconds[who]), "farther_of_2000_rows": wrong[who]}
            for who in runs]
    for row in rows:
        print(f"{name:<24} {row['who']:<24} {row['median_s']:>8.3f} s  least {row['min_s']:>8.3f}  "
              f"cpu {row['cpu_s']:>8.3f}  farther {row['farther_of_2000_rows']}", flush=True)
    return {"case": name, "n": len(x), "d": x.shape[1], "k": k, "results": rows}


def curve(kith):
    """kith's tree and the two fastest of the others, of more and more points."""
    rows, n = [], 10_000
    SETTINGS.only = ["cKDTree", "pykdtree"]
    while n <= SETTINGS.most:
        x = uniform(n, 3)
        runs = {who: call for who, call in contestants(kith, x, 10, SETTINGS.threads).items()
                if who != "kith without its tree"}
        for who, call in runs.items():
            times = [timed(call)[1:] for _ in range(3 if n < 10**6 else 1)]
            rows.append({"n": n, "who": who, "median_s": statistics.median(t for t, _ in times),
                         "cpu_s": min(c for _, c in times)})
            print(f"{n:>10,} x 3 {who:<16} {rows[-1]['median_s']:>8.3f} s, {1e6 * rows[-1]['cpu_s'] / n:.2f} us of a "
                  f"processor for each point", flush=True)
        n *= 10
    return rows


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    kith = library.Library(library.find(root, SETTINGS.library))
    about = machine.describe(SETTINGS)
    document = {**run_head.head(), "machine": about,
                "versions": {"kith": kith.version()} | machine.versions(), "build": kith.build_info()}
    if SETTINGS.curve:
        document["curve"] = curve(kith)
    else:
        document["cases"] = [race(kith, name, make(), k) for name, (make, k) in CASES.items()
                             if not SETTINGS.case or name in SETTINGS.case]
    about["load_after"] = [round(x, 2) for x in os.getloadavg()]
    if SETTINGS.json:
        pathlib.Path(SETTINGS.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
