"""The cost of a Python call next to the library's: small topk and search of equal arrays, by kith and by the C interface.

    python3 bench/call_cost.py --library build/ci/src/libkith_shared.so [--device cuda] [--calls 2000] [--json FILE]

Both write to arrays that are there and wait for the device themselves. Calls take turns in blocks; figures are the medians
of single calls in microseconds, the C interface's less those of a call by ctypes that does nothing. Without --library only
the Python calls are timed.

The parts of a Python call are timed one by one, each directly after a call of the core, which leaves the processor's caches
as the next call finds them. The parts: the caller's stream, inputs described, results allocated and freed, settings, the pair that is
returned. The core's call is timed as whole calls are, less the C interface's.
"""
import argparse
import ctypes
import json
import pathlib
import statistics
import sys
import time

import torch

import kith
from kith import _core
from kith._arguments import _metric, _settings
from kith._arrays import given
from kith._kinds import kind_of
from kith._results import Neighbors
from kith._search import _outputs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))
import library as c_interface  # noqa: E402
import run_head  # noqa: E402

BLOCK = 50


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--library", metavar="FILE", help="libkith.so of the same build")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--calls", type=int, default=2000)
    p.add_argument("--json", metavar="FILE")
    return p.parse_args()


def cases(device):
    """Name, the Python call into new arrays, the same into arrays that are there, inputs, k, those arrays."""
    def result(rows, k):
        return (torch.empty((rows, k), device=device), torch.empty((rows, k), dtype=torch.int64, device=device))

    for rows, columns, k in ((1, 10_000, 10), (64, 1_000, 10)):
        values = torch.randn((rows, columns), device=device)
        yield (f"topk {rows} x {columns}, k {k}", lambda v=values, k=k: kith.topk(v, k), None, [values], k,
               result(rows, k))
    for n, q, d, k in ((1_000, 1, 16, 10), (1_000, 64, 16, 10)):
        points, queries = torch.randn((n, d), device=device), torch.randn((q, d), device=device)
        out = result(q, k)
        yield (f"search {n} x {d}, q {q}, k {k}", lambda p=points, y=queries, k=k: kith.search(p, y, k),
               lambda p=points, y=queries, k=k, o=out: kith.search(p, y, k, out=o), [points, queries], k, out)


def by_c(lib, inputs, k, out):
    """A call without arguments, everything prepared."""
    options = lib.options()
    options.largest = len(inputs) == 1
    views = [c_interface.view(array) for array in inputs]
    to = c_interface.Neighbors(out[1].data_ptr(), out[0].data_ptr(), c_interface.device_of(out[0]))
    report = c_interface.Report(ctypes.sizeof(c_interface.Report))
    arguments = [*map(ctypes.byref, views), k, *map(ctypes.byref, (options, to, report))]
    function = lib.lib.kith_search if len(inputs) == 2 else lib.lib.kith_select
    if len(inputs) == 1:
        function.argtypes = [ctypes.c_void_p, ctypes.c_int64] + [ctypes.c_void_p] * 3
    kept = (options, views, to, report, inputs, out)
    return lambda kept=kept: lib.check(function(*arguments))


def parts(inputs, k, out):
    """The core's call of a Python call, and its other parts by name."""
    like, device = inputs[-1], "auto"
    kind = kind_of(like)
    stream = kind.stream(like)
    described = [given(array, "points", stream)[1] for array in inputs]

    def settings():
        return (_metric("sqeuclidean", 2.0, None, None, False, None, 0.0),
                _settings(False, device, 0, 0, "", "", stream, None, ""))

    metric, others = settings()
    if len(inputs) == 2:
        core = lambda: _core.search(*described, k, metric, others, out[1], out[0])  # noqa: E731
    else:
        core = lambda: _core.select(*described, k, True, True, others, out[1], out[0])  # noqa: E731
    return core, {"nothing": lambda: None, "stream": lambda: kind_of(like).stream(like),
                  "inputs": lambda: [given(array, "points", stream) for array in inputs],
                  "results": lambda: _outputs(kind, like, len(like), k, "float32", None), "settings": settings,
                  "pair": lambda: Neighbors(out[0], out[1], None)}


def part_times(core, others, calls):
    """Microseconds of each of the others after the core's call."""
    times = {}
    for name, part in others.items():
        taken = []
        for _ in range(max(1, calls)):
            core()
            before = time.perf_counter_ns()
            part()
            taken.append(time.perf_counter_ns() - before)
        times[name] = statistics.median(taken) / 1e3
    nothing = times.pop("nothing")
    return {name: of - nothing for name, of in times.items()}


def main():
    settings = parse()
    lib = c_interface.Library(settings.library) if settings.library else None
    rows = []
    for name, new, into, inputs, k, out in cases(settings.device):
        core, others = parts(inputs, k, out)
        runs = {"Python": new} | ({"Python, out=": into} if into else {}) | {"core": core}
        if lib:
            runs |= {"C": by_c(lib, inputs, k, out), "ctypes": lambda: lib.lib.kith_version()}
        times = {who: [] for who in runs}
        for call in runs.values():
            for _ in range(BLOCK):
                call()
        for _ in range(max(1, settings.calls // BLOCK)):
            for who, call in runs.items():
                for _ in range(BLOCK):
                    before = time.perf_counter_ns()
                    call()
                    times[who].append(time.perf_counter_ns() - before)
        row = {"case": name} | {who: statistics.median(of) / 1e3 for who, of in times.items()}
        if lib:
            row["C"] -= row.pop("ctypes")
            row["added"] = row["Python"] - row["C"]
        print(f"{name:<32} " + "  ".join(f"{who} {value:.1f} us" for who, value in row.items() if who != "case"))
        row["parts"] = part_times(core, others, settings.calls // 4)
        if lib:
            row["parts"]["core"] = row["core"] - row["C"]
        print("    of which " + "  ".join(f"{part} {value:.1f}" for part, value in row["parts"].items()))
        rows.append(row)
    if settings.json:
        pathlib.Path(settings.json).write_text(json.dumps({**run_head.head(settings.device), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
