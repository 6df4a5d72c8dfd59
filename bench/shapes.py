#!/usr/bin/env python3
"""Random shapes that nobody chose: the planner's estimate next to the measured time, its choice next to every
other path, and baselines that are installed.

usage: shapes.py BUILD [--seed S] [--count N] [--device cpu|cuda] [--largest PAIRS] [--machine NAME|FILE] [--rounds R]
                 [--no-rivals] [--process-time] [--isa NAME] [--only I,I] [--seconds S] [--on-device] [--paths NAME,NAME] [--json FILE]
(needs numpy; BUILD has kith and src/libkith_shared.so; faiss, scikit-learn, scipy and torch are baselines where they are there)

A shape is n, q, d, k, a metric, an element type, a kind of data, and whether the points are those of an Index, all of a seed.
Points and queries are in host memory, or with --on-device in that of the GPU (torch). Each way (the planner's own, every path
that can be forced, every baseline) is called once a round, and each round begins with another one. The least of R rounds
counts, of a way five times slower than the fastest the first one. Where the planner's plan is that of a forced path, attempt for attempt, both
are the same work, and the least of both counts. All of kith's have to agree in every bit. Ratio: estimate (of kith plan, or
by the rates of --machine; of arrays in host memory) over time; regret: the planner's time over that of the
best path, less 1. Worst first, then medians, 95th percentiles, worst. --largest: of n q d; 4e10 are the sizes of a sweep of a
whole machine, 4e9 take a quarter of an hour on two cores. --process-time: of the processor instead of the wall, where other work
shares it: with one thread.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench/baselines"))

import machine  # noqa: E402
import run_head  # noqa: E402

SLOW = 5           # times the fastest: not repeated
SHORT_SECONDS, SHORT_REPEATS = .005, 10  # of a call that is repeated in its turn, so that caches are as warm for each way
LONG_SECONDS = 20  # a baseline that takes longer is not asked
TYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "u8": "uint8", "i8": "int8"}
METRICS = ["sqeuclidean"] * 6 + ["cosine"] * 2 + ["inner_product", "cityblock", "cityblock", "chebyshev", "canberra"]
KINDS = ["gauss", "uniform", "mean", "clusters", "decay", "counts", "sparse", "scales", "dups", "unit", "images"]


def rows(np, rng, kind, n, d):
    """Kinds of data that people bring, in binary64."""
    if kind == "gauss":
        return rng.standard_normal((n, d))
    if kind == "uniform":
        return rng.random((n, d))
    if kind == "mean":  # embeddings: a large mean
        return rng.standard_normal((n, d)) * .05 + np.linspace(-1, 1, d)
    if kind == "clusters":
        centres = rng.standard_normal((max(2, n // 200), d))
        return centres[rng.integers(0, len(centres), n)] + .05 * rng.standard_normal((n, d))
    if kind == "decay":  # a falling spectrum
        return rng.standard_normal((n, d)) * np.arange(1, d + 1) ** -.7
    if kind == "counts":
        return rng.poisson(1.5, (n, d)).astype(float)
    if kind == "sparse":
        return rng.random((n, d)) * (rng.random((n, d)) < .05)
    if kind == "scales":
        return rng.standard_normal((n, d)) * 10. ** rng.integers(-3, 4, d)
    if kind == "dups":
        some = rng.standard_normal((max(2, n // 10), d))
        return some[rng.integers(0, len(some), n)]
    if kind == "unit":
        x = rng.standard_normal((n, d))
        return x / np.linalg.norm(x, axis=1, keepdims=True)
    few = max(1, min(d // 8, 20))  # images: of few directions, and noise
    return 100 + 40 * rng.standard_normal((n, few)) @ rng.standard_normal((few, d)) / few ** .5 + rng.standard_normal((n, d))


def shapes(np, seed, count, largest):
    """As many shapes; each has a generator of its own for its data."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        n, q, d = int(10 ** rng.uniform(2, 5.7)), int(10 ** rng.uniform(0, 4)), int(10 ** rng.uniform(0, 3.2))
        k = int(10 ** rng.uniform(0, 2.7))
        while n * q * d > largest:
            q, n = max(1, q // 2), max(100, int(n * .8))
        s = {"i": i, "n": n, "q": q, "d": d, "k": min(k, n), "kind": KINDS[rng.integers(len(KINDS))],
             "metric": METRICS[rng.integers(len(METRICS))], "type": "f32", "prepared": bool(rng.random() < .3)}
        if rng.random() < .25:
            s["type"] = list(TYPES)[rng.integers(1, len(TYPES))]
        if s["metric"] == "cosine" and s["kind"] in ("sparse", "counts"):
            s["metric"] = "sqeuclidean"  # rows of zeros have no angle
        yield s


def data(np, s, seed):
    rng = np.random.default_rng([seed, s["i"]])
    both = rows(np, rng, s["kind"], s["n"] + s["q"], s["d"])
    if s["type"] in ("u8", "i8"):
        low, high = both.min(), both.max()
        both = np.round((both - low) / max(high - low, 1e-30) * 200) + (1 if s["type"] == "u8" else -100)
    elif s["type"] == "f16":
        both = both.clip(-6e4, 6e4)
    both = np.ascontiguousarray(both, TYPES[s["type"]])
    return both[:s["n"]], both[s["n"]:]


class Kith:
    """The library, and what kith plan says."""

    def __init__(self, build, settings):
        from library import Library
        self.tool, self.settings = build / "kith", settings
        self.library = Library(next(build / "src" / name for name in ("libkith_shared.so", "libkith.so")
                                    if (build / "src" / name).exists()))

    def plan(self, s, path=""):
        words = [self.tool, "plan", "--json", "-n", s["n"], "-q", s["q"], "-d", s["d"], "-k", s["k"], "-m", s["metric"],
                 "--type", s["type"], "--device", self.settings.device]
        words += ["--prepared"] if s["prepared"] else []
        words += ["--machine", self.settings.machine] if self.settings.machine else []
        words += ["--isa", self.settings.isa] if self.settings.isa else []
        words += ["--path", path] if path else []
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        return (json.loads(done.stdout) if done.returncode == 0 else None), done.stderr

    def paths(self, s):
        """Those that can be forced here."""
        listed = re.search(r"possible here: (.*)", self.plan(s, "?")[1])
        found = listed[1].split(", ") if listed else []
        return [path for path in found if not self.settings.paths or path in self.settings.paths]

    def way(self, s, x, y, path):
        options = self.library.options(s["metric"], self.settings.threads, self.settings.device, path)
        options.isa = self.settings.isa.encode() or None
        points = self.library.index(x, options) if s["prepared"] else None

        def call():
            found = points.search(y, s["k"], options) if points else self.library.search(x, y, s["k"], options)
            if self.settings.on_device:
                synchronize()
            return found
        return call


def on_device(rows):
    import torch
    return torch.from_numpy(rows).cuda()


def synchronize():
    import torch
    torch.cuda.synchronize()


def bytes_of(answer):
    """For ids and distances, of numpy or torch."""
    return tuple((a.cpu().numpy() if hasattr(a, "cpu") else a).tobytes() for a in answer)


def rivals(s, x, y, settings):
    """name -> call, of exact searches of what is installed."""
    k, metric, threads = s["k"], s["metric"], settings.threads
    if settings.on_device:
        yield from rivals_on_device(s, x.float(), y.float())
        return
    x, y = x.astype("float32"), y.astype("float32")

    def unit(rows):
        return rows / (rows * rows).sum(1, keepdims=True) ** .5

    change = unit if metric == "cosine" else lambda rows: rows
    try:
        import faiss as f
        f.omp_set_num_threads(threads)
        known = {"sqeuclidean": f.METRIC_L2, "cosine": f.METRIC_INNER_PRODUCT, "inner_product": f.METRIC_INNER_PRODUCT,
                 "cityblock": f.METRIC_L1, "chebyshev": f.METRIC_Linf, "canberra": f.METRIC_Canberra}[metric]
        if settings.device == "cuda" and hasattr(f, "StandardGpuResources"):
            resources = f.StandardGpuResources()
            yield "faiss knn_gpu", lambda: f.knn_gpu(resources, change(y), change(x), k, metric=known)
        else:
            yield "faiss knn", lambda: f.knn(change(y), change(x), k, metric=known)
    except ImportError:
        pass
    if metric in ("sqeuclidean", "cosine", "inner_product"):
        try:
            import torch as t
            t.set_num_threads(threads)

            def by_torch():
                a, b = (t.from_numpy(change(rows)).to(settings.device) for rows in (x, y))
                norms = (a * a).sum(1) if metric == "sqeuclidean" else t.zeros(len(a), device=a.device)
                step = max(1, (1 << 28) // len(a))
                parts = [t.topk(t.addmm(norms[None], part, a.T, alpha=-2), k, dim=1, largest=False).indices.cpu()
                         for part in b.split(step)]
                return t.cat(parts)
            yield "torch matmul+topk", by_torch
        except ImportError:
            pass
    if settings.device == "cuda" or metric == "inner_product":
        return
    try:
        from sklearn.neighbors import NearestNeighbors
        name = {"sqeuclidean": "euclidean", "cityblock": "manhattan"}.get(metric, metric)
        yield "scikit-learn", lambda: NearestNeighbors(n_neighbors=k, metric=name, n_jobs=threads).fit(x).kneighbors(y)
    except ImportError:
        pass
    if metric in ("sqeuclidean", "cityblock", "chebyshev") and s["d"] <= 16:
        try:
            from scipy.spatial import cKDTree
            p = {"sqeuclidean": 2, "cityblock": 1, "chebyshev": float("inf")}[metric]
            yield "cKDTree", lambda: cKDTree(x).query(y, k, p=p, workers=threads)
        except ImportError:
            pass


def rivals_on_device(s, x, y):
    import torch as t
    if s["metric"] == "cosine":
        x, y = (rows / rows.norm(dim=1, keepdim=True) for rows in (x, y))
    step = max(1, (1 << 28) // len(x))

    def products():
        norms = (x * x).sum(1) if s["metric"] == "sqeuclidean" else t.zeros(len(x), device="cuda")
        found = [t.addmm(norms[None], part, x.T, alpha=-2).topk(s["k"], dim=1, largest=False).indices for part in y.split(step)]
        synchronize()
        return found

    def differences():
        p = 1 if s["metric"] == "cityblock" else float("inf")
        found = [t.cdist(part, x, p=p).topk(s["k"], dim=1, largest=False).indices for part in y.split(step)]
        synchronize()
        return found
    if s["metric"] in ("sqeuclidean", "cosine", "inner_product"):
        yield "torch matmul+topk", products
    elif s["metric"] in ("cityblock", "chebyshev"):
        yield "torch cdist+topk", differences


clock = time.perf_counter


def timed(call):
    start = clock()
    result = call()
    return clock() - start, result


def measured(np, kith, s, settings):
    x, y = data(np, s, settings.seed)
    if settings.on_device:
        x, y = on_device(x), on_device(y)
    planned, error = kith.plan(s)
    if not planned:
        return s | {"refused": error.strip()}
    ways = {"": kith.way(s, x, y, "")}
    estimates, alike = {"": planned["estimate"]["seconds"]}, None
    for path in kith.paths(s):
        forced = kith.plan(s, path)[0]
        if forced:
            ways[path], estimates[path] = kith.way(s, x, y, path), forced["estimate"]["seconds"]
            if forced["plan"]["attempts"] == planned["plan"]["attempts"]:
                alike = path
    times, ran, first, differ = {}, {}, None, []
    for path, call in ways.items():  # the first call pays for what happens once
        seconds, (ids, distances, report) = timed(call)
        times[path], ran[path] = seconds, report.as_dict()["path"]
        answer = bytes_of((ids, distances))
        first = first or answer
        if answer != first:
            differ.append(path)
    theirs = {}
    if not settings.no_rivals:
        for name, call in rivals(s, x, y, settings):
            try:
                theirs[name] = timed(call)[0]
            except Exception as failure:  # a baseline's failure is no result of kith
                print(f"{name}: {failure}", file=sys.stderr)
                continue
            if theirs[name] < LONG_SECONDS:
                ways[name] = call
    for turn in range(settings.rounds):
        fastest = min(times.values())
        names = list(ways)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            call = ways[name]
            known = theirs if name in theirs else times
            # The planner's own always gets its rounds.
            if known[name] > SLOW * fastest and turn > 0 and name:
                continue
            again = max(1, min(SHORT_REPEATS, int(SHORT_SECONDS / max(known[name], 1e-6))))
            seconds = min(timed(call)[0] for _ in range(again))
            known[name] = seconds if turn == 0 and name not in theirs else min(known[name], seconds)
    if alike and ran[alike] == ran[""]:
        times[""] = times[alike] = min(times[""], times[alike])
    best = min(times, key=times.get)
    row = s | {"path": planned["plan"]["path"], "ran": ran[""], "seconds": times[""], "estimate": estimates[""],
               "source": planned["estimate"]["source"], "best": best or ran[""], "best_seconds": times[best],
               "regret": times[""] / times[best] - 1, "differ": differ,
               "forced": {p: {"seconds": times[p], "estimate": estimates[p], "ran": ran[p]} for p in times if p},
               "rivals": theirs}
    if estimates[""] and not settings.on_device:  # they are of arrays in host memory
        row["ratio"] = estimates[""] / times[""]
    if theirs:
        row["rival"], row["rival_ratio"] = min(theirs, key=theirs.get), min(theirs.values()) / times[""]
    return row


def line(r):
    ratio = f"{r['ratio']:8.2f}" if "ratio" in r else "       -"
    rival = f"{r['rival']} {r['rival_ratio']:.2f}" if "rival" in r else ""
    return (f"{r['i']:4d} {r['kind']:8} {r['metric']:13} {r['type']:3} n {r['n']:7d} q {r['q']:6d} d {r['d']:5d} k {r['k']:4d} "
            f"{'Index' if r['prepared'] else '     '} {r['path']:10} {1e3 * r['seconds']:10.3f} ms, estimate{ratio}, regret "
            f"{100 * r['regret']:6.0f} % ({r['best']}) {rival}{' DIFFER ' + ' '.join(r['differ']) if r['differ'] else ''}")


def off(ratio):
    """How far from 1, either way: 2 for 2 and 0.5."""
    return max(ratio, 1 / ratio)


def summary(np, found):
    ratios = np.array([r["ratio"] for r in found if "ratio" in r])
    regrets = np.array([r["regret"] for r in found])
    all_paths = np.array([f["estimate"] / f["seconds"] for r in found for f in r["forced"].values() if f["estimate"] and "ratio" in r])
    theirs = np.array([r["rival_ratio"] for r in found if "rival_ratio" in r])

    def spread(values):
        return {"median": float(np.median(values)), "95th": float(np.quantile(values, .95)), "worst": float(values.max())}
    about = {"shapes": len(found), "differ": sum(bool(r["differ"]) for r in found), "without_estimate": len(found) - len(ratios),
             "regret": spread(regrets)}
    for name, values in (("estimate", ratios), ("estimate_of_forced", all_paths)):
        if len(values):
            about[name] = {"within_30_percent": float(np.mean((values > .7) & (values < 1.3))), "median": float(np.median(values)),
                           "off": spread(np.array([off(v) for v in values]))}
    if len(theirs):
        about["rivals"] = {"geometric_mean": float(np.exp(np.log(theirs).mean())), "least": float(theirs.min()),
                           "slower_than_one": int((theirs < 1).sum()), "of": len(theirs)}
    return about


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build", type=pathlib.Path)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    p.add_argument("--largest", type=float, default=4e10)
    p.add_argument("--machine", default="")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--no-rivals", action="store_true")
    p.add_argument("--process-time", action="store_true")
    p.add_argument("--isa", default="")
    p.add_argument("--only", type=lambda text: {int(i) for i in text.split(",")})
    p.add_argument("--seconds", type=float, default=float("inf"), help="no further shape is begun after these")
    p.add_argument("--on-device", action="store_true")
    p.add_argument("--paths", type=lambda text: text.split(","), help="no other path is forced")
    p.add_argument("--json", type=pathlib.Path)
    settings = p.parse_args()
    settings.kernels = "tuned"
    if settings.on_device and settings.device != "cuda":
        p.error("--on-device: needs --device cuda")
    if settings.process_time:
        if settings.threads != 1 or settings.device != "cpu":
            p.error("--process-time: needs --threads 1 --device cpu")
        global clock
        clock = time.process_time
    machine.set_environment(settings)
    import numpy as np
    kith = Kith(settings.build.resolve(), settings)
    about = machine.describe(settings)
    found, refused, begin = [], [], time.monotonic()
    for s in shapes(np, settings.seed, settings.count, settings.largest):
        if settings.only and s["i"] not in settings.only:
            continue
        if time.monotonic() - begin > settings.seconds:
            break
        row = measured(np, kith, s, settings)
        (refused if "refused" in row else found).append(row)
        if sys.stderr.isatty():
            print(f"\r{s['i'] + 1} of {settings.count}", end="", file=sys.stderr)
    about["load_after"] = [round(x, 2) for x in os.getloadavg()]
    print("Estimates, worst first:")
    for r in sorted((r for r in found if "ratio" in r), key=lambda r: -off(r["ratio"])):
        print(line(r))
    print("Regret, worst first:")
    for r in sorted(found, key=lambda r: -r["regret"])[:10]:
        print(line(r))
    for r in refused:
        print(f"{r['i']:4d} refused: {r['refused']}")
    said = summary(np, found)
    print(json.dumps(said, indent=1))
    if settings.json:
        document = {**run_head.head(settings.device), "machine": about,
                    "versions": machine.versions(), "seed": settings.seed, "largest": settings.largest, "summary": said,
                    "refused": refused, "shapes": found}
        settings.json.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if said["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
