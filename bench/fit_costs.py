#!/usr/bin/env python3
"""Fits the rates of the planner's costs (src/plan/rates/costs.h) to records of shapes.py, and says what choosing by them takes.

usage: fit_costs.py RECORD... [--scans-of RECORD...] [--filters-of RECORD...] [--check RECORD...] [--name NAME --source TEXT [--threads-as FILE] --out FILE] [--serial-merge] [--verbose SHAPES]
(needs numpy and scipy)

The time of a path is a sum of terms, work times rate: the work of a shape is work() here and costs.cpp there, the rates are
what is fitted, by least squares of relative errors with no negative rate. Printed for the records of either list: how far
estimates are off, the regret of the choice that was measured and of the choice by estimates. A path that a sample decides
about has not been measured by another choice than the planner's: it counts as the best of what the sample decides between.
"""
import argparse
import json
import math
import pathlib

import numpy as np
from scipy.optimize import nnls

SAMPLED = ("projected", "gemm-i8", "clustered")
PRODUCTS = ("gemm-bf16", "gemm-f32", "gemm-f16")
OWN = ("direct-f32", "exact")  # rates of each metric
MOST_ROW_QUERIES, LEAF = 16, 32
GPU_TILE, GPU_SCAN_TILE, GPU_ROW_QUERIES, GPU_SAMPLE = 64, 32, 8, 128
UNMEASURED = 4
TERMS = ("call", "wake", "point", "point_value", "form_value", "sample_value", "page_value", "read_value", "byte", "query", "query_value", "kept", "kept_value",
         "page_kept", "merge", "offer", "pair", "pair_value", "row_pair", "row_pair_value")


def kept(s, ranges):
    """Neighbours that the ranges of the points keep, and points that pass the thresholds on the way to them."""
    k = min(s["k"], s["n"])
    part = max(s["n"] / ranges, k)
    return k * ranges, k * ranges * (1 + math.log(part / k))


def one_thread(s):
    """Microseconds that the library estimates for a filter on one thread (cpu/search/filter_search.cpp)."""
    return s["q"] * (3 + s["n"] * (3e-4 + 1.5e-5 * s["d"]))


