"""Exact search on one CPU thread beside NumKong's kernels, which make all distances of approximate vectors and select nothing.

    python3 bench/numkong_kernels.py [--points N] [--queries Q] [--isa ISA,ISA] [--rounds R] [--data DIR] [--json FILE]

Gaussian points of 32, 128 and 768 dimensions, k 10, and Fashion-MNIST. kith: Index.search, points prepared. NumKong:
euclideans_packed of points that are packed, as bf16 and as numbers of 8 bits (Gaussian ones times 32, images as they are),
64 queries at a time into the same memory. A round times each once; medians.
"""
import argparse
import datetime
import gzip
import json
import pathlib
import statistics
import sys
import time

import kith
import numkong
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import machine

BLOCK = 64


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def images(path):
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)


def data_sets(settings):
    rng = np.random.default_rng(1)
    for d in (32, 128, 768):
        yield f"Gaussian, d {d}", *(rng.standard_normal((n, d), dtype=np.float32) for n in (settings.points, settings.queries))
    folder = pathlib.Path(settings.data)
    if folder.is_dir():
        yield "Fashion-MNIST", *(images(folder / f"{part}-images-idx3-ubyte.gz")[:most].astype(np.float32)
                                 for part, most in (("train", settings.points), ("t10k", settings.queries)))


def of_numkong(points, queries):
    """Its ways: name, and a call that makes the distances of all pairs."""
    whole = points.min() >= 0 and (points == np.rint(points)).all()

    def bytes_of(rows):
        return rows.astype(np.uint8) if whole else np.clip(np.rint(rows * 32), -127, 127).astype(np.int8)

    def bf16_of(rows):
        return numkong.astype(numkong.from_dlpack(rows), "bf16")
    for name, dtype, rows_of in (("bf16", "bf16", bf16_of), ("u8" if whole else "i8", "uint8" if whole else "int8", bytes_of)):
        packed = numkong.dots_pack(rows_of(points), dtype)
        blocks = [rows_of(np.ascontiguousarray(queries[first:first + BLOCK])) for first in range(0, len(queries), BLOCK)]
        out = [numkong.euclideans_packed(blocks[at], packed) for at in (0, -1)]

        def run(packed=packed, blocks=blocks, out=out):
            for block in blocks[:-1]:
                numkong.euclideans_packed(block, packed, out=out[0])
            numkong.euclideans_packed(blocks[-1], packed, out=out[1])
        yield f"numkong {name}", run


def of_kith(points, queries, isas):
    for isa in isas:
        index = kith.Index(points, device="cpu", threads=1, isa=isa)
        path = index.search(queries, 10, threads=1, isa=isa).report.path
        yield f"kith {isa or 'default'}, {path}", lambda index=index, isa=isa: index.search(queries, 10, threads=1, isa=isa)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--points", type=int, default=100_000)
    p.add_argument("--queries", type=int, default=4096)
    p.add_argument("--isa", type=lambda s: s.split(","), default=[""], metavar="ISA,ISA", help="kith's (default: the best)")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--data", default="/usr/share/datasets/fashion-mnist", metavar="DIR", help="Fashion-MNIST; left out where it is not")
    p.add_argument("--json", metavar="FILE")
    settings = p.parse_args()
    settings.kernels, settings.device, settings.threads = "shipped", "cpu", 1
    about = machine.describe(settings)
    rows = []
    for name, points, queries in data_sets(settings):
        ways = [*of_kith(points, queries, settings.isa), *of_numkong(points, queries)]
        seconds = [[] for _ in ways]
        for _ in range(settings.rounds):
            for (_, call), own in zip(ways, seconds):
                own.append(timed(call))
        for (way, _), own in zip(ways, seconds):
            median = statistics.median(own)
            rows.append({"data": name, "n": len(points), "q": len(queries), "d": points.shape[1], "way": way, "seconds": own,
                         "pairs_per_s": len(points) * len(queries) / median})
            print(f"{name}, {len(points):,} points, {len(queries):,} queries: {way:24} {median:.4f} s "
                  f"({min(own):.4f} to {max(own):.4f}), {rows[-1]['pairs_per_s'] / 1e9:.3f} G pairs/s", flush=True)
    if settings.json:
        document = {"command": ["python3", "bench/numkong_kernels.py", *sys.argv[1:]],
                    "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "machine": about,
                    "versions": {"kith": kith.__version__, "numkong": numkong.__version__} | machine.versions(),
                    "numkong_capabilities": [name for name, there in numkong.get_capabilities().items() if there], "results": rows}
        pathlib.Path(settings.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
