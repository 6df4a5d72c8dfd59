"""The machine of the numbers: processor, GPU, versions, and its own matrix-product rate."""
import gc
import importlib.metadata
import os
import pathlib
import platform
import subprocess
import sys
import time

PACKAGES = ("numpy", "faiss-cpu", "faiss-gpu", "scikit-learn", "usearch", "numkong", "pykeops", "scipy", "pykdtree", "torch", "flashlib", "certex",
            "cuvs-cu12", "cuvs-cu13", "cupy-cuda12x", "cupy-cuda13x")


def cpu_fields():
    """The first processor's fields of /proc/cpuinfo."""
    pairs = (line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines())
    return {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2}


def set_environment(settings):
    """Thread pools and OpenBLAS read these once: call it before numpy comes. An older OpenBLAS (faiss-cpu 1.15 brings
    0.3.15) falls back to SSE kernels on processors that it does not know: tuned baselines get its AVX-512 kernels by name,
    shipped ones whatever each library chooses. The caller's environment of OpenBLAS holds for neither."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(settings.threads)
    wide = {"avx512f", "avx512bw", "avx512vl"} <= set(cpu_fields().get("flags", "").split())
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    if settings.kernels == "tuned" and wide:
        os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"


def describe(settings):
    fields = cpu_fields()
    about = {"cpu": fields.get("model name", platform.processor()),
             "cpu_family_model": f"{fields.get('cpu family', '?')}/{fields.get('model', '?')}",
             "cores": len(os.sched_getaffinity(0)), "threads": settings.threads, "kernels": settings.kernels,
             "openblas_coretype": os.environ.get("OPENBLAS_CORETYPE", "its own choice"),
             "load_before": [round(x, 2) for x in os.getloadavg()],
             "system": f"{platform.system()} {platform.machine()}", "python": platform.python_version()}
    if settings.device == "cuda":
        query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
        name, driver, memory = subprocess.run(query, capture_output=True, text=True,
                                              check=True).stdout.splitlines()[0].split(", ")
        import torch
        about |= {"gpu": name, "driver": driver, "gpu_memory": memory, "torch_cuda": torch.version.cuda}
    return about


def versions():
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def blas():
    """The BLAS that numpy calls, where threadpoolctl can tell."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    return [{key: pool.get(key) for key in ("internal_api", "version", "architecture", "num_threads")}
            for pool in threadpool_info()]


def matrix_product(settings):
    """A function that multiplies two square f32 matrices once and returns the multiply-adds."""
    if settings.device == "cuda":
        import torch
        torch.backends.cuda.matmul.allow_tf32 = False
        m = 8192
        a, b = torch.randn(m, m, device="cuda"), torch.randn(m, m, device="cuda")
        out = torch.empty_like(a)
        return lambda: (torch.mm(a, b, out=out), m ** 3)[1]
    import numpy as np
    m = 2048
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((m, m), dtype=np.float32) for _ in "ab")
    out = np.empty_like(a)
    return lambda: (np.matmul(a, b, out=out), m ** 3)[1]


def synchronizer(settings):
    if settings.device == "cuda":
        import torch
        return torch.cuda.synchronize
    return lambda: None


def release(settings):
    """Gives back device memory that the baselines' allocators keep for later: kith plans by what is free."""
    gc.collect()
    if settings.device != "cuda":
        return
    import torch
    torch.cuda.empty_cache()
    if "cupy" in sys.modules:
        sys.modules["cupy"].get_default_memory_pool().free_all_blocks()


def timed(call, synchronize):
    """(result, seconds, processor seconds of this process)"""
    synchronize()
    start, start_cpu = time.perf_counter(), time.process_time()
    result = call()
    synchronize()
    return result, time.perf_counter() - start, time.process_time() - start_cpu