def exact_block(s, threads):
    """Queries that the scan converts the points for at a time."""
    return max(1, min((256 << 10) // (8 * s["d"]), 64, math.ceil(s["q"] / threads)))


def ranges_of(s, path, device, threads):
    """Parts of the points that are searched apart, where queries are too few for all threads."""
    n, q, d = s["n"], s["q"], s["d"]
    if device != "cpu" or threads == 1 or path == "tree":
        return 1
    if path == "exact":
        rows = max(1, (256 << 10) // (8 * d))
        blocks = math.ceil(q / exact_block(s, threads))
        tiles = math.ceil(n / min(max(8, rows // 8 * 8), 512))
        wanted = 1 if blocks >= 2 * threads else math.ceil(4 * threads / blocks)
        return math.ceil(tiles / math.ceil(tiles / wanted))
    if one_thread(s) < 8:
        return 1
    most = 1024 if path in SAMPLED else MOST_ROW_QUERIES if by_rows(s, path, device) else 96
    blocks = math.ceil(q / max(1, min(most, math.ceil(q / threads))))
    return max(1, min(math.ceil(2 * threads / blocks), math.ceil(n / 32)))


def visited(s):
    """Points of the leaves that a query of a tree looks at, of uniform ones: a cube about its ball, and half a box around."""
    n, d, k = s["n"], s["d"], min(s["k"], s["n"])
    split = min(d, max(1, math.log2(n / LEAF))) if n > LEAF else 1
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1) if d < 300 else 1e-300
    radius = (k / n / ball) ** (1 / d) if d < 300 else 1
    side = (LEAF / n) ** (1 / split)
    return n * min(1, (2 * radius + side)) ** split


def by_rows(s, path, device):
    """A few queries are compared with the points' own rows by each of the filters of all coordinates."""
    return path in PRODUCTS + ("direct-f32",) and device == "cpu" and s["q"] <= MOST_ROW_QUERIES and s["type"] == "f32" \
        and not s["prepared"] and s["metric"] != "canberra"


def rated(s, path, device):
    """The path whose rates count."""
    if not by_rows(s, path, device):
        return path
    return "gemm-f32" if s["metric"] in ("cosine", "inner_product") else "direct-f32"


# Records of libraries that merged the ranges of the points on one thread, until 2026-11-29.
serial_merge = False


def work(s, path, device, threads):
    """For one thread; of a GPU, all of it."""
    n, q, d, T = s["n"], s["q"], s["d"], threads if device == "cpu" else 1
    ready = s["prepared"]
    w = {"call": 1.0}
    prepares, T_prepare = not ready and path not in ("exact",), T
    rows = by_rows(s, path, device)
    if device == "cpu" and T > 1 and path not in ("exact", "tree") and one_thread(s) < 50:
        T = 1  # others are not woken
    if device == "cpu" and threads > 1:
        w["wake"] = (threads - 1) * ((T > 1) + (prepares and not rows))
    ranges = ranges_of(s, path, device, threads)
    k, offers = kept(s, ranges)
    if ranges > 1:
        w["merge"] = q * k / (1 if serial_merge and path != "exact" else T)
    w["query"], w["query_value"] = q / T, q * d / T
    w["offer"], w["kept_value"] = q * offers / T, q * k * d / T
    w["kept"] = q * k / T
    w["read_value"] = n * d / T
    if threads > 1 and device == "cpu":
        apart = 1 - 1 / threads
        if not (serial_merge and path in SAMPLED):  # which have several ranges, so that the two cannot be distinguished
            w["page_kept"] = q * k * apart
        if prepares and not rows:
            w["page_value"] = n * d * apart
    if device == "cuda":
        w["byte"] = ((0 if ready else n) + q) * d * {"f32": 4, "f64": 8, "f16": 2, "u8": 1, "i8": 1}[s["type"]] + 12 * q * k
    if path == "tree":
        levels = math.log2(n + 2) / 16
        if not ready:
            w["point"], w["point_value"] = n * levels / T_prepare, n * d * levels / T_prepare
        v = visited(s)
        w["pair"], w["pair_value"] = q * v / T, q * v * d / T
        del w["read_value"]
        return w
    if rows:
        w["row_pair"], w["row_pair_value"] = n * q / T, n * q * d / T
        return w
    if not ready and path == "exact" and device != "cpu":
        w["point"] = n  # is measured ahead of the scan, which converts the coordinates of all points in any case
    if not ready and path != "exact":
        w["point"], w["point_value"] = n / T_prepare, n * d / T_prepare
        if device != "cpu":
            w["form_value"] = min(n, GPU_SAMPLE) * d
        if path in SAMPLED:
            sample = min(n, max(1024, min(n // 16, (1 << 22) // d, 4096 if path == "projected" else 1024)))
            w["sample_value"] = sample * d * (min(127, d // 2) if path == "projected" else 32) / T_prepare
    if path == "exact" and device != "cpu" and q <= GPU_ROW_QUERIES:
        w["row_pair"], w["row_pair_value"] = n * q, n * q * d
        w.pop("read_value", None)
        return w
    # Tiles have a least number of queries.
    if device == "cpu":
        tile = q if path == "exact" else max(q, 6)
    else:
        least = GPU_SCAN_TILE if path == "exact" else GPU_TILE
        tile = -(-q // least) * least
    w["pair"], w["pair_value"] = n * tile / T, n * tile * d / T
    if path == "exact" and device == "cpu":
        w["read_value"] = n * d * math.ceil(q / exact_block(s, threads)) / T
    return w


def group(s, path):
    return (path, s["metric"] if path in OWN else "")


def is_many(s):
    """More neighbours than filters serve."""
    return s["k"] > .1 * s["n"]


def device_of(doc):
    """"gpu": a GPU that has the points; "cuda": one to which they are copied."""
    if "gpu" not in doc["machine"]:
        return "cpu"
    return "gpu" if "--on-device" in doc["command"] else "cuda"


def observations(documents):
    for doc in documents:
        device = device_of(doc)
        for s in doc["shapes"]:
            for path, f in s["forced"].items():
                if path not in ("exact", "tree") and is_many(s) or path == "tree" and s["d"] > 8:
                    continue  # not chosen
                yield device, doc["machine"]["threads"], s, path, f


def fit(documents, verbose=False):
    groups = {}
    for device, threads, s, path, f in observations(documents):
        groups.setdefault(rated(s, path, device), []).append((work(s, path, device, threads), s["metric"], f["seconds"]))
    rates, copied = {}, None
    # A byte that is copied takes as long whatever the path does: the full scan's rate is all paths'.
    for path, rows in sorted(groups.items(), key=lambda item: item[0] != "exact"):
        names = []
        for w, metric, _ in rows:
            for key in w:
                if key == "byte" and copied is not None:
                    continue
                name = f"{key}:{metric}" if path in OWN and key in ("pair_value", "row_pair_value") else key
                if name not in names:
                    names.append(name)
        a, known = np.zeros((len(rows), len(names))), np.zeros(len(rows))
        t = np.array([seconds for *_, seconds in rows])
        for i, (w, metric, _) in enumerate(rows):
            for key, value in w.items():
                if key == "byte" and copied is not None:
                    known[i] = value * copied
                    continue
                name = f"{key}:{metric}" if path in OWN and key in ("pair_value", "row_pair_value") else key
                a[i, names.index(name)] += value
        a /= t[:, None]
        known /= t
        weight = np.ones(len(rows))
        x = np.zeros(len(names))
        for _ in range(30):  # towards least absolute errors of logarithms
            scale = np.maximum((a * weight[:, None]).max(0), 1e-300)
            x = nnls(a * weight[:, None] / scale, (1 - known) * weight)[0] / scale
            got = np.maximum(a @ x + known, 1e-9)
            off = np.abs(np.log(got))
            weight = np.sqrt(off / np.maximum(np.abs(got - 1), 1e-6) / np.maximum(off, .1))
        rates[path] = dict(zip(names, x))
        if copied is not None and known.any():
            rates[path]["byte"] = copied
        copied = rates[path].get("byte", copied)
        if verbose:
            got = a @ x + known
            print(f"{path:10} {len(rows):4d} within 30 % {np.mean((got > .7) & (got < 1.3)):.2f} median {np.median(got):.2f}",
                  {k: float(f"{v:.3g}") for k, v in rates[path].items() if v > 0})
    return rates


def seconds(rates, s, path, device, threads):
    if rated(s, path, device) not in rates:
        return math.inf
    r = rates[rated(s, path, device)]
    total = 0
    for key, value in work(s, path, device, threads).items():
        own = f"{key}:{s['metric']}"
        total += value * r.get(own, r.get(key, 0))
    return total


LEAST = (256, 16)  # points and coordinates of coarse filters
LEAST_BF16 = 32
SHARE_OF_INT8, GAIN_OF_PCA = .5, .2


def part_of(rates, s, path, device, threads, terms):
    path = rated(s, path, device) if path not in SAMPLED else path
    w = work(s, path, device, threads)
    return sum(w.get(term, 0) * rates[path].get(term, 0) for term in terms)


def sample_of(rates, s, path, device, threads):
    return part_of(rates, s, path, device, threads, ("call", "wake", "sample_value"))


def choice_of(rates, s, device, threads):
    """As planner::choose_path(): path and seconds."""
    def cost(path):
        return seconds(rates, s, path, device, threads)

    def may_serve(path):
        """As in choice.cpp."""
        if path == "tree":
            return s["d"] <= 8 and (device == "cpu" or s["path"] == "tree")
        return path == "exact" or not is_many(s) and path not in SAMPLED and (path != "gemm-bf16" or s["d"] >= LEAST_BF16)

    costs = {p: cost(p) for p in s["forced"] if may_serve(p)}
    best = min(costs, key=costs.get)
    coarse = not is_many(s) and s["n"] >= LEAST[0] and LEAST[1] <= s["d"] <= 4096 and device == "cpu"
    if coarse and "gemm-i8" in s["forced"]:
        sample = sample_of(rates, s, "gemm-i8", device, threads)
        costs["gemm-i8"] = SHARE_OF_INT8 * cost("gemm-i8") + (1 - SHARE_OF_INT8) * (sample + costs[best])
        best = min(costs, key=costs.get)
    if coarse and "projected" in s["forced"]:
        answer = costs[best] - part_of(rates, s, best, device, threads, ("point", "point_value", "page_value"))
        costs["projected"] = sample_of(rates, s, "projected", device, threads) + costs[best] \
            - GAIN_OF_PCA * max(0, 1 - 32 / s["d"]) * answer
    return min(costs, key=costs.get), costs


def taken(s, path, sample=0):
    """The time of choosing it, as far as that was measured."""
    if path == s["path"]:
        return s["seconds"]
    forced = s["forced"]
    if path in SAMPLED:
        after = {"projected": ("projected", "gemm-i8", "gemm-bf16", "gemm-f32"), "gemm-i8": ("gemm-i8", "gemm-bf16", "gemm-f32"),
                 "clustered": ("gemm-f16",)}[path]
        return min(forced[p]["seconds"] + (sample if p != path else 0) for p in after if p in forced)
    return forced[path]["seconds"]


def spread(values):
    v = np.array(values)
    return f"median {100 * np.median(v):6.1f} %, 95th {100 * np.quantile(v, .95):6.1f} %, worst {100 * v.max():7.1f} %"


def about(name, documents, rates, verbose):
    before, after, ratios, mine, worst = [], [], [], [], []
    for doc in documents:
        device, threads = device_of(doc), doc["machine"]["threads"]
        for s in doc["shapes"]:
            least = min([s["seconds"]] + [f["seconds"] for f in s["forced"].values()])
            if "exact" not in s["forced"]:
                continue
            choice, costs = choice_of(rates, s, device, threads)
            costs = {p: seconds(rates, s, p, device, threads) for p in s["forced"]} | costs
            before.append(s["seconds"] / least - 1)
            sample = sample_of(rates, s, choice, device, threads) if choice in SAMPLED else 0
            after.append(taken(s, choice, sample) / least - 1)
            mine.append(costs[choice] / taken(s, choice, sample))
            ratios.append(s["estimate"] / s["seconds"] if s["estimate"] else 0)
            worst.append((after[-1], s, choice, costs))
    print(f"{name}: {len(before)} shapes\n  regret measured: {spread(before)}\n  regret by costs: {spread(after)}")
    for label, r in (("before", np.array(ratios)), ("by costs", np.array(mine))):
        print(f"  estimate {label}: within 30 % {np.mean((r > .7) & (r < 1.3)):.2f}, median {np.median(r):.2f}")
    if verbose:
        for regret, s, choice, costs in sorted(worst, key=lambda row: -row[0])[:verbose]:
            print(f"  {100 * regret:7.0f} % {s['i']:3d} {s['kind']:8} {s['metric']:13} {s['type']} n {s['n']} q {s['q']} d {s['d']} "
                  f"k {s['k']} {'Index' if s['prepared'] else ''} chose {choice}, planner {s['path']} {1e3 * s['seconds']:.3f}: "
                  + " ".join(f"{p} {1e3 * f['seconds']:.3f}~{1e3 * costs[p]:.3f}" for p, f in s["forced"].items()))


def text(name, source, rates):
    """The file of src/plan/costs: a path and metric a line. Metrics that were not measured take as long as the slowest, and
    UNMEASURED times as long in a scan, as powers and logarithms do: a filter is the safe choice."""
    rows = []
    for path in sorted(rates):
        common = {k: v for k, v in rates[path].items() if ":" not in k}
        own = {}
        for key, v in rates[path].items():
            term, _, metric = key.partition(":")
            if metric:
                own.setdefault(metric, {})[term] = v
        if own:
            dear = UNMEASURED if path == "exact" else 1
            own[""] = {term: dear * max(o.get(term, 0) for o in own.values()) for term in {t for o in own.values() for t in o}}
        for metric in sorted(own) or [""]:
            terms = common | own.get(metric, {})
            rows.append(json.dumps({"path": path, "metric": metric}
                                   | {k: float(f"{terms[k]:.3g}") for k in TERMS if terms.get(k, 0) > 0}))
    head = json.dumps({"name": name, "source": source})
    return head[:-1] + ', "paths": [\n ' + ",\n ".join(rows) + "\n]}\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("records", nargs="+", type=pathlib.Path)
    p.add_argument("--scans-of", nargs="*", type=pathlib.Path, default=[], help="records of which only the scan and the tree count")
    p.add_argument("--check", nargs="*", type=pathlib.Path, default=[])
    p.add_argument("--filters-of", nargs="*", type=pathlib.Path, default=[], help="records of which all but the scan counts")
    p.add_argument("--name", default="")
    p.add_argument("--source", default="")
    p.add_argument("--serial-merge", action="store_true")
    p.add_argument("--threads-as", type=pathlib.Path)
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--verbose", type=int, default=0)
    settings = p.parse_args()
    global serial_merge
    serial_merge = settings.serial_merge
    documents = [json.loads(f.read_text()) for f in settings.records]
    for files, of in ((settings.scans_of, ("exact", "tree")), (settings.filters_of, None)):
        for doc in [json.loads(f.read_text()) for f in files]:
            for s in doc["shapes"]:
                s["forced"] = {path: f for path, f in s["forced"].items() if (path in of if of else path != "exact")}
            documents.append(doc)
    rates = fit(documents, settings.verbose)
    about("fitted", documents, rates, settings.verbose)
    if settings.check:
        about("checked", [json.loads(f.read_text()) for f in settings.check], rates, settings.verbose)
    if settings.threads_as:  # what one thread does not tell
        for row in json.loads(settings.threads_as.read_text())["paths"]:
            for term in ("wake", "page_value", "page_kept", "merge"):
                rates.get(row["path"], {})[term] = row.get(term, 0)
    if settings.out:
        settings.out.write_text(text(settings.name, settings.source, rates))


if __name__ == "__main__":
    main()
