"""The Python blocks of the README and of docs/, run as they stand: pages.py [PAGE...] without pytest, in an environment of any size.

The names that a block takes for granted (points, queries, files that the commands above it have written) is made here, small.
"""
from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Modules of these names are installed for a block or it is left out; names that blocks use without importing them.
INSTALLED_AS = {"opentsne": "openTSNE"}
OPTIONAL = ("cv2", "dask", "hdbscan", "openTSNE", "opentsne", "ray", "scanpy", "scipy", "skimage", "sklearn", "torch", "umap")
KNOWN_AS = {"sc": "scanpy", "umap": "umap", "scipy": "scipy.sparse", "sklearn": "sklearn.cluster", "torch": "torch"}


class Block(NamedTuple):
    page: str
    line: int
    source: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """For a source distribution, which has no docs/, only the README."""
    return [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))) if path.exists()]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in FENCE.finditer(text):
        yield Block(str(page.relative_to(ROOT)), text.count("\n", 0, match.start(1)) + 1, match.group(1))


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    points, queries = (rng.random((rows, 8), np.float32) for rows in (300, 20))
    z = rng.normal(size=400)
    return {"np": np, "numpy": np, "points": points, "queries": queries, "scores": rng.random((4, 200)),
            "batches": [[0, 100, 0, 10], [100, 200, 10, 10]], "left": points[:50], "right": points[25:75],
            "ratings": rng.integers(0, 6, (200, 60)).astype(np.float32),
            "images": rng.integers(0, 256, (3, 48, 64, 3), dtype=np.uint8), "features": rng.normal(size=(400, 3)),
            "x": z + rng.normal(size=400), "y": z + rng.normal(size=400), "z": z, "source": z, "target": np.roll(z, 1)}


def tensors(names: dict[str, Any]) -> dict[str, Any]:
    import torch
    x, y = (torch.from_numpy(names[name]) for name in ("points", "queries"))
    return {"points": x, "queries": y, "x": x, "y": y, "k": 5, "batch_x": torch.arange(300) // 100, "batch_y": torch.arange(20) // 7,
            "p1": torch.rand(2, 30, 3), "p2": torch.rand(2, 40, 3), "lengths1": torch.tensor([30, 9]),
            "lengths2": torch.tensor([40, 21]), "r": 0.5}


def files(names: dict[str, Any]) -> None:
    """The files of the command line that the blocks of its pages read: a graph of the points, and a job."""
    import kith
    import kith.groundtruth
    points = names["points"]
    distances, indices = kith.graph(points, 15, include_self=True, metric="euclidean")
    for name, array in (("points", points), ("ids", indices), ("distances", distances)):
        np.save(f"{name}.npy", array)
    try:
        from scipy.sparse import csr_matrix, save_npz
        save_npz("graph.npz", csr_matrix((distances.ravel(), indices.ravel(), np.arange(0, 15 * 300 + 1, 15)), (300, 300)))
    except ImportError:
        pass
    if not Path("truth").exists():
        kith.groundtruth.init("truth", points, names["queries"], k=5)


def surroundings(block: Block) -> dict[str, Any]:
    """The names that the block uses and does not make. ImportError where that cannot be had."""
    names = arrays()
    code = re.sub(r"#.*", "", block.source)
    if 'device="cuda' in code:  # docs/papers/, whose blocks are part of a program
        import kith
        try:
            kith.search(names["points"], names["queries"], 1, device="cuda")
        except kith.DeviceError as error:
            raise ImportError(str(error)) from error
        names.update(kith=kith, users=names["points"], features=names["points"], distances=names["scores"].astype(np.float32))
    for name, module in KNOWN_AS.items():
        if re.search(rf"\b{name}\.", code):
            importlib.import_module(module)
            names[name] = sys.modules[module.partition(".")[0]]
    for module in OPTIONAL:
        if re.search(rf"\b(import|from)\b.*\b{module}\b|kith\.{module}\b", code):
            importlib.import_module(INSTALLED_AS.get(module, module))
    if "kith.groundtruth.init" not in code:
        files(names)
    if "sc." in code:
        import scanpy
        names.update(cells=scanpy.datasets.pbmc68k_reduced())
    if re.search(r"\b(umap|openTSNE|hdbscan)\b", code):
        names.update(x=names["points"], new=names["queries"])
    if "torch." in code:
        names.update(tensors(names))
    if "kith.dask" in code:
        import dask.array as chunked
        names.update(points=chunked.from_array(names["points"], chunks=(100, 8)), queries=chunked.from_array(names["queries"]))
    if "kith.ray" in code:
        import ray
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
        names["parts"] = np.array_split(names["points"], 3)
    return names


def run(block: Block) -> dict[str, Any]:
    """Runs a block in the current folder and returns the names that it leaves."""
    try:
        names = surroundings(block)
        exec(compile("\n" * (block.line - 1) + block.source, block.page, "exec"), names)
    finally:
        if "ray" in sys.modules:
            sys.modules["ray"].shutdown()
    return names


def main(names: list[str]) -> int:
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        for page in [ROOT / name for name in names] or pages():
            for block in blocks(page):
                os.chdir(folder)
                try:
                    run(block)
                except ImportError as error:
                    print(f"{block}: left out: {error}")
                    continue
                ran += 1
                print(f"{block}: ran")
        os.chdir(ROOT)
    return 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
