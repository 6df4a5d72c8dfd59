"""Where the time of kith.torch.knn_points goes: medians in microseconds, each call finished when its time is taken.

    python3 bench/clouds_cost.py

"The Python part" is a call whose search is left out.
"""
import statistics
import time

import torch

import kith
import kith.torch as kt
from kith import _core


def median(call, rounds=60):
    for _ in range(8):
        call()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)

class Without:
    """The core without its search."""

    def __getattr__(self, name):
        return getattr(_core, name)

    def search_clouds(self, *_):
        pass


print(torch.cuda.get_device_name(), torch.__version__, kith.__version__)
for clouds, points, k in ((32, 4096, 16), (8, 1024, 20), (32, 1024, 16), (1, 128, 4)):
    p1, p2 = (torch.randn(clouds, points, 3, device="cuda") for _ in range(2))
    lengths = torch.full((clouds,), points, device="cuda")
    batches = [[i * points, points, i * points, points] for i in range(clouds)]
    x, y = p2.reshape(-1, 3), p1.reshape(-1, 3)
    print(f"{clouds} clouds of {points}, k {k}:")
    print(f"  knn_points                {median(lambda: kt.knn_points(p1, p2, K=k)):8.0f}")
    print(f"  knn_points with lengths   {median(lambda: kt.knn_points(p1, p2, lengths, lengths, K=k)):8.0f}")
    g = p1.clone().requires_grad_()
    print(f"  knn_points with gradients {median(lambda: kt.knn_points(g, p2, K=k)):8.0f}")
    print(f"  kith.search_batches       {median(lambda: kith.search_batches(x, y, batches, k)):8.0f}")
    seconds = [kith.search_batches(x, y, batches, k).report.seconds * 1e6 for _ in range(30)]
    print(f"  of which report.seconds   {statistics.median(seconds):8.0f}")
    batch = torch.arange(clouds, device="cuda").repeat_interleave(points)
    print(f"  kith.torch.knn            {median(lambda: kt.knn(x, y, k, batch, batch)):8.0f}")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        kt.knn_points(p1, p2, K=k)
        torch.cuda.synchronize()
    for event in seen.events():
        if event.device_time:
            print(f"    on the device: {event.device_time:8.1f}  {event.name[:70]}")
    kt._core = Without()
    print(f"  the Python part           {median(lambda: kt.knn_points(p1, p2, K=k)):8.0f}")
    print(f"  the Python part, lengths  {median(lambda: kt.knn_points(p1, p2, lengths, lengths, K=k)):8.0f}")
    kt._core = _core
    print(f"  torch.cdist + topk        {median(lambda: torch.cdist(p1, p2).topk(k, largest=False), 15):8.0f}", flush=True)
