"""Queries that are as the points, and queries that are not, by the planner's own choice beside paths that are forced, on a CPU.

    python3 bench/unlike_queries.py [--points N] [--queries Q] [--dimensions D,D] [--threads T] [--rounds R] [--json FILE]

Gaussian points of f32 with deviations i^-0.7, one call from the array to the neighbours, k 10; queries unlike the points
have 0.3 added to each coordinate. A round times each way once; medians.
"""
import argparse
import pathlib
import statistics
import sys

import kith
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import machine
import record

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


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--points", type=int, default=100_000)
    p.add_argument("--queries", type=int, default=4000)
    p.add_argument("--dimensions", type=lambda s: [int(d) for d in s.split(",")], default=[128, 256, 768], metavar="D,D")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--json", metavar="FILE")
    settings = p.parse_args()
    settings.kernels, settings.device = "shipped", "cpu"
    about = machine.describe(settings)
    found = [row for d in settings.dimensions for row in rows(d, settings)]
    record.write(settings, ["bench/unlike_queries.py", *sys.argv[1:]], about, found,
                 {"versions": {"kith": kith.__version__} | machine.versions()})


if __name__ == "__main__":
    main()
