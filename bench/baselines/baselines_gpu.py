"""The baselines on the GPU, on torch tensors that lie there: torch, flashlib, cuvs, faiss, cupy, certex, KeOps. Squared
Euclidean."""
import time

from baseline import Baseline


def torch(case, _):
    """Matrix product in f32, norms, topk; tiles of queries, of the size that is fastest here."""
    import torch as t
    t.backends.cuda.matmul.allow_tf32 = False
    x, y, k = case.points, case.queries, case.k

    def search(tile, norms):
        parts = []
        for first in range(0, len(y), tile):
            block = t.addmm(norms[None, :], y[first:first + tile], x.T, alpha=-2)
            parts.append(t.topk(block, k, dim=1, largest=False).indices)
        return t.cat(parts)

    def squares():
        return t.einsum("ij,ij->i", x, x)

    kept = squares()
    seconds = {}
    for tile in sorted({min(tile, len(y)) for tile in (2048, 1024, 512, 256, 128)}, reverse=True):
        if 3 * tile * len(x) * 4 > t.cuda.mem_get_info()[0] // 4:  # its cache must leave room for the others
            continue
        try:
            for _ in range(2):
                t.cuda.synchronize()
                start = time.perf_counter()
                search(tile, kept)
                t.cuda.synchronize()
                seconds[tile] = time.perf_counter() - start
        except t.OutOfMemoryError:
            seconds.pop(tile, None)
        t.cuda.empty_cache()
    best = min(seconds, key=seconds.get)
    note = {"tile": best}
    yield Baseline("torch matmul+topk", "torch", "one-shot", lambda: search(best, squares()), note)
    yield Baseline("torch, norms kept", "torch", "prepared", lambda: search(best, kept), note)


def flashlib(case, _):
    from flashlib.primitives.knn import flash_knn
    yield Baseline("flashlib flash_knn", "flashlib", "one-shot",
                    lambda: flash_knn(case.queries, case.points, case.k)[1].long())


def cuvs(case, _):
    import cupy
    from cuvs.neighbors import brute_force
    x, y = cupy.from_dlpack(case.points), cupy.from_dlpack(case.queries)
    index = brute_force.build(x, metric="sqeuclidean")
    yield Baseline("cuvs brute_force", "cuvs", "prepared",
                    lambda: cupy.asarray(brute_force.search(index, y, case.k)[1]).astype("int64"))
    yield Baseline("cuvs build+search", "cuvs", "one-shot",
                    lambda: cupy.asarray(brute_force.search(brute_force.build(x, metric="sqeuclidean"), y,
                                                            case.k)[1]).astype("int64"))


def faiss(case, _):
    import faiss as f
    import faiss.contrib.torch_utils  # noqa: F401: faiss takes tensors
    resources = f.StandardGpuResources()
    index = f.GpuIndexFlatL2(resources, case.points.shape[1])
    index.add(case.points)
    yield Baseline("faiss knn_gpu", "faiss", "one-shot",
                    lambda: f.knn_gpu(resources, case.queries, case.points, case.k)[1])
    yield Baseline("faiss GpuIndexFlat", "faiss", "prepared", lambda: index.search(case.queries, case.k)[1])


def cupy(case, _):
    import cupy as c
    c.get_default_memory_pool().set_limit(fraction=0.25)  # as torch's: room for the others
    x, y, k, tile = c.from_dlpack(case.points), c.from_dlpack(case.queries), case.k, 256

    def run():
        norms = (x * x).sum(axis=1)
        parts = []
        for first in range(0, len(y), tile):
            block = norms[None, :] - 2 * (y[first:first + tile] @ x.T)
            parts.append(c.argpartition(block, k - 1, axis=1)[:, :k])
        return c.concatenate(parts)
    yield Baseline("cupy matmul+argpartition", "cupy", "one-shot", run)


def certex(case, _):
    """Its Index in the fastest of the modes that it documents for vectors in device memory, each twice; the queries in
    batches of 2,048, its default and that of its own figures. One-shot: `search`, with its defaults."""
    import certex as c
    import torch as t
    x, y, k = case.points, case.queries, case.k
    modes = {"half-precision rows": {}, "int8 rows": {"int8_rows": True}, "1,024 lists": {"n_lists": 1024}}
    best = None
    for name, mode in modes.items():
        try:
            index = c.Index(dim=x.shape[1], **mode)
            index.add(x)
            for _ in range(2):
                t.cuda.synchronize()
                start = time.perf_counter()
                index.search(y, k=k)
                t.cuda.synchronize()
                seconds = time.perf_counter() - start
        except (RuntimeError, ValueError):
            continue
        if best is None or seconds < best[0]:
            best = seconds, name, index
        del index
    if best is not None:
        yield Baseline(f"certex Index, {best[1]}", "certex", "prepared", lambda: best[2].search(y, k=k)[1])
    yield Baseline("certex search", "certex", "one-shot", lambda: c.search(x, y, k=k)[1])


def pykeops(case, _):
    from pykeops.torch import LazyTensor

    def nearest(queries):
        difference = LazyTensor(queries[:, None, :]) - LazyTensor(case.points[None, :, :])
        return (difference ** 2).sum(-1).argKmin(case.k, dim=1)

    nearest(case.queries[:2].contiguous())  # compiles
    yield Baseline("KeOps argKmin", "pykeops", "one-shot", lambda: nearest(case.queries))


ALL = {"torch": torch, "flashlib": flashlib, "cuvs": cuvs, "faiss": faiss, "cupy": cupy, "certex": certex, "pykeops": pykeops}
