"""Many small clouds at once: kith.torch.knn_points next to what else is installed.

    python3 bench/clouds.py [--clouds 32] [--points 4096] [-d 3] [-k 16] [--device cuda] [--rounds 15] [--json FILE]

Every call takes tensors of that device and has finished when its time is taken; rounds are interleaved, figures are
medians in milliseconds. Recall is that of squared distances in binary64 over the first clouds: a tie is no error. Packages that
cannot be imported is left out and named.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

import torch

import kith
import kith.torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import run_head  # noqa: E402


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--clouds", type=int, default=32)
    p.add_argument("--points", type=int, default=4096)
    p.add_argument("-d", type=int, default=3)
    p.add_argument("-k", type=int, default=16)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--seconds", type=float, default=12, help="no further round begins after these (default 12)")
    p.add_argument("--json", metavar="FILE")
    return p.parse_args()


def contestants(p1, p2, k):
    """Name -> a function that returns (clouds, points, k) indices."""
    clouds, rows, d = p1.shape
    batch = torch.arange(clouds, device=p1.device).repeat_interleave(rows)
    flat1, flat2 = p1.reshape(-1, d), p2.reshape(-1, d)

    def of_edges(edges):
        return edges[1].view(clouds, rows, k) % p2.shape[1]

    def each(call):
        return lambda: torch.stack([call(p1[i], p2[i]) for i in range(clouds)])

    yield "kith.torch.knn_points", lambda: kith.torch.knn_points(p1, p2, K=k).idx
    yield "kith.torch.knn", lambda: of_edges(kith.torch.knn(flat2, flat1, k, batch, batch))
    yield "kith.search of each", each(lambda q, x: kith.search(x, q, k).indices)
    yield "torch.cdist + topk", lambda: torch.cdist(p1, p2).topk(k, largest=False).indices
    yield "torch.cdist by differences + topk", lambda: torch.cdist(
        p1, p2, compute_mode="donot_use_mm_for_euclid_dist").topk(k, largest=False).indices
    try:
        from pytorch3d.ops import knn_points
        yield "pytorch3d knn_points", lambda: knn_points(p1, p2, K=k).idx
    except ImportError as error:
        print(f"left out: pytorch3d: {error}")
    try:
        import torch_cluster
        yield "torch_cluster knn", lambda: of_edges(torch_cluster.knn(flat2, flat1, k, batch, batch))
    except ImportError as error:
        print(f"left out: torch_cluster: {error}")
    try:
        from pykeops.torch import LazyTensor

        def keops():
            return ((LazyTensor(p1[:, :, None]) - LazyTensor(p2[:, None])) ** 2).sum(-1).argKmin(k, dim=2)
        yield "KeOps argKmin", keops
    except ImportError as error:
        print(f"left out: KeOps: {error}")
    if p1.is_cuda:
        try:
            import faiss
            import faiss.contrib.torch_utils
            resources = faiss.StandardGpuResources()
            yield "faiss knn_gpu of each", each(lambda q, x: faiss.knn_gpu(resources, q, x, k)[1])
        except (ImportError, AttributeError) as error:
            print(f"left out: faiss-gpu: {error}")
        try:
            from cuvs.neighbors import brute_force

            def cuvs(q, x):
                return torch.as_tensor(brute_force.search(brute_force.build(x, metric="sqeuclidean"), q, k)[1], device="cuda")
            yield "cuVS brute_force of each", each(cuvs)
        except ImportError as error:
            print(f"left out: cuVS: {error}")
        try:
            import flashlib
            yield "FlashLib of each", each(lambda q, x: flashlib.flash_knn(q, x, k)[1])
        except (ImportError, AttributeError) as error:
            print(f"left out: FlashLib: {error}")


def synchronize(device):
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def recall(p1, p2, idx, clouds=2):
    """The share of neighbours no farther than the k-th nearest of the first clouds, in binary64."""
    good = total = 0
    for n in range(min(clouds, len(p1))):
        exact = (p1[n].double()[:, None] - p2[n].double()[None]).square().sum(2)
        k = idx.shape[2]
        bound = exact.topk(k, largest=False).values[:, -1:]
        good += int((exact.gather(1, idx[n].long()) <= bound).sum())
        total += idx[n].numel()
    return good / total


def main():
    settings = parse()
    generator = torch.Generator().manual_seed(1)
    p1, p2 = (torch.rand(settings.clouds, settings.points, settings.d, generator=generator).to(settings.device)
              for _ in range(2))
    runs, found = {}, {}
    for name, call in contestants(p1, p2, settings.k):
        try:
            for _ in range(2):
                found[name] = recall(p1, p2, call())
            runs[name] = call
        except Exception as error:  # what fails is a result
            print(f"left out: {name}: {type(error).__name__}: {str(error)[:160]}")
    times = {name: [] for name in runs}
    start = time.perf_counter()
    for turn in range(settings.rounds):
        if turn > 2 and time.perf_counter() - start > settings.seconds:
            break
        names = list(runs)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            synchronize(settings.device)
            before = time.perf_counter()
            runs[name]()
            synchronize(settings.device)
            times[name].append(1e3 * (time.perf_counter() - before))
    where = torch.cuda.get_device_name() if torch.device(settings.device).type == "cuda" else "cpu"
    print(f"{settings.clouds} x {settings.points} x {settings.d}, k {settings.k}, {where}, torch {torch.__version__}, "
          f"kith {kith.__version__}")
    rows = [{"who": name, "median_ms": statistics.median(of), "least_ms": min(of), "rounds": len(of),
             "recall": found[name]} for name, of in times.items()]
    for row in sorted(rows, key=lambda row: row["median_ms"]):
        print(f"{row['who']:<36} {row['median_ms']:>10.3f} ms  least {row['least_ms']:>10.3f}  recall {row['recall']:.6f}")
    kiths = min(row["median_ms"] for row in rows if row["who"].startswith("kith.torch"))
    others = [row["median_ms"] for row in rows if not row["who"].startswith("kith")]
    if others:
        print(f"the best of the others over kith: {min(others) / kiths:.2f}")
    if settings.json:
        with open(settings.json, "w") as out:
            json.dump({**run_head.head(settings.device), "settings": vars(settings), "where": where, "rows": rows}, out, indent=1)


if __name__ == "__main__":
    main()
