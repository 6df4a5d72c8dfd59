"""Queries that are as the points, and queries that are not, by the planner's own choice next to paths that are forced, on a CPU.

    python3 bench/unlike_queries.py [--points P] [--queries Q] [--dimensions D,D] [--threads T] [--rounds R] [--json FILE]

Gaussian points of f32 with deviations i^-0.7, one call from the array to the neighbours, k 10; queries unlike the points
have 0.3 added to each coordinate. A round times each way once; medians.
"""
import pathlib
import statistics
import sys

import kith
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import machine
import script

FORCED = "gemm-bf16", "gemm-i8", "projected"


def ways(points, queries, settings):
    seconds = {path: [] for path in ("", *FORCED)}
    for _ in range(settings.rounds):
        for path, own in seconds.items():
            found, took, _ = machine.timed(
                lambda path=path: kith.search(points, queries, 10, device="cpu", threads=settings.threads, path=path), lambda: None)
            own.append(took)
            if not path:
                chosen = found.report.path
    return chosen, {path: statistics.median(own) for path, own in seconds.items()}


def rows(d, settings):
    rng = np.random.default_rng(1)

    def draw(n):
        return rng.standard_normal((n, d), dtype=np.float32) * np.arange(1, d + 1, dtype=np.float32) ** -0.7
    points, queries = draw(settings.points), draw(settings.queries)
    for name, own in (("like", queries), ("unlike", queries + np.float32(0.3))):
        chosen, medians = ways(points, own, settings)
        best = min(medians[path] for path in FORCED)
        row = {"d": d, "queries": name, "path": chosen, "seconds": medians, "ratio": medians[""] / best}
        print(f"d {d}, {name}: {chosen} {medians['']:.3f} s, "
              f"{', '.join(f'{path} {medians[path]:.3f}' for path in FORCED)}, ratio to the best {row['ratio']:.2f}", flush=True)
        yield row


if __name__ == "__main__":
    script.run("unlike_queries", __doc__, rows, points=100_000, queries=4000, dimensions=[128, 256, 768])
