#!/usr/bin/env python3
"""Image retrieval of Garcia, Debreuve and Barlaud 2008: how well, and the time to compare two images.

usage: retrieval.py [--pairs N] [--rounds R] [--precision [FORM...]] [--save FILE] [--sets FILE] [--device NAME] [--json FILE]
(needs kith-knn and what examples/python/plot_retrieval.py needs; a C++ compiler and Debian's libann-dev)

The images and their sets of patches are those of the example. Time: the divergence of one image's patches from another's,
all scales, by kith, by a plain C loop (BF-C) and by ANN's exact k-d tree, which must give the same divergence. Seconds are of
one core (processor time, so that other work on the machine counts little), medians over interleaved rounds and pairs of
images.
--precision: every picture asks, not one of each photograph, by the forms of the divergence, next to colour histograms.
--save FILE.npz keeps the sets and their labels, and --sets FILE.npz takes them in place of the pictures. With a --device that is
not cpu kith is timed there, by the clock, next to itself on one core: a pair of images, and all in one call.
"""
import argparse
import contextlib
import ctypes
import io
import json
import os
import pathlib
import statistics
import sys
import time

os.environ["MPLBACKEND"] = "agg"

import numpy as np  # noqa: E402

import kith  # noqa: E402
from drivers import compiled, machine  # noqa: E402
from kith import information  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import run_head  # noqa: E402

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "python" / "plot_retrieval.py"
K = 10


def example():
    """The names of the example up to where it asks."""
    source = EXAMPLE.read_text().partition("# %%\n# The first view of each photograph asks")[0]
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, EXAMPLE, "exec"), names)
    return names


class Driver:
    """Eq. 2 of the paper by a function of bench/drivers/knn.cpp."""

    def __init__(self, function):
        self.function = function

    def kth(self, points, queries, k):
        points, queries = (np.ascontiguousarray(rows, np.float32) for rows in (points, queries))
        distances = np.empty(len(queries))
        self.function(ctypes.c_void_p(points.ctypes.data), ctypes.c_int64(len(points)), ctypes.c_void_p(queries.ctypes.data),
                      ctypes.c_int64(len(queries)), points.shape[1], k, ctypes.c_void_p(distances.ctypes.data))
        return distances

    def divergence(self, p, q):
        own, other = self.kth(p, p, K + 1), self.kth(q, p, K)  # a point is its own nearest
        return np.log(len(q) / (len(p) - 1)) + p.shape[1] * np.mean(np.log(other / own))


def measure_time(sets, args):
    library = compiled("knn", "ann")
    calls = {"kith": lambda p, q: information.kl_divergence(p, q, K, threads=1, device="cpu").value,
             "BF-C": Driver(library.bf_c).divergence, "ANN": Driver(library.ann).divergence}
    rng = np.random.default_rng(1)
    pairs = [rng.choice(len(sets), 2, replace=False) for _ in range(args.pairs)]
    seconds = {name: [] for name in calls}
    by_scale = {name: [[] for _ in sets[0]] for name in calls}
    apart = 0.0
    for _ in range(args.rounds):
        for a, b in pairs:
            found = {}
            for name, call in calls.items():
                taken, found[name] = 0.0, 0.0
                for scale, (p, q) in enumerate(zip(sets[a], sets[b])):
                    start = time.process_time()
                    found[name] += call(p, q)
                    by_scale[name][scale].append(time.process_time() - start)
                    taken += by_scale[name][scale][-1]
                seconds[name].append(taken)
            apart = max(apart, max(found.values()) - min(found.values()))
    assert apart < 1e-3, apart
    rows = [{"by": name, "seconds": statistics.median(seconds[name]),
             "seconds_by_scale": [statistics.median(s) for s in by_scale[name]]} for name in calls]
    for row in rows:
        scales = ", ".join(f"{s * 1e3:.1f}" for s in row["seconds_by_scale"])
        print(f"{row['by']:16} {row['seconds'] * 1e3:8.1f} ms a pair of images ({scales} by scale)")
    print(f"the divergences differ by {apart:.1e} nats at most")
    return {"k": K, "pairs": args.pairs, "rounds": args.rounds, "sets": [s.shape for s in sets[0]],
            "largest_difference": apart, "rows": rows}


