"""One query of an Index on a CPU next to reading as many bytes as its narrow copy has, by as many threads.

    python3 bench/one_query.py [--points P] [--dimensions D,D] [--threads T] [--rounds R] [--json FILE]

Gaussian points of f32, k 10. A round times 41 queries one after the other, then nine reads of n d bytes (the maximum of
64-bit integers, an equal part for each thread). Both are medians, so that the ratio of a round is of one minute.
"""
import pathlib
import statistics
import sys
import threading

import kith
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import machine
import script


def seconds(call):
    return machine.timed(call, lambda: None)[1]


def read(parts):
    threads = [threading.Thread(target=part.max) for part in parts]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def rounds(d, settings):
    n, threads = settings.points, settings.threads
    rng = np.random.default_rng(1)
    index = kith.Index(rng.standard_normal((n, d), dtype=np.float32), device="cpu", threads=threads)
    queries = rng.standard_normal((41, d), dtype=np.float32)
    path = index.search(queries[:1], 10).report.path
    parts = np.array_split(np.ones(n * d // 8, dtype=np.int64), threads)
    for turn in range(settings.rounds):
        query = statistics.median(seconds(lambda i=i: index.search(queries[i:i + 1], 10)) for i in range(len(queries)))
        whole = statistics.median(seconds(lambda: read(parts)) for _ in range(9))
        row = {"n": n, "d": d, "round": turn, "path": path, "query_ms": 1e3 * query, "read_ms": 1e3 * whole,
               "ratio": query / whole, "read_gb_per_s": n * d / whole / 1e9}
        print(f"{n:,} x {d}, {path}: query {row['query_ms']:.2f} ms, reading {row['read_ms']:.2f} ms "
              f"({row['read_gb_per_s']:.0f} GB/s), ratio {row['ratio']:.2f}", flush=True)
        yield row


if __name__ == "__main__":
    script.run("one_query", __doc__, rounds, points=1_000_000, dimensions=[128, 768])
