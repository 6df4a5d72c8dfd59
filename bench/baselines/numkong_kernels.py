"""Exact search on one CPU thread next to NumKong's kernels, which make all distances of approximate vectors and select nothing.

    python3 bench/baselines/numkong_kernels.py [--n N] [--queries Q] [--isa ISA,ISA] [--rounds R] [--data DIR] [--json FILE]

Gaussian points of 32, 128 and 768 dimensions, k 10, and Fashion-MNIST. kith: Index.search of the package that is
installed, points prepared. NumKong: euclideans_packed of points that are packed, as bf16 and as int8 (Gaussian
ones times 32, images as they are), 64 queries at a time into the same memory. A round times each once; medians.
"""
import argparse
import statistics
import sys

import kith
import numkong
import numpy as np

import cases
import machine
import record

BLOCK = 64


def data_sets(settings):
    for d in (32, 128, 768):
        yield f"Gaussian, d {d}", cases.random_host(100_000, settings.queries, d, settings.queries)
    yield "Fashion-MNIST", cases.fashion_mnist


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


def measured(name, points, queries, settings):
    ways = [*of_kith(points, queries, settings.isa), *of_numkong(points, queries)]
    seconds = [[] for _ in ways]
    for _ in range(settings.rounds):
        for (_, call), own in zip(ways, seconds):
            own.append(machine.timed(call, lambda: None)[1])
    for (way, _), own in zip(ways, seconds):
        median = statistics.median(own)
        rate = len(points) * len(queries) / median
        print(f"{name}, {len(points):,} points, {len(queries):,} queries: {way:24} {median:.4f} s "
              f"({min(own):.4f} to {max(own):.4f}), {rate / 1e9:.3f} G pairs/s", flush=True)
        yield {"data": name, "n": len(points), "q": len(queries), "d": points.shape[1], "way": way, "seconds": own, "pairs_per_s": rate}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--n", type=int, metavar="N", help="at most this many points")
    p.add_argument("--queries", type=int, default=4096)
    p.add_argument("--isa", type=lambda s: s.split(","), default=[""], metavar="ISA,ISA", help="kith's (default: the best)")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--data", default="/usr/share/datasets/fashion-mnist", metavar="DIR", help="Fashion-MNIST")
    p.add_argument("--json", metavar="FILE")
    settings = p.parse_args()
    settings.kernels, settings.device, settings.threads, settings.quick = "shipped", "cpu", 1, False
    about = machine.describe(settings)
    cells = []
    for name, make in data_sets(settings):
        points, queries = make(settings, "sqeuclidean")
        cells += measured(name, points, queries[:settings.queries], settings)
    record.write(settings, ["bench/baselines/numkong_kernels.py", *sys.argv[1:]], about, cells, {
        "versions": {"kith": kith.__version__} | machine.versions(),
        "numkong_capabilities": [name for name, there in numkong.get_capabilities().items() if there]})


if __name__ == "__main__":
    main()