def measure_device(sets, args):
    """kith alone, on a GPU: from host memory to host memory."""
    rng = np.random.default_rng(1)
    pairs = [rng.choice(len(sets), 2, replace=False) for _ in range(args.pairs)]
    ways = {f"kith, {args.device}": {"device": args.device}, "kith, cpu": {"device": "cpu"},
            **{path: {"device": args.device, "path": path} for path in args.path}}
    seconds = {name: [] for name in ways}
    apart = 0.0
    for turn in range(args.rounds + 1):  # the first warms up
        for a, b in pairs:
            found = {}
            for name, options in ways.items():
                start = time.perf_counter()
                found[name] = sum(information.kl_divergence(p, q, K, **options).value for p, q in zip(sets[a], sets[b]))
                if turn > 0:
                    seconds[name].append(time.perf_counter() - start)
            apart = max(apart, max(found.values()) - min(found.values()))
    start = time.perf_counter()
    whole = kith.retrieve(sets, K, device=args.device)
    all_seconds = time.perf_counter() - start
    compared = len(sets) * (len(sets) - 1)
    rows = [{"by": name, "seconds": statistics.median(taken)} for name, taken in seconds.items()]
    for row in rows:
        print(f"{row['by']:16} {row['seconds'] * 1e3:8.2f} ms a pair of images")
    print(f"all {compared} pairs in one call: {all_seconds:.3f} s; the divergences differ by {apart:.1e} nats at most")
    return {"k": K, "pairs": args.pairs, "rounds": args.rounds, "sets": [s.shape for s in sets[0]], "largest_difference": apart,
            "rows": rows, "all_pairs": compared, "all_seconds": all_seconds, "left_out": whole.left_out}


def histograms(pictures):
    """Colour histograms of 8 x 8 x 8 bins: the distance is the sum of the differences."""
    import cv2
    held = np.array([cv2.calcHist([p], [0, 1, 2], None, [8] * 3, [0, 256] * 3).ravel() for p in pictures])
    return np.abs(held[:, None] - held).sum(axis=2)


def measure_precision(names, forms, args):
    sets, labels = names["sets"], names["labels"]
    tables = {"colour histograms": histograms(names["pictures"])} if "pictures" in names else {}
    for form in forms:
        tables[f"divergence, {form}"] = one = kith.retrieve(sets, K, form=form, device=args.device).divergences
        tables[f"divergence, {form}, both ways"] = one + one.T
        if form == "nearest":
            tables |= {f"divergence, nearest, scale {scale + 1} alone":
                       kith.retrieve([[of[scale]] for of in sets], K, device=args.device).divergences
                       for scale in range(len(sets[0]))}
    rows = []
    for name, away in tables.items():
        away = away + np.diag(np.full(len(away), np.inf))
        right = labels[np.argsort(away, axis=1, kind="stable")] == labels[:, None]
        rows.append({"by": name, **{f"precision_at_{k}": float(right[:, :k].mean()) for k in range(1, int(np.bincount(labels)[0]))}})
        print(f"{name:32}", "  ".join(f"{key.replace('_', ' ')} {value:.3f}" for key, value in rows[-1].items() if key != "by"))
    return {"k": K, "pictures": len(sets), "photographs": int(labels.max()) + 1, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--path", nargs="+", default=[], metavar="NAME", help="on a GPU: these paths beside kith's own choice, such as "
                        "garcia+insertion-sort")
    parser.add_argument("--precision", nargs="*", metavar="FORM", help="nearest (the default), ball, ball-distances")
    parser.add_argument("--save", metavar="FILE", help="keep the sets there, and do no more")
    parser.add_argument("--sets", metavar="FILE", help="take them from there")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json")
    args = parser.parse_args()
    if args.sets:
        held = np.load(args.sets)
        names = {"labels": held["labels"], "sets": list(zip(*(held[f"scale{scale}"] for scale in range(len(held.files) - 1))))}
    else:
        names = example()
    if args.save:
        scales = {f"scale{i}": np.stack(of) for i, of in enumerate(zip(*names["sets"]))}
        np.savez_compressed(args.save, labels=names["labels"], **scales)
        return
    measure = measure_time if args.device == "cpu" else measure_device
    result = {**run_head.head(args.device), "kith": kith.__version__, **machine(), "asked": args.device,
              "time": measure(names["sets"], args)}
    if args.precision is not None:
        result["precision"] = measure_precision(names, args.precision or ["nearest"], args)
    result["load_after"] = os.getloadavg()
    if args.json:
        with open(args.json, "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    sys.exit(main())
