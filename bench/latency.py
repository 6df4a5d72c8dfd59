"""Small calls of Python on an Index: those of `kith-bench search --table latency`, in microseconds.

    python3 bench/latency.py [--threads T] [--rounds R] [--json FILE]

Points and queries uniform in a cube, f32. A round times calls one after the other, each with other queries; the figure is
the median of the rounds' means.
"""
import pathlib
import statistics
import sys

import kith
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import machine
import script

# Name, points, queries, neighbours, radius.
CALLS = (("the 16 nearest of one", 200_000, 1, 16, 0), ("within a radius of one", 200_000, 1, 0, 0.02),
         ("the nearest of ten", 200_000, 10, 1, 0), ("the 16 nearest of one", 20, 1, 16, 0),
         ("the nearest of one", 1_000, 1, 1, 0), ("the 16 nearest of a thousand", 200_000, 1_000, 16, 0))
ALL = 1_000


def rounds(d, settings):
    rng = np.random.default_rng(1)
    queries = rng.random((ALL, d), dtype=np.float32)
    for name, n, q, k, r in CALLS:
        index = kith.Index(rng.random((n, d), dtype=np.float32), metric="euclidean", device="cpu", threads=settings.threads)
        some = [queries[first:first + q] for first in range(0, ALL - q + 1, q)]

        def calls(index=index, some=some, k=k, r=r):
            for each in some:
                index.radius(each, r) if r else index.search(each, k)

        calls()
        taken = [1e6 * machine.timed(calls, lambda: None)[1] / len(some) for _ in range(settings.rounds)]
        row = {"call": name, "n": n, "q": q, "d": d, "k": k, "r": r, "microseconds": statistics.median(taken),
               "least": min(taken)}
        print(f"{name:>30}, n {n:>7,}: {row['microseconds']:.2f} us, least {row['least']:.2f}", flush=True)
        yield row


if __name__ == "__main__":
    script.run("latency", __doc__, rounds, dimensions=[3])
