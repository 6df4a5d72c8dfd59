"""kith.information next to the estimators of other packages: the difference of the values, and seconds.

    python3 bench/baselines/estimators.py [--samples N] [--rounds R] [--json FILE]
        (needs kith-knn, numpy, scikit-learn, ennemi, infomeasure, entropy-estimators, npeet-plus)

Gaussian samples, k 4, natural logarithms; what a package adds of noise is switched off where it can be. Rounds are interleaved,
seconds medians. Values and what makes them differ: python/tests/test_information_baselines.py.
"""
import argparse
import json
import math
import os
import statistics
import time

import ennemi
import infomeasure
import npeet_plus
import numpy as np
from entropy_estimators import continuous
from sklearn.feature_selection import mutual_info_regression

from kith import information

import run_head

K = 4


def cases(n):
    """{what: {package: estimate}}; the first is kith's."""
    rng = np.random.default_rng(1)
    x, noise, z = rng.normal(size=(3, n))
    y = 0.6 * x + 0.8 * noise
    follows = np.concatenate([[0.0], 0.6 * x[:-1]]) + 0.8 * noise
    points, others = rng.normal(size=(n, 3)), rng.normal(0.5, 1.5, (n, 3))
    a, b = x + z, y + z
    silent = {"k": K, "noise_level": 0}
    return {
        "mutual information": {
            "kith": lambda: information.mutual_information(x, y, K).value,
            "scikit-learn": lambda: mutual_info_regression(x[:, None], y, n_neighbors=K, random_state=0)[0],
            "ennemi": lambda: ennemi.estimate_mi(y, x, k=K, preprocess=False).item(),
            "infomeasure": lambda: infomeasure.mutual_information(x, y, approach="ksg", **silent),
            "entropy-estimators": lambda: continuous.get_mi(x, y, k=K),
            "npeet-plus": lambda: npeet_plus.mi(x, y, k=K, base=math.e),
        },
        "given z": {
            "kith": lambda: information.conditional_mutual_information(a, b, z, K).value,
            "ennemi": lambda: ennemi.estimate_mi(b, a, cond=z, k=K, preprocess=False).item(),
            "infomeasure": lambda: infomeasure.conditional_mutual_information(a, b, cond=z, approach="ksg", **silent),
            "entropy-estimators": lambda: continuous.get_pmi(a, b, z, k=K),
            "npeet-plus": lambda: npeet_plus.mi(a, b, z, k=K, base=math.e),
        },
        "transfer entropy": {
            "kith": lambda: information.transfer_entropy(x, follows, K).value,
            "infomeasure": lambda: infomeasure.transfer_entropy(x, follows, approach="ksg", **silent),
        },
        "entropy, d 3": {
            "kith": lambda: information.entropy(points, K, metric="chebyshev").value,
            "ennemi": lambda: float(ennemi.estimate_entropy(points, k=K, multidim=True)),
            "infomeasure": lambda: infomeasure.entropy(points, approach="metric", minkowski_p=np.inf, **silent),
            "entropy-estimators": lambda: continuous.get_h(points, k=K),
            "npeet-plus": lambda: npeet_plus.entropy(points, k=K, base=math.e),
        },
        "divergence, d 3": {
            "kith": lambda: information.kl_divergence(points, others, K, metric="chebyshev").value,
            "npeet-plus": lambda: npeet_plus.kldiv(points, others, k=K, base=math.e),
        },
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    for what, packages in cases(args.samples).items():
        values, seconds = {}, {name: [] for name in packages}
        for _ in range(args.rounds):
            for name, estimate in packages.items():
                start = time.perf_counter()
                values[name] = float(estimate())
                seconds[name].append(time.perf_counter() - start)
        for name in packages:
            rows.append({"what": what, "package": name, "value": values[name], "difference": values[name] - values["kith"],
                         "seconds": statistics.median(seconds[name])})
            print(f"{what:20} {name:20} {values[name]:.12f}  {rows[-1]['difference']:+.1e}  {rows[-1]['seconds']:8.3f} s", flush=True)
    if args.json:
        with open(args.json, "w") as out:
            json.dump({**run_head.head(), "samples": args.samples, "k": K, "rounds": args.rounds, "processors": len(os.sched_getaffinity(0)),
                       "load": round(os.getloadavg()[0], 1), "rows": rows}, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
