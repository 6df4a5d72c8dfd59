#!/usr/bin/env python3
"""Bias and spread of kith.information's estimators where the answer is known: Gaussians of 1 to 20 dimensions.

usage: estimators.py [--samples N] [--repeats R] [-k K] [--device NAME] [--json FILE] [--drawing FILE]   (needs kith-knn, numpy; matplotlib)

For each dimension R draws of N samples: the mean of an estimate less the true value, and its standard deviation over the
draws, and the median of its seconds. Entropy: of a Gaussian of deviation 2. Divergence: of deviation 1 from one of deviation 1.5 whose mean is half
away in each dimension. Mutual information: of x and y of half the dimensions each, whose coordinates correlate in pairs
by 0.6.
"""
import argparse
import json
import math
import platform
import sys
import time

import numpy as np

import kith
from kith import information


def draws(rng, n, d, device):
    """(name, true value, estimate) of one draw in d dimensions."""
    x = rng.normal(0, 2, (n, d))
    yield "entropy", d / 2 * math.log(2 * math.pi * math.e * 4), lambda k: information.entropy(x, k, device=device)
    p, q = rng.normal(0, 1, (n, d)), rng.normal(0.5, 1.5, (n, d))
    divergence = d * (math.log(1.5) + 1.25 / 4.5 - 0.5)
    for form in ("nearest", "ball", "ball-distances"):
        yield f"divergence, {form}", divergence, lambda k, form=form: information.kl_divergence(p, q, k, form=form, device=device)
    if d % 2:
        return
    a, noise = rng.normal(size=(2, n, d // 2))
    b = 0.6 * a + 0.8 * noise
    for form in ("first", "second"):
        yield (f"mutual information, {form}", -d / 4 * math.log(1 - 0.36),
               lambda k, form=form: information.mutual_information(a, b, k, form=form,
                                                                                device=device))


def measure(args):
    rows = []
    for d in args.dimensions:
        found = {}
        for repeat in range(args.repeats):
            rng = np.random.default_rng([d, repeat])
            for name, true, estimate in draws(rng, args.samples, d, args.device):
                start = time.perf_counter()
                estimated = estimate(args.k)
                found.setdefault((name, true), []).append((estimated, time.perf_counter() - start))
        for (name, true), timed in found.items():
            estimates = [e for e, _ in timed]
            values = np.array([e.value for e in estimates])
            rows.append({"estimator": name, "d": d, "true": true, "bias": values.mean() - true,
                         "spread": values.std(ddof=1) if len(values) > 1 else 0.0,
                         "error": float(np.mean([e.error for e in estimates])), "seconds": float(np.median([t for _, t in timed]))})
            print(f"{name:28} d {d:2}  true {true:8.4f}  bias {rows[-1]['bias']:+8.4f}  spread {rows[-1]['spread']:.4f}"
                  f"  error {rows[-1]['error']:.4f}  {rows[-1]['seconds']:.3f} s", flush=True)
    return rows


def draw(rows, args):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "kith"
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["estimator"] for row in rows))
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for axis, group in zip(axes, ("entropy", "divergence", "mutual information")):
        for name in (n for n in names if n.startswith(group)):
            own = [row for row in rows if row["estimator"] == name]
            d = [row["d"] for row in own]
            bias, spread = (np.array([row[key] for row in own]) for key in ("bias", "spread"))
            line, = axis.plot(d, bias, marker="o", markersize=3, label=name.partition(", ")[2] or "entropy")
            axis.fill_between(d, bias - spread, bias + spread, alpha=0.25, color=line.get_color())
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set(title=group, xlabel="dimensions", xticks=args.dimensions[::2] if len(args.dimensions) > 10 else args.dimensions)
        axis.legend(frameon=False)
    axes[0].set_ylabel("estimate less true value (nats)")
    figure.suptitle(f"Bias (lines) and spread (bands) over {args.repeats} draws of {args.samples:,} samples, k {args.k}")
    figure.savefig(args.drawing, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[1, 2, 3, 4, 6, 8, 10, 12, 16, 20])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json")
    parser.add_argument("--drawing")
    args = parser.parse_args()
    rows = measure(args)
    if args.json:
        with open(args.json, "w") as out:
            json.dump({"kith": kith.__version__, "machine": platform.machine(), "device": args.device, "samples": args.samples,
                       "repeats": args.repeats, "k": args.k, "rows": rows}, out, indent=1)
            out.write("\n")
    if args.drawing:
        draw(rows, args)


if __name__ == "__main__":
    sys.exit(main())
