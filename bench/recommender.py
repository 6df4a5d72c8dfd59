#!/usr/bin/env python3
"""Recommending by neighbours, as Kato and Hosino 2009: seconds of the graph of all users, and hit rates.

usage: recommender.py [--users N] [--items D] [-k K] [--metrics NAME...] [--limit SECONDS] [--json FILE]
(needs kith-knn, numpy, scipy)

Preferences, held-out items and predictions are those of examples/python/plot_recommender.py. For each metric the graph by the
default path, and of the first by `kato`, their scheme; a graph that takes longer than the limit is cancelled and said to be.
Hit rate: share of the users whose held-out item is among the ten best that are new to them, here of 2,000 users at most.
"""
import argparse
import ast
import datetime
import json
import os
import pathlib
import sys
import time
import types

import numpy as np

import kith

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "python" / "plot_recommender.py"
JUDGED = 2000  # users whose predictions are looked at


def functions_of(path):
    """The functions of an example, which would run as a whole if it were imported."""
    tree = ast.parse(path.read_text())
    kept = [node for node in tree.body if isinstance(node, ast.FunctionDef)
            or isinstance(node, (ast.Import, ast.ImportFrom)) and "matplotlib" not in ast.unparse(node)]
    module = types.ModuleType(path.stem)
    exec(compile(ast.Module(kept, []), str(path), "exec"), module.__dict__)
    return module


def graph(vectors, args, metric, path=""):
    """Neighbours within the limit, or None, and the seconds by the clock and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    try:
        found = kith.graph(vectors, args.k, metric=metric, path=path, device=args.device,
                           progress=lambda *_: time.perf_counter() - wall < args.limit)
    except kith.Cancelled:
        found = None
    return found, time.perf_counter() - wall, time.process_time() - processor


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--items", type=int, default=256)
    parser.add_argument("-k", type=int, default=100)
    parser.add_argument("--metrics", nargs="+", default=["hellinger", "cosine", "braycurtis"])
    parser.add_argument("--limit", type=float, default=300, help="seconds of a graph")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-kato", action="store_true", help="without the graph by path kato")
    parser.add_argument("--json")
    args = parser.parse_args()
    example = functions_of(EXAMPLE)
    start = time.perf_counter()
    counts, (mixture, liking) = example.preferences(args.users, args.items)
    known, held = example.hold_one_out(counts)
    vectors = example.shares(known)
    made = time.perf_counter() - start
    print(f"{args.users} users, {args.items} items, {counts.nnz / args.users:.1f} different ones of a user; made in {made:.1f} s")

    judged = np.random.default_rng(2).choice(args.users, min(JUDGED, args.users), replace=False)

    def rate(scores):
        return float(example.hits(scores, known[judged], held[judged]).mean())

    popularity = np.asarray(known.sum(axis=0)).ravel()
    result = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "kith": kith.__version__,
        "load_before": os.getloadavg(), "users": args.users, "items": args.items, "k": args.k, "limit_s": args.limit,
        "different_items_of_a_user": counts.nnz / args.users, "judged_users": len(judged),
        "popular": rate(lambda first, last: np.tile(popularity, (last - first, 1))),
        "tastes": rate(lambda first, last: mixture[judged[first:last]] @ liking), "rows": []}
    print(f"hit rate of the most popular {result['popular']:.3f}, of the tastes themselves {result['tastes']:.3f}")
    dense = vectors.toarray()
    first = None
    for metric, path in [(m, "") for m in args.metrics] + [(args.metrics[0], "kato")] * (not args.no_kato):
        found, wall, processor = graph(dense, args, metric, path)
        row = {"metric": metric, "path": path or "default", "seconds": wall, "processor_s": processor}
        if found is None:
            row["cancelled"] = True
            print(f"{metric:14} {row['path']:8} cancelled after {wall:.0f} s", flush=True)
        else:
            indices, distances = found.indices[judged], found.distances[judged]
            row.update(took=found.report.path, device=found.report.device, certified=found.report.certified,
                       retried=found.report.retried, scanned=found.report.scanned, hit_rate=rate(
                           lambda a, b: example.by_neighbours(indices[a:b], distances[a:b], vectors)(0, b - a)))
            first = first or found
            if path:
                row["same_bits"] = bool(np.array_equal(found.indices, first.indices)
                                        and np.array_equal(found.distances, first.distances))
            print(f"{metric:14} {row['path']:8} {wall:8.2f} s ({processor:.2f} of the processor), {found.report.path}, "
                  f"hit rate {row['hit_rate']:.3f}" + (", the same bits" if row.get("same_bits") else ""), flush=True)
        result["rows"].append(row)
    result["load_after"] = os.getloadavg()
    if args.json:
        with open(args.json, "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")
    return 0 if all(row.get("same_bits", True) for row in result["rows"]) else 1


if __name__ == "__main__":
    sys.exit(main())
