"""cuVS' matrix of distances next to kith's distance kernels, whose record gives the shapes: the matrix alone.

    kith-bench search --table distance-kernels --json kernels.json
    python3 bench/baselines/matrices.py kernels.json [--json FILE]

Shapes and metric are those of the record, with Gaussian f32 rows; medians in 10^9 pairs a second next to its columns.
"""
import argparse
import ctypes
import json
import pathlib
import statistics
import sys

for folder in sys.path:  # before torch, which brings an older one
    if (found := pathlib.Path(folder) / "lib" / "libnvJitLink.so.13").is_file():
        ctypes.CDLL(str(found), ctypes.RTLD_GLOBAL)
        break

import torch  # noqa: E402
import run_head  # noqa: E402


def milliseconds(call, runs):
    """For each run, by the device's clock, after one that warms up."""
    call()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(runs):
        torch.cuda.synchronize()
        start.record(torch.cuda.default_stream())
        call()
        torch.cuda.synchronize()
        end.record(torch.cuda.default_stream())
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record")
    parser.add_argument("--json")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    import cupy
    from cuvs.distance import pairwise_distance
    document = json.loads(pathlib.Path(given.record).read_text())
    print(f"{torch.cuda.get_device_name()}: {document['metric']}, 10^9 pairs a second")
    for row in document["rows"]:
        points, queries = (cupy.from_dlpack(torch.randn(rows, row["d"], device="cuda")) for rows in (row["n"], row["q"]))
        out = cupy.empty((row["q"], row["n"]), dtype=cupy.float32)
        times = milliseconds(lambda: pairwise_distance(queries, points, out=out, metric=document["metric"]), given.runs)
        seconds = statistics.median(times) / 1e3
        row["kernels"].append({"name": "cuvs", "median_s": seconds, "min_s": min(times) / 1e3, "max_s": max(times) / 1e3,
                               "pairs_per_s": row["n"] * row["q"] / seconds})
        print(f"  n {row['n']:9} q {row['q']:5} d {row['d']:4}  " +
              "  ".join(f"{kernel['name']} {kernel['pairs_per_s'] / 1e9:7.1f}" for kernel in row["kernels"]), flush=True)
    if given.json:
        document = {**run_head.head("cuda"), "earlier_sources": [document.get("sources", "none")],
                    **{key: value for key, value in document.items() if key not in ("device", "date", "command", "sources", "driver")}}
        pathlib.Path(given.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
