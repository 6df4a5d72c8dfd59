#!/usr/bin/env python3
"""Image retrieval of Garcia, Debreuve and Barlaud 2008: how well, and the time to compare two images.

usage: retrieval.py [--pairs N] [--rounds R] [--precision [FORM...]] [--json FILE]
(needs kith-knn and what examples/python/plot_retrieval.py needs; a C++ compiler and Debian's libann-dev)

The images and their sets of patches are those of the example. Time: the divergence of one image's patches from another's,
all scales, by kith, by a plain C loop (BF-C) and by ANN's exact k-d tree, which must give the same divergence: seconds of
one core (processor time, so that other work on the machine counts little), medians over interleaved rounds and pairs of
images.
--precision: every picture asks, not one of each photograph, by the forms of the divergence, beside colour histograms.
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

import cv2  # noqa: E402
import numpy as np  # noqa: E402

import kith  # noqa: E402
from drivers import compiled, machine  # noqa: E402
from kith import information  # noqa: E402

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


def histograms(pictures):
    """Colour histograms of 8 x 8 x 8 bins: the distance is the sum of the differences."""
    held = np.array([cv2.calcHist([p], [0, 1, 2], None, [8] * 3, [0, 256] * 3).ravel() for p in pictures])
    return np.abs(held[:, None] - held).sum(axis=2)


def measure_precision(names, forms):
    sets, labels = names["sets"], names["labels"]
    everyone = range(len(sets))
    tables = {"colour histograms": histograms(names["pictures"])}
    for form in forms:
        one = np.array([[[information.kl_divergence(p, q, K, form=form).value if a != b else 0 for p, q in zip(sets[a], sets[b])]
                         for b in everyone] for a in everyone])
        tables[f"divergence, {form}"] = one.sum(axis=2)
        tables[f"divergence, {form}, both ways"] = one.sum(axis=2) + one.sum(axis=2).T
        if form == "nearest":
            tables |= {f"divergence, nearest, scale {s + 1} alone": one[..., s] for s in range(one.shape[2])}
    rows = []
    for name, away in tables.items():
        away = away + np.diag(np.full(len(away), np.inf))
        right = labels[np.argsort(away, axis=1, kind="stable")] == labels[:, None]
        rows.append({"by": name, **{f"precision_at_{k}": float(right[:, :k].mean()) for k in range(1, names["VIEWS"])}})
        print(f"{name:32}", "  ".join(f"{key.replace('_', ' ')} {value:.3f}" for key, value in rows[-1].items() if key != "by"))
    return {"k": K, "pictures": len(sets), "photographs": int(labels.max()) + 1, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--precision", nargs="*", metavar="FORM", help="nearest (the default), ball, ball-distances")
    parser.add_argument("--json")
    args = parser.parse_args()
    names = example()
    result = {"kith": kith.__version__, "opencv": cv2.__version__, **machine(), "time": measure_time(names["sets"], args)}
    if args.precision is not None:
        result["precision"] = measure_precision(names, args.precision or ["nearest"])
    result["load_after"] = os.getloadavg()
    if args.json:
        with open(args.json, "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    sys.exit(main())
