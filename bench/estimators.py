#!/usr/bin/env python3
"""Bias, spread and errors of kith.information's estimators where the answer is known: Gaussians of 1 to 20 dimensions.

usage: estimators.py [--samples N] [--repeats R] [-k K] [--dimensions D ...] [--bootstrap B] [--errors E] [--device NAME]
                     [--json FILE] [--drawing FILE] [--from FILE]
       estimators.py --speed N [--runs R] [--seconds S] ...     (needs kith-knn, numpy; the drawing matplotlib)

For each dimension R draws of N samples: the mean of an estimate less the true value, and its standard deviation over the
draws. Next to it is the error that the first E draws state by B repeats (their root mean square). Entropy: of a Gaussian of
deviation 2. Divergence: of deviation 1 from one of deviation 1.5 whose mean is half away in each dimension. Mutual information: of x and y of half the dimensions
each, whose coordinates correlate in pairs by 0.6. Given z: of x and y of a third of the dimensions each, z plus noise of both that
correlates by 0.6. Transfer entropy: series of a third of the dimensions each, each coordinate of the target
driven by that of the source, one row later.

--speed: seconds of single estimates of N samples instead, the fastest of R runs, until S seconds have passed.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import sys
import time

import numpy as np

import kith
from kith import information

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import run_head  # noqa: E402

CORRELATION = -0.5 * math.log(1 - 0.36)  # nats that a pair of coordinates has


def remembered(values, factor):
    """values[t] + factor values[t - 1] + factor^2 values[t - 2] + ..., down to what rounding loses."""
    out, weight = values.copy(), factor
    for lag in range(1, min(len(values), math.ceil(math.log(2**-60) / math.log(factor)))):
        out[lag:] += weight * values[:-lag]
        weight *= factor
    return out


def series(rng, n, m):
    """(source, target, transfer entropy) of m independent pairs: a source that remembers itself, a target that follows it."""
    keeps, recalls, follows, noise, begun = 0.5, 0.7, 0.6, 0.8, 200
    a, b = rng.normal(size=(2, n + begun, m))
    source = remembered(math.sqrt(1 - recalls**2) * a, recalls)
    target = remembered(follows * np.roll(source, 1, 0) + noise * b, keeps)
    together = recalls * follows / (1 - keeps * recalls)
    own = (follows**2 + noise**2 + 2 * keeps * follows * together) / (1 - keeps**2)
    return source[begun:], target[begun:], m / 2 * math.log(1 + follows**2 * (1 - together**2 / own) / noise**2)


def draws(rng, n, d):
    """(name, true value, estimator, its arguments) of one draw in d dimensions."""
    yield "entropy", d / 2 * math.log(2 * math.pi * math.e * 4), information.entropy, (rng.normal(0, 2, (n, d)),), {}
    p, q = rng.normal(0, 1, (n, d)), rng.normal(0.5, 1.5, (n, d))
    divergence = d * (math.log(1.5) + 1.25 / 4.5 - 0.5)
    for form in ("nearest", "ball", "ball-distances"):
        yield f"divergence, {form}", divergence, information.kl_divergence, (p, q), {"form": form}
    if d % 2 == 0:
        a, noise = rng.normal(size=(2, n, d // 2))
        b = 0.6 * a + 0.8 * noise
        for form in ("first", "second"):
            yield f"mutual information, {form}", d / 2 * CORRELATION, information.mutual_information, (a, b), {"form": form}
    if d % 3 == 0:
        a, noise, z = rng.normal(size=(3, n, d // 3))
        b = 0.6 * a + 0.8 * noise
        yield "given a third, mutual information", d / 3 * CORRELATION, information.conditional_mutual_information, (a + z, b + z, z), {}
        source, target, transfer = series(rng, n, d // 3)
        yield "given a third, transfer entropy", transfer, information.transfer_entropy, (source, target), {}


def measure(args, write):
    rows = []
    for d in args.dimensions:
        found = {}
        for repeat in range(args.repeats):
            rng = np.random.default_rng([d, repeat])
            for name, true, estimator, samples, form in draws(rng, args.samples, d):
                more = {"bootstrap": args.bootstrap if repeat < args.errors else 0, "device": args.device}
                found.setdefault((name, true), []).append(estimator(*samples, args.k, **form, **more))
        for (name, true), estimates in found.items():
            values = np.array([e.value for e in estimates])
            errors = np.array([e.error for e in estimates[: args.errors]])
            row = {"estimator": name, "d": d, "true": true, "bias": values.mean() - true,
                   "spread": values.std(ddof=1) if len(values) > 1 else 0.0}
            if args.bootstrap > 0:
                row["error"] = math.sqrt((errors**2).mean())
                row["spread_over_error"] = row["spread"] / row["error"]
            rows.append(row)
            print(f"{name:34} d {d:2}  true {true:8.4f}  bias {row['bias']:+8.4f}  spread {row['spread']:.4f}"
                  f"  error {row.get('error', math.nan):.4f}  ratio {row.get('spread_over_error', math.nan):.2f}", flush=True)
        write(rows)
    return rows


def time_them(args, write):
    """Seconds of single estimates: a short one of each before, that what is set up once is not in them."""
    rows, begin = [], time.perf_counter()
    for d in args.dimensions:
        rng = np.random.default_rng(d)
        for name, true, estimator, samples, form in draws(rng, args.speed, d):
            if time.perf_counter() - begin > args.seconds:
                print(f"{name}, d {d}: left out, the {args.seconds:g} seconds have passed", flush=True)
                continue
            few = [s[:20_000] for s in samples]
            estimator(*few, args.k, **form, device=args.device)
            seconds = []
            for _ in range(args.runs):
                start = time.perf_counter()
                found = estimator(*samples, args.k, **form, device=args.device)
                seconds.append(time.perf_counter() - start)
            rows.append({"estimator": name, "d": d, "true": true, "value": found.value, "seconds": min(seconds), "runs": len(seconds)})
            print(f"{name:34} d {d:2}  {min(seconds):8.3f} s  value {found.value:.4f}, true {true:.4f}", flush=True)
            write(rows)
    return rows


def draw(rows, out, says):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "kith"
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["estimator"] for row in rows))
    figure, axes = plt.subplots(2, 4, figsize=(13, 6), layout="constrained", sharex=True, height_ratios=(2, 1))
    for (above, below), group in zip(axes.T, ("entropy", "divergence", "mutual information", "given a third")):
        for name in (n for n in names if n.startswith(group)):
            own = [row for row in rows if row["estimator"] == name]
            d = [row["d"] for row in own]
            bias, spread = (np.array([row[key] for row in own]) for key in ("bias", "spread"))
            line, = above.plot(d, bias, marker="o", markersize=3, label=name.partition(", ")[2] or "entropy")
            above.fill_between(d, bias - spread, bias + spread, alpha=0.25, color=line.get_color())
            if all("error" in row for row in own):
                below.plot(d, [row["spread_over_error"] for row in own], marker="o", markersize=3, color=line.get_color())
        above.axhline(0, color="black", linewidth=0.6)
        above.set(title=group + (" variable" if group == "given a third" else ""))
        above.legend(frameon=False)
        below.axhline(1, color="black", linewidth=0.6)
        below.set(xlabel="dimensions", ylim=(0, 2), xticks=range(2, 21, 2))
    axes[0][0].set_ylabel("estimate less true value (nats)")
    axes[1][0].set_ylabel("spread / error")
    figure.suptitle(f"Bias (lines) and spread (bands) {says}")
    figure.savefig(out, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--dimensions", type=int, nargs="+", default=list(range(1, 21)))
    parser.add_argument("--bootstrap", type=int, default=4)
    parser.add_argument("--errors", type=int, default=30)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--speed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--json")
    parser.add_argument("--drawing")
    parser.add_argument("--from", dest="record", help="draw this record's rows")
    args = parser.parse_args()

    if args.record:
        with open(args.record) as record:
            known = json.load(record)
        draw(known["rows"], args.drawing, f"over {known['repeats']} draws of {known['samples']:,} samples, k {known['k']}")
        return 0

    what = {**run_head.head(args.device), "kith": kith.__version__, "machine": platform.machine(),
            "processors": len(os.sched_getaffinity(0)), "asked": args.device, "k": args.k}
    if args.speed:
        what |= {"samples": args.speed}
    else:
        what |= {"samples": args.samples, "repeats": args.repeats, "bootstrap": args.bootstrap, "errors": args.errors}

    def write(rows):
        if args.json:
            with open(args.json, "w") as out:
                json.dump({**what, "load": round(os.getloadavg()[0], 1), "rows": rows}, out, indent=1)
                out.write("\n")

    rows = (time_them if args.speed else measure)(args, write)
    if args.drawing and not args.speed:
        draw(rows, args.drawing, f"over {args.repeats} draws of {args.samples:,} samples, k {args.k}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
