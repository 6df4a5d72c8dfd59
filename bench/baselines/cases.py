"""The named cases: which points, queries, metric and k, and whom the goal is measured against."""
import dataclasses
import gzip
import pathlib
import struct

import numpy as np

import oracle

MATRIX_METRICS = ("sqeuclidean", "inner_product", "cosine")
DIRECT_METRICS = ("cityblock", "chebyshev", "hellinger")
KS = (10, 100)
README_KS = {"cpu": KS, "cuda": (10, 100, 1000)}


@dataclasses.dataclass
class Case:
    name: str
    metric: str
    k: int
    points: object   # n x d f32, numpy array or torch tensor
    queries: object  # q x d
    goal: tuple      # libraries that the goal names as baselines here
    truth: object    # oracle.Truth, shared by every k

    def shape(self):
        return self.points.shape[0], self.queries.shape[0], self.points.shape[1]

    def pairs(self):
        n, q, _ = self.shape()
        return n * q


@dataclasses.dataclass
class Data:
    name: str
    make: object  # (settings, metric) -> (points, queries)
    metrics: tuple
    goal: tuple


def idx(path):
    """An IDX image file (MNIST), plain or gzipped, as n x d f32."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        data = file.read()
    rank = data[3]
    shape = struct.unpack(f">{rank}I", data[4:4 + 4 * rank])
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * rank)
    return values.reshape(shape[0], -1).astype(np.float32)


def fashion_mnist(settings, _):
    folder = pathlib.Path(settings.data)
    points, queries = (idx(folder / f"{part}-images-idx3-ubyte.gz") for part in ("train", "t10k"))
    return points[:settings.n], queries[:1000] if settings.quick else queries


def fewest(n, most):
    return min(n, most or n)


def random_host(n, q, d, quick_q):
    def make(settings, metric):
        rng = np.random.default_rng(20)
        draw = rng.random if metric in oracle.NON_NEGATIVE else rng.standard_normal
        points = draw((fewest(n, settings.n), d), dtype=np.float32)
        return points, draw((quick_q if settings.quick else q, d), dtype=np.float32)
    return make


def random_cuda(n, q, d, quick_q, falls=0.0):
    """Gaussian, coordinate i (from 1 on) with the standard deviation i^-falls."""
    def make(settings, _):
        import torch
        generator = torch.Generator(device="cuda").manual_seed(20)
        rows = [fewest(n, settings.n), quick_q if settings.quick else q]
        deviations = torch.arange(1, d + 1, device="cuda", dtype=torch.float32) ** -falls
        return tuple(torch.randn(r, d, generator=generator, device="cuda").mul_(deviations) for r in rows)
    return make


def among_themselves_cuda(n, d):
    """Uniform points, each of which is a query, too, and its own first neighbour."""
    def make(settings, _):
        import torch
        generator = torch.Generator(device="cuda").manual_seed(20)
        points = torch.rand(fewest(n, settings.n), d, generator=generator, device="cuda")
        return points, points[:len(points) // 10] if settings.quick else points
    return make


def clusters_cuda(n, q, d, centres, within):
    """Gaussian about Gaussian centres, `within` of their deviation; point i about centre i modulo `centres`, as many of each."""
    def make(settings, _):
        import torch
        generator = torch.Generator(device="cuda").manual_seed(20)
        middle = torch.randn(centres, d, generator=generator, device="cuda")
        rows = [fewest(n, settings.n), 2048 if settings.quick else q]
        return tuple(torch.randn(r, d, generator=generator, device="cuda").mul_(within).add_(
            middle[torch.arange(r, device="cuda") % centres]) for r in rows)
    return make


def images_cuda(n):
    """Fashion-MNIST's training images, shifted by a pixel each way and mirrored, until there are n; its test images as queries."""
    def make(settings, _):
        import torch
        images, queries = (torch.as_tensor(rows, device="cuda") for rows in fashion_mnist(settings, None))
        rows, side = fewest(n, settings.n), 28
        copies = []
        for copy in range(-(-rows // len(images))):
            shift, some = (copy // 2 + 4) % 9, images.view(-1, side, side)
            some = torch.roll(some.flip(2) if copy % 2 else some, (1 - shift // 3, 1 - shift % 3), (1, 2))
            copies.append(some.reshape(len(images), -1))
        return torch.cat(copies)[:rows].contiguous(), queries
    return make


CPU_GOAL = ("faiss", "scikit-learn", "usearch")
CPU = [
    Data("fashion-mnist", fashion_mnist, MATRIX_METRICS, CPU_GOAL),
    Data("100k-16", random_host(100_000, 10_000, 16, 1000), MATRIX_METRICS, CPU_GOAL),
    Data("100k-128", random_host(100_000, 10_000, 128, 1000), MATRIX_METRICS, CPU_GOAL),
    Data("100k-768", random_host(100_000, 10_000, 768, 1000), MATRIX_METRICS, CPU_GOAL),
    Data("100k-3", random_host(100_000, 10_000, 3, 1000), ("sqeuclidean",), (*CPU_GOAL, "scipy")),
    Data("1m-128-one", random_host(1_000_000, 1, 128, 1), MATRIX_METRICS, CPU_GOAL),
    Data("100k-128-direct", random_host(100_000, 1000, 128, 200), DIRECT_METRICS, ("scipy", "scikit-learn")),
]
CUDA_GOAL = ("torch", "flashlib", "cuvs", "faiss", "cupy", "certex", "pykeops")


def cuda(name, d, q=8192, quick_q=2048, falls=0.0):
    return Data(name, random_cuda(1 << 20, q, d, quick_q, falls), ("sqeuclidean",), CUDA_GOAL)


CUDA = [*(cuda(f"1m-{d}", d) for d in (16, 64, 128, 256, 768)), cuda("1m-128-few", 128, 128, 128), cuda("1m-128-one", 128, 1, 1),
        *(cuda(f"1m-{d}-spectrum", d, falls=0.7) for d in (128, 768, 1536)), cuda("1m-3", 3),
        Data("1m-3-all", among_themselves_cuda(1_000_000, 3), ("sqeuclidean",), CUDA_GOAL),
        Data("1m-clusters", clusters_cuda(1 << 20, 8192, 128, 1000, 0.01), ("sqeuclidean",), CUDA_GOAL),
        Data("1m-images", images_cuda(1 << 20), ("sqeuclidean",), CUDA_GOAL)]


def neighbours(settings):
    return settings.k or (README_KS[settings.device] if settings.readme else KS)


def cases(settings):
    """Yields the chosen cases; data are made once per name and metric, and let go before the next."""
    for data in CUDA if settings.device == "cuda" else CPU:
        if settings.case and data.name not in settings.case:
            continue
        made, made_for = None, None
        for metric in data.metrics:
            if settings.metric and metric not in settings.metric:
                continue
            kind = metric in oracle.NON_NEGATIVE
            if made_for != kind:
                made = None  # before the next take their room
                made, made_for = data.make(settings, metric), kind
            truth = oracle.Truth(metric, *made, max(neighbours(settings)), settings.sample)
            for k in neighbours(settings):
                yield Case(data.name, metric, k, *made, data.goal, truth)
            truth = None
