"""Every metric that cuVS has too, in one run with it: the Python package kith and cuVS on torch tensors of one GPU.

    python3 bench/baselines/metrics.py [--json FILE] [--n N] [--q Q] [--d D] [--k K] [--paths PATH,PATH]

Points are prepared beforehand by both; rounds are interleaved, figures are medians in 10^9 pairs a second. A row that
cuVS answers otherwise than kith, whose rows are checked against the scan in binary64 for the first 64 queries, is
counted as wrong where its own distances in binary64 are farther (a tie is not). --paths adds columns of kith's forced
paths, such as register-tiled+bits, where they serve the metric.
"""
import argparse
import ctypes
import json
import pathlib
import statistics
import sys
import time

for folder in sys.path:  # before torch, which brings an older one
    if (found := pathlib.Path(folder) / "lib" / "libnvJitLink.so.13").is_file():
        ctypes.CDLL(str(found), ctypes.RTLD_GLOBAL)
        break

import torch  # noqa: E402

import kith  # noqa: E402
import run_head  # noqa: E402

GAUSSIAN = "gaussian", lambda rows, d, g: torch.randn(rows, d, generator=g, device="cuda")
SHARES = "shares", lambda rows, d, g: torch.nn.functional.normalize(torch.rand(rows, d, generator=g, device="cuda"), 1)
POSITIVE = "uniform", lambda rows, d, g: torch.rand(rows, d, generator=g, device="cuda")
LEVELS = "4 levels", lambda rows, d, g: torch.randint(4, (rows, d), generator=g, device="cuda").float()
METRICS = [("sqeuclidean", GAUSSIAN, {}), ("cosine", GAUSSIAN, {}), ("cityblock", GAUSSIAN, {}),
           ("chebyshev", GAUSSIAN, {}), ("minkowski", GAUSSIAN, {"p": 3.0}), ("minkowski", GAUSSIAN, {"p": 2.5}),
           ("canberra", POSITIVE, {}), ("braycurtis", POSITIVE, {}), ("hamming", LEVELS, {}),
           ("jensenshannon", SHARES, {}), ("kl_divergence", SHARES, {}), ("correlation", GAUSSIAN, {}),
           ("hellinger", SHARES, {})]


def cuvs_search(metric, arguments, points, queries, k):
    """A function that searches and returns ids as a tensor, or the reason why there is none."""
    import cupy
    from cuvs.neighbors import brute_force
    x, y = cupy.from_dlpack(points), cupy.from_dlpack(queries)
    try:
        index = brute_force.build(x, metric=metric, metric_arg=arguments.get("p", 2.0))
        brute_force.search(index, y[:8], k)
    except Exception as error:  # what a baseline lacks is a result
        return type(error).__name__
    return lambda: torch.from_dlpack(cupy.asarray(brute_force.search(index, y, k)[1])).long()


def timed(run):
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = run()
    torch.cuda.synchronize()
    return time.perf_counter() - start, result


def distances64(metric, arguments, points, queries, ids):
    """kith's own distances of given pairs in binary64, one query at a time, ascending."""
    rows = []
    for query, own in zip(queries, ids):
        own = own[(own >= 0) & (own < len(points))].unique()
        found = kith.search(points[own], query[None], len(own), metric=metric, f64=True, **arguments)
        rows.append(found.distances[0].tolist())
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    for name, value in (("n", 131072), ("q", 4096), ("d", 128), ("k", 10), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--paths", type=lambda names: names.split(","), default=[])
    given = parser.parse_args()
    device = torch.cuda.get_device_name()
    lines = []
    print(f"{device}: n {given.n}, q {given.q}, d {given.d}, k {given.k}")
    for metric, (data, make), arguments in METRICS:
        generator = torch.Generator(device="cuda").manual_seed(20)
        points, queries = make(given.n, given.d, generator), make(given.q, given.d, generator)
        index = kith.Index(points, metric=metric, **arguments)
        runs = {"kith": lambda: index.search(queries, given.k).indices}
        for path in given.paths:
            try:
                forced = kith.Index(points, metric=metric, path=path, **arguments)
                forced.search(queries, given.k)
            except ValueError:
                continue
            runs[path] = lambda forced=forced, path=path: forced.search(queries, given.k, path=path).indices
        other = cuvs_search(metric, arguments, points, queries, given.k)
        line = {"metric": metric, "arguments": arguments, "data": data}
        if callable(other):
            runs["cuvs"] = other
        else:
            line["cuvs_absent"] = other
        seconds = {name: [] for name in runs}
        ids = {name: timed(run)[1] for name, run in runs.items()}
        for _ in range(given.rounds):
            for name, run in runs.items():
                seconds[name].append(timed(run)[0])
        scanned = kith.search(points, queries[:64], given.k, metric=metric, path="exact", **arguments).indices
        line["kith_wrong"] = sum(int((scanned != ids[name][:64]).any(1).sum()) for name in runs if name != "cuvs")
        if "cuvs" in ids:
            differ = (ids["cuvs"].sort(1).values != ids["kith"].sort(1).values).any(1).nonzero()[:, 0]
            some = differ[:256]
            mine, theirs = (distances64(metric, arguments, points, queries[some], ids[name][some])
                            for name in ("kith", "cuvs"))
            line["cuvs_rows_that_differ"] = len(differ)
            line["cuvs_wrong_of_256"] = sum(a != b for a, b in zip(mine, theirs))
        pairs = given.n * given.q
        line |= {name: round(pairs / statistics.median(each) / 1e9, 2) for name, each in seconds.items()}
        lines.append(line)
        print(f"  {metric:14} {json.dumps(arguments) if arguments else '':10} {data:9} " +
              "  ".join(f"{name} {line[name]:8.2f}" for name in runs) +
              f"  {({key: line[key] for key in line if '_' in key})}", flush=True)
    if given.json:
        document = {**run_head.head("cuda"), "kith": kith.__version__,
                    "shape": {name: getattr(given, name) for name in "nqdk"}, "lines": lines}
        pathlib.Path(given.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
